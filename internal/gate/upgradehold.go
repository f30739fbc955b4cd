package gate

import (
	"cmp"
	"slices"
	"time"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
)

// ByUsers returns the UpgradeHolds with which users hold the updates of an operator at a time, the oldest first. Those that
// operator-status created only repeat its decision.
func ByUsers(all []holdv1alpha1.UpgradeHold, of holdv1alpha1.OperatorReference, now time.Time) []holdv1alpha1.UpgradeHold {
	var out []holdv1alpha1.UpgradeHold
	for i := range all {
		h := &all[i]
		expired := h.Spec.Until != nil && !h.Spec.Until.After(now)
		if h.Spec.Operator == of && !h.IsReported() && !expired && h.DeletionTimestamp.IsZero() {
			out = append(out, *h)
		}
	}
	slices.SortFunc(out, func(a, b holdv1alpha1.UpgradeHold) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// userHolds returns the holds of users, which only they end.
func (in Inputs) userHolds() []Hold {
	var out []Hold
	for i := range in.UpgradeHolds {
		out = append(out, in.heldWith(&in.UpgradeHolds[i]))
	}
	return out
}

func (in Inputs) heldWith(h *holdv1alpha1.UpgradeHold) Hold {
	cause, end := "UpgradeHold "+h.Name+" holds the updates", "when it is deleted"
	if h.Spec.RequestedBy != "" {
		cause += " for " + messages.Line(h.Spec.RequestedBy)
	}
	if h.Spec.Until != nil {
		cause += " until " + h.Spec.Until.UTC().Format(time.RFC3339)
		end = "then, or when it is deleted"
	}
	return Hold{
		Reason: holdv1alpha1.ReasonHeldByUser, By: operator.Ref{Kind: holdv1alpha1.UpgradeHoldKind, Name: h.Name},
		Since: h.CreationTimestamp, Until: h.Spec.Until, Target: in.Target,
		Cause: cause + messages.Quote(h.Spec.Message) + ". The update continues " + end,
	}
}
