package installplan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/status/condition"
	installplanstatus "github.com/operator-status/operator-status/internal/status/installplan"
)

// proposal is a plan's bundles and the identity that would install them, read at one moment.
type proposal struct {
	scope         Scope
	choices       []resolve.Choice
	identity      apply.Identity
	subscriptions []v1alpha1.Subscription

	// content is nil until it is read, and so is release, which must be called when the content is no longer used.
	content *record.Content
	release func()
}

// resolution returns a proposal in the form for the status. Its content must have been read.
func (p *proposal) resolution(steps []*olm.Step) *installplanstatus.Resolution {
	out := &installplanstatus.Resolution{Steps: steps, ServiceAccount: p.identity.Account()}
	for _, c := range p.choices {
		b := p.content.Bundle(c.Bundle.Name)
		out.Bundles = append(out.Bundles, installplanstatus.Bundle{
			Name: c.Bundle.Name, Replaces: c.Replaces, Image: c.Bundle.Image, Catalog: c.Catalog, Digest: b.Digest, SignedBy: b.SignedBy,
		})
	}
	return out
}

// anotherImage reports whether the catalog now has other images for the bundles of a plan than its status shows.
func anotherImage(plan *olm.InstallPlan, choices []resolve.Choice) bool {
	return !slices.EqualFunc(plan.Status.BundleLookups, choices, func(shown olm.BundleLookup, c resolve.Choice) bool {
		image, _, _ := strings.Cut(shown.Path, "@")
		sameImage := shown.Path == c.Bundle.Image || image == c.Bundle.Image
		return sameImage && shown.Identifier == c.Bundle.Name && shown.Replaces == c.Replaces
	})
}

// resolve sets the bundles that a plan names, their dependencies, and the identity that installs them. A problem that
// is returned with an error may be transient.
func (r *Reconciler) resolve(ctx context.Context, plan *olm.InstallPlan, out *proposal) (problem *condition.Problem, err error) {
	if out.scope, problem, err = r.scope(ctx, plan.Namespace); problem != nil || err != nil {
		return problem, err
	}
	subs := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, subs, client.InNamespace(plan.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", plan.Namespace, err)
	}
	out.subscriptions = subs.Items
	if out.choices, problem, err = r.solve(ctx, plan, out.scope.Group, subs.Items); problem != nil || err != nil {
		return problem, err
	}
	var catalogs []types.NamespacedName
	for _, c := range out.choices {
		catalogs = append(catalogs, c.Catalog)
	}
	out.identity, problem = r.Trust.Identity(out.scope.Group, catalogs...)
	return problem, nil
}

// scope returns the OperatorGroup, read from the API server, and its target namespaces.
func (r *Reconciler) scope(ctx context.Context, namespace string) (Scope, *condition.Problem, error) {
	group, problem, err := operatorgroup.Find(ctx, r.Reader, namespace)
	if problem != nil || err != nil {
		return Scope{}, problem, err
	}
	targets, err := operatorgroup.Targets(ctx, r.Client, group)
	return Scope{group, targets}, nil, err
}

// solve finds the bundles that a plan names and their dependencies.
func (r *Reconciler) solve(ctx context.Context, plan *olm.InstallPlan, group *operatorsv1.OperatorGroup,
	subs []v1alpha1.Subscription) ([]resolve.Choice, *condition.Problem, error) {
	csvs, err := operatorgroup.CSVs(ctx, r.Client, plan.Namespace)
	if err != nil {
		return nil, nil, err
	}
	state := resolve.NamespaceState{Catalogs: r.Catalogs.VisibleBy(group, plan.Namespace)}
	crds := &apiextensions.CustomResourceDefinitionList{}
	if err := r.Client.List(ctx, crds, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	state.OnCluster = resolve.Served(crds.Items)
	if state.Present, err = present(ctx, r.Records, csvs, subs); err != nil {
		return nil, nil, err
	}
	preferred := types.NamespacedName{Namespace: plan.Spec.CatalogSourceNamespace, Name: plan.Spec.CatalogSource}
	solution, problem := resolve.Plan(plan.Spec.ClusterServiceVersionNames, plan.Namespace, preferred, state)
	return solution.Choices, problem, nil
}

// present returns the newest CSVs of a namespace in the form that the resolver uses, except incomplete ones. A CSV that
// was applied by hand gets the package of the Subscription that adopted it, if any, and one whose installation has never begun the
// version that runs in its place.
func present(ctx context.Context, grants record.Grants, csvs map[string]*v1alpha1.ClusterServiceVersion,
	subs []v1alpha1.Subscription) ([]resolve.Installed, error) {
	complete := map[string]*v1alpha1.ClusterServiceVersion{}
	for name, csv := range csvs {
		if incomplete, err := record.Incomplete(ctx, grants, csv); err != nil {
			return nil, err
		} else if !incomplete {
			complete[name] = csv
		}
	}
	var out []resolve.Installed
	for _, csv := range csvchain.Newest(complete) {
		installed := resolve.InstalledOf(csv)
		installed.Running = resolve.InPlaceOf(csv, csvs)
		for i := range subs {
			if sub := &subs[i]; installed.Package == "" && sub.Spec != nil && (sub.Status.CurrentCSV == csv.Name || sub.Status.InstalledCSV == csv.Name) {
				installed.Package = sub.Spec.Package
			}
		}
		out = append(out, installed)
	}
	return out, nil
}

// unreadYet reports whether a catalog that the namespace can see has not been read since this process started. A plan
// that cannot be resolved may then be resolvable soon.
func (r *Reconciler) unreadYet(namespace string) bool {
	return slices.ContainsFunc(r.Catalogs.Visible(namespace), func(c catalog.Catalog) bool { return !c.Tried })
}

// replacement is a CSV that a plan installs, and the one that it replaces, or empty.
type replacement struct {
	name, replaces string
	version        string
	owned          []schema.GroupKind // the kinds that it owns
}

// replacements returns the CSVs of a proposal. If it was not resolved, they are those of its stored content.
func (p *proposal) replacements() []replacement {
	var out []replacement
	if len(p.choices) == 0 && p.content != nil {
		for _, b := range p.content.Bundles {
			csv := declaredCSV(b.Objects)
			out = append(out, replacement{b.Name, b.Replaces, csv.Spec.Version.String(), optin.Owned(csv)})
		}
	}
	for _, c := range p.choices {
		var owned []schema.GroupKind
		for _, kind := range c.Bundle.Provides {
			owned = append(owned, schema.GroupKind{Group: kind.Group, Kind: kind.Kind})
		}
		out = append(out, replacement{c.Bundle.Name, c.Replaces, c.Bundle.Version.String(), owned})
	}
	return out
}

// declaredCSV returns the CSV of a bundle as its author wrote it, or an empty one.
func declaredCSV(objects []*unstructured.Unstructured) *v1alpha1.ClusterServiceVersion {
	for _, o := range objects {
		csv := &v1alpha1.ClusterServiceVersion{}
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind && runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, csv) == nil {
			return csv
		}
	}
	return &v1alpha1.ClusterServiceVersion{}
}

// account returns the service account that applies a proposal, or zero for the manager.
func (p *proposal) account() types.NamespacedName {
	if len(p.choices) == 0 && p.content != nil {
		return p.content.Identity.Account()
	}
	return p.identity.Account()
}
