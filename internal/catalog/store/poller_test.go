package store

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/connectivity"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/catalog"
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
	f := &poller{origin: o, timeout: time.Minute, fits: func(*reading) error { return nil }, record: func(_ *reading, oc outcome) bool {
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
		t.Errorf("A poller that ends leaves nothing behind: its connection is %s", state)
	}
}
