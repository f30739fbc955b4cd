package annotations

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// Policies returns all ProbePolicies, sorted by name. Without their CustomResourceDefinition there are none. Callers must not change them.
func Policies(ctx context.Context, c client.Reader) ([]holdv1alpha1.ProbePolicy, error) {
	list := &holdv1alpha1.ProbePolicyList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing the ProbePolicies: %w", err)
	}
	out := slices.DeleteFunc(slices.Clone(list.Items), func(p holdv1alpha1.ProbePolicy) bool { return !p.DeletionTimestamp.IsZero() })
	slices.SortFunc(out, func(a, b holdv1alpha1.ProbePolicy) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
