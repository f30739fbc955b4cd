// Package bridge makes the decisions of operator-status beside a real OLM: which InstallPlans it approves, and which
// conditions it adds to Subscriptions. It is pure.
package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// Namespace holds everything in a namespace that decides whether its updates may proceed, as read at one moment.
type Namespace struct {
	Subscriptions []v1alpha1.Subscription

	// CSVs, Probes and OperatorConditions are by name. Those of one operator share the name.
	CSVs               map[string]*v1alpha1.ClusterServiceVersion
	Probes             map[string]*v1alpha1.Probe
	OperatorConditions map[string]*operatorsv2.OperatorCondition

	// Declared has the declaration of each ClusterServiceVersion that may have run, by name.
	Declared map[string]gate.Declaration

	// Uninstalled are the operators that opted in and no longer exist.
	Uninstalled []Uninstalled

	// UpgradeHolds are those of the cluster, and Now is when they were read.
	UpgradeHolds []holdv1alpha1.UpgradeHold
	Now          time.Time

	// Reader identifies the process that reads custom resources now. Targets is the hash of the OperatorGroup's target
	// namespaces.
	Reader, Targets string

	// Readers has the current reader of each Probe by name. Where it has none, PodReady reports whether the pod of a
	// Probe with isolation Pod is one.
	Readers map[string]string
}

// Uninstalled is an operator that opted in and no longer exists. It may have left custom resources.
type Uninstalled struct {
	Name  string // of its ClusterServiceVersion
	Owned []string
	Probe *v1alpha1.Probe // that it would have
}

// Verdict is the decision of the approval gate about an InstallPlan. OLM puts all updates of a namespace into one plan,
// so the plan is judged as a whole.
type Verdict struct {
	// Ours is true if the approval of the plan is left to operator-status.
	Ours bool

	// Gate is the decision about the updates in the plan.
	Gate gate.Decision

	// Missing names the Subscriptions in the plan whose updates only a user may approve, sorted.
	Missing []string
}

// Approve reports whether operator-status approves the plan.
func (v Verdict) Approve() bool { return v.Ours && !v.Gate.Held && len(v.Missing) == 0 }

// Judge returns the Verdict on an InstallPlan.
func Judge(plan *olm.InstallPlan, n Namespace) Verdict {
	out := Verdict{Ours: n.delegated(plan), Gate: gate.EvaluatePlan(n.Updates(plan))}
	for i := range n.Subscriptions {
		if sub := &n.Subscriptions[i]; installs(plan, sub) && sub.IsManual() && !sub.IsGated() {
			out.Missing = append(out.Missing, sub.Namespace+"/"+sub.Name)
		}
	}
	slices.Sort(out.Missing)
	return out
}

// Updates returns the inputs of the decision about each Subscription that a plan is for.
func (n Namespace) Updates(plan *olm.InstallPlan) []gate.Inputs {
	var out []gate.Inputs
	for i := range n.Subscriptions {
		if sub := &n.Subscriptions[i]; installs(plan, sub) {
			out = append(out, n.Update(sub))
			out = append(out, n.takenOver(plan, sub)...)
		}
	}
	return out
}

// takenOver returns the inputs of the decision about a first install that takes over the custom resources of uninstalled
// versions of the operator. The same version may always be reinstalled.
func (n Namespace) takenOver(plan *olm.InstallPlan, sub *v1alpha1.Subscription) []gate.Inputs {
	target := sub.Status.CurrentCSV
	if csvchain.Running(n.CSVs, sub.Status.InstalledCSV) != nil {
		return nil
	}
	var out []gate.Inputs
	for _, u := range n.Uninstalled {
		defines := func(s *olm.Step) bool {
			return s.Resolving == target && s.Resource.Kind == "CustomResourceDefinition" && slices.Contains(u.Owned, s.Resource.Name)
		}
		if u.Name == target || !slices.ContainsFunc(plan.Status.Plan, defines) {
			continue
		}
		out = append(out, gate.Inputs{
			Request: csvchain.Request(sub), Target: target, BesideOLM: true, Uninstalled: true, Probe: u.Probe,
			Running: &operator.Version{Ref: operator.Ref{Kind: v1alpha1.ClusterServiceVersionKind, Namespace: sub.Namespace, Name: u.Name}},
		})
	}
	return out
}

