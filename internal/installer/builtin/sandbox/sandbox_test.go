//go:build linux

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
)

const childMode = "run-as-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMode {
		child()
		return
	}
	os.Exit(m.Run())
}

// order is an instruction for a child.
type order struct {
	Do, With string
	Number   int
}

// outcome is the result of an order.
type outcome struct {
	Text, Err string
}

func child() {
	c, err := sandbox.Enter()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		var o order
		if c.Receive(&o) != nil {
			return
		}
		text, err := orders[o.Do](c, o)
		out := outcome{Text: text}
		if err != nil {
			out.Err = err.Error()
		}
		if c.Send(out) != nil {
			return
		}
	}
}

// kept are connections that a child does not close.
var kept []net.Conn

// orders are the actions that an attacker may try in a child.
var orders = map[string]func(*sandbox.Child, order) (string, error){
	"read a file": func(_ *sandbox.Child, o order) (string, error) {
		out, err := os.ReadFile(o.With)
		return string(out), err
	},
	"keep a connection open": func(c *sandbox.Child, o order) (string, error) {
		conn, err := c.Dial(context.Background(), sandbox.Address{Host: o.With})
		if err == nil {
			kept = append(kept, conn)
		}
		return "", err
	},
	"read from those connections": func(*sandbox.Child, order) (out string, err error) {
		for _, conn := range kept {
			text, problem := io.ReadAll(conn)
			out, err = out+string(text), errors.Join(err, problem)
		}
		return out, err
	},
	"write a file": func(_ *sandbox.Child, o order) (string, error) {
		return "", os.WriteFile(o.With, []byte("x"), 0o600)
	},
	"list a folder": func(_ *sandbox.Child, o order) (string, error) {
		_, err := os.ReadDir(o.With)
		return "", err
	},
	"open a connection": func(_ *sandbox.Child, o order) (string, error) {
		_, err := net.Dial("tcp", o.With)
		return "", err
	},
	"listen": func(*sandbox.Child, order) (string, error) {
		_, err := net.Listen("tcp", "127.0.0.1:0")
		return "", err
	},
	"start a program": func(_ *sandbox.Child, o order) (string, error) {
		return "", exec.Command(o.With).Run()
	},
	"signal its parent": func(*sandbox.Child, order) (string, error) {
		return "", syscall.Kill(os.Getppid(), syscall.SIGTERM)
	},
	"signal a thread of its parent": func(*sandbox.Child, order) (string, error) {
		_, _, errno := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getppid()), uintptr(os.Getppid()), uintptr(syscall.SIGTERM))
		return "", failed(errno)
	},
	"have a socket signal its parent": func(*sandbox.Child, order) (string, error) {
		const control = 3
		if _, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, control, unix.F_SETSIG, uintptr(syscall.SIGKILL)); errno != 0 {
			return "", errno
		}
		_, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, control, unix.F_SETOWN, uintptr(os.Getppid()))
		return "", failed(errno)
	},
	"trace its parent": func(*sandbox.Child, order) (string, error) {
		return "", syscall.PtraceAttach(os.Getppid())
	},
	"read its parent's memory": func(*sandbox.Child, order) (string, error) {
		into := make([]byte, 8)
		local := []unix.Iovec{{Base: &into[0], Len: 8}}
		_, err := unix.ProcessVMReadv(os.Getppid(), local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
		return "", err
	},
	"raise its limits": func(*sandbox.Child, order) (string, error) {
		return "", unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY})
	},
	"read its environment": func(*sandbox.Child, order) (string, error) {
		return strings.Join(os.Environ(), " "), nil
	},
	"fork": func(*sandbox.Child, order) (string, error) {
		_, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		return "", failed(errno)
	},
	"take memory": func(_ *sandbox.Child, o order) (string, error) {
		var all [][]byte
		for range o.Number {
			piece := make([]byte, 1<<20)
			for i := range piece {
				piece[i] = byte(i)
			}
			all = append(all, piece)
		}
		return fmt.Sprint(len(all)), nil
	},
	"take memory at once": func(_ *sandbox.Child, o order) (string, error) {
		return fmt.Sprint(len(make([]byte, o.Number<<20))), nil
	},
	"end": func(*sandbox.Child, order) (string, error) {
		fmt.Fprintln(os.Stderr, "panic: of the child")
		os.Exit(3)
		return "", nil
	},
	"answer at length": func(_ *sandbox.Child, o order) (string, error) {
		return strings.Repeat("x", o.Number), nil
	},
	"use the scratch file": func(c *sandbox.Child, o order) (string, error) {
		if _, err := c.Scratch.WriteAt([]byte(o.With), int64(o.Number)); err != nil {
			return "", err
		}
		out := make([]byte, len(o.With))
		_, err := c.Scratch.ReadAt(out, int64(o.Number))
		return string(out), err
	},
	"ask for a connection": func(c *sandbox.Child, o order) (string, error) {
		conn, err := c.Dial(context.Background(), sandbox.Address{Host: o.With})
		if err != nil {
			if refused, ok := errors.AsType[*sandbox.DialError](err); ok {
				return refused.Code, err
			}
			return "", err
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write([]byte("ping")); err != nil {
			return "", err
		}
		out, err := io.ReadAll(conn)
		return string(out), err
	},
}

