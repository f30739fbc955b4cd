package store

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/connectivity"
	"k8s.io/apimachinery/pkg/types"

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

// restless is an origin that has always changed.
type restless struct{ reads int }

func (o *restless) read(_ context.Context, known *reading) (*reading, error) {
	o.reads++
	return known, nil
}

func (*restless) await(context.Context) {}
func (*restless) close()                {}
