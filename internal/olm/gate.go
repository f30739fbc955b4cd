// Package olm is everything that knows that a real Operator Lifecycle Manager is there.
package olm

import (
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Waiver is why an update is not to be held by the OperatorCondition, whatever the Probe says.
type Waiver struct {
	Reason  string
	Message string
}

// Gate says what `spec.conditions` of an OperatorCondition should be, given the Probe of its name and why that has no say
// there, each nil where there is none. It is what OLM reads before it updates the operator.
//
// An Upgradeable condition of the operator's own stays, what was released too, and so does ours while the Probe does not know. Ours is never
// removed, since OLM would then take the last one for outdated and hold the update for ever: it turns True.
func Gate(conditions []metav1.Condition, probe *v1alpha1.Probe, waiver *Waiver, now metav1.Time) []metav1.Condition {
	actual := meta.FindStatusCondition(conditions, operatorsv2.Upgradeable)
	if actual != nil && (!v1alpha1.IsGateReason(actual.Reason) || actual.Reason == v1alpha1.ReasonReleased) {
		return conditions
	}
	if (probe == nil || waiver != nil) && actual == nil {
		return conditions // nothing is held that would have to be let go
	}
	desired := verdict(probe)
	if waiver != nil {
		desired = &metav1.Condition{Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue, Reason: waiver.Reason, Message: waiver.Message}
	}
	if desired == nil {
		return conditions
	}
	desired.LastTransitionTime = now
	out := slices.Clone(conditions)
	meta.SetStatusCondition(&out, *desired)
	return out
}

// verdict is the condition that a Probe asks for; nil while it does not know.
func verdict(probe *v1alpha1.Probe) *metav1.Condition {
	out := &metav1.Condition{Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue}
	if probe == nil {
		out.Reason, out.Message = v1alpha1.ReasonProbeGone, "There is no Probe any more that could hold the update"
		return out
	}
	said := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	if said == nil {
		return nil
	}
	switch said.Status {
	case metav1.ConditionFalse:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable, "Probe "+probe.Name+": "+said.Message
	case metav1.ConditionTrue:
		out.Reason, out.Message = v1alpha1.ReasonProbeUpgradeable, "Probe "+probe.Name+" says that the operator may be updated"
	default:
		return nil
	}
	return out
}

// waiver is why the Probe of an operator has no say in its OperatorCondition; nil where it has.
func (n Namespace) waiver(name string) (*Waiver, *v1alpha1.Subscription) {
	for i := range n.Subscriptions {
		sub := &n.Subscriptions[i]
		in := n.holdInputs(sub)
		if in.Running == nil || in.Running.Name != name {
			continue
		}
		if sub.IsGated() {
			return &Waiver{v1alpha1.ReasonApprovalGate, "Updates of Subscription " + sub.Name + " are held before their InstallPlan is approved"}, sub
		}
		if in.Target != name && sub.Annotations[v1alpha1.AnnotationAllowUpgrade] == in.Target {
			return &Waiver{v1alpha1.ReasonOverridden, "Annotation " + v1alpha1.AnnotationAllowUpgrade + " of Subscription " + sub.Name + " allows the update to " + in.Target}, sub
		}
	}
	return nil, nil
}

// transition is true where the answer to OLM differs: not merely its wording, which is no reason to have OLM look anew.
func transition(before, after []metav1.Condition) bool {
	a, b := meta.FindStatusCondition(before, operatorsv2.Upgradeable), meta.FindStatusCondition(after, operatorsv2.Upgradeable)
	if a == nil || b == nil {
		return a != b
	}
	return a.Status != b.Status
}
