package gate

import (
	"cmp"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// NoReader is the reader if no process reads custom resources. No process has that name.
const NoReader = "none"

// ReaderLease tracks the lease of the process that reads custom resources. While no process renews it, the state of
// custom resources is unknown.
type ReaderLease struct {
	mu      sync.Mutex
	renewed metav1.MicroTime // the holder's clock when it last renewed the lease
	asked   time.Time        // when Holder was last called
	alive   time.Time        // when a renewal was last observed
}

// renewedWithin is the maximum age of a renewal. A holder renews every two seconds, and exits after ten seconds without
// a renewal: an update is held too early rather than too late.
const renewedWithin = 5 * time.Second

// clockSkew is how far the holder's clock may be ahead of the local one.
const clockSkew = time.Second

// Holder returns the identity of the lease's holder, or NoReader if the lease has not been renewed recently or was
// released. If the clocks of the two machines differ, it takes two calls within five seconds to observe a renewal.
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

// ReportedReader returns the reader of a Probe for a report, on which no update depends: shared, or for isolation Pod
// the pod that wrote its status, unless PodReady is False.
func ReportedReader(probe *v1alpha1.Probe, shared string) string {
	switch {
	case probe == nil || !probe.IsIsolated():
		return shared
	case meta.IsStatusConditionTrue(probe.Status.Conditions, v1alpha1.ConditionPodReady):
		return probe.Status.Reader
	default:
		return NoReader
	}
}
