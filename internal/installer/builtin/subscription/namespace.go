package subscription

import (
	"context"
	"fmt"
	"maps"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
	"github.com/operator-status/operator-status/internal/versionrange"
)

// namespace holds everything that the Subscriptions of a namespace depend on, read at one moment. While Subscriptions
// are resolved in turn, their planned installs are added.
type namespace struct {
	subs        []*v1alpha1.Subscription // oldest first
	csvs        map[string]*v1alpha1.ClusterServiceVersion
	incomplete  map[string]bool // CSVs of a plan that was not applied completely
	newest      []present
	results     map[string]*result // by Subscription
	plans       map[string]*olm.InstallPlan
	catalogs    []catalog.Catalog
	sources     []subscriptionstatus.CatalogSource
	global      string // namespace whose CatalogSources are visible besides its own
	onCluster   []property.GVK
	planned     []resolve.Installed
	overtaken   map[string]bool // CSVs that planned ones replace
	failForward bool
}

// present is a CSV that no other CSV replaces, and the resolver's form of it, which is computed only once.
type present struct {
	csv       *v1alpha1.ClusterServiceVersion
	installed resolve.Installed
}

func presentOf(csvs map[string]*v1alpha1.ClusterServiceVersion, incomplete map[string]bool) (out []present) {
	complete := maps.Clone(csvs)
	maps.DeleteFunc(complete, func(name string, _ *v1alpha1.ClusterServiceVersion) bool { return incomplete[name] })
	for _, csv := range csvchain.Newest(complete) {
		out = append(out, present{csv, resolve.InstalledOf(csv)})
	}
	return out
}

func (r *Reconciler) read(ctx context.Context, name string) (*namespace, error) {
	out := &namespace{plans: map[string]*olm.InstallPlan{}}
	subs := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, subs, client.InNamespace(name)); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions: %w", err)
	}
	for i := range subs.Items {
		if sub := &subs.Items[i]; sub.Spec != nil && sub.DeletionTimestamp.IsZero() {
			out.subs = append(out.subs, sub)
		}
	}
	if len(out.subs) == 0 {
		return out, nil
	}
	slices.SortFunc(out.subs, func(a, b *v1alpha1.Subscription) int {
		if v1alpha1.Older(a, b) {
			return -1
		}
		return 1
	})
	plans := &olm.InstallPlanList{}
	if err := r.Client.List(ctx, plans, client.InNamespace(name)); err != nil {
		return nil, fmt.Errorf("listing the InstallPlans: %w", err)
	}
	for i := range plans.Items {
		if plan := &plans.Items[i]; plan.DeletionTimestamp.IsZero() {
			out.plans[plan.Name] = plan
		}
	}
	var err error
	if out.csvs, err = operatorgroup.CSVs(ctx, r.Client, name); err != nil {
		return nil, err
	}
	out.incomplete = map[string]bool{}
	for name, csv := range out.csvs {
		if incomplete, err := record.Incomplete(ctx, r.Records, csv); err != nil {
			return nil, err
		} else if incomplete {
			out.incomplete[name] = true
		}
	}
	out.newest = presentOf(out.csvs, out.incomplete)
	crds := &apiextensions.CustomResourceDefinitionList{}
	if err := r.Client.List(ctx, crds, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	out.onCluster = resolve.Served(crds.Items)
	group, problem, err := operatorgroup.Find(ctx, r.Client, name)
	if err != nil {
		return nil, err
	}
	out.failForward = problem == nil && group.Spec.UpgradeStrategy == operatorsv1.UpgradeStrategyUnsafeFailForward
	out.catalogs = r.Catalogs.VisibleBy(group, name)
	out.sources, err = r.sources(ctx, name, out.catalogs)
	out.global = r.GlobalNamespace
	if operatorgroup.ExcludesGlobal(group) {
		out.global = name
		out.sources = slices.DeleteFunc(out.sources, func(s subscriptionstatus.CatalogSource) bool { return s.Namespace != name })
	}
	return out, err
}

