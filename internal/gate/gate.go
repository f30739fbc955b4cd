// Package gate decides whether an update may proceed. It is pure, and the only place that decides this.
package gate

import (
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// Inputs holds everything that the decision about one update depends on, as read at one moment.
type Inputs struct {
	// Subscription of the operator, or nil.
	Subscription *v1alpha1.Subscription

	// Running is the ClusterServiceVersion to be replaced. It is nil for a first install, which is never held.
	Running *v1alpha1.ClusterServiceVersion

	// Uninstalled is true if Running no longer exists, and left custom resources that Target takes over: installing Target
	// is an update, too. Only Live counts then, since the Probe no longer exists either.
	Uninstalled bool

	// Target is the name of the ClusterServiceVersion to be installed.
	Target string

	Probe             *v1alpha1.Probe                // of the running CSV, or nil
	OperatorCondition *operatorsv2.OperatorCondition // of the running CSV, or nil

	// OptedIn is true if a CustomResourceDefinition that the running CSV owns has an annotation for its Probe. Updates
	// of such an operator are held until its Probe has been read; those of any other operator only by an existing
	// Probe.
	OptedIn bool

	// Own are the resources of the Probe that the running CSV was installed with. It is nil if they were not recorded. The
	// CustomResourceDefinitions may have the annotations of another version by now, and so may the Probe for a moment.
	Own []v1alpha1.ProbeResource

	// Reader is the process that currently reads custom resources, or NoReader. Targets is the current hash of the
	// OperatorGroup's target namespaces. The status of a Probe is outdated if it was computed by another reader or for
	// other namespaces.
	Reader, Targets string

	// Begins is true if the update starts unless it is held. Live is then the status of the Probe, computed from its custom
	// resources as read from the API server for this decision: the Probe itself may not reflect their last change yet.
	Begins bool
	Live   *v1alpha1.ProbeStatus

	// BesideOLM is true if OLM evaluates the OperatorCondition itself. Only `spec.overrides` can then override a
	// condition that the operator set there.
	BesideOLM bool
}

// Decision is the gate's decision about one update, or about all updates of an InstallPlan. The zero value lets them
// proceed.
type Decision struct {
	// Held is true if the updates have to wait.
	Held bool

	// Holds are all causes for which they have to wait. Without Held, they are overridden.
	Holds []Hold

	// Reason is one of the reasons of UpgradeHeld: that of the first hold, Overridden, or empty.
	Reason string

	// Message names the holds, how each ends, and how to override them. If Overridden is true, it states for an Event who
	// allows the updates.
	Message string

	// Overridden is true if an administrator allows updates that would be held.
	Overridden bool

	// Approved is true if the InstallPlan was already approved, and OLM holds the update nevertheless.
	Approved bool
}

// AskAgain reports whether all holds may end without an event.
func (d Decision) AskAgain() bool {
	endsByEvent := func(h Hold) bool { return !h.Unreported && h.Reason != v1alpha1.ReasonProbeNotRead }
	return d.Held && len(d.Holds) > 0 && !slices.ContainsFunc(d.Holds, endsByEvent)
}

// Unreported reports whether custom resources hold an update without their Probe reporting it.
func (d Decision) Unreported() bool {
	return d.Held && slices.ContainsFunc(d.Holds, func(h Hold) bool { return h.Unreported })
}

// Evaluate returns whether the running operator holds its update. `spec.overrides` of the OperatorCondition takes
// precedence over everything else.
func Evaluate(in Inputs) Decision {
	if in.Running == nil || in.Target == "" || in.Target == in.Running.Name {
		return Decision{}
	}
	override := overrideOf(in.OperatorCondition)
	if override != nil && override.Status != metav1.ConditionTrue { // as in OLM, also if it is Unknown
		return in.held([]Hold{in.overriddenHold(*override)})
	}
	holds := in.holds()
	if len(holds) == 0 {
		return Decision{}
	}
	if by := allowedBy(in, override); by != "" {
		return Decision{Holds: holds, Reason: v1alpha1.ReasonOverridden, Overridden: true, Message: fmt.Sprintf(
			"The update to %s is allowed by %s. Without it, the update would be held: %s", in.Target, by, causes(holds))}
	}
	return in.held(holds)
}

// EvaluatePlan returns the decision about all updates of an InstallPlan, which proceeds as a whole or not at all.
func EvaluatePlan(updates []Inputs) Decision {
	var held, overridden []Decision
	for _, in := range updates {
		switch d := Evaluate(in); {
		case d.Held:
			held = append(held, d)
		case d.Overridden:
			overridden = append(overridden, d)
		}
	}
	if len(held) > 0 {
		return together(held)
	}
	return together(overridden)
}

// mostStated limits the updates of a plan that a message is about.
const mostStated = 5

// together combines decisions that are all held, or all overridden.
func together(all []Decision) Decision {
	if len(all) == 0 {
		return Decision{}
	}
	out := all[0]
	out.Holds = nil
	var stated []string
	for _, d := range all {
		out.Holds, stated = append(out.Holds, d.Holds...), append(stated, d.Message)
	}
	out.Message = messages.List(stated, mostStated, ". ")
	return out
}

// holds returns the causes for which the running operator does not allow its update, that of the Probe first.
func (in Inputs) holds() []Hold {
	var out []Hold
	if h := in.probeHold(); h != nil {
		out = append(out, *h)
	}
	if h := operatorHold(in.OperatorCondition); h != nil {
		out = append(out, *h)
	}
	doubt, override := in.doubt(), in.Override()
	for i := range out {
		out[i].Target, out[i].Doubt, out[i].Override = in.Target, doubt, override
	}
	return out
}

// probeHold returns why the Probe of the running CSV does not allow an update, or nil. An unknown state holds: a Probe that an
// operator opted in to and that does not exist, belongs to another owner, or has not been read since its spec, its target
// namespaces or the reader changed, or not for some time.
func (in Inputs) probeHold() *Hold {
	hold := in.probeObjection()
	if hold == nil {
		return nil
	}
	switch {
	case in.Uninstalled:
		hold.By = Object{v1alpha1.ClusterServiceVersionKind, in.Running.Namespace, in.Running.Name}
	case in.Probe != nil:
		hold.By = Object{"Probe", in.Probe.Namespace, in.Probe.Name}
	default: // it has the name that the Probe will have
		hold.By = Object{"Probe", in.Running.Namespace, in.Running.Name}
	}
	return hold
}

func (in Inputs) probeObjection() *Hold {
	probe := in.Probe
	if in.Uninstalled {
		return in.liveObjection()
	}
	if probe == nil {
		if !in.OptedIn {
			return nil
		}
		return notRead("Probe %s does not exist; operator-status creates it from the annotations of the CustomResourceDefinitions", nameOf(in.Running))
	}
	upgradeable := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	switch {
	case upgradeable != nil && upgradeable.Status == metav1.ConditionFalse:
		return &Hold{Reason: v1alpha1.ReasonProbeNotUpgradeable, Since: upgradeable.LastTransitionTime, Cause: fmt.Sprintf(
			"Probe %s reports Upgradeable=False%s", nameOf(probe), messages.Quote(upgradeable.Message))}
	case writtenByOperator(probe):
		if upgradeable != nil || !in.OptedIn {
			return nil
		}
		return notRead("the operator writes the status of Probe %s itself, and has not set Upgradeable", nameOf(probe))
	case in.OptedIn && probe.Spec.Manager != v1alpha1.ManagerCRDAnnotations:
		return &Hold{Reason: v1alpha1.ReasonProbeConflict, Cause: fmt.Sprintf(
			"Probe %s was not created from the annotations of the operator's CustomResourceDefinitions: "+
				"delete it to have it recreated from them, or set its spec.manager to %s",
			nameOf(probe), v1alpha1.ManagerCRDAnnotations)}
	case probe.Spec.Manager == v1alpha1.ManagerCRDAnnotations && in.Own != nil && !equality.Semantic.DeepEqual(in.Own, probe.Spec.ProbeResources):
		return notRead("Probe %s has different expressions than %s was installed with; operator-status corrects them",
			nameOf(probe), in.Running.Name)
	case in.isCurrent(probe, upgradeable):
		return in.liveObjection()
	}
	if in.Reader == NoReader && probe.IsIsolated() {
		return notRead("the pod that reads the custom resources of Probe %s is not ready%s", nameOf(probe), podProblem(probe))
	}
	if in.Reader == NoReader {
		return notRead("no process reads custom resources: run the manager that reports on Probe %s, with --leader-elect", nameOf(probe))
	}
	out := notRead("waiting to read the custom resources of Probe %s", nameOf(probe))
	if synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced); synced != nil && synced.Status == metav1.ConditionFalse {
		out.Cause += messages.Quote(synced.Message)
	}
	return out
}

