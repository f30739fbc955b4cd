package csv

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

type phaseEvent struct {
	kind    string // Normal or Warning
	reason  string
	message string
}

// phaseEvents returns the Events for a change of phase or reason, with OLM's reasons and types. RequirementsMet gets an
// Event of its own: OLM has a phase for it, whereas here the installation begins with the same status update.
func phaseEvents(before, after *v1alpha1.ClusterServiceVersionStatus) []phaseEvent {
	if before.Phase == after.Phase && before.Reason == after.Reason {
		return nil
	}
	var out []phaseEvent
	waited := before.Phase == olm.CSVPhaseNone || before.Phase == olm.CSVPhasePending
	if waited && (after.Phase == olm.CSVPhaseInstalling || after.Phase == olm.CSVPhaseSucceeded) {
		out = append(out, phaseEvent{corev1.EventTypeNormal, v1alpha1.CSVReasonRequirementsMet, "all requirements found, attempting install"})
	}
	kind := corev1.EventTypeNormal
	if after.Phase == olm.CSVPhaseFailed {
		kind = corev1.EventTypeWarning
	}
	return append(out, phaseEvent{kind, string(after.Reason), after.Message})
}

// announce emits the Events for a status that has been written.
func (r *Reconciler) announce(before, after *v1alpha1.ClusterServiceVersion) {
	for _, e := range phaseEvents(&before.Status, &after.Status) {
		r.Recorder.Eventf(after, nil, e.kind, e.reason, v1alpha1.EventActionChangePhase, "%s", e.message)
	}
}
