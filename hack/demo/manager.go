package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Service accounts of the managers: that of config/rbac and that of the built-in loops.
var (
	managerAccount   = types.NamespacedName{Namespace: "operator-status-system", Name: "operator-status-controller-manager"}
	lifecycleAccount = types.NamespacedName{Namespace: managerAccount.Namespace, Name: "operator-status-lifecycle-controller-manager"}
)

// managers holds the running processes, one for each Deployment of config/lifecycle; empty before the first start.
type managers []*process

// process is a running bin/manager.
type process struct {
	name   string // the controllers that it runs
	cmd    *exec.Cmd
	log    string
	health string
	done   chan struct{}
}

// startManagers starts both managers with the rights of their service accounts and waits until they are ready.
func (s *stage) startManagers(ctx context.Context) error {
	// Delete the leases of killed managers, so the new ones need not wait until they expire.
	if err := s.admin.DeleteAllOf(ctx, &coordinationv1.Lease{}, client.InNamespace(managerAccount.Namespace)); err != nil {
		return fmt.Errorf("deleting the leases of managers that were killed: %w", err)
	}
	exited := make(chan struct{})
	ended := sync.OnceFunc(func() { close(exited) })
	s.managers, s.exited = nil, exited
	for _, of := range []struct {
		controllers string
		account     types.NamespacedName
	}{{"status", managerAccount}, {"lifecycle", lifecycleAccount}} {
		m, err := s.startManager(ctx, of.controllers, of.account, ended)
		if err != nil {
			return err
		}
		s.managers = append(s.managers, m)
	}
	for _, m := range s.managers {
		if err := m.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) startManager(ctx context.Context, controllers string, account types.NamespacedName, ended func()) (*process, error) {
	kubeconfig, err := s.writeKubeconfig(ctx, account)
	if err != nil {
		return nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, err
	}
	m := &process{name: controllers, health: "http://" + health + "/readyz", log: filepath.Join(s.dir, controllers+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the manager's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the manager has its own handle
	// It does not use ctx: leave stops it, or it is kept running.
	m.cmd = exec.Command(s.bin("manager"),
		"--kubeconfig="+kubeconfig, "--controllers="+controllers, "--leader-elect", "--leader-election-namespace="+account.Namespace,
		"--health-probe-bind-address="+health, "--catalog-dir="+filepath.Join(s.dir, "catalogs"), "--default-catalog="+catalogKey.String())
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting bin/manager: %w", err)
	}
	go func() {
		_ = m.cmd.Wait() // callers that wait for done check the process state
		close(m.done)
		ended()
	}()
	return m, nil
}

func (m *process) awaitReady(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		select {
		case <-m.done:
			return false, fmt.Errorf("the manager has ended: %s", m.cmd.ProcessState)
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.health, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err
			return false, nil
		}
		defer func() { _ = response.Body.Close() }() // the body is not read
		last = fmt.Errorf("%s answers %s", m.health, response.Status)
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager to be ready: %w", errors.Join(err, last))
	}
	return nil
}

// kill ends the managers with SIGKILL. It is no error if they have exited already.
func (s *stage) kill() error {
	s.exited = nil // their exit is expected
	for _, m := range s.managers {
		if err := m.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("killing the manager: %w", err)
		}
		<-m.done
	}
	return nil
}

// pids returns the process IDs of the managers, separated by spaces.
func (all managers) pids() string {
	var out []string
	for _, m := range all {
		out = append(out, strconv.Itoa(m.cmd.Process.Pid))
	}
	return strings.Join(out, " ")
}

// logged adds the last lines of the managers' logs to an error.
func (all managers) logged(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	const most = 15
	for _, m := range all {
		text, readErr := os.ReadFile(m.log)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		lines = lines[max(0, len(lines)-most):]
		err = fmt.Errorf("%w\nthe log of the manager of %s ends with:\n%s", err, m.name, indent(strings.Join(lines, "\n"), "  "))
	}
	return err
}

// freeAddress returns a loopback address whose port was free a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
