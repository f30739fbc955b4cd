package probe

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// TestStaysStale verifies that custom resources that remain stale are reported as a failure in the end, and not as a delay.
func TestStaysStale(t *testing.T) {
	stale := Resource{CRD: "foos.example.com", Kind: "Foo", Problems: []condition.Problem{{Reason: v1alpha1.ReasonStale, Message: "Nothing was sent"}},
		Read: []Read{{Snapshot: observed.Snapshot{Filled: true, Stale: true}}}}
	steps := []struct {
		reason   string
		at       int64
		resource Resource
		want     string
		failsIn  time.Duration
	}{
		{reason: "All is well.", at: 100, resource: read(observed.Counts{Total: 1}), want: "True/Synced"},
		{reason: "An overloaded API server may recover.", at: 200, resource: stale, want: "Unknown/Stale", failsIn: 5 * time.Minute},
		{reason: "Time passes.", at: 440, resource: stale, want: "Unknown/Stale", failsIn: time.Minute},
		{reason: "Nobody can rely on it any longer.", at: 500, resource: stale, want: "False/Stale"},
		{reason: "It stays a failure.", at: 501, resource: stale, want: "False/Stale"},
		{reason: "A part of it is not read for the first time yet.", at: 502, resource: Resource{CRD: "foos.example.com", Kind: "Foo", Read: []Read{{}}}, want: "Unknown/Syncing"},
		{reason: "That is not the time for which the rest has been stale.", at: 590, resource: stale, want: "Unknown/Stale", failsIn: 5 * time.Minute},
		{reason: "It recovers.", at: 600, resource: read(observed.Counts{Total: 1}), want: "True/Synced"},
		{reason: "Each time counts from its beginning.", at: 601, resource: stale, want: "Unknown/Stale", failsIn: 5 * time.Minute},
	}
	probe := &v1alpha1.Probe{}
	for _, step := range steps {
		now := time.Unix(step.at, 0)
		probe.Status = Compute(Inputs{Probe: probe, Resources: []Resource{step.resource}, Now: metav1.NewTime(now)})
		c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
		if got := string(c.Status) + "/" + c.Reason; got != step.want {
			t.Errorf("%s at %d: Synced is %s, want %s", step.reason, step.at, got, step.want)
		}
		if wait := FailsIn(probe.Status, now); wait != step.failsIn {
			t.Errorf("%s at %d: it fails in %s, want %s", step.reason, step.at, wait, step.failsIn)
		}
	}
}
