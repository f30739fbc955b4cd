package install

import (
	"github.com/blang/semver/v4"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// SupportsGroup returns an error if an operator does not support the target namespaces of its OperatorGroup. The error
// is an *Error.
func SupportsGroup(csv *v1alpha1.ClusterServiceVersion, group *operatorsv1.OperatorGroup, targets []string) error {
	modes := olm.InstallModeSet{}
	for _, m := range csv.Spec.InstallModes {
		if _, twice := modes[m.Type]; twice {
			return invalid(v1alpha1.CSVReasonInvalidInstallModes, "Install mode %s is listed twice", m.Type)
		}
		modes[m.Type] = m.Supported
	}
	if err := modes.Supports(group.Namespace, targets); err != nil {
		return invalid(v1alpha1.CSVReasonUnsupportedOperatorGroup, "The operator does not support OperatorGroup %s: %v", group.Name, err)
	}
	return nil
}

// SupportsKubernetes returns an error if an operator needs a newer version of Kubernetes than the cluster's. The error
// is an *Error. A version of the cluster that cannot be parsed is not checked.
func SupportsKubernetes(csv *v1alpha1.ClusterServiceVersion, cluster string) error {
	if csv.Spec.MinKubeVersion == "" {
		return nil
	}
	least, err := semver.ParseTolerant(csv.Spec.MinKubeVersion)
	if err != nil {
		return invalid(v1alpha1.CSVReasonInvalidStrategy, "minKubeVersion %q is not a valid version: %v", csv.Spec.MinKubeVersion, err)
	}
	actual, err := semver.ParseTolerant(cluster)
	if err != nil {
		return nil // see above
	}
	actual.Pre = nil // a pre-release has the features of its version
	if actual.LT(least) {
		return invalid(v1alpha1.CSVReasonRequirementsNotMet,
			"The operator requires Kubernetes %s or later, but the cluster runs %s: upgrade the cluster", least, actual)
	}
	return nil
}
