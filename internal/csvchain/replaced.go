package csvchain

import (
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// BeingReplaced reports whether an update of the ClusterServiceVersion has started. Its CustomResourceDefinitions may
// then already have the annotations of the new version, which do not apply to the running one.
func BeingReplaced(csv *v1alpha1.ClusterServiceVersion, namespace []v1alpha1.ClusterServiceVersion) bool {
	if csv.Status.Phase == olm.CSVPhaseReplacing || csv.Status.Phase == olm.CSVPhaseDeleting {
		return true
	}
	return slices.ContainsFunc(namespace, func(other v1alpha1.ClusterServiceVersion) bool {
		return other.Spec.Replaces == csv.Name && other.Name != csv.Name
	})
}
