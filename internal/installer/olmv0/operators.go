// Package olmv0 describes the operators that OLM installed, or the built-in loops of operator-status, which have OLM's API. It
// is pure, and reads only data that OLM or operator-status wrote, so it also works on a cluster with OLM alone.
package olmv0

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"google.golang.org/grpc/connectivity"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operator"
	statuscondition "github.com/operator-status/operator-status/internal/status/condition"
)

// Cluster holds the objects of a cluster that describe its operators, as read at one moment. A kind that is not installed
// has none.
type Cluster struct {
	Subscriptions          []v1alpha1.Subscription
	ClusterServiceVersions []v1alpha1.ClusterServiceVersion
	InstallPlans           []olm.InstallPlan
	Probes                 []v1alpha1.Probe
	OperatorConditions     []operatorsv2.OperatorCondition
	CatalogSources         []olm.CatalogSource
	OperatorGroups         []operatorsv1.OperatorGroup
	PlatformOperators      []platformv1alpha1.PlatformOperator
	ClusterVersions        []configv1.ClusterVersion // only OpenShift has one

	// Unread are the kinds that exist but may not be read, by the names of the fields above. Nothing is concluded from
	// the absence of their objects.
	Unread []string
}

// Kinds that Unread may name.
const (
	Subscriptions          = "Subscriptions"
	ClusterServiceVersions = "ClusterServiceVersions"
	InstallPlans           = "InstallPlans"
	Probes                 = "Probes"
	OperatorConditions     = "OperatorConditions"
	CatalogSources         = "CatalogSources"
	OperatorGroups         = "OperatorGroups"
)

// namespace holds the objects of one namespace, by name.
type namespace struct {
	bridge.Namespace

	plans  map[string]*olm.InstallPlan
	groups []string // names of the OperatorGroups
	unread []string // as in Cluster
}

// isUnread reports whether a kind may not be read.
func (n *namespace) isUnread(kind string) bool { return slices.Contains(n.unread, kind) }

// unreadOf returns those of kinds that may not be read.
func (n *namespace) unreadOf(kinds ...string) []string {
	return slices.DeleteFunc(kinds, func(kind string) bool { return !n.isUnread(kind) })
}

// Operators returns the operators of a cluster, sorted by namespace and name.
func Operators(c Cluster) []operator.Operator {
	spaces := byNamespace(c)
	catalogs := map[types.NamespacedName]*olm.CatalogSource{}
	for i := range c.CatalogSources {
		catalogs[nameOf(&c.CatalogSources[i])] = &c.CatalogSources[i]
	}
	composed := composers(c.PlatformOperators)
	described := map[types.NamespacedName]bool{}
	var out []operator.Operator
	for i := range c.Subscriptions {
		sub := &c.Subscriptions[i]
		n := spaces[sub.Namespace]
		o := subscribed(sub, n, catalogs)
		o.PlatformOperator = composed[nameOf(sub)]
		for _, name := range []string{sub.Status.InstalledCSV, sub.Status.CurrentCSV, o.Installed} {
			described[types.NamespacedName{Namespace: sub.Namespace, Name: name}] = true
		}
		out = append(out, o)
	}
	for i := range c.ClusterServiceVersions {
		csv := &c.ClusterServiceVersions[i]
		if !csv.IsCopied() && !described[nameOf(csv)] {
			out = append(out, unsubscribed(csv, spaces[csv.Namespace]))
		}
	}
	return operator.Sorted(out)
}

func byNamespace(c Cluster) map[string]*namespace {
	out := map[string]*namespace{}
	of := func(name string) *namespace {
		if out[name] == nil {
			out[name] = &namespace{
				Namespace: bridge.Namespace{
					CSVs: map[string]*v1alpha1.ClusterServiceVersion{}, Probes: map[string]*v1alpha1.Probe{},
					OperatorConditions: map[string]*operatorsv2.OperatorCondition{},
				},
				plans:  map[string]*olm.InstallPlan{},
				unread: c.Unread,
			}
		}
		return out[name]
	}
	for i := range c.Subscriptions {
		n := of(c.Subscriptions[i].Namespace)
		n.Subscriptions = append(n.Subscriptions, c.Subscriptions[i])
	}
	for i := range c.ClusterServiceVersions {
		if csv := &c.ClusterServiceVersions[i]; !csv.IsCopied() {
			of(csv.Namespace).CSVs[csv.Name] = csv
		}
	}
	for i := range c.OperatorGroups {
		n := of(c.OperatorGroups[i].Namespace)
		n.groups = append(n.groups, c.OperatorGroups[i].Name)
	}
	for i := range c.Probes {
		of(c.Probes[i].Namespace).Probes[c.Probes[i].Name] = &c.Probes[i]
	}
	for i := range c.OperatorConditions {
		of(c.OperatorConditions[i].Namespace).OperatorConditions[c.OperatorConditions[i].Name] = &c.OperatorConditions[i]
	}
	for i := range c.InstallPlans {
		of(c.InstallPlans[i].Namespace).plans[c.InstallPlans[i].Name] = &c.InstallPlans[i]
	}
	return out
}

