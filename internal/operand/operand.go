// Package operand finds and reads the custom resources that an operator manages, and those that a Probe is about.
package operand

import (
	"context"
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Kind is a kind that an operator owns, in a served version.
type Kind struct {
	schema.GroupVersionKind

	// CRD is the name of the CustomResourceDefinition.
	CRD string

	Namespaced bool
}

// Kinds returns the kinds that a ClusterServiceVersion owns and whose CustomResourceDefinitions exist, each in its
// storage version, or else in the first served one.
func Kinds(ctx context.Context, c client.Reader, csv *v1alpha1.ClusterServiceVersion) ([]Kind, error) {
	var out []Kind
	seen := map[string]bool{}
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		if seen[owned.Name] { // owned has an entry for each version
			continue
		}
		seen[owned.Name] = true
		crd := &apiextensions.CustomResourceDefinition{}
		if err := c.Get(ctx, types.NamespacedName{Name: owned.Name}, crd); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("getting CustomResourceDefinition %s: %w", owned.Name, err)
		}
		kind := Kind{CRD: crd.Name, Namespaced: crd.Spec.Scope == apiextensions.NamespaceScoped}
		if version := ServedVersion(crd); version != "" {
			kind.GroupVersionKind = schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
			out = append(out, kind)
		}
	}
	return out, nil
}

// Where returns the namespaces to list a kind in, given the operator's target namespaces: all for a cluster-scoped
// kind.
func (k Kind) Where(targets []string) []string {
	if !k.Namespaced {
		return []string{metav1.NamespaceAll}
	}
	return targets
}
