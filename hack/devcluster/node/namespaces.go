// Package node is the part of a real node that the kernel provides. A node is a set of namespaces of its own (processes,
// mounts, network, host name, IPC), kept by one process: when that ends, the kernel ends every other process of the node
// and removes its mounts, interfaces, routes and firewall rules. Only its cgroups and its link to this machine are
// removed explicitly.
package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaces lists the namespaces of a node by their name in /proc/PID/ns.
var namespaces = []struct {
	name string
	flag int
}{
	{"net", unix.CLONE_NEWNET},
	{"uts", unix.CLONE_NEWUTS},
	{"ipc", unix.CLONE_NEWIPC},
	{"pid", unix.CLONE_NEWPID},
	{"mnt", unix.CLONE_NEWNS}, // last, since /proc changes with it
}

// Start starts cmd as the first process of a new node.
func Start(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	for _, n := range namespaces {
		cmd.SysProcAttr.Cloneflags |= uintptr(n.flag)
	}
	return cmd.Start()
}

// StartIn starts cmd in the node whose first process is pid, with the paths of the node.
func StartIn(pid int, cmd *exec.Cmd) error {
	var err error
	onDedicatedThread(func() {
		if err = enter(pid); err == nil {
			err = cmd.Start()
		}
	})
	return err
}

// onDedicatedThread calls do on a thread that ends afterwards, so no other goroutine runs in the namespaces that do enters.
// It never uses the main thread, which cannot end, and whose namespaces are shown as those of this process.
func onDedicatedThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() {
			onDedicatedThread(do)
			runtime.UnlockOSThread()
			return
		}
		do()
	}()
	<-done
}

// enter moves the current thread into a node. Processes that it starts are also in the node's PID namespace.
func enter(pid int) error {
	var files []*os.File
	defer func() {
		for _, file := range files {
			_ = file.Close()
		}
	}()
	for _, n := range namespaces {
		file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/" + n.name)
		if err != nil {
			return fmt.Errorf("entering the node: %w", err)
		}
		files = append(files, file)
	}
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // a thread that shares its working directory cannot change mounts
		return fmt.Errorf("entering the node: %w", err)
	}
	for i, n := range namespaces {
		if err := unix.Setns(int(files[i].Fd()), n.flag); err != nil {
			return fmt.Errorf("entering the node's %s namespace: %w", n.name, err)
		}
	}
	return nil
}

// collectOrphans waits for the processes that the kernel gives to the first process of the node.
func collectOrphans() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
