package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/manager"
)

// module is the start of the project's go.mod.
const module = "module github.com/operator-status/operator-status\n"

// stage is the environment of the demo: a control plane and the managers, in a temporary folder.
type stage struct {
	root     string // of the project
	dir      string // a temporary folder; empty once the stage has been left or kept
	narrator *narrator

	config   *rest.Config     // with all rights
	admin    client.WithWatch // with all rights too
	managers managers
	exited   chan struct{} // closed when a manager exits by itself, or nil while none should run
}

func newStage(n *narrator) (*stage, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	s := &stage{root: root, narrator: n}
	for _, name := range []string{"manager", "kustomize", "devcluster", "controlplane/kubectl"} {
		if _, err := os.Stat(s.bin(name)); err != nil {
			return nil, fmt.Errorf("bin/%s is missing: run `make demo`, which builds it\n%w", name, err)
		}
	}
	if s.dir, err = os.MkdirTemp("", "operator-status-demo-"); err != nil {
		return nil, fmt.Errorf("creating a folder for the demo: %w", err)
	}
	return s, nil
}

// findRoot returns the project's folder, which contains the working directory.
func findRoot() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the project: %w", err)
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte(module)) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a checkout of operator-status: run `make demo` in one", here)
		}
	}
}

func (s *stage) bin(name string) string { return filepath.Join(s.root, "bin", name) }

func (s *stage) clusterDir() string { return filepath.Join(s.dir, "cluster") }

func (s *stage) kubeconfig() string { return filepath.Join(s.clusterDir(), "kubeconfig") }

// isUp reports whether the control plane runs.
func (s *stage) isUp() bool { return s.admin != nil && s.dir != "" }

// command returns a command that Ctrl-C in the terminal does not reach: the demo stops it itself.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// startControlPlane starts a control plane and connects to it with all rights.
func (s *stage) startControlPlane(ctx context.Context) error {
	up := command(ctx, s.bin("devcluster"), "up", "--nodes=fake", "--dir", s.clusterDir())
	up.Cancel = func() error { return up.Process.Signal(syscall.SIGTERM) } // it stops the processes that it started
	up.WaitDelay = patience
	progress := s.narrator.progress("export KUBECONFIG=") // of use only if the cluster is kept
	up.Stdout, up.Stderr = progress, progress
	if err := errors.Join(up.Run(), progress.Close()); err != nil {
		return fmt.Errorf("starting a control plane: %w", err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", s.kubeconfig())
	if err != nil {
		return fmt.Errorf("reading the control plane's kubeconfig: %w", err)
	}
	config.QPS = -1
	scheme, err := manager.Scheme()
	if err != nil {
		return err
	}
	if s.admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connecting to the control plane: %w", err)
	}
	s.config = config
	return nil
}

// show prints the current objects, to help explain why a step failed.
func (s *stage) show(ctx context.Context) error {
	if len(s.managers) == 0 || ctx.Err() != nil {
		return nil // nothing to show yet, or interrupted
	}
	return s.kubectl(ctx, "get", "catalogsources,subscriptions,installplans,csv,probes,deployments,platformoperators",
		"--all-namespaces", "-o", "wide")
}

// leave stops everything and removes the folder. It may be called at any time and more than once.
func (s *stage) leave() error {
	if s.dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	killed := s.kill()
	if output, err := command(ctx, s.bin("devcluster"), "down", "--dir", s.clusterDir()).CombinedOutput(); err != nil {
		return errors.Join(killed, fmt.Errorf("stopping the control plane in %s: %w\n%s", s.clusterDir(), err, output))
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return errors.Join(killed, fmt.Errorf("removing the demo's folder: %w", err))
	}
	s.dir = ""
	return killed
}

// keep keeps everything running and prints how to use it and how to stop it.
func (s *stage) keep() {
	end := fmt.Sprintf("%s down --dir %s; rm -r %s", s.bin("devcluster"), s.clusterDir(), s.dir)
	if s.exited != nil {
		end = fmt.Sprintf("kill %s; %s", s.managers.pids(), end)
	}
	fmt.Fprintf(s.narrator.out, `
Control plane and managers stay, with the managers' logs in %s/*.log. To look around:
  export KUBECONFIG=%s
To end it:
  %s
`, s.dir, s.kubeconfig(), end)
	s.dir = ""
}

// kubectl runs kubectl and shows the command and its output.
func (s *stage) kubectl(ctx context.Context, args ...string) error {
	cmd := command(ctx, s.bin("controlplane/kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig(), "KUBECACHEDIR="+filepath.Join(s.dir, "kubectl"))
	output, err := cmd.CombinedOutput()
	s.narrator.command("kubectl "+strings.Join(args, " "), string(output))
	if err != nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
