package olm

import (
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/subscription"
)

// Namespace is what a namespace holds that decides whether its updates go ahead, read at one moment.
type Namespace struct {
	Subscriptions []v1alpha1.Subscription

	// CSVs, Probes and OperatorConditions by name. Those of one operator have the same.
	CSVs               map[string]*v1alpha1.ClusterServiceVersion
	Probes             map[string]*v1alpha1.Probe
	OperatorConditions map[string]*operatorsv2.OperatorCondition

	// OptedIn has the names of the ClusterServiceVersions whose CustomResourceDefinitions ask for a Probe.
	OptedIn map[string]bool

	// Reader is who reads custom resources now, and Targets the hash of the target namespaces of the OperatorGroup.
	Reader, Targets string
}

// Verdict is what the approval gate says of an InstallPlan. OLM puts all updates of a namespace into one, so that it is
// judged whole.
type Verdict struct {
	// Ours is true where a Subscription in the plan leaves its approval to operator-status.
	Ours bool

	// Gate is the decision about the updates in the plan.
	Gate gate.Decision

	// Missing names the Subscriptions in the plan for which only a person may approve it, sorted.
	Missing []string
}

// Approve is true where operator-status is to approve the plan.
func (v Verdict) Approve() bool { return v.Ours && !v.Gate.Held && len(v.Missing) == 0 }

// Judge says of an InstallPlan whether it may be approved.
func Judge(plan *olm.InstallPlan, n Namespace) Verdict {
	out := Verdict{Ours: n.ours(plan)}
	var updates []gate.Inputs
	for i := range n.Subscriptions {
		sub := &n.Subscriptions[i]
		if !installs(plan, sub) {
			continue
		}
		if sub.IsManual() && !sub.IsGated() {
			out.Missing = append(out.Missing, sub.Namespace+"/"+sub.Name)
		}
		updates = append(updates, n.update(sub))
	}
	out.Gate = gate.EvaluatePlan(updates)
	slices.Sort(out.Missing)
	return out
}

// ours is true where the approval of a plan is left to operator-status by a Subscription that refers to it. One that is
// Automatic does so where no other than ours is Manual: a single Manual one has OLM ask for the approval of every plan of the
// namespace, and here nobody but us would give it.
func (n Namespace) ours(plan *olm.InstallPlan) bool {
	var asks, byGate, byPerson bool
	for i := range n.Subscriptions {
		sub := &n.Subscriptions[i]
		refers := sub.Status.InstallPlanRef != nil && sub.Status.InstallPlanRef.Name == plan.Name
		byGate = byGate || sub.IsGated()
		byPerson = byPerson || sub.IsManual() && !sub.IsGated()
		if sub.IsGated() && refers {
			return n.current(plan)
		}
		asks = asks || refers
	}
	return asks && byGate && !byPerson && n.current(plan)
}

// current is true for a plan each of whose ClusterServiceVersions is still the target of a Subscription, or brings one along.
// In one that is overtaken there may be versions that have been replaced since.
func (n Namespace) current(plan *olm.InstallPlan) bool {
	for _, name := range plan.Spec.ClusterServiceVersionNames {
		target := slices.ContainsFunc(n.Subscriptions, func(sub v1alpha1.Subscription) bool { return sub.Status.CurrentCSV == name })
		brings := slices.ContainsFunc(plan.Status.Plan, func(s *olm.Step) bool {
			return s.Resolving == name && s.Resource.Kind == v1alpha1.SubscriptionKind
		})
		if !target && !brings {
			return false
		}
	}
	return true
}

// installs is true where a plan is, among others perhaps, for a Subscription: it is referred to, or installs the target of
// one that refers to an earlier plan. Who owns it says nothing, since OLM has every Subscription of the namespace own it.
func installs(plan *olm.InstallPlan, sub *v1alpha1.Subscription) bool {
	ref := sub.Status.InstallPlanRef
	return ref != nil && ref.Name == plan.Name || slices.Contains(plan.Spec.ClusterServiceVersionNames, sub.Status.CurrentCSV)
}

// update returns what decides whether the update of a Subscription is held. What runs is told by what was installed: where
// OLM holds the update itself, that is what does not run yet.
func (n Namespace) update(sub *v1alpha1.Subscription) gate.Inputs {
	out := gate.Inputs{Subscription: sub, Target: sub.Status.CurrentCSV, BesideOLM: true, Reader: n.Reader, Targets: n.Targets}
	running := csvchain.Running(n.CSVs, sub.Status.InstalledCSV)
	if running == nil || !begun(running) {
		return out
	}
	out.Running, out.Probe, out.OperatorCondition = running, n.Probes[running.Name], n.OperatorConditions[running.Name]
	out.OptedIn = n.OptedIn[running.Name]
	return out
}

// begun is true for a ClusterServiceVersion that has run, or of which nobody can tell: OLM keeps so many phases and no more.
func begun(csv *v1alpha1.ClusterServiceVersion) bool {
	return csvchain.Ran(csv) || len(csv.Status.Conditions) >= historyOfOLM
}

// historyOfOLM is how many phases of a ClusterServiceVersion OLM keeps.
const historyOfOLM = 20

// heldByOLM is the decision about the update of a Subscription that OLM has approved, and does not go on with; the zero value
// where it does.
func (n Namespace) heldByOLM(sub *v1alpha1.Subscription) gate.Decision {
	target := n.CSVs[sub.Status.CurrentCSV]
	if target == nil || target.Status.Phase != olm.CSVPhasePending || target.Status.Reason != olm.CSVReasonOperatorConditionNotUpgradeable {
		return gate.Decision{}
	}
	out := gate.Evaluate(n.update(sub))
	if !out.Held {
		out = gate.Decision{Held: true, Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Message: fmt.Sprintf(
			"The update to %s is held: %s", target.Name, strings.TrimRight(target.Status.Message, ". "))}
	}
	out.Approved = true
	out.Message += fmt.Sprintf(". The OperatorCondition gate acts after InstallPlan %s/%s: its CustomResourceDefinitions are in place already, "+
		"and nothing else in the namespace is installed or updated meanwhile", sub.Namespace, planName(sub))
	return out
}

func planName(sub *v1alpha1.Subscription) string {
	if sub.Status.InstallPlanRef == nil {
		return "unknown"
	}
	return sub.Status.InstallPlanRef.Name
}

// missing says whose word a plan waits for.
func missing(plan *olm.InstallPlan, subs []string) string {
	return fmt.Sprintf(
		"InstallPlan %s/%s is for Subscription %s too, whose approval is Manual, and OLM installs all of it or nothing: a person has to approve it, by %s",
		plan.Namespace, plan.Name, subscription.Named(subs), subscription.HowToApprove(plan))
}
