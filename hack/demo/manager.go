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

// Service accounts of the managers: of config/rbac, and of the built-in loops.
var (
	managerAccount   = types.NamespacedName{Namespace: "operator-status-system", Name: "operator-status-controller-manager"}
	lifecycleAccount = types.NamespacedName{Namespace: managerAccount.Namespace, Name: "operator-status-lifecycle-controller-manager"}
)

// managers are the running processes of operator-status, one for each Deployment of config/lifecycle. Empty, none has been started yet.
type managers []*process

// process is a running bin/manager.
type process struct {
	name   string // of the controllers that it runs
	cmd    *exec.Cmd
	log    string
	health string
	done   chan struct{}
}

// startManagers starts both managers, each with the rights of its service account, and returns when they have read the cluster.
func (s *stage) startManagers(ctx context.Context) error {
	// A manager that was killed has left its lease behind: nobody needs to wait until it expires.
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
	// Not of ctx: it is ended by leave, in its turn, or stays.
	m.cmd = exec.Command(s.bin("manager"),
		"--kubeconfig="+kubeconfig, "--controllers="+controllers, "--leader-elect", "--leader-election-namespace="+account.Namespace,
		"--health-probe-bind-address="+health, "--catalog-dir="+filepath.Join(s.dir, "catalogs"), "--default-catalog="+catalogKey.String())
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := m.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting bin/manager: %w", err)
	}
	go func() {
		_ = m.cmd.Wait() // whoever waits for done judges how it ended
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
		defer func() { _ = response.Body.Close() }() // nothing of it is read
		last = fmt.Errorf("%s answers %s", m.health, response.Status)
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager to be ready: %w", errors.Join(err, last))
	}
	return nil
}

// kill ends the managers as kill -9 does. Those that are dead already are no error.
func (s *stage) kill() error {
	s.exited = nil // as they should
	for _, m := range s.managers {
		if err := m.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("killing the manager: %w", err)
		}
		<-m.done
	}
	return nil
}

// pids are the process ids of the managers, for a command line.
func (all managers) pids() string {
	var out []string
	for _, m := range all {
		out = append(out, strconv.Itoa(m.cmd.Process.Pid))
	}
	return strings.Join(out, " ")
}

// logged adds the ends of the managers' logs to an error.
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

// freeAddress is one that nobody listened on a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