// composers returns the names of the PlatformOperators by the Subscriptions that they compose.
func composers(ops []platformv1alpha1.PlatformOperator) map[types.NamespacedName]string {
	out := map[types.NamespacedName]string{}
	for i := range ops {
		for _, r := range ops[i].Status.Resources {
			if r.Reference.Kind == v1alpha1.SubscriptionKind {
				out[types.NamespacedName{Namespace: r.Reference.Namespace, Name: r.Reference.Name}] = ops[i].Name
			}
		}
	}
	return out
}

// subscribed describes the operator of a Subscription.
func subscribed(sub *v1alpha1.Subscription, n *namespace, catalogs map[types.NamespacedName]*olm.CatalogSource) operator.Operator {
	out := operator.Operator{
		Namespace: sub.Namespace, Name: sub.Name, UpToDate: metav1.ConditionUnknown,
		Reference: holdv1alpha1.SubscribedOperator(sub.Namespace, sub.Name),
	}
	var catalog *olm.CatalogSource
	if spec := sub.Spec; spec != nil {
		key := types.NamespacedName{Namespace: spec.CatalogSourceNamespace, Name: spec.CatalogSource}
		out.Package, out.Channel, out.Catalog, catalog = spec.Package, spec.Channel, key.String(), catalogs[key]
		if n.isUnread(CatalogSources) {
			catalog = reportedCatalog(sub, key)
		}
	}
	plan := n.planOf(sub)
	status := &v1alpha1.SubscriptionStatus{Conditions: conditions(sub, n, plan, catalog)}
	upToDate := status.GetCondition(v1alpha1.SubscriptionUpToDate)
	if out.UpToDate = metav1.ConditionStatus(upToDate.Status); upToDate.Reason == v1alpha1.ReasonNewestAllowedRuns {
		out.Limited = upToDate.Message
	}

	csv := csvchain.Running(n.CSVs, cmp.Or(sub.Status.InstalledCSV, sub.Status.CurrentCSV))
	describe(&out, csv, n)
	out.Upgradeable = n.upgradeable(csv)
	if status.GetCondition(v1alpha1.SubscriptionUpgradeHeld).Status == corev1.ConditionTrue {
		out.Upgradeable = metav1.ConditionFalse
	}
	if bridge.Waits(plan) {
		out.Approval = &operator.Approval{Plan: plan.Name, Installs: plan.Spec.ClusterServiceVersionNames}
	}
	if target := sub.Status.CurrentCSV; target != out.Installed {
		out.Update = target
	}
	out.Blockers, out.Unfinished = blockersOf(sub, status, n, plan), n.unfinished(sub, plan)
	if out.UpToDate == metav1.ConditionTrue && isOutdated(sub, csv, out.Update) {
		out.UpToDate, out.Limited = metav1.ConditionUnknown, ""
	}
	out.WouldHold = n.wouldHold(csv, &out)
	out.Unread = n.unreadOf(ClusterServiceVersions, Probes)
	if !reported(sub) {
		addUnread(&out, n.undecided(sub, catalog))
	}
	return out
}

func isMet(r olm.RequirementStatus) bool { return r.Status == olm.RequirementStatusReasonPresent }

// isExternal reports whether a requirement is not met that nothing in the bundle meets: a version of Kubernetes, or a native API. Others
// are met in the course of an update, when its objects have been created and the replaced version has gone.
func isExternal(r olm.RequirementStatus) bool {
	switch r.Kind {
	case "CustomResourceDefinition", "APIService", "ServiceAccount":
		return false
	}
	return !isMet(r)
}

// unmet returns the requirements of a ClusterServiceVersion that are not met, to be appended to OLM's message, which does not name them.
func unmet(csv *v1alpha1.ClusterServiceVersion) string {
	if csv.Status.Reason != olm.CSVReasonRequirementsNotMet {
		return ""
	}
	const most = 5
	var out []string
	for _, r := range csv.Status.RequirementStatus {
		if isMet(r) || strings.Contains(csv.Status.Message, r.Name) {
			continue
		}
		out = append(out, fmt.Sprintf("%s %s: %s", r.Kind, r.Name, cmp.Or(r.Message, string(r.Status))))
	}
	if len(out) == 0 {
		return ""
	}
	return ": " + messages.List(out, most, "; ")
}

