// Package gate decides whether an update may go ahead. It is pure, and the only place that decides it.
package gate

import (
	"fmt"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Inputs holds everything that decides whether one update has to wait, as read at one moment.
type Inputs struct {
	// Subscription is nil where there is none for the operator.
	Subscription *v1alpha1.Subscription

	// Running is the ClusterServiceVersion that would be replaced. It is nil at a first install, which is never held.
	Running *v1alpha1.ClusterServiceVersion

	// Target is the name of the ClusterServiceVersion that would replace it.
	Target string

	Probe             *v1alpha1.Probe                // of the running CSV; nil if it does not exist
	OperatorCondition *operatorsv2.OperatorCondition // of the running CSV; nil if it does not exist

	// OptedIn is true where a CustomResourceDefinition that the running CSV owns carries an annotation for its Probe. Such an
	// operator is held as long as its Probe is not known; any other only by a Probe that exists.
	OptedIn bool

	// Reader is the process that reads custom resources now, or NoReader, and Targets the hash of the target namespaces of the OperatorGroup now. A
	// Probe whose status was computed by another reader, or for other namespaces, is not current.
	Reader, Targets string

	// BesideOLM is true where OLM evaluates the OperatorCondition itself: against what the operator set there only
	// `spec.overrides` helps.
	BesideOLM bool
}

// Decision is the answer of the gate for one update. The zero value lets it go ahead.
type Decision struct {
	// Held is true where the update has to wait.
	Held bool

	// Reason is one of the reasons of UpgradeHeld; empty where nothing would hold the update.
	Reason string

	// Message names what blocks the update, what ends that, and how to override it. Where the update is Overridden it
	// names who allows it, for an Event.
	Message string

	// Overridden is true where something would hold the update, and an administrator allows it.
	Overridden bool

	// Approved is true where the InstallPlan had been approved before, and OLM holds the update nevertheless.
	Approved bool
}

// Evaluate decides whether the running operator holds its update. `spec.overrides` of the OperatorCondition takes
// precedence over everything else.
func Evaluate(in Inputs) Decision {
	if in.Running == nil || in.Target == "" || in.Target == in.Running.Name {
		return Decision{}
	}
	override := overrideOf(in.OperatorCondition)
	if override != nil && override.Status == metav1.ConditionFalse {
		return Decision{Held: true, Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Message: fmt.Sprintf(
			"The update to %s is held: spec.overrides of OperatorCondition %s says Upgradeable=False%s. It goes on when that is removed or True",
			in.Target, nameOf(in.OperatorCondition), quote(override.Message))}
	}
	objections := objectionsOf(in)
	if len(objections) == 0 {
		return Decision{}
	}
	if by := allowedBy(in, override); by != "" {
		return Decision{Reason: v1alpha1.ReasonOverridden, Overridden: true, Message: fmt.Sprintf(
			"The update to %s goes on, since %s allows it. It would be held: %s", in.Target, by, sentences(objections))}
	}
	return Decision{Held: true, Reason: objections[0].Reason, Message: fmt.Sprintf(
		"The update to %s is held: %s. %sTo update all the same: %s", in.Target, sentences(objections), doubt(in.Running), command(in))}
}

// EvaluatePlan decides about all updates of an InstallPlan, which goes ahead whole or not at all: the first that is held
// decides, and otherwise the last that is overridden is reported.
func EvaluatePlan(updates []Inputs) Decision {
	var out Decision
	for _, in := range updates {
		switch d := Evaluate(in); {
		case d.Held:
			return d
		case d.Overridden:
			out = d
		}
	}
	return out
}

// objectionsOf are the reasons for which the running operator does not allow its update, the Probe's first.
func objectionsOf(in Inputs) []condition.Problem {
	var out []condition.Problem
	if p := ProbeObjection(in); p != nil {
		out = append(out, *p)
	}
	if p := operatorObjection(in.OperatorCondition); p != nil {
		out = append(out, *p)
	}
	return out
}

// ProbeObjection returns what the Probe of the running CSV has against an update; nil if nothing. What is not known holds: a Probe that an operator asked for and that
// does not exist, belongs to another, or has not been read since its spec, its target namespaces or the reader changed.
// Where reading fails later the last answer stands, for Synced is False then, and not Unknown.
func ProbeObjection(in Inputs) *condition.Problem {
	probe := in.Probe
	if probe == nil {
		if !in.OptedIn {
			return nil
		}
		return notRead("Probe %s does not exist; operator-status creates it from the annotations of the CustomResourceDefinitions", nameOf(in.Running))
	}
	upgradeable := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	switch {
	case upgradeable != nil && upgradeable.Status == metav1.ConditionFalse:
		return &condition.Problem{Reason: v1alpha1.ReasonProbeNotUpgradeable, Message: fmt.Sprintf(
			"Probe %s says Upgradeable=False%s", nameOf(probe), quote(upgradeable.Message))}
	case writtenByOperator(probe):
		if upgradeable != nil || !in.OptedIn {
			return nil
		}
		return notRead("the operator writes the status of Probe %s itself, and has not set Upgradeable", nameOf(probe))
	case in.OptedIn && probe.Spec.Manager != v1alpha1.ManagerCRDAnnotations:
		return &condition.Problem{Reason: v1alpha1.ReasonProbeConflict, Message: fmt.Sprintf(
			"Probe %s was not created from the annotations of the operator's CustomResourceDefinitions: delete it to have that one created, or set its spec.manager to %s",
			nameOf(probe), v1alpha1.ManagerCRDAnnotations)}
	case in.isCurrent(probe, upgradeable):
		return nil
	}
	if in.Reader == NoReader {
		return notRead("no process reads custom resources: the manager that reports on Probe %s has to run, with --leader-elect", nameOf(probe))
	}
	out := notRead("waiting to read what Probe %s watches", nameOf(probe))
	if synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced); synced != nil && synced.Status == metav1.ConditionFalse {
		out.Message += quote(synced.Message)
	}
	return out
}

