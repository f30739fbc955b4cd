package olmv0

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Installer describes the operators of OLM.
type Installer struct{}

var (
	_ installer.Installer = Installer{}
	_ installer.Checker   = Installer{}
	_ installer.Outliner  = Installer{}
	_ installer.Runner    = Installer{}
)

// Name implements installer.Installer.
func (Installer) Name() string { return "OLM" }

// Operators implements installer.Installer.
func (Installer) Operators(c installer.Cluster) []operator.Operator {
	return described(c, Operators)
}

// described returns operators with the problems and holds that other objects report.
func described(c installer.Cluster, by func(Cluster) []operator.Operator) []operator.Operator {
	out := withDefinitions(c, withHolds(c, by(clusterOf(c))))
	for _, p := range installer.Values[platformv1alpha1.PlatformOperator](c) {
		if unready := unreadyOf(&p); unready != nil {
			out = withUnready(c, out, &p, unready)
		}
	}
	return operator.Sorted(out)
}

// unreadyOf describes why a PlatformOperator is no longer ready, or will not be without a user, or returns nil.
func unreadyOf(p *platformv1alpha1.PlatformOperator) *operator.Unfinished {
	ready := meta.FindStatusCondition(p.Status.Conditions, platformv1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != platformv1alpha1.ReasonFailed && ready.Reason != platformv1alpha1.ReasonDegraded {
		return nil
	}
	return &operator.Unfinished{
		Ref: operator.Ref{Kind: platformv1alpha1.PlatformOperatorKind, Name: p.Name}, Reason: ready.Reason, Message: ready.Message,
		Since: ready.LastTransitionTime, Broken: ready.Reason == platformv1alpha1.ReasonFailed,
		Steps: []operator.Step{operator.Describe("To see it", "platformoperator.platform.openshift.io", "", p.Name)},
	}
}

// withUnready adds why a PlatformOperator is not ready to its operator, unless that has a reason of its own. A PlatformOperator without Subscription
// is an operator that is not installed.
func withUnready(
	c installer.Cluster, operators []operator.Operator, p *platformv1alpha1.PlatformOperator, unready *operator.Unfinished,
) []operator.Operator {
	namespace := cmp.Or(p.Status.Namespace, p.GetNamespaceToInstallIn())
	observes := p.Spec.ManagementPolicy == platformv1alpha1.ManagementObserve // and composes no object
	isOf := func(op operator.Operator) bool {
		return op.PlatformOperator == p.Name || observes && op.PlatformOperator == "" && op.Namespace == namespace && op.Package == p.Spec.Package.Name
	}
	if i := slices.IndexFunc(operators, isOf); i >= 0 {
		if u := operators[i].Unfinished; u == nil || unready.Broken && !u.Broken {
			operators[i].Unfinished = unready
		}
	} else if !observes && (c.Namespace == "" || c.Namespace == namespace) && !slices.Contains(c.Unread, Subscriptions) {
		operators = append(operators, operator.Operator{
			Namespace: namespace, Name: p.Name, PlatformOperator: p.Name, Package: p.Spec.Package.Name, Channel: p.Spec.Package.Channel,
			State: operator.NotInstalled, UpToDate: metav1.ConditionUnknown, Upgradeable: metav1.ConditionUnknown, Unfinished: unready,
		})
	}
	return operators
}

// withDefinitions adds the problems of the CustomResourceDefinitions that the ClusterServiceVersions of operators own.
func withDefinitions(c installer.Cluster, operators []operator.Operator) []operator.Operator {
	owned := sync.OnceValue(func() map[types.NamespacedName][]string { // few clusters have such problems
		out := map[types.NamespacedName][]string{}
		for _, csv := range installer.Values[v1alpha1.ClusterServiceVersion](c) {
			for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
				out[nameOf(&csv)] = append(out[nameOf(&csv)], d.Name)
			}
		}
		return out
	})
	installer.AddDefinitions(c, operators, func(op operator.Operator) []string {
		return owned()[types.NamespacedName{Namespace: op.Namespace, Name: op.Installed}]
	})
	return operators
}

// Check implements installer.Checker.
func (Installer) Check(c installer.Cluster) []operator.Operator {
	out := described(c, Check)
	for i := range out {
		out[i].Blockers, out[i].WouldHold = append(out[i].Blockers, out[i].WouldHold...), nil
	}
	return out
}

