package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// termGrace is how long a component may take to exit after SIGTERM before it is killed.
const termGrace = 5 * time.Second

// ownerVariable is set to the cluster's folder in every component's environment. It identifies components that were not
// saved in the state or whose folder was deleted.
const ownerVariable = "DEVCLUSTER_COMPONENT_OF"

// process identifies a started component. The PID and the start time are unique until the machine reboots; the
// executable is an additional check.
type process struct {
	Name       string    `json:"name"`
	Pid        int       `json:"pid"`
	StartTime  uint64    `json:"startTime"` // clock ticks since boot: field 22 of /proc/PID/stat
	Executable string    `json:"executable"`
	Since      time.Time `json:"since"`
}

// startProcess starts a component in a new session, so it outlives this process and its terminal.
func startProcess(name, binary, dir, logPath string, args, env []string, start func(*exec.Cmd) error) (*exec.Cmd, process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, process{}, err
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append(componentEnvironment(dir), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := start(cmd); err != nil {
		return nil, process{}, err
	}
	p, err := identify(cmd.Process.Pid)
	if err != nil { // it has exited, which the caller notices by itself
		p = process{Pid: cmd.Process.Pid}
	}
	p.Name, p.Since = name, time.Now()
	return cmd, p, nil
}

// componentEnvironment returns the environment of every component of the cluster in dir. It inherits nothing: OLM, for
// example, panics on some of its own requests if CI is set.
func componentEnvironment(dir string) []string {
	return []string{"PATH=/usr/bin:/bin", "HOME=" + dir, ownerVariable + "=" + dir}
}

// identify returns the current process with a PID. For a zombie it returns an error.
func identify(pid int) (process, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	state, start, err := parseStat(stat)
	if err != nil {
		return process{}, fmt.Errorf("reading /proc/%d/stat: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return process{}, os.ErrProcessDone
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return process{}, err
	}
	// The executable may have been rebuilt since the start.
	return process{Pid: pid, StartTime: start, Executable: strings.TrimSuffix(exe, " (deleted)")}, nil
}

// parseStat parses the state and the start time in /proc/PID/stat. The name in the second field may contain spaces and
// brackets, so fields are counted after the last bracket.
func parseStat(stat []byte) (state byte, start uint64, err error) {
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	const stateField, startField = 0, 22 - 3
	if end < 0 || len(fields) <= startField {
		return 0, 0, errors.New("the content is truncated")
	}
	start, err = strconv.ParseUint(fields[startField], 10, 64)
	return fields[stateField][0], start, err
}

// alive reports whether p still runs, and not another process with its PID.
func (p process) alive() bool {
	now, err := identify(p.Pid)
	return err == nil && p.same(now)
}

func (p process) same(other process) bool {
	return p.Pid == other.Pid && p.StartTime == other.StartTime && p.Executable == other.Executable
}

// signal sends sig to p only: the handle is opened before the identity is checked, so the PID cannot be reused.
func (p process) signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(p.Pid)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }()
	if !p.alive() {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// stop ends p with SIGTERM and then SIGKILL, and returns when p has exited.
func (p process) stop() error {
	for _, step := range []struct {
		sig   syscall.Signal
		grace time.Duration
	}{{syscall.SIGTERM, termGrace}, {syscall.SIGKILL, 5 * time.Second}} {
		if err := p.signal(step.sig); errors.Is(err, os.ErrProcessDone) {
			return nil
		} else if err != nil {
			return fmt.Errorf("stopping %s (pid %d): %w", p.Name, p.Pid, err)
		}
		if p.gone(step.grace) {
			return nil
		}
	}
	return fmt.Errorf("stopping %s (pid %d): it survived SIGKILL", p.Name, p.Pid)
}

func (p process) gone(within time.Duration) bool {
	for deadline := time.Now().Add(within); p.alive(); {
		if time.Now().After(deadline) {
			return false
		}
		_ = pause(context.Background(), 10*time.Millisecond)
	}
	return true
}

// stray returns the running components of the cluster in dir, found by their environment only.
func stray(dir string) []process {
	var found []process
	entries, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range entries {
		environ, err := os.ReadFile(path) // readable only for processes of the same user
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), ownerVariable+"="+dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		p, err := identify(pid)
		if err != nil || !isComponent(filepath.Base(p.Executable)) {
			continue
		}
		p.Name = filepath.Base(p.Executable)
		found = append(found, p)
	}
	return found
}