// unfinished returns the object that OLM is processing for a Subscription, or has not begun to process, or nil.
func (n *namespace) unfinished(sub *v1alpha1.Subscription, plan *olm.InstallPlan) *operator.Unfinished {
	to := func(kind, resource, name string) *operator.Unfinished {
		return &operator.Unfinished{
			Ref:   operator.Ref{Kind: kind, Namespace: sub.Namespace, Name: name},
			Steps: []operator.Step{operator.Describe("To see it", resource, sub.Namespace, name)},
		}
	}
	ofPlan := func() *operator.Unfinished {
		out := to(olm.InstallPlanKind, "installplan.operators.coreos.com", plan.Name)
		out.Since, out.Broken, out.Reason = plan.CreationTimestamp, retried(plan), cmp.Or(string(plan.Status.Phase), "NotReconciled")
		out.Message = cmp.Or(plan.Status.Message, "it installs "+strings.Join(plan.Spec.ClusterServiceVersionNames, ", "))
		return out
	}
	csv := n.CSVs[sub.Status.CurrentCSV]
	isSettled := csv == nil || csv.Status.Phase == olm.CSVPhaseSucceeded
	switch unpacking := sub.Status.GetCondition(v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking)); {
	case isSettled && unpacking.Status == corev1.ConditionTrue:
		return unpackingOf(sub, unpacking)
	case csv != nil && csv.Status.Phase == olm.CSVPhaseSucceeded:
		return nil
	case retried(plan): // before the ClusterServiceVersion, whose requirements are in the InstallPlan
		return ofPlan()
	case csv != nil:
		return installationOf(csv)
	case n.isUnread(InstallPlans) || n.isUnread(ClusterServiceVersions):
		return nil
	case plan != nil && plan.Status.Phase != olm.InstallPlanPhaseComplete:
		return ofPlan()
	case sub.Status.CurrentCSV == "" && sub.Status.InstalledCSV == "":
		out := to(v1alpha1.SubscriptionKind, "subscription.operators.coreos.com", sub.Name)
		out.Since, out.Reason = sub.CreationTimestamp, v1alpha1.ReasonNewestNotKnown
		out.Message = "no version has been chosen for it: check that OLM, or the lifecycle manager of operator-status, runs"
		if problem := statuscondition.OperatorGroupProblem(sub.Namespace, n.groups...); problem != nil && !n.isUnread(OperatorGroups) {
			// OLM does not report it before it has a ClusterServiceVersion.
			out.Broken, out.External, out.Reason, out.Message = len(n.groups) > 1, true, problem.Reason, problem.Message
			out.Steps = []operator.Step{{To: "To see them", Command: operator.Command("kubectl get operatorgroups.operators.coreos.com -n %s", sub.Namespace)}}
		}
		return out
	}
	return nil
}

// installationOf describes the installation of a ClusterServiceVersion that has not Succeeded.
func installationOf(csv *v1alpha1.ClusterServiceVersion) *operator.Unfinished {
	out := &operator.Unfinished{
		Ref:      operator.Ref{Kind: v1alpha1.ClusterServiceVersionKind, Namespace: csv.Namespace, Name: csv.Name},
		Since:    csv.CreationTimestamp,
		External: csv.Status.Reason == olm.CSVReasonRequirementsNotMet && slices.ContainsFunc(csv.Status.RequirementStatus, isExternal),
		Steps:    []operator.Step{operator.Describe("To see it", "clusterserviceversion.operators.coreos.com", csv.Namespace, csv.Name)},
	}
	out.Reason, out.Message, out.Broken = progressOf(csv)
	return out
}

// unpackingOf describes a Job of OLM that unpacks the bundle of a new version, by a condition that all Subscriptions of the namespace have
// meanwhile. OLM ends the Job after ten minutes, and its condition has a message only if an image cannot be pulled.
func unpackingOf(sub *v1alpha1.Subscription, c v1alpha1.SubscriptionCondition) *operator.Unfinished {
	out := &operator.Unfinished{
		Ref:    operator.Ref{Kind: v1alpha1.SubscriptionKind, Namespace: sub.Namespace, Name: sub.Name},
		Since:  since(c),
		Broken: c.Message != "",
		Reason: cmp.Or(c.Reason, string(c.Type)),
		Message: cmp.Or(c.Message, "OLM has not unpacked the bundle of a new version yet, of this operator or another one in the namespace. "+
			"The pod of its Job has to pull the bundle's image"),
	}
	if out.Since.IsZero() {
		out.Since = sub.Status.LastUpdated
	}
	out.Steps = stepsToUnpacking(sub)
	return out
}