// delegated reports whether a Subscription that refers to the plan leaves its approval to operator-status. A gated one does.
// An Automatic one does if the namespace has gated Subscriptions and no other Manual ones: a single Manual Subscription
// makes OLM require approval for every plan of the namespace, and no other controller or user would approve this one.
func (n Namespace) delegated(plan *olm.InstallPlan) bool {
	var referred, byGate, byPerson bool
	for i := range n.Subscriptions {
		sub := &n.Subscriptions[i]
		refers := sub.Status.InstallPlanRef != nil && sub.Status.InstallPlanRef.Name == plan.Name
		byGate = byGate || sub.IsGated()
		byPerson = byPerson || sub.IsManual() && !sub.IsGated()
		if sub.IsGated() && refers {
			return n.current(plan)
		}
		referred = referred || refers
	}
	return referred && byGate && !byPerson && n.current(plan)
}

// current reports whether every ClusterServiceVersion in a plan is still the target of a Subscription, or of one that
// the plan itself creates. A superseded plan may contain versions that have been replaced since.
func (n Namespace) current(plan *olm.InstallPlan) bool {
	for _, name := range plan.Spec.ClusterServiceVersionNames {
		target := slices.ContainsFunc(n.Subscriptions, func(sub v1alpha1.Subscription) bool { return sub.Status.CurrentCSV == name })
		createsSubscription := slices.ContainsFunc(plan.Status.Plan, func(s *olm.Step) bool {
			return s.Resolving == name && s.Resource.Kind == v1alpha1.SubscriptionKind
		})
		if !target && !createsSubscription {
			return false
		}
	}
	return true
}

// installs reports whether a plan is for a Subscription, perhaps among others: the Subscription refers to it, or the
// plan installs its target although it refers to an earlier plan. Owner references do not help, since OLM makes every
// Subscription of the namespace an owner.
func installs(plan *olm.InstallPlan, sub *v1alpha1.Subscription) bool {
	ref := sub.Status.InstallPlanRef
	return ref != nil && ref.Name == plan.Name || slices.Contains(plan.Spec.ClusterServiceVersionNames, sub.Status.CurrentCSV)
}

// Update returns the inputs of the decision about the update of a Subscription. It finds the running CSV from the installed
// one, which does not run yet while OLM itself holds the update. OLM does not report the target of an update whose InstallPlan was
// denied, apart from the error.
func (n Namespace) Update(sub *v1alpha1.Subscription) gate.Inputs {
	out := gate.Inputs{Request: csvchain.Request(sub), Target: sub.Status.CurrentCSV, BesideOLM: true, Reader: n.Reader, Targets: n.Targets}
	running := csvchain.Running(n.CSVs, sub.Status.InstalledCSV)
	if running == nil || !MayHaveRun(running) {
		return out
	}
	out.Target = cmp.Or(csvchain.DeniedUpdate(sub, running, n.CSVs), out.Target)
	out.Running, out.Probe, out.OperatorCondition = csvchain.Version(running), n.Probes[running.Name], n.OperatorConditions[running.Name]
	out.Declaration = n.Declared[running.Name]
	if sub.IsGated() && out.Target != running.Name {
		out.Versions, out.Version = versionrange.Of(sub.Annotations), csvchain.VersionNamed(out.Target, running)
	}
	out.UpgradeHolds = gate.ByUsers(n.UpgradeHolds, holdv1alpha1.SubscribedOperator(sub.Namespace, sub.Name), n.Now)
	out.Reader = cmp.Or(n.Readers[running.Name], gate.ReportedReader(out.Probe, n.Reader))
	return out
}

// MayHaveRun reports whether a ClusterServiceVersion has run, or may have: OLM keeps only so many phases.
func MayHaveRun(csv *v1alpha1.ClusterServiceVersion) bool {
	return csvchain.Ran(csv) || len(csv.Status.Conditions) >= historyOfOLM
}

// historyOfOLM is how many phases of a ClusterServiceVersion OLM keeps.
const historyOfOLM = 20

