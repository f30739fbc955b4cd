package annotations

import (
	"context"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// Find returns a Probe, or nil if it does not exist.
func Find(ctx context.Context, c client.Reader, key types.NamespacedName) (*v1alpha1.Probe, error) {
	out := &v1alpha1.Probe{}
	if err := c.Get(ctx, key, out); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("getting Probe %s: %w", key, err)
	}
	return out, nil
}

// CRDs returns the existing CustomResourceDefinitions that the ClusterServiceVersion owns.
func CRDs(ctx context.Context, c client.Reader, csv *v1alpha1.ClusterServiceVersion) ([]*apiextensions.CustomResourceDefinition, error) {
	var out []*apiextensions.CustomResourceDefinition
	for _, name := range CRDNames(csv) {
		crd := &apiextensions.CustomResourceDefinition{}
		if err := c.Get(ctx, types.NamespacedName{Name: name}, crd); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("getting CustomResourceDefinition %s: %w", name, err)
		} else if err == nil {
			out = append(out, crd)
		}
	}
	return out, nil
}

// Declare returns the declaration of an operator that annotated resources when it was installed, together with policies.
func Declare(ctx context.Context, c client.Reader, csv *v1alpha1.ClusterServiceVersion, annotated []v1alpha1.ProbeResource,
	policies []holdv1alpha1.ProbePolicy,
) (gate.Declaration, error) {
	op, err := Operator(ctx, c, csv, annotated, policies)
	if err != nil {
		return gate.Declaration{}, err
	}
	out := gate.Declaration{Own: slices.Concat([]v1alpha1.ProbeResource{}, annotated, probepolicy.Added(op, policies))}
	out.OptedIn = len(out.Own) > 0
	out.Settle, out.YieldAfter = probepolicy.Settle(op, policies), probepolicy.YieldAfter(op, policies)
	out.AlertAfter = probepolicy.AlertAfter(op, policies)
	out.ByPolicy = out.OptedIn && len(annotated) == 0
	return out, nil
}

// Operator returns the operator of a ClusterServiceVersion as policies see it.
func Operator(ctx context.Context, c client.Reader, csv *v1alpha1.ClusterServiceVersion, annotated []v1alpha1.ProbeResource,
	policies []holdv1alpha1.ProbePolicy,
) (probepolicy.Operator, error) {
	unowned, err := Existing(ctx, c, probepolicy.Unowned(csv, probepolicy.DefinitionsIn(policies)))
	if err != nil {
		return probepolicy.Operator{}, err
	}
	return probepolicy.OfCSV(csv, annotated, unowned), nil
}

// Existing returns those of some CustomResourceDefinitions that exist. It may overwrite the names.
func Existing(ctx context.Context, c client.Reader, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	all, err := All(ctx, c)
	if err != nil {
		return nil, err
	}
	return Among(all, names), nil
}

// All returns all CustomResourceDefinitions. Callers must not change them.
func All(ctx context.Context, c client.Reader) ([]apiextensions.CustomResourceDefinition, error) {
	list := &apiextensions.CustomResourceDefinitionList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	return list.Items, nil
}

// Among returns those of some names that are among CustomResourceDefinitions. It may overwrite the names.
func Among(all []apiextensions.CustomResourceDefinition, names []string) []string {
	exists := make(map[string]bool, len(all))
	for i := range all {
		exists[all[i].Name] = true
	}
	return slices.DeleteFunc(names, func(name string) bool { return !exists[name] })
}

// DeclaredProbe returns the Probe that an operator has to have, or nil.
func DeclaredProbe(csv *v1alpha1.ClusterServiceVersion, d gate.Declaration) *v1alpha1.Probe {
	manager := v1alpha1.ManagerCRDAnnotations
	if d.ByPolicy {
		manager = v1alpha1.ManagerPolicy
	}
	out := ProbeOf(csv, manager, d.Own)
	if out != nil {
		out.Spec.Settle, out.Spec.YieldAfter, out.Spec.AlertAfter = d.Settle, d.YieldAfter, d.AlertAfter
	}
	return out
}

// Annotated returns the resources that an operator declared with annotations, as recorded when it was installed. Without a record, its
// CustomResourceDefinitions count.
func Annotated(ctx context.Context, c client.Reader, record *optin.OptIn, csv *v1alpha1.ClusterServiceVersion) ([]v1alpha1.ProbeResource, error) {
	if record != nil {
		return record.Resources, nil
	}
	crds, err := CRDs(ctx, c, csv)
	if err != nil {
		return nil, err
	}
	now, _ := Probe(csv, crds)
	if now == nil {
		return nil, nil
	}
	return now.Spec.ProbeResources, nil
}

// Declared returns the declaration of an operator, from its annotations and ProbePolicies.
func Declared(ctx context.Context, c client.Reader, record *optin.OptIn, policies []holdv1alpha1.ProbePolicy, csv *v1alpha1.ClusterServiceVersion) (
	gate.Declaration, error,
) {
	annotated, err := Annotated(ctx, c, record, csv)
	if err != nil {
		return gate.Declaration{}, err
	}
	out, err := Declare(ctx, c, csv, annotated, policies)
	if err != nil {
		return gate.Declaration{}, err
	}
	if record == nil && !out.ByPolicy {
		out.Own = nil // the annotations may be those of another version
	}
	return out, nil
}
