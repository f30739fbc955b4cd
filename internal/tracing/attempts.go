package tracing

import (
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// attempt is the phases of one installation of a ClusterServiceVersion, of which the last is Succeeded or Failed.
type attempt []v1alpha1.ClusterServiceVersionTransition

func (a attempt) start() time.Time { return a[0].LastTransitionTime.Time }
func (a attempt) end() time.Time   { return a[len(a)-1].LastTransitionTime.Time }

// attempts returns the installations of a ClusterServiceVersion that have ended.
func attempts(csv *v1alpha1.ClusterServiceVersion) []attempt {
	var out []attempt
	var open attempt
	var last olm.ClusterServiceVersionPhase
	for _, t := range history(csv) {
		if t.Phase == last || t.LastTransitionTime == nil {
			continue // only its reason changed
		}
		last = t.Phase
		open = append(open, t)
		if t.Phase == olm.CSVPhaseSucceeded || t.Phase == olm.CSVPhaseFailed {
			out, open = append(out, open), nil
		}
	}
	return out
}

// history returns the changes of phase of a ClusterServiceVersion, oldest first. With OLM they are its conditions.
func history(csv *v1alpha1.ClusterServiceVersion) []v1alpha1.ClusterServiceVersionTransition {
	if len(csv.Status.LastTransitions) > 0 {
		return csv.Status.LastTransitions
	}
	var out []v1alpha1.ClusterServiceVersionTransition
	for _, c := range csv.Status.Conditions {
		if c.Type == "" {
			out = append(out, v1alpha1.ClusterServiceVersionTransition{
				Phase: c.Phase, Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return out
}

// firstSucceeded returns the index of the first attempt that succeeded, or -1.
func firstSucceeded(in []attempt) int {
	return slices.IndexFunc(in, func(a attempt) bool { return a[len(a)-1].Phase == olm.CSVPhaseSucceeded })
}
