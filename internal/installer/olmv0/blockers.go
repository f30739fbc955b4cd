package olmv0

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/operator"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
)

// toResolveAnew is the purpose of a step: any change of a Subscription triggers OLM's resolver.
const toResolveAnew = "To have OLM resolve it now"

// broken are the conditions of a Subscription that a user has to end.
var broken = subscriptionstatus.TypesOf(subscriptionstatus.Broken)

// blockersOf returns the blockers of a Subscription's operator.
func blockersOf(sub *v1alpha1.Subscription, status *v1alpha1.SubscriptionStatus, n *namespace, plan *olm.InstallPlan) []operator.Blocker {
	var out []operator.Blocker
	for _, t := range broken {
		c := status.GetCondition(t)
		switch {
		case t == v1alpha1.SubscriptionResolutionFailed && c.Status == corev1.ConditionTrue:
			out = append(out, unresolvable(sub, c, n)...)
		case c.Status != corev1.ConditionTrue || subscriptionstatus.IsInProgress(status, c):
		default:
			out = append(out, n.brokenBy(sub, c))
		}
	}
	running := csvchain.Running(n.CSVs, sub.Status.InstalledCSV)
	if running != nil {
		if b := installer.Unreliable(n.Probes[running.Name]); b != nil {
			out = append(out, *b)
		}
		b := lingering(n.CSVs[running.Spec.Replaces])
		if b != nil && !slices.ContainsFunc(out, func(o operator.Blocker) bool { return o.Cause == b.Cause }) { // which may break it already
			out = append(out, *b)
		}
	}
	if c := status.GetCondition(v1alpha1.SubscriptionUpgradeHeld); c.Status == corev1.ConditionTrue {
		out = append(out, n.heldUpdate(sub, c, plan)...)
	}
	if c := status.GetCondition(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval); c.Status == corev1.ConditionTrue {
		switch {
		case plan != nil:
			out = append(out, unapproved(c, plan))
		case n.isUnread(InstallPlans):
			by, step := n.origin(sub, v1alpha1.SubscriptionInstallPlanMissing)
			out = append(out, operator.Blocker{Impact: operator.Held, By: by, Reason: c.Reason, Since: since(c), Cause: c.Message, Steps: []operator.Step{step}})
		}
	}
	return distinct(out)
}

// blockingSubscription returns the Subscription whose update has begun, or is held by OLM, if that makes the resolution of the whole
// namespace fail: OLM then has two versions of an operator installed, of which a Subscription wants one.
func (n *namespace) blockingSubscription(failed v1alpha1.SubscriptionCondition) (by *v1alpha1.Subscription, held bool) {
	for i := range n.Subscriptions {
		sub := &n.Subscriptions[i]
		held = n.HeldByOLM(sub).Held && strings.Contains(failed.Message, sub.Status.CurrentCSV)
		if held || bridge.Updating(sub, failed, n.CSVs) {
			return sub, held
		}
	}
	return nil, false
}

// brokenBy returns the blocker of a condition that a user has to end.
func (n *namespace) brokenBy(sub *v1alpha1.Subscription, c v1alpha1.SubscriptionCondition) operator.Blocker {
	by, step := n.origin(sub, c.Type)
	out := operator.Blocker{Impact: operator.Broken, By: by, Reason: c.Reason, Since: since(c), Cause: c.Message, Steps: []operator.Step{step}}
	switch {
	case c.Reason == v1alpha1.ReasonCatalogSourceNotFound:
		out.Steps = []operator.Step{{To: "To see which exist", Command: "kubectl get catalogsources.operators.coreos.com -A"}}
	case c.Type == v1alpha1.SubscriptionInstalledCSVMissing:
		out.Steps = []operator.Step{operator.Describe("To see why", "subscription.operators.coreos.com", sub.Namespace, sub.Name)}
	case c.Type == v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed):
		out.Steps = append(stepsToUnpacking(sub), out.Steps...)
	case c.Type == v1alpha1.SubscriptionInstallPlanFailed && sub.Status.InstallPlanRef != nil:
		out.Steps = append(out.Steps, operator.Step{To: "To have it created again, once its cause is gone", Command: operator.Command(
			"kubectl delete installplan.operators.coreos.com -n %s %s", sub.Namespace, sub.Status.InstallPlanRef.Name)})
	}
	return out
}

