// Package gate decides whether an update may proceed. It is pure, and the only place that decides this.
package gate

import (
	"fmt"
	"slices"
	"strings"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// Inputs holds everything that the decision about one update depends on, as read at one moment.
type Inputs struct {
	// Request is the object that asks for the update, or nil.
	Request *operator.Request

	// Running is the version to be replaced. It is nil for a first install, which is never held.
	Running *operator.Version

	// Uninstalled is true if Running no longer exists, and left custom resources that Target takes over: installing Target
	// is an update, too. Only Live counts then, since the Probe no longer exists either.
	Uninstalled bool

	// Target is the name of the version to be installed.
	Target string

	// Versions are those that a user allows, and Version is that of Target, or empty if it is not known.
	Versions *versionrange.Range
	Version  string

	// UpgradeHolds are those with which users hold the updates now.
	UpgradeHolds []UserHold

	Probe             *v1alpha1.Probe                // of the running version, or nil
	OperatorCondition *operatorsv2.OperatorCondition // of the running version, or nil

	// Declaration of the running version.
	Declaration

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

// Declaration is the Probe of an operator as it was installed with it, or as ProbePolicies determine it.
type Declaration struct {
	// OptedIn is true if a CustomResourceDefinition that the operator owns has an annotation for its Probe, or a ProbePolicy applies to
	// it. Its updates are held until its Probe has been read; those of any other operator only by an existing Probe.
	OptedIn bool

	// ByPolicy is true if it opted in only by ProbePolicies. A Probe of a user then takes precedence.
	ByPolicy bool

	// ProbeName is that of its Probe. If empty, the Probe has the name of the running version.
	ProbeName types.NamespacedName

	// Settle, YieldAfter and AlertAfter are those of its Probe, by ProbePolicies, or nil. AlertAfter decides nothing.
	Settle, YieldAfter, AlertAfter *metav1.Duration

	// Namespaces are those of its Probe, or nil for all or those of its OperatorGroup.
	Namespaces []string

	// Own are the resources that its Probe has to have, or nil if they are not known. The CustomResourceDefinitions may have the
	// annotations of another version by now, and so may the Probe for a moment.
	Own []v1alpha1.ProbeResource
}

// isDeclared reports whether the spec of a generated Probe is the one that was declared, as far as that is known. A user may set only
// its isolation.
func (d Declaration) isDeclared(spec *v1alpha1.ProbeSpec) bool {
	equal := equality.Semantic.DeepEqual
	times := equal(d.Settle, spec.Settle) && equal(d.YieldAfter, spec.YieldAfter)
	return d.Own == nil || times && equal(d.Own, spec.ProbeResources) && equal(d.Namespaces, spec.Namespaces) && spec.ServiceAccountName == ""
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

// NeedsPolling reports whether all holds may end without an event.
func (d Decision) NeedsPolling() bool {
	endsByEvent := func(h Hold) bool { return !h.Unreported && h.Reason != v1alpha1.ReasonProbeNotRead }
	return d.Held && len(d.Holds) > 0 && !slices.ContainsFunc(d.Holds, endsByEvent)
}

// Unreported reports whether custom resources hold an update without their Probe reporting it.
func (d Decision) Unreported() bool {
	return d.Held && slices.ContainsFunc(d.Holds, func(h Hold) bool { return h.Unreported })
}

// Evaluate returns whether the running operator holds its update. What administrators set takes precedence: an UpgradeHold, and
// `spec.overrides` of the OperatorCondition.
func Evaluate(in Inputs) Decision {
	if in.Running == nil || in.Target == "" || in.Target == in.Running.Name {
		return Decision{}
	}
	override := overrideOf(in.OperatorCondition)
	byUsers, allowing := in.userHolds()
	if override != nil && override.Status != metav1.ConditionTrue { // as in OLM, also if it is Unknown
		return in.held(append([]Hold{in.overriddenHold(*override)}, byUsers...))
	}
	holds := in.holds()
	if len(byUsers) > 0 {
		return in.held(append(byUsers, holds...))
	}
	var by []string
	for _, h := range allowing {
		by = append(by, annotationOf(h.By))
	}
	if len(holds) > 0 {
		allowed := allowedBy(in, override)
		if allowed == "" {
			return in.held(holds)
		}
		if !slices.Contains(by, allowed) {
			by = append(by, allowed)
		}
	}
	if len(by) == 0 {
		return Decision{}
	}
	overridden := append(allowing, holds...)
	return Decision{Holds: overridden, Reason: v1alpha1.ReasonOverridden, Overridden: true, Message: fmt.Sprintf(
		"The update to %s is allowed by %s. Without it, the update would be held: %s", in.Target, strings.Join(by, " and "), causes(overridden))}
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
		return combine(held)
	}
	return combine(overridden)
}

// mostStated limits the updates of a plan that a message is about.
const mostStated = 5

// combine combines decisions that are all held, or all overridden.
func combine(all []Decision) Decision {
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

// check returns why an operator does not allow its update, or nil.
type check func(Inputs) *Hold

// checks are everything that may hold an update. All of them run, and the first that holds it gives the decision its reason.
var checks = []check{Inputs.probeHold, Inputs.operatorHold}

// holds returns the causes for which the running operator does not allow its update.
func (in Inputs) holds() []Hold {
	var out []Hold
	caveat, override := in.caveat(), in.Override()
	for _, check := range checks {
		if h := check(in); h != nil {
			h.Target, h.Caveat, h.Override = in.Target, caveat, override
			out = append(out, *h)
		}
	}
	return out
}

// caveat returns a note that the conditions may be out of date, or "" while the operator runs.
func (in Inputs) caveat() string {
	switch {
	case in.Uninstalled:
		return "Their status does not change until an operator runs again"
	case in.Running.Phase == "":
		return ""
	default:
		return fmt.Sprintf("%s is %s, so its conditions may be stale", in.Running.Name, in.Running.Phase)
	}
}

func refTo(kind string, object metav1.Object) operator.Ref {
	return operator.Ref{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
}

func nameOf(obj metav1.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }
