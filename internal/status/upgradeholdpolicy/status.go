// Package upgradeholdpolicy computes the status of an UpgradeHoldPolicy. It is pure.
package upgradeholdpolicy

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/updatewindow"
)

// mostNamed limits the operators in a message.
const mostNamed = 5

// Inputs holds everything that the status of a policy depends on, as read at one moment.
type Inputs struct {
	Policy *holdv1alpha1.UpgradeHoldPolicy

	// Holds are its UpgradeHolds, one for each operator that it selects.
	Holds []*holdv1alpha1.UpgradeHold

	Now metav1.Time
}

// Compute returns the status, and when it changes unless the policy or its UpgradeHolds do before, or zero.
func Compute(in Inputs) (holdv1alpha1.UpgradeHoldPolicyStatus, time.Time) {
	out := holdv1alpha1.UpgradeHoldPolicyStatus{ObservedGeneration: in.Policy.Generation, Conditions: slices.Clone(in.Policy.Status.Conditions)}
	var names []string
	for _, h := range in.Holds {
		names = append(names, h.Spec.Operator.Namespace+"/"+h.Spec.Operator.Name)
		out.Summary.Operators++
		if meta.IsStatusConditionTrue(h.Status.Conditions, holdv1alpha1.ConditionHeld) {
			out.Summary.Held++
		}
	}
	slices.Sort(names)
	state := updatewindow.At(in.Policy.Spec.HoldTerms, in.Now.Time)
	for _, c := range []metav1.Condition{matched(names), held(in.Policy.Spec.Message, state)} {
		c.ObservedGeneration, c.LastTransitionTime = in.Policy.Generation, in.Now
		meta.SetStatusCondition(&out.Conditions, c)
	}
	return out, state.Changes
}

func matched(names []string) metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionMatched, Status: metav1.ConditionTrue, Reason: holdv1alpha1.ReasonOperatorsFound}
	if len(names) == 0 {
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, holdv1alpha1.ReasonNoOperatorFound, "spec.match selects no operator"
		return out
	}
	out.Message = "Applies to " + messages.List(names, mostNamed, ", ")
	return out
}

// held returns the condition Held, which is about the time only.
func held(message string, state updatewindow.State) metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionHeld, Status: metav1.ConditionFalse, Reason: state.Reason, Message: state.WhyNot()}
	if state.Holds {
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, holdv1alpha1.ReasonHeldByUser, "Updates are held"
		if !state.Changes.IsZero() {
			out.Message += " until " + state.Changes.UTC().Format(time.RFC3339)
		}
		out.Message += messages.Quote(message)
	}
	if state.Problem != "" {
		out.Message += ". " + messages.Line(state.Problem)
	}
	out.Message = messages.Clip(out.Message, longestMessage)
	return out
}

// longestMessage limits the message of a condition, in bytes.
const longestMessage = 1024
