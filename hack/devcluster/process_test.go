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
		"plain":             {"The state and the start time are parsed.", "42 (etcd) S " + rest, 'S', 987654, false},
		"brackets in names": {"The name of a program may contain brackets.", "42 (a) Z 9 (b) R " + rest, 'R', 987654, false},
		"ended":             {"The start time of a zombie is parsed.", "42 (etcd) Z " + rest, 'Z', 987654, false},
		"cut short":         {"A truncated line is an error.", "42 (etcd) S 1 1", 0, 0, true},
		"empty":             {"An empty line is an error.", "", 0, 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			state, start, err := parseStat([]byte(tc.stat))
			if (err != nil) != tc.fails || err == nil && (state != tc.state || start != tc.start) {
				t.Errorf("%s parseStat returned %c %d %v, want %c %d", tc.reason, state, start, err, tc.state, tc.start)
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

func TestSignalChecksIdentity(t *testing.T) {
	p := sleeper(t, t.TempDir())
	cases := map[string]struct {
		reason string
		change func(*process)
	}{
		"another start time": {"A process with the same PID and another start time is not signalled.", func(p *process) { p.StartTime++ }},
		"another executable": {"A process with the same PID and another executable is not signalled.", func(p *process) { p.Executable = "/usr/bin/editor" }},
		"another number":     {"A process with another PID is not signalled.", func(p *process) { p.Pid = 1 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := p
			tc.change(&other)
			if err := other.signal(syscall.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("%s Signal returned %v, want %v", tc.reason, err, os.ErrProcessDone)
			}
		})
	}
	if !p.alive() {
		t.Fatal("the process was signalled although its identity differs")
	}
	must(t, p.stop())
	if p.alive() {
		t.Error("the process is alive after it was stopped")
	}
	must(t, p.stop()) // again, which does nothing
}

func TestIdentityAfterBinaryReplaced(t *testing.T) {
	p := sleeper(t, t.TempDir())
	must(t, os.Remove(p.Executable))
	if !p.alive() {
		t.Error("a process whose binary was replaced is not recognized")
	}
}

func TestStrayProcesses(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	p := sleeper(t, dir)
	found := stray(dir)
	if len(found) != 1 || !found[0].same(p) {
		t.Errorf("stray processes of %s are %v, want %v", dir, found, p)
	}
	if found := stray(elsewhere); len(found) != 0 {
		t.Errorf("stray processes of another folder are %v, want none", found)
	}
}

func TestComponentSessionAndEnvironment(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://proxy.example.com")
	p := sleeper(t, t.TempDir())
	if got := environ(t, p); bytes.Contains(got, []byte("HTTPS_PROXY")) {
		t.Errorf("the environment of the component is %q", got)
	}
	if group, err := syscall.Getpgid(p.Pid); err != nil || group != p.Pid {
		t.Errorf("the process group of the component is %d (%v), want %d", group, err, p.Pid)
	}
}