// withHolds adds the causes in UpgradeHolds to operators whose blockers are not those already: those of users, and those that only
// operator-status knows. If UpgradeHolds may not be read, an operator that nothing else holds may be held by one.
func withHolds(c installer.Cluster, operators []operator.Operator) []operator.Operator {
	causes := map[holdv1alpha1.OperatorReference][]operator.Blocker{}
	for _, h := range installer.Values[holdv1alpha1.UpgradeHold](c) {
		if meta.IsStatusConditionTrue(h.Status.Conditions, holdv1alpha1.ConditionHeld) {
			causes[h.Spec.Operator] = append(causes[h.Spec.Operator], installer.HeldWith(h)...)
		}
	}
	unread := installer.UnreadOf(c, holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldKind))
	for i := range operators {
		op := &operators[i]
		if op.Reference == (holdv1alpha1.OperatorReference{}) {
			continue
		}
		if op.Unread = append(op.Unread, unread...); len(unread) > 0 && op.Upgradeable == metav1.ConditionTrue {
			op.Upgradeable = metav1.ConditionUnknown
		}
		for _, b := range causes[op.Reference] {
			if !slices.ContainsFunc(slices.Concat(op.Blockers, op.WouldHold), func(o operator.Blocker) bool { return o.By == b.By }) {
				op.WouldHold, op.Upgradeable = append(op.WouldHold, b), metav1.ConditionFalse
			}
		}
	}
	return operators
}

// Trees implements installer.Outliner.
func (i Installer) Trees(c installer.Cluster) func(operator.Operator) (operator.Node, bool) {
	trees := Trees(clusterOf(c), c)
	return func(op operator.Operator) (operator.Node, bool) {
		if op.Installer != i.Name() {
			return operator.Node{}, false
		}
		return trees(op), true
	}
}

// Runs implements installer.Runner.
func (i Installer) Runs(op operator.Operator, w installer.Workload) bool {
	owner := w.Labels["olm.owner"]
	return op.Installer == i.Name() && op.Namespace == w.Namespace && owner != "" && (owner == op.Installed || owner == op.Update)
}

// NotCopied excludes the copies that OLM makes of a ClusterServiceVersion in every namespace.
const NotCopied = "!olm.copiedFrom"

// Kinds implements installer.Installer.
func (Installer) Kinds() []installer.Kind {
	return []installer.Kind{
		{
			GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), Plural: Subscriptions,
			AddToScheme: v1alpha1.AddToScheme, List: func() installer.List { return &v1alpha1.SubscriptionList{} }, Trim: trimSubscription, Named: true,
			Required: true,
		},
		{
			GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind), Plural: ClusterServiceVersions, Selector: NotCopied,
			AddToScheme: v1alpha1.AddToScheme, List: func() installer.List { return &v1alpha1.ClusterServiceVersionList{} }, Trim: trimCSV,
		},
		{
			GroupVersionKind: v1alpha1.GroupVersion.WithKind(olm.InstallPlanKind), Plural: InstallPlans,
			AddToScheme: addOLM, List: func() installer.List { return &olm.InstallPlanList{} }, Trim: trimInstallPlan,
		},
		{
			GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind), Plural: Probes,
			AddToScheme: v1alpha1.AddToScheme, List: func() installer.List { return &v1alpha1.ProbeList{} }, Trim: trim,
		},
		{
			GroupVersionKind: operatorsv2.GroupVersion.WithKind("OperatorCondition"), Plural: OperatorConditions, Selector: NotCopied,
			AddToScheme: operatorsv2.AddToScheme, List: func() installer.List { return &operatorsv2.OperatorConditionList{} }, Trim: trim,
		},
		{
			GroupVersionKind: v1alpha1.GroupVersion.WithKind(olm.CatalogSourceKind), Plural: CatalogSources, AllNamespaces: true,
			AddToScheme: addOLM, List: func() installer.List { return &olm.CatalogSourceList{} },
		},
		{
			GroupVersionKind: operatorsv1.GroupVersion.WithKind(operatorsv1.OperatorGroupKind), Plural: OperatorGroups, Background: true,
			AddToScheme: operatorsv1.AddToScheme, List: func() installer.List { return &operatorsv1.OperatorGroupList{} }, Trim: trim,
		},
		{
			GroupVersionKind: platformv1alpha1.GroupVersion.WithKind(platformv1alpha1.PlatformOperatorKind), Plural: "PlatformOperators", ClusterScoped: true,
			AddToScheme: platformv1alpha1.AddToScheme, List: func() installer.List { return &platformv1alpha1.PlatformOperatorList{} },
		},
	}
}

