// Package neighbour runs the programs of other projects beside the manager.
package neighbour

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// Program is a program in bin/neighbours.
type Program struct {
	Name string
	Env  []string

	// Kubeconfig is the file with which it connects.
	Kubeconfig string
}

// Start starts the program, which ends with the test.
func (p Program) Start(t *testing.T, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.ArtifactDir(), p.Name+strings.ReplaceAll(args[0], "/", "-")+".log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(p.Path(), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.Kubeconfig, "PATH="+filepath.Join(testcluster.Root(), "bin")+":"+os.Getenv("PATH"))
	command.Env = append(command.Env, p.Env...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.Name, err)
	}
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Errorf("ending %s: %v", p.Name, err)
		}
		_ = command.Wait() // it was killed
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s %s:\n%s", p.Name, args[0], text[max(0, len(text)-4000):])
		}
	})
}

// Path returns the file of the program.
func (p Program) Path() string { return filepath.Join(testcluster.Root(), "bin", "neighbours", p.Name) }

// Module returns the folder of a module that a module in hack requires.
func Module(t *testing.T, folder, path string) string {
	t.Helper()
	command := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path)
	command.Dir = filepath.Join(testcluster.Root(), "hack", folder)
	out, err := command.Output()
	if err != nil {
		t.Fatalf("looking up the folder of %s: %v", path, err)
	}
	return strings.TrimSpace(string(out))
}
