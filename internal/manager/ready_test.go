package manager

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// syncing is a cache that is synced once it is closed.
type syncing chan struct{}

func (s syncing) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-s:
		return true
	case <-ctx.Done():
		return false
	}
}

// TestSynced verifies that the readiness check fails, within the time that a probe allows, until the caches are synced.
func TestSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informers := make(syncing)
		check := synced(informers)
		begin := time.Now()
		if err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)); err == nil {
			t.Error("ready although the caches are not synced")
		}
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the check took %s; the kubelet waits for a second", took)
		}
		close(informers)
		if err := check(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)); err != nil {
			t.Errorf("the caches are synced: %v", err)
		}
	})
}