// CheckKinds implements installer.Checker. Only OpenShift has a ClusterVersion.
func (Installer) CheckKinds() []installer.Kind {
	return []installer.Kind{{
		GroupVersionKind: configv1.GroupVersion.WithKind("ClusterVersion"), Plural: "ClusterVersions", ClusterScoped: true,
		AddToScheme: configv1.Install, List: func() installer.List { return &configv1.ClusterVersionList{} },
	}}
}

// TreeKinds implements installer.Outliner.
func (Installer) TreeKinds() []installer.Kind {
	return []installer.Kind{{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Plural: "Deployments", Selector: "olm.owner",
		AddToScheme: appsv1.AddToScheme, List: func() installer.List { return &appsv1.DeploymentList{} },
	}}
}

// addOLM registers the kinds for which OLM's own types are used.
func addOLM(s *runtime.Scheme) error {
	s.AddKnownTypes(olm.SchemeGroupVersion, &olm.CatalogSource{}, &olm.CatalogSourceList{}, &olm.InstallPlan{}, &olm.InstallPlanList{})
	return nil
}

// clusterOf returns the objects of OLM.
func clusterOf(c installer.Cluster) Cluster {
	return Cluster{
		Subscriptions:          installer.Values[v1alpha1.Subscription](c),
		ClusterServiceVersions: installer.Values[v1alpha1.ClusterServiceVersion](c),
		InstallPlans:           installer.Values[olm.InstallPlan](c),
		Probes:                 installer.Values[v1alpha1.Probe](c),
		OperatorConditions:     installer.Values[operatorsv2.OperatorCondition](c),
		CatalogSources:         installer.Values[olm.CatalogSource](c),
		OperatorGroups:         installer.Values[operatorsv1.OperatorGroup](c),
		PlatformOperators:      installer.Values[platformv1alpha1.PlatformOperator](c),
		ClusterVersions:        installer.Values[configv1.ClusterVersion](c),
		Unread:                 c.Unread,
	}
}

func trim(object installer.Object) { object.SetManagedFields(nil) }

func trimSubscription(object installer.Object) {
	trim(object)
	if sub, ok := object.(*v1alpha1.Subscription); ok {
		sub.Status.CatalogHealth = slices.DeleteFunc(sub.Status.CatalogHealth, func(h olm.SubscriptionCatalogHealth) bool { return !isCatalogOf(sub, h) })
	}
}

// isCatalogOf reports whether the health that OLM reports on a Subscription is that of its CatalogSource.
func isCatalogOf(sub *v1alpha1.Subscription, h olm.SubscriptionCatalogHealth) bool {
	return sub.Spec != nil && h.CatalogSourceRef != nil && h.CatalogSourceRef.Name == sub.Spec.CatalogSource &&
		h.CatalogSourceRef.Namespace == sub.Spec.CatalogSourceNamespace
}

func trimCSV(object installer.Object) {
	trim(object)
	csv, ok := object.(*v1alpha1.ClusterServiceVersion)
	if !ok {
		return
	}
	maps.DeleteFunc(csv.Annotations, func(key, _ string) bool {
		return !strings.HasPrefix(key, "operatorstatus.io/") && !strings.HasPrefix(key, "operatorframework.io/") && !strings.HasPrefix(key, "olm.")
	})
	spec := olm.ClusterServiceVersionSpec{}
	spec.DisplayName, spec.Version, spec.Replaces = csv.Spec.DisplayName, csv.Spec.Version, csv.Spec.Replaces
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		spec.CustomResourceDefinitions.Owned = append(spec.CustomResourceDefinitions.Owned, olm.CRDDescription{Name: d.Name})
	}
	csv.Spec, csv.Status.RequirementStatus = spec, slices.DeleteFunc(csv.Status.RequirementStatus, isMet)
}

func trimInstallPlan(object installer.Object) {
	trim(object)
	if plan, ok := object.(*olm.InstallPlan); ok {
		plan.Status.Plan, plan.Status.BundleLookups = nil, nil
	}
}