func notRead(format string, args ...any) *condition.Problem {
	return &condition.Problem{Reason: v1alpha1.ReasonProbeNotRead, Message: fmt.Sprintf(format, args...)}
}

// writtenByOperator reports whether the operator itself writes the status of its Probe.
func writtenByOperator(probe *v1alpha1.Probe) bool {
	return probe.Spec == nil || probe.Spec.Manager == v1alpha1.ManagerOperator
}

// isCurrent reports whether the status of a Probe allows the update for what it asks for now.
func (in Inputs) isCurrent(probe *v1alpha1.Probe, upgradeable *metav1.Condition) bool {
	synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
	return synced != nil && synced.Status != metav1.ConditionUnknown &&
		upgradeable != nil && upgradeable.Status == metav1.ConditionTrue &&
		probe.Status.ObservedGeneration >= probe.Generation &&
		probe.Status.Reader == in.Reader && probe.Status.ObservedTargets == in.Targets
}

// operatorObjection is what the operator itself has against the update. An entry of ours only repeats the Probe.
func operatorObjection(oc *operatorsv2.OperatorCondition) *condition.Problem {
	if oc == nil {
		return nil
	}
	c := meta.FindStatusCondition(oc.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || c.Status != metav1.ConditionFalse || v1alpha1.IsGateReason(c.Reason) {
		return nil
	}
	return &condition.Problem{Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Message: fmt.Sprintf(
		"OperatorCondition %s says Upgradeable=False%s", nameOf(oc), quote(c.Message))}
}

// overrideOf is an administrator's word in the OperatorCondition; nil where there is none.
func overrideOf(condition *operatorsv2.OperatorCondition) *metav1.Condition {
	if condition == nil {
		return nil
	}
	return meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable)
}

// allowedBy names where an administrator allows the update; empty where nobody does.
func allowedBy(in Inputs, override *metav1.Condition) string {
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
func (in Inputs) beyondAnnotation() bool {
	return in.BesideOLM && operatorObjection(in.OperatorCondition) != nil
}

// doubt says that an operator which does not run may speak of what is long past.
func doubt(running *v1alpha1.ClusterServiceVersion) string {
	if running.Status.Phase == olm.CSVPhaseSucceeded || running.Status.Phase == olm.CSVPhaseReplacing { // which it runs through
		return ""
	}
	return fmt.Sprintf("But %s itself is %s, so that this may be out of date. ", running.Name, phaseOf(running))
}

// command is how an administrator allows the update all the same.
func command(in Inputs) string {
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

func sentences(problems []condition.Problem) string {
	out := make([]string, 0, len(problems))
	for _, p := range problems {
		out = append(out, p.Message)
	}
	return strings.Join(out, "; ")
}

// phaseOf is a word for where a ClusterServiceVersion is in its life.
func phaseOf(csv *v1alpha1.ClusterServiceVersion) string {
	if csv.Status.Phase == olm.CSVPhaseNone {
		return "new"
	}
	return string(csv.Status.Phase)
}