// HeldByOLM returns the decision about an approved update that OLM holds because of the OperatorCondition, or the zero
// value.
func (n Namespace) HeldByOLM(sub *v1alpha1.Subscription) gate.Decision {
	target := n.CSVs[sub.Status.CurrentCSV]
	if target == nil || target.Status.Phase != olm.CSVPhasePending || target.Status.Reason != olm.CSVReasonOperatorConditionNotUpgradeable {
		return gate.Decision{}
	}
	out := gate.Evaluate(n.Update(sub))
	if !out.Held {
		hold := gate.Hold{
			Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Target: target.Name, Cause: messages.Line(target.Status.Message),
			By: operator.Ref{Kind: v1alpha1.ClusterServiceVersionKind, Namespace: target.Namespace, Name: target.Name},
		}
		out = gate.Decision{Held: true, Reason: hold.Reason, Holds: []gate.Hold{hold}, Message: hold.Message()}
	}
	out.Approved = true
	out.Message += fmt.Sprintf(". The OperatorCondition gate acts after InstallPlan %s/%s: its CustomResourceDefinitions are already installed, "+
		"and OLM installs or updates nothing else in the namespace meanwhile", sub.Namespace, planName(sub))
	return out
}

func planName(sub *v1alpha1.Subscription) string {
	if sub.Status.InstallPlanRef == nil {
		return "unknown"
	}
	return sub.Status.InstallPlanRef.Name
}

// missing returns the message that a user has to approve a plan.
func missing(plan *olm.InstallPlan, subs []string) string {
	return fmt.Sprintf(
		"InstallPlan %s/%s is also for Subscription %s, whose approval is Manual, and OLM applies it only as a whole: "+
			"a user has to approve it with %s",
		plan.Namespace, plan.Name, subscriptionstatus.Named(subs), subscriptionstatus.HowToApprove(plan))
}

// Probe returns the inputs for the Probe of a ClusterServiceVersion.
func (n Namespace) Probe(name string) gate.Inputs {
	out := gate.Inputs{Probe: n.Probes[name], Declaration: n.Declared[name]}
	if csv := n.CSVs[name]; csv != nil {
		out.Running = csvchain.Version(csv)
	}
	return out
}

// Waiver returns why the Probe of an operator has no effect on its OperatorCondition, and the Subscription that causes
// this, or nil for both.
func (n Namespace) Waiver(name string) (*gate.Waiver, *v1alpha1.Subscription) {
	for i := range n.Subscriptions {
		sub := &n.Subscriptions[i]
		in := n.Update(sub)
		if in.Running == nil || in.Running.Name != name {
			continue
		}
		if sub.IsGated() && !n.HoldsBegun(name) {
			return &gate.Waiver{Reason: v1alpha1.ReasonApprovalGate, Message: "Updates of Subscription " + sub.Name + " are held before their InstallPlan is approved"},
				sub
		}
		if in.Target != name && sub.Annotations[v1alpha1.AnnotationAllowUpgrade] == in.Target {
			return &gate.Waiver{Reason: v1alpha1.ReasonOverridden,
				Message: "Annotation " + v1alpha1.AnnotationAllowUpgrade + " of Subscription " + sub.Name + " allows the update to " + in.Target}, sub
		}
	}
	return nil, nil
}

// HoldsBegun reports whether our entry in the OperatorCondition of an operator holds an update that OLM has begun. Nothing else holds that
// one, since its InstallPlan has been approved.
func (n Namespace) HoldsBegun(name string) bool {
	csv, oc := n.CSVs[name], n.OperatorConditions[name]
	if csv == nil || oc == nil {
		return false
	}
	c := meta.FindStatusCondition(oc.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || c.Status != metav1.ConditionFalse || !v1alpha1.IsGateReason(c.Reason) {
		return false
	}
	others := make([]v1alpha1.ClusterServiceVersion, 0, len(n.CSVs))
	for _, other := range n.CSVs {
		others = append(others, *other)
	}
	return csvchain.BeingReplaced(csv, others)
}

// Superseded reports whether a plan waits for approval although the version that it would install for a Subscription runs.
// OLM may create two plans for one version, apply one, and refer to the other for ever.
func Superseded(plan *olm.InstallPlan, sub *v1alpha1.Subscription, csvs map[string]*v1alpha1.ClusterServiceVersion) bool {
	target := csvs[sub.Status.CurrentCSV]
	return Waits(plan) && target != nil && target.Status.Phase == olm.CSVPhaseSucceeded &&
		slices.Contains(plan.Spec.ClusterServiceVersionNames, target.Name)
}

// Waits reports whether a plan requires approval and has not been approved. It is false for nil.
func Waits(plan *olm.InstallPlan) bool {
	return plan != nil && plan.DeletionTimestamp.IsZero() && plan.Status.Phase == olm.InstallPlanPhaseRequiresApproval && !plan.Spec.Approved
}