// sources returns the CatalogSources that the namespace can see.
func (r *Reconciler) sources(ctx context.Context, name string, catalogs []catalog.Catalog) ([]subscriptionstatus.CatalogSource, error) {
	var out []subscriptionstatus.CatalogSource
	for _, where := range slices.Compact([]string{name, r.GlobalNamespace}) {
		list := &olm.CatalogSourceList{}
		if err := r.Client.List(ctx, list, client.InNamespace(where)); err != nil {
			return nil, fmt.Errorf("listing the CatalogSources of namespace %s: %w", where, err)
		}
		for i := range list.Items {
			key := client.ObjectKeyFromObject(&list.Items[i])
			read := slices.ContainsFunc(catalogs, func(c catalog.Catalog) bool { return c.Key == key && c.Content != nil })
			out = append(out, subscriptionstatus.CatalogSource{CatalogSource: list.Items[i], Read: read})
		}
	}
	return out, nil
}

// head returns the newest CSV of a Subscription's package, or nil. If the Subscription was for another package
// before, it is that package's CSV if the new package replaces it.
func (n *namespace) head(sub *v1alpha1.Subscription) *v1alpha1.ClusterServiceVersion {
	var entries map[string]bool
	var former *v1alpha1.ClusterServiceVersion
	for _, p := range n.newest {
		csv, pkg := p.csv, p.installed.Package
		switch {
		case pkg == sub.Spec.Package, pkg == "" && csv.Name == sub.Status.CurrentCSV:
			return csv
		case pkg != "":
			if csv.Name == sub.Status.InstalledCSV && n.replaces(sub, csv.Name) {
				former = csv
			}
			continue
		}
		if entries == nil {
			entries = n.entries(sub)
		}
		if entries[csv.Name] {
			return csv // existed before the Subscription, which adopts it
		}
	}
	return former
}

// replaces reports whether an entry of a Subscription's package replaces or skips a CSV by name.
func (n *namespace) replaces(sub *v1alpha1.Subscription, name string) bool {
	for _, c := range n.catalogs {
		if c.Key != catalogOf(sub) || c.Content == nil || c.Content.Packages[sub.Spec.Package] == nil {
			continue
		}
		for _, channel := range c.Content.Packages[sub.Spec.Package].Channels {
			for _, e := range channel.Entries {
				if e != nil && (e.Replaces == name || slices.Contains(e.Skips, name)) {
					return true
				}
			}
		}
	}
	return false
}

// unread reports whether a Subscription's catalog exists and has not been read since this process started.
func (n *namespace) unread(sub *v1alpha1.Subscription) bool {
	if i := slices.IndexFunc(n.catalogs, func(c catalog.Catalog) bool { return c.Key == catalogOf(sub) }); i >= 0 {
		return !n.catalogs[i].Tried
	}
	return slices.ContainsFunc(n.sources, func(s subscriptionstatus.CatalogSource) bool { return client.ObjectKeyFromObject(&s) == catalogOf(sub) })
}

// stands reports whether the status already has the reason of a problem while some catalogs have not been read. It is
// not rewritten then, since its message depends on all of them.
func (n *namespace) stands(sub *v1alpha1.Subscription, problem *condition.Problem) bool {
	if problem == nil || !slices.ContainsFunc(n.catalogs, func(c catalog.Catalog) bool { return !c.Tried }) {
		return false
	}
	c := sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed)
	return c.Status == corev1.ConditionTrue && c.Reason == problem.Reason
}

// entries returns the names of the bundles in a Subscription's package.
func (n *namespace) entries(sub *v1alpha1.Subscription) map[string]bool {
	out := map[string]bool{}
	for _, c := range n.catalogs {
		if c.Key != catalogOf(sub) || c.Content == nil || c.Content.Packages[sub.Spec.Package] == nil {
			continue
		}
		for _, channel := range c.Content.Packages[sub.Spec.Package].Channels {
			for name := range channel.Entries {
				out[name] = true
			}
		}
	}
	return out
}

