package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/sandbox"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func routeOf(namespace, name string) route {
	return tenants("", "").of(types.NamespacedName{Namespace: namespace, Name: name})
}

// used returns the process that reads for a route, which may be reused afterwards.
func used(t *testing.T, r *readers, to route, reusable bool) (out *sandbox.Process) {
	t.Helper()
	err := r.with(t.Context(), to, func(p *sandbox.Process) (bool, error) {
		out = p
		return reusable, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReadersWait verifies that catalogs with long reads delay those of their own namespace, but not trusted ones.
func TestReadersWait(t *testing.T) {
	r := newReaders(t.TempDir(), catalog.DefaultLimits)
	ctx, cancel := context.WithCancel(t.Context())
	begun, busy := make(chan struct{}), make(chan struct{})
	for i := range namespaceReaders {
		go func() {
			err := r.with(ctx, routeOf("tenant", fmt.Sprint(i)), func(*sandbox.Process) (bool, error) {
				begun <- struct{}{}
				<-busy
				return false, nil
			})
			if err != nil {
				t.Error(err)
				begun <- struct{}{}
			}
		}()
		<-begun
	}
	const short, long = time.Second, time.Minute
	read := func(namespace string, within time.Duration) error {
		limited, done := context.WithTimeout(t.Context(), within)
		defer done()
		return r.with(limited, routeOf(namespace, "next"), func(*sandbox.Process) (bool, error) { return false, nil })
	}
	if err := read("tenant", short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a namespace exceeds its limit of processes: %v", err)
	}
	for _, namespace := range []string{"other", "olm"} {
		if err := read(namespace, long); err != nil {
			t.Errorf("namespace %s waits for another: %v", namespace, err)
		}
	}
	close(busy)
	if err := read("tenant", long); err != nil {
		t.Errorf("the namespace does not get a process after the others have ended: %v", err)
	}
	cancel()
}

// TestReadersIdle verifies that a process only reads for one catalog, and that idle processes end.
func TestReadersIdle(t *testing.T) {
	r := newReaders(t.TempDir(), catalog.DefaultLimits)
	use := func(to route, reusable bool) *sandbox.Process { return used(t, r, to, reusable) }
	mine, other := routeOf("tenant", "a"), routeOf("tenant", "b")
	first := use(mine, true)
	if use(other, true) == first {
		t.Error("a process is reused for another catalog")
	}
	if use(mine, false) != first {
		t.Error("an idle process of the catalog is not reused")
	}
	if use(mine, true) == first {
		t.Error("a process that is not reusable is reused")
	}
	for end := time.Now().Add(10 * idleReader); ; time.Sleep(10 * time.Millisecond) {
		r.mu.Lock()
		running, idle := len(r.running), len(r.idle)
		r.mu.Unlock()
		if running == 0 && idle == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d processes run and those of %d catalogs are idle after the timeout", running, idle)
		}
	}
}

// TestReadersSpare verifies that a process waits for the next trusted catalog, however much is read of other catalogs.
func TestReadersSpare(t *testing.T) {
	r := newReaders(t.TempDir(), catalog.DefaultLimits)
	read := func(to route) *sandbox.Process { return used(t, r, to, false) }
	spare := func() *sandbox.Process {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.spare
	}
	read(routeOf("olm", "a"))
	begun := time.Now()
	for spare() == nil {
		if read(routeOf("tenant", "a")); time.Since(begun) > 20*spareAfter {
			t.Fatal("no spare process is started while a tenant's catalogs are read")
		}
	}
	waiting := spare()
	if read(routeOf("tenant", "b")) == waiting || spare() != waiting {
		t.Error("a tenant's catalog is read by the spare process for trusted ones")
	}
	if read(routeOf("olm", "b")) != waiting {
		t.Error("a trusted catalog is not read by the spare process")
	}
}

// TestTooMuchMemory verifies that a catalog that needs too much memory ends its reader process, and that the next one
// is read.
func TestTooMuchMemory(t *testing.T) {
	r := newReaders(t.TempDir(), catalog.DefaultLimits)
	a := access{readers: r, limits: catalog.DefaultLimits, route: routeOf("tenant", "a")}
	ask := func(text string) (int, error) {
		packages := 0
		err := a.ask(t.Context(), catalog.Request{Files: map[string][]byte{"catalog.yaml": []byte(text)}}, nil, func(_ *conversation, answer catalog.Answer) error {
			if answer.Package != nil {
				packages++
			}
			return nil
		})
		return packages, err
	}
	_, err := ask("schema: olm.package\nname: foo\nproperties: [" + strings.Repeat("{},", 8<<20) + "]\n")
	if got := catalog.AsError(err, "none"); got.Reason != v1alpha1.ReasonTooLarge ||
		got.Error() != "to read it, more than the limit of 192 MiB of memory would be needed" {
		t.Errorf("%v", err)
	}
	if n, err := ask(catalogtest.FBC("foo", "1.0.0")); n != 1 || err != nil {
		t.Errorf("the next catalog is not read: %d %v", n, err)
	}
}

// TestPrecedes verifies which process is ended when all together use too much memory: no catalog that is not trusted may
// keep a trusted one from being read, also not by the processes that wait for its next request.
func TestPrecedes(t *testing.T) {
	busy, trusted, idle, idleTrusted := consumer{}, consumer{trusted: true}, consumer{idle: true}, consumer{trusted: true, idle: true}
	for name, tc := range map[string]struct {
		a, b consumer
		want int
	}{
		"TrustedLast":     {trusted, busy, -1},
		"IdleFirst":       {idle, busy, 1},
		"IdleTrustedToo":  {idleTrusted, busy, 1},
		"SizesOfTrusted":  {trusted, trusted, 0},
		"SizesOfOthers":   {busy, busy, 0},
		"SizesOfIdle":     {idle, idleTrusted, 0},
		"IdleBeforeThose": {trusted, idle, -1},
	} {
		if got := tc.a.precedes(tc.b); got != tc.want || tc.b.precedes(tc.a) != -tc.want {
			t.Errorf("%s: %d; want %d", name, got, tc.want)
		}
	}
}
