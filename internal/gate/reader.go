package gate

import (
	"cmp"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// NoReader is the reader while no process reads custom resources. No process has that name.
const NoReader = "none"

// ReaderLease follows the lease of the process that reads custom resources. What they report is not known while no process
// renews it.
type ReaderLease struct {
	mu      sync.Mutex
	renewed metav1.MicroTime // the holder's clock when it last renewed the lease
	asked   time.Time        // when that was last looked up
	alive   time.Time        // when a renewal was last seen to happen
}

// renewedWithin is how old a renewal may be. A holder renews every two seconds, and ends itself after ten without: so an
// update is held too early rather than too late.
const renewedWithin = 5 * time.Second

// clockSkew is how far the holder's clock may be ahead of ours to be relied on.
const clockSkew = time.Second

// Holder returns the identity of the holder; NoReader where it has not renewed the lease recently, or has released it. Where the
// clocks of the two machines differ, it takes two calls within five seconds to see that the lease is renewed.
func (l *ReaderLease) Holder(lease *coordinationv1.Lease, now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	renewed := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{})
	if !renewed.Equal(&l.renewed) && now.Sub(l.asked) <= renewedWithin {
		l.alive = now
	}
	l.renewed, l.asked = renewed, now
	age := now.Sub(renewed.Time)
	if now.Sub(l.alive) > renewedWithin && (age > renewedWithin || age < -clockSkew) {
		return NoReader
	}
	return cmp.Or(ptr.Deref(lease.Spec.HolderIdentity, ""), NoReader)
}