func failed(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

const memory = 96 << 20

func start(t *testing.T, dial sandbox.Dial) *sandbox.Process {
	t.Helper()
	return startWith(t, dial, sandbox.Options{})
}

func startWith(t *testing.T, dial sandbox.Dial, o sandbox.Options) *sandbox.Process {
	t.Helper()
	o.Args, o.Memory, o.Dir, o.Scratch = []string{childMode}, memory, t.TempDir(), 1<<20
	p, err := sandbox.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	p.Use(dial)
	t.Cleanup(p.Close)
	if p.Unconfined != "" {
		t.Fatalf("the child is not confined: %s", p.Unconfined)
	}
	return p
}

func do(t *testing.T, p *sandbox.Process, o order) (outcome, error) {
	t.Helper()
	if err := p.Send(o); err != nil {
		t.Fatal(err)
	}
	p.Expect(1 << 20)
	var out outcome
	err := p.Receive(&out)
	return out, err
}

func TestChildRestrictions(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	p := start(t, nil)
	for _, tc := range []struct {
		order
		reason string
	}{
		{order{Do: "read a file", With: secret}, "A child cannot read a file such as the manager's token."},
		{order{Do: "read a file", With: "/proc/self/environ"}, "A child cannot read its environment from /proc."},
		{order{Do: "write a file", With: secret}, "A child cannot write a file."},
		{order{Do: "list a folder", With: "/"}, "A child cannot list a folder."},
		{order{Do: "open a connection", With: server.Addr().String()}, "A child cannot connect to an address such as that of the API server."},
		{order{Do: "listen"}, "A child cannot listen."},
		{order{Do: "start a program", With: "/proc/self/exe"}, "A child cannot execute a program."},
		{order{Do: "fork"}, "A child cannot fork, since its own child would not be killed with it."},
		{order{Do: "signal its parent"}, "A child cannot signal its parent, which runs as the same user."},
		{order{Do: "signal a thread of its parent"}, "A child cannot signal a thread of its parent with the call that Go's runtime uses for its own threads."},
		{order{Do: "have a socket signal its parent"}, "A child cannot make the kernel send a signal to its parent."},
		{order{Do: "trace its parent"}, "A child cannot trace its parent, which runs as the same user."},
		{order{Do: "read its parent's memory"}, "A child cannot read the memory of its parent, which runs as the same user."},
		{order{Do: "raise its limits"}, "A child cannot raise its limits, even as root."},
	} {
		t.Run(tc.Do+" "+filepath.Base(tc.With), func(t *testing.T) {
			got, err := do(t, p, tc.order)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(got.Err, "operation not permitted") {
				t.Errorf("%s\ngot %+v", tc.reason, got)
			}
		})
	}
	t.Setenv("A_SECRET", "secret")
	if got, err := do(t, start(t, nil), order{Do: "read its environment"}); err != nil || strings.Contains(got.Text, "A_SECRET") {
		t.Errorf("the child has its parent's environment: %s %v", got.Text, err)
	}
}

func TestMemory(t *testing.T) {
	p := start(t, nil)
	if got, err := do(t, p, order{Do: "take memory", Number: 10}); err != nil || got.Text != "10" {
		t.Fatalf("%+v %v", got, err)
	}
	for _, how := range []string{"take memory", "take memory at once"} {
		_, err := do(t, start(t, nil), order{Do: how, Number: 4 << 10})
		if over, ok := errors.AsType[*sandbox.MemoryError](err); !ok || over.Limit != memory {
			t.Errorf("%s: %v", how, err)
		}
	}
	if got, err := do(t, p, order{Do: "take memory", Number: 10}); err != nil || got.Text != "10" {
		t.Errorf("another child was affected: %+v %v", got, err)
	}
}

// TestBackground verifies that a child in the background yields the CPU to other processes with all its threads.
func TestBackground(t *testing.T) {
	priorities := func(background bool) (out []int) {
		p := startWith(t, nil, sandbox.Options{Background: background})
		if got, err := do(t, p, order{Do: "take memory", Number: 10}); err != nil || got.Text != "10" { // with several threads
			t.Fatalf("%+v %v", got, err)
		}
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.PID()))
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range threads {
			id, err := strconv.Atoi(filepath.Base(thread))
			if err != nil {
				t.Fatal(err)
			}
			priority, err := unix.Getpriority(unix.PRIO_PROCESS, id)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, priority)
		}
		return slices.Compact(slices.Sorted(slices.Values(out)))
	}
	if foreground, background := priorities(false), priorities(true); len(foreground) != 1 || len(background) != 1 || background[0] >= foreground[0] {
		t.Errorf("the priorities of its threads are %v; those of others %v", background, foreground)
	}
}

