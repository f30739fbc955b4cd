package subscription

import (
	"context"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
	"github.com/operator-status/operator-status/internal/subscription"
)

// namespace is what the Subscriptions of one depend on, read at one moment. As Subscriptions are looked at in turn, what
// they plan is added.
type namespace struct {
	subs        []*v1alpha1.Subscription // the oldest first
	csvs        map[string]*v1alpha1.ClusterServiceVersion
	newest      []present
	plans       map[string]*olm.InstallPlan
	catalogs    []catalog.Catalog
	sources     []subscription.CatalogSource
	onCluster   []property.GVK
	planned     []resolve.Installed
	overtaken   map[string]bool // what those replace
	failForward bool
}

// present is a ClusterServiceVersion that no other replaces, and how the resolver sees it: that is read out of it once,
// and not for each Subscription.
type present struct {
	csv       *v1alpha1.ClusterServiceVersion
	installed resolve.Installed
}

func presentOf(csvs map[string]*v1alpha1.ClusterServiceVersion) (out []present) {
	for _, csv := range surroundings.Newest(csvs) {
		out = append(out, present{csv, surroundings.Installed(csv)})
	}
	return out
}

func (r *Reconciler) read(ctx context.Context, name string) (*namespace, error) {
	out := &namespace{plans: map[string]*olm.InstallPlan{}, catalogs: r.Catalogs.Visible(name)}
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
	if out.csvs, err = surroundings.CSVs(ctx, r.Client, name); err != nil {
		return nil, err
	}
	out.newest = presentOf(out.csvs)
	if out.onCluster, err = surroundings.OnCluster(ctx, r.Client); err != nil {
		return nil, err
	}
	if out.sources, err = r.sources(ctx, name, out.catalogs); err != nil {
		return nil, err
	}
	group, problem, err := surroundings.Group(ctx, r.Client, name)
	out.failForward = problem == nil && err == nil && group.Spec.UpgradeStrategy == operatorsv1.UpgradeStrategyUnsafeFailForward
	return out, err
}

// sources are the CatalogSources that the namespace can see. They are read untyped and without their spec: OLM's type
// panics on specs that its schema lets pass.
func (r *Reconciler) sources(ctx context.Context, name string, catalogs []catalog.Catalog) ([]subscription.CatalogSource, error) {
	var out []subscription.CatalogSource
	for _, where := range slices.Compact([]string{name, r.GlobalNamespace}) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(olm.SchemeGroupVersion.WithKind(olm.CatalogSourceKind + "List"))
		if err := r.Cache.List(ctx, list, client.InNamespace(where)); err != nil {
			return nil, fmt.Errorf("listing the CatalogSources of namespace %s: %w", where, err)
		}
		for _, item := range list.Items {
			source := subscription.CatalogSource{}
			bare := map[string]any{"metadata": item.Object["metadata"], "status": item.Object["status"]}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(bare, &source.CatalogSource); err != nil {
				return nil, fmt.Errorf("reading CatalogSource %s/%s: %w", where, item.GetName(), err)
			}
			key := client.ObjectKeyFromObject(&source)
			source.Read = slices.ContainsFunc(catalogs, func(c catalog.Catalog) bool { return c.Key == key && c.Content != nil })
			out = append(out, source)
		}
	}
	return out, nil
}

// head is the newest ClusterServiceVersion of a Subscription's package; nil where there is none.
func (n *namespace) head(sub *v1alpha1.Subscription) *v1alpha1.ClusterServiceVersion {
	var entries map[string]bool
	for _, p := range n.newest {
		csv, pkg := p.csv, p.installed.Package
		switch {
		case pkg == sub.Spec.Package, pkg == "" && csv.Name == sub.Status.CurrentCSV:
			return csv
		case pkg != "":
			continue
		}
		if entries == nil {
			entries = n.entries(sub)
		}
		if entries[csv.Name] {
			return csv // it was there before us, and is adopted
		}
	}
	return nil
}