func catalogOf(sub *v1alpha1.Subscription) types.NamespacedName {
	return types.NamespacedName{Namespace: sub.Spec.CatalogSourceNamespace, Name: sub.Spec.CatalogSource}
}

// result is the next step of a Subscription.
type result struct {
	// unread is true if the next step is unknown because the catalog is about to be read.
	unread bool

	head     *v1alpha1.ClusterServiceVersion
	solution resolve.Solution
	problem  *condition.Problem

	// next is the CSV that the solution installs for this Subscription.
	next string

	// owners are the Subscriptions that the solution is for: several if none of them can be updated alone.
	owners []*v1alpha1.Subscription

	// skips is true if the head never ran, and the solution also replaces the CSV that runs in its place.
	skips bool

	// wanted is true if the solution may be installed now.
	wanted bool
}

// resolveAll resolves each Subscription, oldest first. The bundles that one installs count as present for the next.
// Subscriptions that block each other's update are resolved together.
func (n *namespace) resolveAll() {
	n.results = map[string]*result{}
	for _, sub := range n.subs {
		if n.unread(sub) {
			if sub.Status.LastUpdated.IsZero() { // otherwise the status stays as it is
				n.results[sub.Name] = &result{unread: true, head: n.head(sub)}
			}
			continue
		}
		res := &result{head: n.head(sub), owners: []*v1alpha1.Subscription{sub}}
		res.solution, res.problem = n.resolve(sub, res.head)
		n.skip(sub, res)
		if n.stands(sub, res.problem) {
			continue
		}
		n.results[sub.Name] = res
		n.want(sub, res)
	}
	n.resolveTogether()
}

// want adds the bundles of a result to the planned ones, if they may be installed now.
func (n *namespace) want(sub *v1alpha1.Subscription, res *result) {
	if len(res.solution.Choices) == 0 {
		return
	}
	if res.next == "" {
		res.next = res.solution.Choices[0].Bundle.Name
	}
	if res.wanted = (n.mayMoveOn(res.head) || res.skips) && !n.deleted(sub, res.head) && !n.writing(sub); res.wanted {
		n.plan(res.solution)
	}
}

// resolveTogether resolves Subscriptions that cannot be updated alone, each with as few of the others as possible.
func (n *namespace) resolveTogether() {
	for _, sub := range n.blocked() {
		if n.results[sub.Name].problem != nil {
			n.tryTogether(sub)
		}
	}
}

// blocked returns the Subscriptions whose installed CSV may be updated, but cannot be.
func (n *namespace) blocked() (out []*v1alpha1.Subscription) {
	for _, sub := range n.subs {
		if res := n.results[sub.Name]; res != nil && res.head != nil && res.problem != nil &&
			res.problem.Reason == v1alpha1.ReasonConstraintsNotSatisfiable && n.mayMoveOn(res.head) {
			out = append(out, sub)
		}
	}
	return out
}

// tryTogether updates a Subscription along with others that are blocked, if that is possible.
func (n *namespace) tryTogether(sub *v1alpha1.Subscription) {
	all := []*v1alpha1.Subscription{sub}
	for _, other := range n.blocked() {
		if other != sub {
			all = append(all, other)
		}
	}
	if len(all) == 1 {
		return
	}
	var inputs []resolve.Subscription
	for _, each := range all {
		inputs = append(inputs, n.subscription(each, n.results[each.Name].head))
	}
	solution, next, ok := resolve.Together(inputs[0], inputs[1:], n.namespaceState(all...))
	if !ok {
		return
	}
	var moving []*v1alpha1.Subscription
	for i, each := range all {
		if next[i] != "" {
			moving = append(moving, each)
		}
	}
	for i, each := range all {
		if next[i] == "" {
			continue
		}
		res := n.results[each.Name]
		newest := res.solution.Newest
		res.solution, res.problem, res.next, res.owners = solution, nil, next[i], moving
		res.solution.Newest = newest
		res.wanted = !n.deleted(each, res.head) && !slices.ContainsFunc(moving, n.writing)
	}
	n.plan(solution)
}