// stepsToUnpacking returns the step that shows the Job in which OLM unpacks the bundle of a new version, or none.
func stepsToUnpacking(sub *v1alpha1.Subscription) []operator.Step {
	if sub.Spec == nil || !installer.IsName(sub.Spec.CatalogSourceNamespace) {
		return nil
	}
	return []operator.Step{{
		To:      "To see the Job and its pod",
		Command: operator.Command("kubectl get jobs,pods -n %s -l operatorframework.io/bundle-unpack-ref", sub.Spec.CatalogSourceNamespace),
	}}
}

// progressOf returns the state of a ClusterServiceVersion that has not Succeeded, and whether it stays like that.
func progressOf(csv *v1alpha1.ClusterServiceVersion) (reason, message string, stays bool) {
	if failed := csvchain.LastFailure(csv); failed != nil { // OLM tries again and again, and is in another phase meanwhile
		return string(failed.Reason), failed.Message + unmet(csv), true
	}
	lost := csv.Status.Phase == olm.CSVPhasePending && csvchain.Ran(csv) // nobody restores its requirements
	return cmp.Or(string(csv.Status.Phase), "NotReconciled"), cmp.Or(csv.Status.Message+unmet(csv), "OLM has not begun to install it"), lost
}

// retried reports whether OLM could not carry out an InstallPlan. It tries again for a minute before the phase is Failed.
func retried(plan *olm.InstallPlan) bool {
	return plan != nil && plan.Status.Phase == olm.InstallPlanPhaseInstalling && plan.Status.Message != ""
}

// undecided returns the kinds that may not be read and on which OLM's handling of a Subscription depends.
func (n *namespace) undecided(sub *v1alpha1.Subscription, catalog *olm.CatalogSource) []string {
	var out []string
	if sub.Status.State != olm.SubscriptionStateAtLatest {
		out = n.unreadOf(InstallPlans, OperatorConditions)
	}
	if catalog == nil || catalog.Status.GRPCConnectionState == nil {
		out = append(out, n.unreadOf(CatalogSources)...)
	}
	return out
}

// addUnread adds unread kinds to an operator, and replaces each True that depends on them with Unknown.
func addUnread(o *operator.Operator, unread []string) {
	if len(unread) == 0 {
		return
	}
	o.Unread = append(o.Unread, unread...)
	if o.UpToDate == metav1.ConditionTrue {
		o.UpToDate = metav1.ConditionUnknown
	}
	if o.Upgradeable == metav1.ConditionTrue {
		o.Upgradeable = metav1.ConditionUnknown
	}
}

// reportedCatalog returns a CatalogSource with the health that OLM reports of it on a Subscription, which is unknown if OLM
// does not, or reports that it is not healthy: that may be outdated.
func reportedCatalog(sub *v1alpha1.Subscription, key types.NamespacedName) *olm.CatalogSource {
	out := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	for _, health := range sub.Status.CatalogHealth {
		if ref := health.CatalogSourceRef; ref != nil && ref.Namespace == key.Namespace && ref.Name == key.Name && health.Healthy {
			out.Status.GRPCConnectionState = &olm.GRPCConnectionState{LastObservedState: connectivity.Ready.String()}
		}
	}
	return out
}

// reported reports whether operator-status has written its conditions on a Subscription. It may read everything.
func reported(sub *v1alpha1.Subscription) bool {
	return sub.Status.GetCondition(v1alpha1.SubscriptionUpToDate).Status != corev1.ConditionUnknown
}

// isOutdated reports whether UpToDate=True of a Subscription is about an earlier state of it, or of its ClusterServiceVersion, which may be nil.
func isOutdated(sub *v1alpha1.Subscription, csv *v1alpha1.ClusterServiceVersion, update string) bool {
	observed := sub.Status.ObservedGeneration
	return observed != 0 && observed < sub.Generation || csv != nil && (update != "" || csv.Status.Phase != olm.CSVPhaseSucceeded)
}

// conditions returns the conditions of a Subscription with those that operator-status has, computed if it does not run.
func conditions(sub *v1alpha1.Subscription, n *namespace, plan *olm.InstallPlan, catalog *olm.CatalogSource) []v1alpha1.SubscriptionCondition {
	if reported(sub) {
		return sub.Status.Conditions
	}
	unknown := n.unknown(plan)
	isUnknown := func(c v1alpha1.SubscriptionCondition) bool { return slices.Contains(unknown, c.Type) }
	return slices.DeleteFunc(bridge.Conditions(n.Inputs(sub, catalog, plan)), isUnknown)
}

