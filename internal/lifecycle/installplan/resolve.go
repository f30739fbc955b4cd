package installplan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
)

// steps resolves the names in a plan into bundles, and these into steps. A problem that comes with an error may pass by
// itself.
func (r *Reconciler) steps(ctx context.Context, plan *olm.InstallPlan, in Scope) ([]*olm.Step, *resolve.Problem, error) {
	subs := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, subs, client.InNamespace(plan.Namespace)); err != nil {
		return nil, nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", plan.Namespace, err)
	}
	solution, problem, err := r.solve(ctx, plan)
	if err != nil || problem != nil {
		return nil, problem, err
	}
	bundles, problem, err := r.bundles(ctx, plan, solution.Choices, subs.Items)
	if err != nil || problem != nil {
		return nil, problem, err
	}
	steps, problem := Steps(r.Client.Scheme(), bundles, plan, in)
	if problem == nil {
		problem = Allowed(steps, in, r.GlobalNamespace, r.scopes(steps))
	}
	return steps, problem, nil
}

// solve finds the bundles of those names, and what they depend on.
func (r *Reconciler) solve(ctx context.Context, plan *olm.InstallPlan) (resolve.Solution, *resolve.Problem, error) {
	csvs, err := surroundings.CSVs(ctx, r.Client, plan.Namespace)
	if err != nil {
		return resolve.Solution{}, nil, err
	}
	around := resolve.Surroundings{Catalogs: r.Catalogs.Visible(plan.Namespace)}
	if around.OnCluster, err = surroundings.OnCluster(ctx, r.Client); err != nil {
		return resolve.Solution{}, nil, err
	}
	for _, csv := range surroundings.Newest(csvs) {
		around.Present = append(around.Present, surroundings.Installed(csv))
	}
	preferred := types.NamespacedName{Namespace: plan.Spec.CatalogSourceNamespace, Name: plan.Spec.CatalogSource}
	solution, problem := resolve.Plan(plan.Spec.ClusterServiceVersionNames, plan.Namespace, preferred, around)
	return solution, problem, nil
}

// bundles fetches the objects of the choices, those that others depend on first.
func (r *Reconciler) bundles(ctx context.Context, plan *olm.InstallPlan, choices []resolve.Choice, subs []v1alpha1.Subscription) ([]Bundle, *resolve.Problem, error) {
	var out []Bundle
	for _, choice := range slices.Backward(choices) {
		objects, err := r.Catalogs.Objects(ctx, choice.Catalog, choice.Bundle)
		if err != nil {
			return nil, contentProblem(choice, err), mayPass(err)
		}
		b := Bundle{Choice: choice, Objects: objects}
		if sub := subscribed(subs, choice.Package); sub != "" {
			b.Subscription = sub
		} else if plan.Spec.ClusterServiceVersionNames[0] != choice.Bundle.Name {
			dependency := DependencySubscription(choice, plan.Namespace)
			b.Subscription = dependency.GetName()
			b.Objects = append(slices.Clone(objects), dependency)
		}
		out = append(out, b)
	}
	return out, nil, nil
}

// subscribed is the name of the oldest Subscription to a package.
func subscribed(subs []v1alpha1.Subscription, pkg string) string {
	var oldest *v1alpha1.Subscription
	for i := range subs {
		if sub := &subs[i]; sub.Spec != nil && sub.Spec.Package == pkg && (oldest == nil || v1alpha1.Older(sub, oldest)) {
			oldest = sub
		}
	}
	if oldest == nil {
		return ""
	}
	return oldest.Name
}

// contentProblem is what an error about a bundle's content means for the admin; nil where it means nothing to him.
func contentProblem(choice resolve.Choice, err error) *resolve.Problem {
	reasoned, ok := errors.AsType[*catalog.Error](err)
	if !ok {
		return nil
	}
	return &resolve.Problem{Reason: reasoned.Reason, Message: fmt.Sprintf("Bundle %s of CatalogSource %s: %v", choice.Bundle.Name, choice.Catalog, err)}
}

// mayPass is an error about a bundle's content that may pass by itself; nil where the bundle has to change.
func mayPass(err error) error {
	if reasoned, ok := errors.AsType[*catalog.Error](err); ok && reasoned.Permanent() {
		return nil
	}
	return err
}

// scopes tells which kinds are namespaced, those that the plan itself brings included.
func (r *Reconciler) scopes(steps []*olm.Step) func(schema.GroupVersionKind) bool {
	brought := map[schema.GroupKind]bool{}
	for _, s := range steps {
		if s.Resource.Kind != kindCRD {
			continue
		}
		if object, err := Object(s); err == nil {
			kind, scope := scopeOf(object)
			brought[kind] = scope
		}
	}
	return func(kind schema.GroupVersionKind) bool {
		if namespaced, ok := brought[kind.GroupKind()]; ok {
			return namespaced
		}
		mapping, err := r.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return err == nil && mapping.Scope.Name() == meta.RESTScopeNameNamespace
	}
}