// AsksLive reports whether an update that begins depends on custom resources, which then have to be read.
func (in Inputs) AsksLive() bool {
	return in.Running != nil && in.Probe != nil && !in.Uninstalled && !writtenByOperator(in.Probe)
}

// liveObjection returns why the custom resources of a Probe that allows the update do not, or nil.
func (in Inputs) liveObjection() *Hold {
	if in.Live == nil {
		if !in.Begins {
			return nil
		}
		return notRead("the custom resources of %s have not been read for this update", in.subject())
	}
	synced := meta.FindStatusCondition(in.Live.Conditions, v1alpha1.ConditionSynced)
	switch upgradeable := meta.FindStatusCondition(in.Live.Conditions, v1alpha1.ConditionUpgradeable); {
	case upgradeable != nil && upgradeable.Status == metav1.ConditionTrue:
		return nil
	case upgradeable != nil && upgradeable.Status == metav1.ConditionFalse:
		return &Hold{Reason: v1alpha1.ReasonProbeNotUpgradeable, Unreported: true, Cause: fmt.Sprintf(
			"%s, but its custom resources do not allow the update%s", in.whyUnreported(), messages.Quote(upgradeable.Message))}
	case synced != nil && synced.Status != metav1.ConditionTrue:
		return notRead("the custom resources of %s cannot be read now%s", in.subject(), messages.Quote(synced.Message))
	default:
		return notRead("the custom resources of %s cannot be read now", in.subject())
	}
}

