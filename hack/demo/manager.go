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
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// managerAccount is the service account of config/rbac.
var managerAccount = types.NamespacedName{Namespace: "operator-status-system", Name: "operator-status-controller-manager"}

// process is a running bin/manager. Nil, none has been started yet.
type process struct {
	cmd    *exec.Cmd
	log    string
	done   chan struct{}
	killed bool
}

// startManager starts bin/manager with the rights of its service account, and returns when it has read the cluster.
func (s *stage) startManager(ctx context.Context) error {
	kubeconfig, err := s.writeKubeconfig(ctx, managerAccount)
	if err != nil {
		return err
	}
	health, err := freeAddress()
	if err != nil {
		return err
	}
	m := &process{log: filepath.Join(s.dir, "manager.log"), done: make(chan struct{})}
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the manager's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the manager has its own handle
	// Not of ctx: it is ended by leave, in its turn, or stays.
	m.cmd = exec.Command(s.bin("manager"),
		"--kubeconfig="+kubeconfig, "--health-probe-bind-address="+health,
		"--catalog-dir="+filepath.Join(s.dir, "catalogs"), "--default-catalog="+catalogKey.String())
	m.cmd.Stdout, m.cmd.Stderr = log, log
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := m.cmd.Start(); err != nil {
		return fmt.Errorf("starting bin/manager: %w", err)
	}
	s.manager = m
	go func() {
		_ = m.cmd.Wait() // whoever waits for done judges how it ended
		close(m.done)
	}()
	return m.awaitReady(ctx, "http://"+health+"/readyz")
}

func (m *process) awaitReady(ctx context.Context, url string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		select {
		case <-m.ended():
			return false, fmt.Errorf("the manager has ended: %s", m.cmd.ProcessState)
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err
			return false, nil
		}
		defer func() { _ = response.Body.Close() }() // nothing of it is read
		last = fmt.Errorf("%s answers %s", url, response.Status)
		return response.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager to be ready: %w", errors.Join(err, last))
	}
	return nil
}

// ended is closed when the manager has ended by itself.
func (m *process) ended() <-chan struct{} {
	if m == nil || m.killed {
		return nil
	}
	return m.done
}

// kill ends the manager as kill -9 does. One that is dead already is no error.
func (m *process) kill() error {
	if m == nil {
		return nil
	}
	m.killed = true
	if err := m.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the manager: %w", err)
	}
	<-m.done
	return nil
}

// logged adds the end of the manager's log to an error.
func (m *process) logged(err error) error {
	if m == nil || errors.Is(err, context.Canceled) {
		return err
	}
	const most = 15
	text, readErr := os.ReadFile(m.log)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-most):]
	return fmt.Errorf("%w\nthe manager's log ends with:\n%s", err, indent(strings.Join(lines, "\n"), "  "))
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
