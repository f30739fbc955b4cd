// Package upgradehold computes the status of an UpgradeHold. It is pure.
package upgradehold

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/updatewindow"
)

const (
	mostHolds     = 20   // limits holds in a status
	mostNotHeld   = 5    // limits the CustomResourceDefinitions in a message
	longestCause  = 1024 // bytes of the message of a hold
	longestDenial = 4096 // bytes of the message of a status: the API server ignores longer ones than 5 KiB
)

// Inputs holds everything that the status of an UpgradeHold depends on, as read at one moment.
type Inputs struct {
	Hold *holdv1alpha1.UpgradeHold

	// Installed is false if the installer has no such operator, or if no version of it has run.
	Installed bool

	// Reserved is true if updates in the namespace must not be held.
	Reserved bool

	// Holds are those of the gate for an update to gate.AnyVersion.
	Holds []gate.Hold

	// Denied are the updates that the API server denies meanwhile. It is nil if the installer asks the gate itself.
	Denied *holdv1alpha1.DeniedUpdates

	// NotHeld are the names of CustomResourceDefinitions that may change meanwhile.
	NotHeld []string

	// Bound is true if a policy denies them. Index is where it looks them up. Unrecorded is true if it would deny records, and none of the
	// operator was found.
	Bound      bool
	Index      []Part
	Unrecorded bool

	Now metav1.Time
}

// Compute returns the status of an UpgradeHold.
func Compute(in Inputs) holdv1alpha1.UpgradeHoldStatus {
	out := holdv1alpha1.UpgradeHoldStatus{
		ObservedGeneration: in.Hold.Generation,
		Conditions:         slices.Clone(in.Hold.Status.Conditions),
	}
	held := in.held()
	in.set(&out, held)
	in.set(&out, in.enforced(held))
	if held.Status != metav1.ConditionTrue {
		return out
	}
	holds := in.own()
	out.Message, out.Denied = denial(holds), in.Denied
	for _, h := range holds[:min(len(holds), mostHolds)] {
		out.Holds = append(out.Holds, causeOf(h))
	}
	return out
}

func causeOf(h gate.Hold) holdv1alpha1.HoldCause {
	out := holdv1alpha1.HoldCause{
		Reason: h.Reason, By: h.By.String(), Until: h.Until.DeepCopy(), Message: messages.Clip(h.Cause, longestCause), Override: h.Override.Command(),
	}
	if !h.Since.IsZero() {
		out.Since = h.Since.DeepCopy()
	}
	return out
}

// set sets a condition of the current generation. Its transition time changes only with its status.
func (in Inputs) set(status *holdv1alpha1.UpgradeHoldStatus, c metav1.Condition) {
	c.ObservedGeneration, c.LastTransitionTime = in.Hold.Generation, in.Now
	meta.SetStatusCondition(&status.Conditions, c)
}

// Own returns the holds that an UpgradeHold reports: its own, or if operator-status created it, those that no UpgradeHold of a
// user causes.
func Own(h *holdv1alpha1.UpgradeHold, holds []gate.Hold) []gate.Hold {
	var out []gate.Hold
	for _, hold := range holds {
		byUser := hold.By.Kind == holdv1alpha1.UpgradeHoldKind
		if byUser && hold.By.Name == h.Name || !byUser && h.IsReported() {
			out = append(out, hold)
		}
	}
	return out
}

func (in Inputs) own() []gate.Hold { return Own(in.Hold, in.Holds) }

// held returns the condition Held.
func (in Inputs) held() metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionHeld, Status: metav1.ConditionFalse}
	operator := in.Hold.Spec.Operator
	schedule := updatewindow.At(in.Hold.Spec.HoldTerms, in.Now.Time)
	switch holds := in.own(); {
	case in.Reserved:
		out.Reason, out.Message = holdv1alpha1.ReasonReserved, fmt.Sprintf("Updates in namespace %s cannot be held", operator.Namespace)
	case !schedule.Holds:
		out.Reason, out.Message = schedule.Reason, schedule.WhyNot()
	case !in.Installed:
		out.Reason = holdv1alpha1.ReasonOperatorNotFound
		out.Message = fmt.Sprintf("No version of the operator of %s has run. A first installation is never held", operator)
	case len(holds) == 0: // it is about to be deleted
		out.Reason, out.Message = holdv1alpha1.ReasonExpired, "The operator allows its update"
	default:
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, holds[0].Reason, messages.Clip(holds[0].Cause, longestCause)
	}
	return out
}

// enforced returns the condition Enforced.
func (in Inputs) enforced(held metav1.Condition) metav1.Condition {
	out := metav1.Condition{Type: holdv1alpha1.ConditionEnforced, Status: metav1.ConditionTrue}
	switch {
	case held.Status != metav1.ConditionTrue:
		out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonNotHeld
	case in.Denied == nil:
		out.Reason, out.Message = holdv1alpha1.ReasonLoopsWait, "The built-in loops do not start the update"
	case in.Bound && in.Unrecorded:
		out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonRecordNotFound
		out.Message = fmt.Sprintf("No record of %s was found that the API server could deny: Helm keeps it in another namespace, or not in Secrets, "+
			"or another program has taken its objects over", in.Hold.Spec.Operator)
	case in.Bound && !indexed(in.Index, in.Hold, in.Denied):
		out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonNotIndexed
		out.Message = "The index in which the API server looks up held objects does not have it yet"
	case in.Bound:
		out.Reason, out.Message = holdv1alpha1.ReasonPolicyBound, "The API server denies "+updates(in.Denied)+in.butNot()
	default:
		out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonPolicyNotBound
		out.Message = "The hold is reported, not enforced: apply policies.yaml of the release, or undo release --all"
	}
	return out
}

// butNot names the CustomResourceDefinitions that may change meanwhile, as the end of a sentence.
func (in Inputs) butNot() string {
	if len(in.NotHeld) == 0 {
		return ""
	}
	return ", but not changes of " + messages.List(in.NotHeld, mostNotHeld, ", ") + ", since no service account of the operator may report on them in all namespaces"
}

// updates describes the updates that are denied.
func updates(denied *holdv1alpha1.DeniedUpdates) string {
	definitions := ""
	if len(denied.CustomResourceDefinitions) > 0 {
		definitions = ", and other versions in its CustomResourceDefinitions"
	}
	switch {
	case denied.Revisions != nil:
		return "the record of another revision, which Helm writes before it changes anything" + definitions
	case len(denied.Workloads) > 0:
		return "other images in the workload" + definitions
	default:
		return "the approved InstallPlan of an update"
	}
}

// denial returns the message for an installer whose update is denied, as the continuation of "The update to <version> is held: ".
func denial(holds []gate.Hold) string {
	why, override := gate.Explanation(holds)
	return messages.Clip(why, longestDenial-len(override)) + override
}