// subject names the Probe or the uninstalled ClusterServiceVersion that the custom resources belong to.
func (in Inputs) subject() string {
	if in.Uninstalled {
		return nameOf(in.Running) + ", which was uninstalled,"
	}
	return "Probe " + nameOf(in.Probe)
}

// whyUnreported states why no Probe reports the state of the custom resources.
func (in Inputs) whyUnreported() string {
	if in.Uninstalled {
		return nameOf(in.Running) + " was uninstalled"
	}
	return "Probe " + nameOf(in.Probe) + " does not report it yet"
}

// podProblem returns why the pod of a Probe is not ready, as the end of a sentence, or "".
func podProblem(probe *v1alpha1.Probe) string {
	if c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionPodReady); c != nil && c.Status == metav1.ConditionFalse {
		return messages.Quote(c.Message)
	}
	return ""
}

func notRead(format string, args ...any) *Hold {
	return &Hold{Reason: v1alpha1.ReasonProbeNotRead, Cause: fmt.Sprintf(format, args...)}
}

// writtenByOperator reports whether the operator itself writes the status of its Probe.
func writtenByOperator(probe *v1alpha1.Probe) bool {
	return probe.Spec == nil || probe.Spec.Manager == v1alpha1.ManagerOperator
}

// isCurrent reports whether the status of a Probe allows the update and was computed from the current spec, reader and
// target namespaces.
func (in Inputs) isCurrent(probe *v1alpha1.Probe, upgradeable *metav1.Condition) bool {
	synced := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionSynced)
	return synced != nil && synced.Status != metav1.ConditionUnknown &&
		upgradeable != nil && upgradeable.Status == metav1.ConditionTrue &&
		probe.Status.ObservedGeneration >= probe.Generation &&
		probe.Status.Reader == in.Reader && probe.Status.ObservedTargets == in.Targets
}