// unresolvable returns the blockers of a Subscription whose resolution failed: OLM reports a failure for the whole namespace
// while an update in it is held or in progress, and for up to 15 minutes after an update.
func unresolvable(sub *v1alpha1.Subscription, c v1alpha1.SubscriptionCondition, n *namespace) []operator.Blocker {
	out := operator.Blocker{Impact: operator.Held, By: "Subscription " + sub.Namespace + "/" + sub.Name, Reason: c.Reason, Since: since(c)}
	if by, held := n.blockingSubscription(c); by != nil {
		if by.Name == sub.Name {
			return nil // its own blockers tell why
		}
		out.By = "Subscription " + by.Namespace + "/" + by.Name
		out.Cause = fmt.Sprintf("OLM cannot resolve namespace %s while %s is being updated to %s", sub.Namespace, by.Name, by.Status.CurrentCSV)
		if held {
			out.Cause = fmt.Sprintf("OLM cannot resolve namespace %s while it holds the update of %s to %s", sub.Namespace, by.Name, by.Status.CurrentCSV)
		}
		out.Steps = []operator.Step{{To: "To see its blockers", Command: operator.Command("kubectl operator-status why -n %s %s", by.Namespace, by.Name)}}
		return []operator.Blocker{out}
	}
	if csv := bridge.OutdatedFailure(sub, n.CSVs); csv != "" && !n.isUnread(ClusterServiceVersions) {
		out.Cause = fmt.Sprintf("OLM's last resolution of namespace %s failed because of ClusterServiceVersion %s, which has since been deleted; "+
			"OLM resolves it again within 15 minutes", sub.Namespace, csv)
		out.Steps = []operator.Step{{To: toResolveAnew,
			Command: operator.Command("kubectl annotate --overwrite subscription.operators.coreos.com -n %s %s "+v1alpha1.AnnotationResolveAnew+"=$(date +%%s)",
				sub.Namespace, sub.Name)}}
		return []operator.Blocker{out}
	}
	if b := n.lingeringIn(c); b != nil {
		return []operator.Blocker{*b}
	}
	return []operator.Blocker{n.brokenBy(sub, c)}
}

// distinct removes blockers with the impact and cause of an earlier one, which takes over their Since if it has none.
func distinct(blockers []operator.Blocker) []operator.Blocker {
	var out []operator.Blocker
	for _, b := range blockers {
		at := slices.IndexFunc(out, func(o operator.Blocker) bool { return o.Impact == b.Impact && o.Cause == b.Cause })
		switch {
		case at < 0:
			out = append(out, b)
		case out[at].Since.IsZero():
			out[at].Since = b.Since
		}
	}
	return out
}

// origin returns the object that a condition of a Subscription is about, and a command that shows it. It is the Subscription
// itself if that names no other.
func (n *namespace) origin(sub *v1alpha1.Subscription, t v1alpha1.SubscriptionConditionType) (string, operator.Step) {
	kind, resource, namespace, name := "Subscription", "subscription.operators.coreos.com", sub.Namespace, sub.Name
	named := func(k, r, inNamespace, object string) {
		if installer.IsName(inNamespace) && installer.IsName(object) {
			kind, resource, namespace, name = k, r, inNamespace, object
		}
	}
	switch t {
	case v1alpha1.SubscriptionCatalogSourceInvalid:
		if sub.Spec != nil {
			named("CatalogSource", "catalogsource.operators.coreos.com", sub.Spec.CatalogSourceNamespace, sub.Spec.CatalogSource)
		}
	case v1alpha1.SubscriptionInstallPlanFailed, v1alpha1.SubscriptionInstallPlanPending, v1alpha1.SubscriptionInstallPlanMissing:
		if sub.Status.InstallPlanRef != nil {
			named("InstallPlan", "installplan.operators.coreos.com", sub.Namespace, sub.Status.InstallPlanRef.Name)
		}
	case v1alpha1.SubscriptionInstalledCSVFailed:
		named("ClusterServiceVersion", "clusterserviceversion.operators.coreos.com", sub.Namespace, n.failedVersion(sub))
	case v1alpha1.SubscriptionInstalledCSVMissing:
		named("ClusterServiceVersion", "clusterserviceversion.operators.coreos.com", sub.Namespace, sub.Status.InstalledCSV)
	default: // it is about the Subscription itself
	}
	return kind + " " + namespace + "/" + name, operator.Describe("To see why", resource, namespace, name)
}

// failedVersion returns the name of the ClusterServiceVersion of a Subscription that has Failed: of the new version, or else of the installed one.
func (n *namespace) failedVersion(sub *v1alpha1.Subscription) string {
	for _, name := range []string{sub.Status.CurrentCSV, sub.Status.InstalledCSV} {
		if csv := n.CSVs[name]; csv != nil && csv.Status.Phase == olm.CSVPhaseFailed {
			return name
		}
	}
	return sub.Status.CurrentCSV // as far as may be read
}

// heldUpdate returns the blockers of an update that a gate holds, one for each hold.
func (n *namespace) heldUpdate(sub *v1alpha1.Subscription, c v1alpha1.SubscriptionCondition, plan *olm.InstallPlan) []operator.Blocker {
	holds := n.holds(sub, plan)
	if !slices.ContainsFunc(holds, func(h gate.Hold) bool { return h.Reason == c.Reason }) {
		return []operator.Blocker{n.reportedHold(sub, c)}
	}
	var out []operator.Blocker
	for _, h := range holds {
		b := installer.HeldBy(h, n.Probes[h.By.Name])
		if began := since(c); b.Since.Before(&began) {
			b.Since = began
		}
		b.Steps = append(b.Steps, installer.StepsOverriding(h)...)
		out = append(out, b)
	}
	return out
}

