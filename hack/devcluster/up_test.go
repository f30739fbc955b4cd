package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// transcript records the output of a command and calls heard once the output contains await.
type transcript struct {
	mu    sync.Mutex
	got   bytes.Buffer
	await string
	heard func()
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got.Write(p)
	if l.heard != nil && strings.Contains(l.got.String(), l.await) {
		l.heard()
		l.heard = nil
	}
	return len(p), nil
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.got.String()
}

// realCluster returns a cluster in a temporary folder with real binaries: those in DEVCLUSTER_BIN, or those in
// bin/controlplane, which are built if missing.
func realCluster(t *testing.T, out *transcript) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a real control plane")
	}
	c, err := newCluster(newBuilder(repository(t), out), filepath.Join(t.TempDir(), "cluster"))
	must(t, err)
	t.Cleanup(func() {
		if err := c.down(context.Background()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(out)
		}
	})
	return c
}

func (c *cluster) checkNothingLeft(t *testing.T) {
	t.Helper()
	if found := stray(string(c.dir)); len(found) != 0 {
		t.Errorf("processes still run: %v", found)
	}
	if _, err := os.Stat(string(c.dir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder still exists: %v", err)
	}
	if c.leftOfNode() {
		t.Error("cgroups or the network interface of the node still exist")
	}
}

func TestUpRepairsCluster(t *testing.T) {
	out := &transcript{}
	c := realCluster(t, out)
	ctx := t.Context()
	must(t, c.up(ctx, "none", 0))
	must(t, c.status(ctx))

	before, _ := c.process(apiServer.name)
	must(t, c.up(ctx, "none", 0))
	if now, _ := c.process(apiServer.name); !before.same(now) {
		t.Error("a healthy cluster was restarted")
	}
	if err := c.up(ctx, "fake", 0); err == nil || !strings.Contains(err.Error(), "take it down first") {
		t.Errorf("up with another tier returned %v", err)
	}

	must(t, before.signal(syscall.SIGKILL))
	if !before.gone(termGrace) {
		t.Fatal("the API server still runs after SIGKILL")
	}
	if err := c.status(ctx); !errors.Is(err, errNotHealthy) {
		t.Errorf("status without an API server returned %v, want %v", err, errNotHealthy)
	}

	must(t, c.up(ctx, "none", 0))
	must(t, c.status(ctx))
	must(t, c.down(ctx))
	c.checkNothingLeft(t)
	if err := c.status(ctx); !errors.Is(err, errNotHealthy) {
		t.Errorf("status without a cluster returned %v, want %v", err, errNotHealthy)
	}
	must(t, c.down(ctx))
}

func TestUpWithTakenPort(t *testing.T) {
	out := &transcript{}
	c := realCluster(t, out)
	neighbour, err := net.Listen("tcp4", loopback+":0")
	must(t, err)
	defer func() { _ = neighbour.Close() }()
	c.choosePorts = func(n int) ([]int, error) {
		c.choosePorts = freePorts
		ports, err := freePorts(n)
		ports[0] = neighbour.Addr().(*net.TCPAddr).Port
		return ports, err
	}
	must(t, c.up(t.Context(), "none", 0))
	if !strings.Contains(out.String(), "trying others") {
		t.Error("up did not report that a port was taken")
	}
}

func TestInterruptedUp(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	c := realCluster(t, &transcript{await: "etcd ready", heard: interrupt})
	if err := c.up(ctx, "none", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted up returned %v", err)
	}
	c.checkNothingLeft(t)
}

func TestFailedComponentReported(t *testing.T) {
	out := &transcript{}
	c := realCluster(t, out)
	must(t, c.builder.build(t.Context(), []string{"etcd"}, false))
	etcd := filepath.Join(c.builder.bin, "etcd")
	c.builder.bin, c.builder.readyMade = t.TempDir(), true
	must(t, os.Symlink(etcd, filepath.Join(c.builder.bin, "etcd")))
	write(t, filepath.Join(c.builder.bin, "kube-apiserver"), "#!/bin/sh\necho my last words\nexit 7\n", 0o755)

	err := c.up(t.Context(), "none", 0)
	if err == nil {
		t.Fatal("up succeeded with a broken API server")
	}
	for _, want := range []string{"kube-apiserver", "exit status 7", "my last words", c.dir.log("kube-apiserver")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q: %v", want, err)
		}
	}
	if found := stray(string(c.dir)); len(found) != 0 {
		t.Errorf("processes still run: %v", found)
	}
	if err := c.status(t.Context()); !errors.Is(err, errNotHealthy) {
		t.Errorf("status after a failed start returned %v, want %v", err, errNotHealthy)
	}
}

func TestDownWithoutFolder(t *testing.T) {
	out := &transcript{}
	c := realCluster(t, out)
	must(t, c.up(t.Context(), "none", 0))
	must(t, os.RemoveAll(string(c.dir)))
	again, err := newCluster(c.builder, string(c.dir))
	must(t, err)
	must(t, again.down(t.Context()))
	c.checkNothingLeft(t)
}
