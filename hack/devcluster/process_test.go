package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = "1 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 100 1"
	cases := map[string]struct {
		reason, stat string
		state        byte
		start        uint64
		fails        bool
	}{
		"plain":             {"", "42 (etcd) S " + rest, 'S', 987654, false},
		"brackets in names": {"A program may call itself anything.", "42 (a) Z 9 (b) R " + rest, 'R', 987654, false},
		"ended":             {"A zombie has a start time too.", "42 (etcd) Z " + rest, 'Z', 987654, false},
		"cut short":         {"What cannot be read is no identity.", "42 (etcd) S 1 1", 0, 0, true},
		"empty":             {"What cannot be read is no identity.", "", 0, 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state, start, err := parseStat([]byte(tc.stat))
			if (err != nil) != tc.fails || err == nil && (state != tc.state || start != tc.start) {
				t.Errorf("%s: got %c %d %v, want %c %d", tc.reason, state, start, err, tc.state, tc.start)
			}
		})
	}
}

// sleeper starts an idle process with the name of a component, as a component of the cluster in dir.
func sleeper(t *testing.T, dir string) process {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	content, err := os.ReadFile(sleep)
	must(t, err)
	binary := write(t, filepath.Join(t.TempDir(), "etcd"), string(content), 0o755)
	cmd, p, err := startProcess("etcd", binary, dir, filepath.Join(dir, "log"), []string{"600"}, nil, (*exec.Cmd).Start)
	must(t, err)
	go func() { _ = cmd.Wait() }()
	t.Cleanup(func() { _ = p.stop() })
	// /proc shows the environment of a process only a moment after exec.
	for deadline := time.Now().Add(10 * time.Second); len(environ(t, p)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the process has no environment")
		}
		_ = pause(t.Context(), time.Millisecond)
	}
	return p
}

func environ(t *testing.T, p process) []byte {
	t.Helper()
	out, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Pid))
	must(t, err)
	return out
}

func TestOnlyTheSameProcessIsSignalled(t *testing.T) {
	p := sleeper(t, t.TempDir())
	cases := map[string]struct {
		reason string
		change func(*process)
	}{
		"another start time": {"The number went to a later process.", func(p *process) { p.StartTime++ }},
		"another executable": {"The number is some other program's.", func(p *process) { p.Executable = "/usr/bin/editor" }},
		"another number":     {"There is no such process, or it is not ours.", func(p *process) { p.Pid = 1 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := p
			tc.change(&other)
			if err := other.signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("%s: signal returned %v, want %v", tc.reason, err, os.ErrProcessDone)
			}
		})
	}
	if !p.alive() {
		t.Fatal("the process was signalled under a false identity")
	}
	must(t, p.stop())
	if p.alive() {
		t.Error("stopped, but still alive")
	}
	must(t, p.stop()) // again, which does nothing
}

func TestRebuiltBinaryIsStillTheSameProcess(t *testing.T) {
	p := sleeper(t, t.TempDir())
	must(t, os.Remove(p.Executable))
	if !p.alive() {
		t.Error("a process whose binary was replaced is not recognised")
	}
}

func TestStray(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	p := sleeper(t, dir)
	found := stray(dir)
	if len(found) != 1 || !found[0].same(p) {
		t.Errorf("the stray of %s: got %v, want %v", dir, found, p)
	}
	if found := stray(elsewhere); len(found) != 0 {
		t.Errorf("strays of a folder that has none: %v", found)
	}
}

func TestComponentsGetASessionAndNoEnvironmentOfOurs(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com")
	p := sleeper(t, t.TempDir())
	if got := environ(t, p); bytes.Contains(got, []byte("HTTPS_PROXY")) {
		t.Errorf("the environment is %q", got)
	}
	if group, err := syscall.Getpgid(p.Pid); err != nil || group != p.Pid {
		t.Errorf("its process group is %d (%v), want its own, %d", group, err, p.Pid)
	}
}
