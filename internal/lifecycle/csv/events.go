package csv

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// phaseEvent is an Event of a ClusterServiceVersion.
type phaseEvent struct {
	kind    string // Normal or Warning
	reason  string
	message string
}

// phaseEvents returns the Events of a change of phase or reason, with OLM's reasons and types. That all requirements are met has one of
// its own: with OLM it is a phase, and here the installation begins in the same write.
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
	return append(out, phaseEvent{kind, string(after.Reason), messages.Clip(after.Message, longestNote)})
}

// longestNote is how many bytes the API server takes as an Event's note.
const longestNote = 1024

// announce records what happened to a ClusterServiceVersion, once its status has it.
func (r *Reconciler) announce(before, after *v1alpha1.ClusterServiceVersion) {
	for _, e := range phaseEvents(&before.Status, &after.Status) {
		r.Recorder.Eventf(after, nil, e.kind, e.reason, v1alpha1.EventActionChangePhase, "%s", e.message)
	}
}