// tried is false for a Subscription with a status whose catalog is there and has not been looked at since this process
// began. One without a status is told what it waits for.
func (n *namespace) tried(sub *v1alpha1.Subscription) bool {
	i := slices.IndexFunc(n.catalogs, func(c catalog.Catalog) bool { return c.Key == catalogOf(sub) })
	if i >= 0 {
		return n.catalogs[i].Tried || sub.Status.LastUpdated.IsZero()
	}
	known := slices.ContainsFunc(n.sources, func(s subscription.CatalogSource) bool { return client.ObjectKeyFromObject(&s) == catalogOf(sub) })
	return !known || sub.Status.LastUpdated.IsZero()
}

// entries are the names of the bundles in a Subscription's package.
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

// resolve says what a Subscription needs next.
func (n *namespace) resolve(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) (resolve.Solution, *resolve.Problem) {
	for _, older := range n.subs {
		if older == sub {
			break
		}
		if older.Spec.Package == sub.Spec.Package {
			return resolve.Solution{}, &resolve.Problem{Reason: v1alpha1.ReasonDuplicateSubscription, Message: fmt.Sprintf(
				"Subscription %s, which is older, is for package %s too: delete one of them", older.Name, sub.Spec.Package)}
		}
	}
	in := resolve.Inputs{
		Subscription: resolve.Subscription{
			Namespace: sub.Namespace, Name: sub.Name, Catalog: catalogOf(sub),
			Package: sub.Spec.Package, Channel: sub.Spec.Channel, StartingCSV: sub.Spec.StartingCSV,
		},
		Surroundings: resolve.Surroundings{Catalogs: n.catalogs, OnCluster: n.onCluster, Present: slices.Clone(n.planned)},
	}
	for _, p := range n.newest {
		csv, installed := p.csv, p.installed
		if csv == head {
			installed.Package = sub.Spec.Package
			in.Installed = &installed
		} else if !n.overtaken[csv.Name] {
			in.Present = append(in.Present, installed)
		}
	}
	return resolve.Resolve(in)
}

// mayMoveOn is false while the newest ClusterServiceVersion is still being installed. One that failed is overtaken only
// where the OperatorGroup says so, as with OLM.
func (n *namespace) mayMoveOn(head *v1alpha1.ClusterServiceVersion) bool {
	if head == nil || head.Status.Phase == olm.CSVPhaseSucceeded {
		return true
	}
	return n.failForward && head.Status.Phase == olm.CSVPhaseFailed
}

// deleted is true where somebody deleted the ClusterServiceVersion that was installed: then it is not installed again
// behind his back. Deleting its InstallPlan, too, asks for that.
func (n *namespace) deleted(sub *v1alpha1.Subscription, head *v1alpha1.ClusterServiceVersion) bool {
	ref := sub.Status.InstallPlanRef
	return head == nil && sub.Status.InstalledCSV != "" && ref != nil && n.plans[ref.Name] != nil
}

// underWay are the phases of a plan that has been approved.
var underWay = []olm.InstallPlanPhase{olm.InstallPlanPhaseInstalling, olm.InstallPlanPhaseComplete, olm.InstallPlanPhaseFailed}

// begun is the InstallPlan that installs a solution already, with more that is there by now; nil where there is none.
func (n *namespace) begun(sub *v1alpha1.Subscription, solution resolve.Solution) *olm.InstallPlan {
	var out *olm.InstallPlan
	for _, plan := range n.plans {
		if slices.Contains(underWay, plan.Status.Phase) {
			names := plan.Spec.ClusterServiceVersionNames
			covered := !slices.ContainsFunc(solution.Choices, func(c resolve.Choice) bool { return !slices.Contains(names, c.Bundle.Name) })
			if covered && ownedBy(plan, sub) && names[0] == solution.Choices[0].Bundle.Name && (out == nil || plan.Name < out.Name) {
				out = plan
			}
		}
	}
	return out
}

// plan has what a solution will install be there for the Subscriptions that follow.
func (n *namespace) plan(solution resolve.Solution) {
	for _, c := range solution.Choices {
		if n.csvs[c.Bundle.Name] != nil {
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

// vouches is true for a plan that a ClusterServiceVersion which is there came from.
func (n *namespace) vouches(plan *olm.InstallPlan) bool {
	return slices.ContainsFunc(plan.Spec.ClusterServiceVersionNames, func(name string) bool {
		csv := n.csvs[name]
		return csv != nil && csv.Annotations[v1alpha1.AnnotationInstallPlan] == plan.Name
	})
}
