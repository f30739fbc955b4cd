package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/connectivity"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func TestFeedEnds(t *testing.T) {
	address, stop := catalogtest.ServeGRPC(t, "", catalogtest.FBC("foo", "1.0.0"))
	o, err := newGRPCOrigin(address, access{readers: newReaders(t.TempDir(), catalog.DefaultLimits), limits: catalog.DefaultLimits,
		route: Anywhere.of(types.NamespacedName{})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	outcomes := make(chan outcome, 10)
	f := &poller{origin: o, limit: newLimit(true), timeout: time.Minute, fits: func(*reading) error { return nil }, record: func(_ *reading, oc outcome) bool {
		outcomes <- oc
		return ctx.Err() == nil
	}}
	done := make(chan struct{})
	go func() { defer close(done); f.run(ctx) }()
	if oc := <-outcomes; oc.err != nil {
		t.Fatal(oc.err)
	}
	stop()
	for oc := range outcomes { // one more success is possible before the registry's end is noticed
		if oc.err != nil {
			break
		}
	}
	cancel()
	<-done
	if state := o.conn.GetState(); state != connectivity.Shutdown {
		t.Errorf("the connection of a poller that has ended is %s", state)
	}
}

// TestPollerLimit verifies that an origin that changes all the time is read at a limited rate, but a few changes at once.
func TestPollerLimit(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted bool
		want    int
	}{
		{"Trusted", true, 5 + 60},
		{"Untrusted", false, 5 + 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Millisecond)
				defer cancel()
				o := &restless{}
				f := &poller{origin: o, limit: newLimit(c.trusted), timeout: time.Minute, fits: func(*reading) error { return nil },
					record: func(*reading, outcome) bool { return ctx.Err() == nil }}
				f.run(ctx)
				if got := o.reads; got != c.want {
					t.Errorf("read %d times in a minute, want %d", got, c.want)
				}
			})
		})
	}
}

// TestPollerBackoff verifies that an origin that is polled often is read less often while it has no catalog, and as often as
// before when it has one.
func TestPollerBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start, o := time.Now(), &broken{until: time.Now().Add(10 * time.Minute)}
		var failed, succeeded int
		f := &poller{origin: o, limit: newLimit(false), every: shortestUntrusted, timeout: time.Minute, fits: func(*reading) error { return nil },
			record: func(_ *reading, oc outcome) bool {
				if oc.err == nil {
					succeeded++
				} else {
					failed++
				}
				return time.Since(start) < 14*time.Minute
			}}
		f.run(ctx)
		if want := 11; failed != want { // at once, after 4 intervals, 16, 32, and 64 s, and 3 times after 2 minutes
			t.Errorf("read %d times in 10 minutes without a catalog, want %d", failed, want)
		}
		if least := 2 * 60 / int(shortestUntrusted.Seconds()); succeeded < least { // 2 of the 4 minutes may be a pause
			t.Errorf("read %d times in 4 minutes with a catalog, want at least %d", succeeded, least)
		}
	})
}

// broken is an origin that has no catalog for some time.
type broken struct{ until time.Time }

func (o *broken) read(_ context.Context, known *reading) (*reading, error) {
	if time.Now().Before(o.until) {
		return known, catalog.Errorf(v1alpha1.ReasonNotACatalog, "it has no files")
	}
	return known, nil
}

func (*broken) await(ctx context.Context) { <-ctx.Done() }
func (*broken) close()                    {}

// restless is an origin that has always changed.
type restless struct{ reads int }

func (o *restless) read(_ context.Context, known *reading) (*reading, error) {
	o.reads++
	return known, nil
}

func (*restless) await(context.Context) {}
func (*restless) close()                {}