func TestEnds(t *testing.T) {
	if _, err := do(t, start(t, nil), order{Do: "end"}); err == nil || !strings.Contains(err.Error(), "exit status 3: panic: of the child") {
		t.Errorf("%v", err)
	}
	if _, err := do(t, start(t, nil), order{Do: "answer at length", Number: 2 << 20}); !errors.Is(err, sandbox.ErrTooMuch) {
		t.Errorf("%v", err)
	}
	p := start(t, nil)
	time.AfterFunc(10*time.Millisecond, p.Kill)
	var none json.RawMessage
	if err := p.Receive(&none); err == nil {
		t.Error("a killed child replies")
	}
}

func TestScratch(t *testing.T) {
	p := start(t, nil)
	if got, err := do(t, p, order{Do: "use the scratch file", With: "text", Number: 100}); err != nil || got.Text != "text" {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := do(t, p, order{Do: "use the scratch file", With: "text", Number: 1 << 20}); err != nil || !strings.Contains(got.Err, "file too large") {
		t.Errorf("the child writes more than the limit: %+v %v", got, err)
	}
}

func TestDial(t *testing.T) {
	asked := make(chan string, 10)
	p := start(t, func(_ context.Context, to sandbox.Address) (net.Conn, error) {
		asked <- to.Host
		if to.Host != "allowed:1" {
			return nil, &sandbox.DialError{Code: "NotAllowed", Message: to.Host + " is not allowed"}
		}
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			ping := make([]byte, 4)
			_, _ = io.ReadFull(theirs, ping)
			_, _ = theirs.Write(append([]byte("pong to "), ping...))
		}()
		return ours, nil
	})
	for range 2 * 16 { // more than there can be at a time
		got, err := do(t, p, order{Do: "ask for a connection", With: "allowed:1"})
		if err != nil || got.Text != "pong to ping" {
			t.Fatalf("%+v %v", got, err)
		}
		<-asked
	}
	for range 2 * 16 {
		got, err := do(t, p, order{Do: "keep a connection open", With: "allowed:1"})
		if err != nil || got.Err != "" {
			t.Fatalf("%+v %v", got, err)
		}
		<-asked
		p.Disconnect()
	}
	if got, err := do(t, p, order{Do: "read from those connections"}); err != nil || got.Text != "" || got.Err != "" {
		t.Errorf("a connection is still open: %+v %v", got, err)
	}
	got, err := do(t, p, order{Do: "ask for a connection", With: "other:1"})
	if err != nil || got.Err != "other:1 is not allowed" || got.Text != "NotAllowed" {
		t.Errorf("%+v %v", got, err)
	}
}
