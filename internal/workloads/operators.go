package workloads

import (
	"context"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// Operators returns the operators without ClusterServiceVersion: those that serve one of some CustomResourceDefinitions, and those of known
// that have a workload, since an update may change roles first.
func (c Cache) Operators(ctx context.Context, definitions Definitions, known []holdv1alpha1.OperatorReference) ([]holdv1alpha1.OperatorReference, error) {
	all, err := c.workloads(ctx)
	if err != nil {
		return nil, err
	}
	found := map[holdv1alpha1.OperatorReference]bool{}
	for _, of := range known {
		found[of] = false
	}
	var out []holdv1alpha1.OperatorReference
	for _, w := range all {
		of := controllers.Owner(w)
		added, before := found[of]
		if added || !probepolicy.IsPart(of, w) {
			continue
		}
		if !before {
			served, err := c.Served(ctx, w, definitions)
			if err != nil {
				return nil, err
			}
			if len(served) == 0 {
				continue
			}
		}
		found[of] = true
		out = append(out, of)
	}
	return out, nil
}