// holds returns the holds of the update of a Subscription, and of the others in its InstallPlan while that waits, according
// to the objects of the namespace.
func (n *namespace) holds(sub *v1alpha1.Subscription, plan *olm.InstallPlan) []gate.Hold {
	updates := []gate.Inputs{n.Update(sub)}
	if bridge.Waits(plan) {
		updates = n.Updates(plan)
	}
	if reported(sub) {
		for i := range updates {
			updates[i] = updates[i].AsReported()
		}
	}
	return gate.EvaluatePlan(updates).Holds
}

// reportedHold returns the blocker of a hold that only a condition reports: operator-status also depends on state that no
// object of the namespace records.
func (n *namespace) reportedHold(sub *v1alpha1.Subscription, c v1alpha1.SubscriptionCondition) operator.Blocker {
	out := operator.Blocker{Impact: operator.Held, By: "Subscription " + sub.Namespace + "/" + sub.Name, Reason: c.Reason, Since: since(c), Cause: c.Message}
	in := n.Update(sub)
	if in.Running == nil {
		return out
	}
	by := operator.Ref{Namespace: in.Running.Namespace, Name: in.Running.Name}
	switch c.Reason {
	case v1alpha1.ReasonProbeNotUpgradeable, v1alpha1.ReasonProbeNotRead, v1alpha1.ReasonProbeConflict:
		by.Kind = v1alpha1.ProbeKind
	case v1alpha1.ReasonOperatorConditionNotUpgradeable:
		by.Kind = "OperatorCondition"
	default:
		return out
	}
	out.By, out.Steps = by.String(), installer.StepsTo(by, n.Probes[by.Name])
	override := in.Override()
	if cause, found := override.CutFrom(c.Message); found {
		out.Cause, out.Steps = cause, append(out.Steps, operator.Step{To: installer.ToUpdateAnyway, Command: override.Command()})
	}
	return out
}

// unapproved returns the blocker of an update that a user has to approve.
func unapproved(c v1alpha1.SubscriptionCondition, plan *olm.InstallPlan) operator.Blocker {
	out := operator.Blocker{
		Impact: operator.Held, By: "InstallPlan " + plan.Namespace + "/" + plan.Name, Reason: c.Reason, Since: since(c),
		Cause: fmt.Sprintf("InstallPlan %s/%s, which installs %s, is waiting for a user to approve it",
			plan.Namespace, plan.Name, strings.Join(plan.Spec.ClusterServiceVersionNames, ", ")),
		Steps: []operator.Step{{To: "To approve it", Command: subscriptionstatus.HowToApprove(plan)}},
	}
	if out.Since.IsZero() && bridge.Waits(plan) {
		out.Since = plan.CreationTimestamp
	}
	return out
}

// failedCSV returns the blocker of a ClusterServiceVersion that has Failed, or nil.
func failedCSV(csv *v1alpha1.ClusterServiceVersion) *operator.Blocker {
	if csv.Status.Phase != olm.CSVPhaseFailed {
		return nil
	}
	out := &operator.Blocker{
		Impact: operator.Broken, By: "ClusterServiceVersion " + csv.Namespace + "/" + csv.Name, Reason: string(csv.Status.Reason), Cause: csv.Status.Message,
		Steps: []operator.Step{operator.Describe("To see why", "clusterserviceversion.operators.coreos.com", csv.Namespace, csv.Name)},
	}
	if csv.Status.LastTransitionTime != nil {
		out.Since = *csv.Status.LastTransitionTime
	}
	return out
}

// lingering returns the blocker that a replaced version cannot be deleted, because of finalizers of others than OLM, or nil.
func lingering(csv *v1alpha1.ClusterServiceVersion) *operator.Blocker {
	if csv == nil || csv.DeletionTimestamp == nil {
		return nil
	}
	const ofOLM = "operators.coreos.com/"
	finalizers := slices.DeleteFunc(slices.Clone(csv.Finalizers), func(name string) bool { return strings.HasPrefix(name, ofOLM) })
	if len(finalizers) == 0 {
		return nil
	}
	by := "ClusterServiceVersion " + csv.Namespace + "/" + csv.Name
	return &operator.Blocker{
		Impact: operator.Waiting, By: by, Reason: installer.ReasonTerminating, Since: *csv.DeletionTimestamp,
		Cause: by + " is being deleted, and waits for its finalizers: " + strings.Join(finalizers, ", "),
		Steps: []operator.Step{operator.Describe("To see it", "clusterserviceversion.operators.coreos.com", csv.Namespace, csv.Name)},
	}
}

// lingeringIn returns the blocker of the ClusterServiceVersion that cannot be deleted because of which a resolution failed, or nil. Until it
// is gone, OLM resolves nothing in its namespace.
func (n *namespace) lingeringIn(failed v1alpha1.SubscriptionCondition) *operator.Blocker {
	for _, name := range slices.Sorted(maps.Keys(n.CSVs)) {
		if b := lingering(n.CSVs[name]); b != nil && strings.Contains(failed.Message, name+" ") {
			b.Impact = operator.Broken
			return b
		}
	}
	return nil
}

func since(c v1alpha1.SubscriptionCondition) metav1.Time {
	if c.LastTransitionTime == nil {
		return metav1.Time{}
	}
	return *c.LastTransitionTime
}