// resolve finds the next step of a single Subscription.
func (n *namespace) resolve(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) (resolve.Solution, *condition.Problem) {
	for _, older := range n.subs {
		if older == sub {
			break
		}
		if older.Spec.Package == sub.Spec.Package {
			return resolve.Solution{}, &condition.Problem{Reason: v1alpha1.ReasonDuplicateSubscription, Message: fmt.Sprintf(
				"The older Subscription %s already installs package %s: delete one of them", older.Name, sub.Spec.Package)}
		}
	}
	return resolve.Resolve(n.inputs(sub, head))
}

func (n *namespace) inputs(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) resolve.Inputs {
	return resolve.Inputs{Subscription: n.subscription(sub, head), NamespaceState: n.namespaceState(sub)}
}

// skip skips a newest CSV whose installation never started, if the running one can be updated directly. As nothing of
// the skipped one ever ran, this is safe, unlike an update of a failed one.
func (n *namespace) skip(sub *v1alpha1.Subscription, res *result) {
	if res.head == nil || res.problem != nil {
		return
	}
	running := resolve.InPlaceOf(res.head, n.csvs)
	if running == nil {
		return
	}
	in := n.inputs(sub, res.head)
	in.Installed.Running = running
	if solution, problem := resolve.Resolve(in); problem == nil && len(solution.Choices) > 0 {
		res.solution, res.skips = solution, true
	}
}

func (n *namespace) subscription(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) resolve.Subscription {
	out := resolve.Subscription{
		Namespace: sub.Namespace, Name: sub.Name, Catalog: catalogOf(sub),
		Package: sub.Spec.Package, Channel: sub.Spec.Channel, StartingCSV: sub.Spec.StartingCSV,
		Versions: versionrange.Of(sub.Annotations), Anyway: sub.Annotations[v1alpha1.AnnotationAllowUpgrade],
	}
	for _, p := range n.newest {
		if p.csv == head {
			installed := p.installed
			installed.Package = sub.Spec.Package
			out.Installed = &installed
		}
	}
	return out
}

// namespaceState returns the state of the cluster except for the CSVs of the given Subscriptions.
func (n *namespace) namespaceState(subs ...*v1alpha1.Subscription) resolve.NamespaceState {
	own := func(csv *v1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(subs, func(sub *v1alpha1.Subscription) bool { return n.head(sub) == csv })
	}
	out := resolve.NamespaceState{Catalogs: n.catalogs, OnCluster: n.onCluster, Present: slices.Clone(n.planned)}
	for _, p := range n.newest {
		if !own(p.csv) && !n.overtaken[p.csv.Name] {
			out.Present = append(out.Present, p.installed)
		}
	}
	return out
}

// mayMoveOn reports whether the newest CSV may be updated: not while it is being installed. A failed CSV may be updated
// only if the OperatorGroup allows it, as with OLM. A CSV that runs and is being replaced only by an incomplete one
// counts as the newest.
func (n *namespace) mayMoveOn(head *v1alpha1.ClusterServiceVersion) bool {
	if head == nil {
		return true
	}
	switch head.Status.Phase {
	case olm.CSVPhaseSucceeded:
		return true
	case olm.CSVPhaseReplacing:
		return csvchain.Ran(head)
	case olm.CSVPhasePending:
		return csvchain.Inherited(head)
	case olm.CSVPhaseFailed:
		return n.failForward
	default:
		return false
	}
}

// writing reports whether an InstallPlan for a Subscription is being applied. Nothing newer replaces it until that is
// done.
func (n *namespace) writing(sub *v1alpha1.Subscription) bool {
	for _, plan := range n.plans {
		if beingWritten(plan) && n.isFor(plan, sub) {
			return true
		}
	}
	return false
}

