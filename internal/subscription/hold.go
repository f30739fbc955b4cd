package subscription

import (
	"fmt"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// HoldInputs is everything that decides whether an update has to wait, read at one moment.
type HoldInputs struct {
	// Subscription is nil where nobody subscribes to the operator.
	Subscription *v1alpha1.Subscription

	// Running is the ClusterServiceVersion that would be replaced. It is nil at a first install, which is never held.
	Running *v1alpha1.ClusterServiceVersion

	Probe             *v1alpha1.Probe                // of the running one; nil where the operator never opted in
	OperatorCondition *operatorsv2.OperatorCondition // of the running one; nil where there is none

	// Unread is true where the Probe's status may be from before this process began.
	Unread bool

	// BesideOLM is true where OLM asks the OperatorCondition itself: against what the operator says there only
	// `spec.overrides` helps.
	BesideOLM bool

	// Target is the name of the ClusterServiceVersion that would replace it.
	Target string
}

// Hold is an update that the running operator does not allow.
type Hold struct {
	// Reason is one of UpgradeHeld.
	Reason string

	// Message says who does not allow the update, why, and what to do.
	Message string

	// Overridden is true where an administrator allows it all the same. Then Message says how, for an Event.
	Overridden bool

	// Approved is true where the InstallPlan was approved already, and the update is held nevertheless: as OLM does.
	Approved bool
}

// Holds is true where the update has to wait. A nil Hold holds nothing.
func (h *Hold) Holds() bool { return h != nil && !h.Overridden }

// Held says whether the running operator holds its update. It is nil where nothing does, and Overridden where something
// would, were it not for an administrator. `spec.overrides` of the OperatorCondition has the last word.
func Held(in HoldInputs) *Hold {
	if in.Running == nil || in.Target == "" || in.Target == in.Running.Name {
		return nil
	}
	override := overrideOf(in.OperatorCondition)
	if override != nil && override.Status == metav1.ConditionFalse {
		return &Hold{Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Message: fmt.Sprintf(
			"The update to %s is held: spec.overrides of OperatorCondition %s says Upgradeable=False%s. It goes on when that is removed or True",
			in.Target, nameOf(in.OperatorCondition), quote(override.Message))}
	}
	objections := objectionsOf(in)
	if len(objections) == 0 {
		return nil
	}
	if by := allowedBy(in, override); by != "" {
		return &Hold{Reason: v1alpha1.ReasonOverridden, Overridden: true, Message: fmt.Sprintf(
			"The update to %s goes on, since %s allows it. It would be held: %s", in.Target, by, sentences(objections))}
	}
	return &Hold{Reason: objections[0].Reason, Message: fmt.Sprintf(
		"The update to %s is held: %s. %sTo update all the same: %s", in.Target, sentences(objections), doubt(in.Running), command(in))}
}

// objectionsOf are the reasons for which the running operator does not allow its update, the Probe's first.
func objectionsOf(in HoldInputs) []Problem {
	var out []Problem
	if p := probeObjection(in.Probe, in.Unread); p != nil {
		out = append(out, *p)
	}
	if p := operatorObjection(in.OperatorCondition); p != nil {
		out = append(out, *p)
	}
	return out
}

// probeObjection is what a Probe has against the update. Of what it watches nothing is known before the first read; but
// what it said last stands where reading fails later, for Synced is False then, and not Unknown.
func probeObjection(probe *v1alpha1.Probe, unread bool) *Problem {
	if probe == nil {
		return nil
	}
	said := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	if said != nil && said.Status == metav1.ConditionFalse {
		return &Problem{v1alpha1.ReasonProbeNotUpgradeable, fmt.Sprintf("Probe %s says Upgradeable=False%s", nameOf(probe), quote(said.Message))}
	}
	if probe.Spec == nil || probe.Spec.Manager == v1alpha1.ManagerOperator {
		return nil // the operator writes this status itself, and has nothing against the update
	}
	synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
	read := synced != nil && synced.Status != metav1.ConditionUnknown && said != nil && said.Status == metav1.ConditionTrue
	if read && !unread && probe.Status.ObservedGeneration >= probe.Generation {
		return nil
	}
	out := &Problem{v1alpha1.ReasonProbeNotRead, fmt.Sprintf("waiting to read what Probe %s watches", nameOf(probe))}
	if synced != nil && synced.Status == metav1.ConditionFalse {
		out.Message += quote(synced.Message)
	}
	return out
}

// operatorObjection is what the operator itself has against the update. An entry of ours only repeats the Probe.
func operatorObjection(condition *operatorsv2.OperatorCondition) *Problem {
	if condition == nil {
		return nil
	}
	said := meta.FindStatusCondition(condition.Spec.Conditions, operatorsv2.Upgradeable)
	if said == nil || said.Status != metav1.ConditionFalse || v1alpha1.IsGateReason(said.Reason) {
		return nil
	}
	return &Problem{v1alpha1.ReasonOperatorConditionNotUpgradeable, fmt.Sprintf(
		"OperatorCondition %s says Upgradeable=False%s", nameOf(condition), quote(said.Message))}
}

// overrideOf is an administrator's word in the OperatorCondition; nil where there is none.
func overrideOf(condition *operatorsv2.OperatorCondition) *metav1.Condition {
	if condition == nil {
		return nil
	}
	return meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable)
}

// allowedBy names where an administrator allows the update; empty where nobody does.
func allowedBy(in HoldInputs, override *metav1.Condition) string {
	switch {
	case override != nil && override.Status == metav1.ConditionTrue:
		return "spec.overrides of OperatorCondition " + nameOf(in.OperatorCondition)
	case in.Subscription != nil && in.Subscription.Annotations[v1alpha1.AnnotationAllowUpgrade] == in.Target && !in.beyondAnnotation():
		return "annotation " + v1alpha1.AnnotationAllowUpgrade + " of Subscription " + nameOf(in.Subscription)
	default:
		return ""
	}
}

// beyondAnnotation is true where an annotation of ours does not end the hold, since not only we hold.
func (in HoldInputs) beyondAnnotation() bool {
	return in.BesideOLM && operatorObjection(in.OperatorCondition) != nil
}

// doubt says that an operator which does not run may speak of what is long past.
func doubt(running *v1alpha1.ClusterServiceVersion) string {
	if running.Status.Phase == olm.CSVPhaseSucceeded || running.Status.Phase == olm.CSVPhaseReplacing { // which it runs through
		return ""
	}
	return fmt.Sprintf("But %s itself is %s, so that this may be out of date. ", running.Name, phase(running))
}

// command is how an administrator allows the update all the same.
func command(in HoldInputs) string {
	if in.Subscription == nil || in.beyondAnnotation() {
		return fmt.Sprintf("set Upgradeable=True in spec.overrides of OperatorCondition %s", nameOf(in.Running))
	}
	out := fmt.Sprintf("kubectl annotate subscription -n %s %s %s=%s",
		in.Subscription.Namespace, in.Subscription.Name, v1alpha1.AnnotationAllowUpgrade, in.Target)
	if _, there := in.Subscription.Annotations[v1alpha1.AnnotationAllowUpgrade]; there {
		out += " --overwrite"
	}
	return out
}

func nameOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }

// quote puts somebody else's words at the end of a sentence of ours.
func quote(message string) string {
	if message = strings.TrimRight(message, ". \n"); message != "" {
		return ": " + message
	}
	return ""
}

func sentences(problems []Problem) string {
	out := make([]string, 0, len(problems))
	for _, p := range problems {
		out = append(out, p.Message)
	}
	return strings.Join(out, "; ")
}
