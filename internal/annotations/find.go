package annotations

import (
	"context"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/optin"
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

// OptIns reads the recorded declarations of operators. *optin.Store implements it.
type OptIns interface {
	Get(ctx context.Context, csv types.NamespacedName) (*optin.OptIn, error)
}

// Declared returns the recorded declaration of an operator, and whether it opted in. Without a record, own is nil and its
// CustomResourceDefinitions count.
func Declared(ctx context.Context, c client.Reader, records OptIns, csv *v1alpha1.ClusterServiceVersion) (
	own []v1alpha1.ProbeResource, optedIn bool, err error,
) {
	record, err := records.Get(ctx, client.ObjectKeyFromObject(csv))
	if err != nil {
		return nil, false, err
	}
	if record == nil {
		optedIn, err = OptedIn(ctx, c, csv)
		return nil, optedIn, err
	}
	return append([]v1alpha1.ProbeResource{}, record.Resources...), len(record.Resources) > 0, nil
}

// OptedIn reports whether a CustomResourceDefinition that a ClusterServiceVersion owns is annotated for a Probe, so
// that the Probe must exist while the operator runs.
func OptedIn(ctx context.Context, c client.Reader, csv *v1alpha1.ClusterServiceVersion) (bool, error) {
	crds, err := CRDs(ctx, c, csv)
	return slices.ContainsFunc(crds, asksForProbe), err
}

// asksForProbe reports whether a CustomResourceDefinition is annotated for a Probe.
func asksForProbe(crd *apiextensions.CustomResourceDefinition) bool {
	for _, name := range []string{v1alpha1.AnnotationUpgradeable, v1alpha1.AnnotationImportant} {
		if _, ok := crd.Annotations[name]; ok {
			return true
		}
	}
	return false
}