// isFor reports whether a plan was created for a Subscription, or has written a CSV for it: dependencies are installed
// by the plan of their dependent.
func (n *namespace) isFor(plan *olm.InstallPlan, sub *v1alpha1.Subscription) bool {
	if ownedBy(plan, sub) {
		return true
	}
	return slices.ContainsFunc(plan.Spec.ClusterServiceVersionNames, func(name string) bool {
		csv := n.csvs[name]
		return csv != nil && csv.Annotations[v1alpha1.AnnotationInstallPlan] == plan.Name && csv.Annotations[v1alpha1.AnnotationSubscription] == sub.Name
	})
}

// deleted reports whether a user deleted the installed CSV. It is not installed again until the user deletes its
// InstallPlan, too.
func (n *namespace) deleted(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) bool {
	ref := sub.Status.InstallPlanRef
	return head == nil && sub.Status.InstalledCSV != "" && n.csvs[sub.Status.InstalledCSV] == nil && ref != nil && n.plans[ref.Name] != nil
}

// planLike returns the InstallPlan for the same solution and Subscription as a desired one, or nil.
func (n *namespace) planLike(desired *olm.InstallPlan, sub *v1alpha1.Subscription) *olm.InstallPlan {
	if actual, ok := n.plans[desired.Name]; ok {
		return actual
	}
	for _, plan := range n.plans {
		if plan.Annotations[v1alpha1.AnnotationSolution] == desired.Annotations[v1alpha1.AnnotationSolution] && ownedBy(plan, sub) {
			return plan
		}
	}
	return nil
}

// approvedPhases are the phases of a plan that has been approved.
var approvedPhases = []olm.InstallPlanPhase{olm.InstallPlanPhaseInstalling, olm.InstallPlanPhaseComplete, olm.InstallPlanPhaseFailed}

// approvedPlan returns an approved InstallPlan that already installs a solution, possibly along with existing bundles or a
// dependent, or nil.
func (n *namespace) approvedPlan(sub *v1alpha1.Subscription, solution resolve.Solution) *olm.InstallPlan {
	var out *olm.InstallPlan
	for _, plan := range n.plans {
		if !slices.Contains(approvedPhases, plan.Status.Phase) || !n.isFor(plan, sub) {
			continue
		}
		names := plan.Spec.ClusterServiceVersionNames
		covered := !slices.ContainsFunc(solution.Choices, func(c resolve.Choice) bool { return !slices.Contains(names, c.Bundle.Name) })
		another := ownedBy(plan, sub) && len(names) > 0 && names[0] != solution.Choices[0].Bundle.Name
		if covered && !another && (out == nil || plan.Name < out.Name) {
			out = plan
		}
	}
	return out
}

// plan makes the bundles of a solution count as present for the Subscriptions that follow.
func (n *namespace) plan(solution resolve.Solution) {
	for _, c := range solution.Choices {
		if n.csvs[c.Bundle.Name] != nil && !n.incomplete[c.Bundle.Name] {
			continue
		}
		if c.Replaces != "" {
			if n.overtaken == nil {
				n.overtaken = map[string]bool{}
			}
			n.overtaken[c.Replaces] = true
		}
		n.planned = append(n.planned, resolve.Installed{
			Name: c.Bundle.Name, Package: c.Package, Version: c.Bundle.Version,
			Provides: c.Bundle.Provides, Properties: c.Bundle.Properties, Planned: true,
		})
	}
}

// hasInstalledCSV reports whether a plan has installed a CSV that still exists and was installed completely.
func (n *namespace) hasInstalledCSV(plan *olm.InstallPlan) bool {
	return slices.ContainsFunc(plan.Spec.ClusterServiceVersionNames, func(name string) bool {
		csv := n.csvs[name]
		return csv != nil && csv.Annotations[v1alpha1.AnnotationInstallPlan] == plan.Name && !n.incomplete[name]
	})
}
