package workloads

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// Operators returns the operators without ClusterServiceVersion: whose service accounts serve one of some CustomResourceDefinitions, and
// those of known that have a workload, since an update may change roles first.
func (c Cache) Operators(ctx context.Context, definitions []string, known []holdv1alpha1.OperatorReference) ([]holdv1alpha1.OperatorReference, error) {
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
			served, err := c.Served(ctx, w.Account(), definitions)
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

// Moves selects the events of workloads that appear, go, or may belong to another operator or serve other CustomResourceDefinitions now.
var Moves predicate.Predicate = predicate.Funcs{UpdateFunc: moved}

// moved reports whether a workload may belong to another operator now, or serve other CustomResourceDefinitions.
func moved(e event.UpdateEvent) bool {
	before, _ := installer.WorkloadOf(e.ObjectOld)
	after, _ := installer.WorkloadOf(e.ObjectNew)
	return before.ServiceAccount != after.ServiceAccount || before.OfCSV != after.OfCSV || before.Controlled != after.Controlled ||
		controllers.Owner(before) != controllers.Owner(after)
}