// operatorHold returns why the operator itself does not allow the update, or nil. A condition written by operator-status is
// ignored, since it only repeats the Probe.
func operatorHold(oc *operatorsv2.OperatorCondition) *Hold {
	if oc == nil {
		return nil
	}
	c := meta.FindStatusCondition(oc.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || c.Status != metav1.ConditionFalse || v1alpha1.IsGateReason(c.Reason) {
		return nil
	}
	return &Hold{
		Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, By: objectOf(oc), Since: c.LastTransitionTime,
		Cause: fmt.Sprintf("OperatorCondition %s reports Upgradeable=False%s", nameOf(oc), messages.Quote(c.Message)),
	}
}

// overriddenHold returns the hold by which an administrator overrides everything else.
func (in Inputs) overriddenHold(override metav1.Condition) Hold {
	return Hold{
		Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, By: objectOf(in.OperatorCondition), Since: override.LastTransitionTime, Target: in.Target,
		Cause: fmt.Sprintf("spec.overrides of OperatorCondition %s sets Upgradeable=%s%s. "+
			"The update continues when the override is removed or set to True",
			nameOf(in.OperatorCondition), override.Status, messages.Quote(override.Message)),
	}
}

func objectOf(oc *operatorsv2.OperatorCondition) Object {
	return Object{"OperatorCondition", oc.Namespace, oc.Name}
}

// overrideOf returns an administrator's override in the OperatorCondition, or nil.
func overrideOf(condition *operatorsv2.OperatorCondition) *metav1.Condition {
	if condition == nil {
		return nil
	}
	return meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable)
}

// allowedBy names the override by which an administrator allows the update, or returns "".
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

// beyondAnnotation reports whether the annotation of operator-status cannot end the hold, since OLM also holds the
// update because of the operator's own condition.
func (in Inputs) beyondAnnotation() bool {
	return in.BesideOLM && operatorHold(in.OperatorCondition) != nil
}

// doubt returns a note that the conditions may be out of date, or "" if the running CSV is Succeeded or Replacing.
func (in Inputs) doubt() string {
	running := in.Running
	if in.Uninstalled {
		return "Their status does not change until an operator runs again"
	}
	if running.Status.Phase == olm.CSVPhaseSucceeded || running.Status.Phase == olm.CSVPhaseReplacing { // it keeps running while it is replaced
		return ""
	}
	return fmt.Sprintf("%s is %s, so its conditions may be stale", running.Name, phaseOf(running))
}

// Override returns how an administrator can override the holds.
func (in Inputs) Override() Override {
	if in.Subscription == nil || in.beyondAnnotation() {
		return Override{Object: Object{"OperatorCondition", in.Running.Namespace, in.Running.Name}}
	}
	_, replaces := in.Subscription.Annotations[v1alpha1.AnnotationAllowUpgrade]
	return Override{
		Object: Object{v1alpha1.SubscriptionKind, in.Subscription.Namespace, in.Subscription.Name},
		Target: in.Target, Replaces: replaces,
	}
}

func nameOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }

// phaseOf returns the phase of a ClusterServiceVersion, or "new" if it has none yet.
func phaseOf(csv *v1alpha1.ClusterServiceVersion) string {
	if csv.Status.Phase == olm.CSVPhaseNone {
		return "new"
	}
	return string(csv.Status.Phase)
}
