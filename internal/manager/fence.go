package manager

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// writesFor is how long after a renewal of its lease a leader may write: as long as it tries to renew it. Another
// manager takes over the lease 15 seconds after the renewal, so requests have the difference to arrive.
const writesFor = 10 * time.Second

// errNotLeader is the error of a write that is not sent.
var errNotLeader = errors.New("this manager may no longer be the leader: it does not write until it has renewed its lease")

// fence keeps a manager that has lost its lease from writing. Leader election alone does not: a process that was stopped for
// a while, with its node or its container, continues where it was, before it notices that another leader has taken over.
type fence struct {
	mu      sync.Mutex
	renewed time.Time // start of the last successful renewal, or zero while another manager leads
	now     func() time.Time
}

func newFence() *fence { return &fence{now: time.Now} }

// open reports whether the manager may write.
func (f *fence) open() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.renewed.IsZero() {
		return false
	}
	now := f.now()
	// The monotonic clock stands still while some machines sleep, and the other clock may be set.
	return max(now.Sub(f.renewed), now.Round(0).Sub(f.renewed.Round(0))) < writesFor
}

// lock returns a lock that notifies the fence of renewals.
func (f *fence) lock(l resourcelock.Interface) resourcelock.Interface { return fencedLock{l, f} }

type fencedLock struct {
	resourcelock.Interface
	fence *fence
}

func (l fencedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

func (l fencedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

func (l fencedLock) write(record resourcelock.LeaderElectionRecord, do func() error) error {
	began := l.fence.now()
	if record.HolderIdentity != l.Identity() { // it gives the lease back
		began = time.Time{}
	}
	if began.IsZero() {
		l.fence.set(began)
	}
	err := do()
	if err == nil {
		l.fence.set(began)
	}
	return err
}

func (f *fence) set(renewed time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renewed = renewed
}

// wrap returns a transport that sends writes only while the fence is open.
func (f *fence) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if changes(request) && !f.open() {
			return nil, errNotLeader
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// changes reports whether a request changes the cluster. A review, which is created, does not.
func changes(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	path := request.URL.Path
	return !strings.Contains(path, "/apis/authentication.k8s.io/") && !strings.Contains(path, "/apis/authorization.k8s.io/")
}
