package gate

import (
	"slices"
	"strings"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

const kindOperatorCondition = "OperatorCondition"

// operatorHold returns why the operator itself does not allow the update, or nil. A condition written by operator-status is
// ignored, since it only repeats the Probe.
func (in Inputs) operatorHold() *Hold {
	oc := in.OperatorCondition
	if oc == nil {
		return nil
	}
	c := meta.FindStatusCondition(oc.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || c.Status != metav1.ConditionFalse || v1alpha1.IsGateReason(c.Reason) {
		return nil
	}
	return &Hold{
		Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, By: refTo(kindOperatorCondition, oc), Since: c.LastTransitionTime,
		Cause: refTo(kindOperatorCondition, oc).String() + notUpgradeable + messages.Quote(c.Message),
	}
}

// IsHolding reports whether an OperatorCondition holds the updates of its operator.
func IsHolding(oc *operatorsv2.OperatorCondition) bool {
	if override := overrideOf(oc); override != nil {
		return override.Status != metav1.ConditionTrue
	}
	return Inputs{OperatorCondition: oc}.operatorHold() != nil
}

// Waiver is why the OperatorCondition must not hold an update, regardless of the Probe.
type Waiver struct {
	Reason  string
	Message string
}

// Upgradeable returns the desired `spec.conditions` of an OperatorCondition, which OLM reads before it updates the operator.
// waiver states why the operator's Probe has no effect there, or is nil. Reader and target namespaces are not
// compared: a change of leader would turn every entry False and True again, and OLM holds an update while it is False.
//
// An Upgradeable condition that the operator sets itself stays unchanged, as does a released one, and ours while the
// Probe of an operator that never opted in has not been read. Ours is never removed, since OLM would then consider the
// last one outdated and hold the update forever. It turns True instead.
func Upgradeable(conditions []metav1.Condition, probe Inputs, waiver *Waiver, now metav1.Time) []metav1.Condition {
	actual := meta.FindStatusCondition(conditions, operatorsv2.Upgradeable)
	if actual != nil && (!v1alpha1.IsGateReason(actual.Reason) || actual.Reason == v1alpha1.ReasonReleased) {
		return conditions
	}
	if (probe.Probe == nil && !probe.OptedIn || waiver != nil) && actual == nil {
		return conditions // no entry has to turn True
	}
	desired := upgradeableOf(probe)
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

// upgradeableOf returns the condition according to the Probe of an operator, or nil while that is unknown.
func upgradeableOf(in Inputs) *metav1.Condition {
	out := &metav1.Condition{Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue}
	var upgradeable *metav1.Condition
	in = in.AsReported()
	if in.Probe != nil {
		upgradeable = meta.FindStatusCondition(in.Probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	}
	switch hold := in.probeHold(); {
	case hold != nil && hold.Reason == v1alpha1.ReasonProbeNotUpgradeable:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, hold.Reason, "Probe "+in.Probe.Name+": "+upgradeable.Message
	case hold != nil && in.OptedIn:
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, hold.Reason, hold.Cause
	case in.Probe == nil:
		out.Reason, out.Message = v1alpha1.ReasonProbeGone, "The Probe that could hold the update no longer exists"
	case upgradeable != nil && upgradeable.Status == metav1.ConditionTrue:
		out.Reason, out.Message = v1alpha1.ReasonProbeUpgradeable, "Probe "+in.Probe.Name+" reports that the operator may be updated"
	default:
		return nil
	}
	return out
}

// OperatorConditionChanged reports whether the condition changes in status, or its message must hide more names. Other changes of the
// message are not written, since each write makes OLM reconcile.
func OperatorConditionChanged(before, after []metav1.Condition) bool {
	a, b := meta.FindStatusCondition(before, operatorsv2.Upgradeable), meta.FindStatusCondition(after, operatorsv2.Upgradeable)
	if a == nil || b == nil {
		return a != b
	}
	return a.Status != b.Status || hides(b.Message) > hides(a.Message)
}

// hides returns 0 if a message names all custom resources that it counts, 1 if some and 2 if none.
func hides(message string) int {
	switch {
	case !strings.Contains(message, v1alpha1.NotShown):
		return 0
	case strings.Contains(message, ", "+v1alpha1.NotShown):
		return 1
	default:
		return 2
	}
}