// unknown returns the conditions that cannot be computed, since they depend on kinds that may not be read.
func (n *namespace) unknown(plan *olm.InstallPlan) []v1alpha1.SubscriptionConditionType {
	var out []v1alpha1.SubscriptionConditionType
	if n.isUnread(ClusterServiceVersions) {
		out = append(out, v1alpha1.SubscriptionUpToDate, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval,
			v1alpha1.SubscriptionInstalledCSVReplacementAvailable, v1alpha1.SubscriptionInstalledCSVFailed, v1alpha1.SubscriptionInstalledCSVMissing)
	}
	if n.isUnread(OperatorConditions) && bridge.Waits(plan) {
		out = append(out, v1alpha1.SubscriptionUpgradeHeld) // an override may release it
	}
	return out
}

// underway are the phases of a ClusterServiceVersion that OLM is installing, or has not begun to install.
var underway = []olm.ClusterServiceVersionPhase{olm.CSVPhaseNone, olm.CSVPhasePending, olm.CSVPhaseInstallReady, olm.CSVPhaseInstalling}

// unsubscribed describes the operator of a ClusterServiceVersion that no Subscription installed.
func unsubscribed(csv *v1alpha1.ClusterServiceVersion, n *namespace) operator.Operator {
	out := operator.Operator{Namespace: csv.Namespace, Name: csv.Name, UpToDate: metav1.ConditionUnknown}
	describe(&out, csv, n)
	out.Upgradeable = n.upgradeable(csv)
	if b := failedCSV(csv); b != nil {
		out.Blockers = append(out.Blockers, *b)
	}
	if b := installer.Unreliable(n.Probes[csv.Name]); b != nil {
		out.Blockers = append(out.Blockers, *b)
	}
	if slices.Contains(underway, csv.Status.Phase) {
		out.Unfinished = installationOf(csv)
	}
	out.WouldHold = n.wouldHold(csv, &out)
	out.Unread = n.unreadOf(Probes)
	return out
}

// describe sets the state and version from the running ClusterServiceVersion, which may be nil.
func describe(o *operator.Operator, csv *v1alpha1.ClusterServiceVersion, n *namespace) {
	switch {
	case csv != nil:
	case n.isUnread(ClusterServiceVersions):
		o.State = operator.Unknown
		return
	default:
		o.State = operator.NotInstalled
		return
	}
	o.Installed, o.Version = csv.Name, csv.Spec.Version.String()
	o.Notices = append(o.Notices, installer.NoticesOf(n.Probes[csv.Name])...)
	switch phase := csv.Status.Phase; {
	case phase == olm.CSVPhaseFailed:
		o.State = operator.Failed
	case phase == olm.CSVPhaseSucceeded || phase == olm.CSVPhaseReplacing || phase == olm.CSVPhaseDeleting || csvchain.Ran(csv):
		o.State = operator.Running
	default:
		o.State = operator.Installing
	}
}

// upgradeable reports whether the gate would let a ClusterServiceVersion be replaced, according to the existing objects.
func (n *namespace) upgradeable(csv *v1alpha1.ClusterServiceVersion) metav1.ConditionStatus {
	if csv == nil || !bridge.MayHaveRun(csv) && csv.Status.Phase != olm.CSVPhaseSucceeded && csv.Status.Phase != olm.CSVPhaseFailed {
		return metav1.ConditionUnknown
	}
	held := n.nextUpdate(csv).Held
	switch {
	case n.isUnread(OperatorConditions), !held && n.isUnread(Probes):
		return metav1.ConditionUnknown
	case held:
		return metav1.ConditionFalse
	default:
		return metav1.ConditionTrue
	}
}

// nextUpdate returns the gate's decision about an update of a ClusterServiceVersion that is not known yet.
func (n *namespace) nextUpdate(csv *v1alpha1.ClusterServiceVersion) gate.Decision {
	in := n.Probe(csv.Name)
	in.OperatorCondition, in.Target = n.OperatorConditions[csv.Name], "a newer version"
	return gate.Evaluate(in.AsReported())
}

// planOf returns the InstallPlan that a Subscription refers to and still needs, or nil.
func (n *namespace) planOf(sub *v1alpha1.Subscription) *olm.InstallPlan {
	if sub.Status.InstallPlanRef == nil {
		return nil
	}
	if plan := n.plans[sub.Status.InstallPlanRef.Name]; !bridge.Superseded(plan, sub, n.CSVs) {
		return plan
	}
	return nil
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
