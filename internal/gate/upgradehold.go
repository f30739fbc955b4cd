package gate

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/updatewindow"
)

// UserHold is an UpgradeHold of a user at a time at which it holds the updates.
type UserHold struct {
	holdv1alpha1.UpgradeHold

	// Ends is when that ends unless it is changed, or zero.
	Ends time.Time

	// Problem is why an update window never opens, or empty.
	Problem string
}

// ByUsers returns the UpgradeHolds with which users hold the updates of an operator at a time, the oldest first. Those that
// operator-status created only repeat its decision.
func ByUsers(all []holdv1alpha1.UpgradeHold, of holdv1alpha1.OperatorReference, now time.Time) []UserHold {
	var out []UserHold
	for i := range all {
		h := &all[i]
		if h.Spec.Operator == of && !h.IsReported() && h.DeletionTimestamp.IsZero() {
			if state := updatewindow.At(h.Spec.HoldTerms, now); state.Holds {
				out = append(out, UserHold{*h, state.Changes, state.Problem})
			}
		}
	}
	slices.SortFunc(out, func(a, b UserHold) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// isAllowed reports whether annotations allow the target. AnyVersion, copied from a message, allows none.
func (in Inputs) isAllowed(annotations map[string]string) bool {
	version := annotations[v1alpha1.AnnotationAllowUpgrade]
	return version == in.Target && version != AnyVersion
}

// userHolds returns the holds of users, which the operator does not end, and those of them that allow the update.
func (in Inputs) userHolds() (holds, allowing []Hold) {
	for i := range in.UpgradeHolds {
		h := &in.UpgradeHolds[i]
		if in.isAllowed(h.Annotations) {
			allowing = append(allowing, in.heldWith(h))
		} else {
			holds = append(holds, in.heldWith(h))
		}
	}
	if h := in.versionHold(); h != nil {
		if in.isAllowed(in.Request.Annotations) {
			allowing = append(allowing, *h)
		} else {
			holds = append(holds, *h)
		}
	}
	return holds, allowing
}

func (in Inputs) heldWith(h *UserHold) Hold {
	cause, end := "UpgradeHold "+h.Name+" holds the updates", "when it is deleted"
	policy := h.Policy()
	if policy != "" {
		cause, end = "UpgradeHold "+h.Name+" of UpgradeHoldPolicy "+policy+" holds the updates", "when the policy is deleted"
	}
	if h.Spec.RequestedBy != "" {
		cause += " for " + messages.Line(h.Spec.RequestedBy)
	}
	out := Hold{
		Reason: holdv1alpha1.ReasonHeldByUser, By: operator.Ref{Kind: holdv1alpha1.UpgradeHoldKind, Name: h.Name},
		Since: h.CreationTimestamp, Target: in.Target,
	}
	if !h.Ends.IsZero() {
		out.Until = new(metav1.NewTime(h.Ends))
		cause += " until " + h.Ends.UTC().Format(time.RFC3339)
		end = "then, or " + end
	}
	out.Cause = cause + messages.Quote(h.Spec.Message) + ". The update continues " + end
	if h.Problem != "" {
		out.Cause += ". " + messages.Line(h.Problem)
	}
	if policy != "" {
		out.Override = in.allowingOn(out.By, upgradeHolds, h.Annotations)
	}
	return out
}

// upgradeHolds is the kind of an UpgradeHold for kubectl.
const upgradeHolds = "upgradehold.operatorstatus.io"
