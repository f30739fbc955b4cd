package record

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// Grants reports which CSVs an InstallPlan has installed completely. *Store implements it.
type Grants interface {
	Granted(ctx context.Context, csv types.NamespacedName) (bool, error)
}

// Incomplete reports whether a CSV was written by an InstallPlan that was not applied completely, and never ran. Such a
// CSV does not count as installed, and the plan may have to be created again.
func Incomplete(ctx context.Context, grants Grants, csv *v1alpha1.ClusterServiceVersion) (bool, error) {
	if csv.Annotations[v1alpha1.AnnotationInstallPlan] == "" || csvchain.Ran(csv) {
		return false, nil
	}
	granted, err := grants.Granted(ctx, client.ObjectKeyFromObject(csv))
	return !granted, err
}
