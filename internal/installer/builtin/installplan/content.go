package installplan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// content reads the bundles of the choices, dependencies first. An error may be transient; a problem is the bundle's
// fault.
func (r *Reconciler) content(ctx context.Context, plan *olm.InstallPlan, p *proposal) (*record.Content, *condition.Problem, error) {
	read, release, err := r.readings.take(ctx, client.ObjectKeyFromObject(plan), p.choices)
	if err != nil {
		return nil, nil, err
	}
	p.release = release
	out := &record.Content{Identity: p.identity}
	for i, choice := range slices.Backward(p.choices) {
		var objects []*unstructured.Unstructured
		err := read.err
		if read.manifests[i] != nil {
			objects, err = read.manifests[i].Objects()
		}
		if err != nil {
			return nil, contentProblem(choice, err), mayPass(err)
		}
		b, err := newBundle(r.Client.Scheme(), choice, read.manifests[i], objects)
		if err != nil {
			return nil, &condition.Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: fmt.Sprintf(
				"Bundle %s of CatalogSource %s: %v", choice.Bundle.Name, choice.Catalog, err)}, nil
		}
		if sub := subscribed(p.subscriptions, choice.Package); sub != "" {
			b.Subscription = sub
		} else if !askedFor(plan, choice.Bundle.Name) {
			dependency := DependencySubscription(choice, plan)
			b.Subscription = dependency.GetName()
			b.Objects = append(b.Objects, dependency)
		}
		out.Bundles = append(out.Bundles, b)
	}
	return out, nil, nil
}

// askedFor reports whether a CSV was requested, and is not only a dependency. The plan names requested CSVs first: one
// for each Subscription that owns it, and at least one.
func askedFor(plan *olm.InstallPlan, name string) bool {
	asked := 0
	for _, o := range plan.OwnerReferences {
		if o.Kind == v1alpha1.SubscriptionKind {
			asked++
		}
	}
	i := slices.Index(plan.Spec.ClusterServiceVersionNames, name)
	return i >= 0 && i < max(asked, 1)
}

// newBundle returns the record of a bundle, with its objects normalized.
func newBundle(scheme *runtime.Scheme, choice resolve.Choice, manifests *store.Manifests, objects []*unstructured.Unstructured) (record.Bundle, error) {
	out := record.Bundle{
		Name: choice.Bundle.Name, Package: choice.Package, Catalog: choice.Catalog, Replaces: choice.Replaces,
		Digest: manifests.Digest, SignedBy: manifests.SignedBy,
	}
	properties, err := json.Marshal(map[string]any{"properties": choice.Bundle.Properties})
	if err != nil {
		return out, err
	}
	out.Properties = string(properties)
	for _, o := range objects {
		if o.GetKind() == v1alpha1.ClusterServiceVersionKind {
			o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind)) // some authors misspell it
		}
		o, err := normal(scheme, o)
		if err != nil {
			return out, err
		}
		unstructured.RemoveNestedField(o.Object, "status")
		unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
		out.Objects = append(out.Objects, o)
	}
	return out, nil
}

// subscribed returns the name of the oldest Subscription to a package, if any.
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

// DependencySubscription returns the Subscription that keeps a dependency up to date, named as in OLM. Its updates need
// the same approval as those of its dependent.
func DependencySubscription(choice resolve.Choice, plan *olm.InstallPlan) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind))
	out.SetNamespace(plan.Namespace)
	out.SetName(objectName(choice.Package, choice.Channel, choice.Catalog.Name, choice.Catalog.Namespace))
	approval := olm.ApprovalAutomatic
	if plan.Spec.Approval == olm.ApprovalManual {
		approval = olm.ApprovalManual
	}
	out.Object["spec"] = map[string]any{
		"name": choice.Package, "channel": choice.Channel,
		"source": choice.Catalog.Name, "sourceNamespace": choice.Catalog.Namespace,
		"startingCSV":         choice.Bundle.Name,
		"installPlanApproval": string(approval),
	}
	return out
}

// objectName joins parts to an object name. Invalid characters are replaced by hyphens, and capitals by lower case.
func objectName(parts ...string) string {
	name := strings.ToLower(strings.Join(parts, "-"))
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, name)
	const longest = 253
	return strings.Trim(name[:min(len(name), longest)], "-.")
}

// contentProblem returns the problem in an error about a bundle's content, or nil if it is not a *catalog.Error.
func contentProblem(choice resolve.Choice, err error) *condition.Problem {
	reasoned, ok := errors.AsType[*catalog.Error](err)
	if !ok {
		return nil
	}
	return &condition.Problem{Reason: reasoned.Reason, Message: fmt.Sprintf("Bundle %s of CatalogSource %s: %v", choice.Bundle.Name, choice.Catalog, err)}
}

// mayPass returns an error about a bundle's content that may be transient, or nil if the bundle has to change.
func mayPass(err error) error {
	if reasoned, ok := errors.AsType[*catalog.Error](err); ok && reasoned.Permanent() {
		return nil
	}
	return err
}
