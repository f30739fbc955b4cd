package install

import (
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Validate returns an error if the install strategy or the webhooks of a CSV are invalid. The error is an *Error.
func Validate(csv *v1alpha1.ClusterServiceVersion) error {
	for _, check := range []func(*v1alpha1.ClusterServiceVersion) error{
		validateStrategy,
		validateAPIServices,
		validateWebhooks,
	} {
		if err := check(csv); err != nil {
			return err
		}
	}
	return nil
}

func validateStrategy(csv *v1alpha1.ClusterServiceVersion) error {
	install := csv.Spec.InstallStrategy
	if install.StrategyName != olm.InstallStrategyNameDeployment {
		return invalid(v1alpha1.CSVReasonInvalidStrategy,
			"Unknown install strategy %q: it must be %q", install.StrategyName, olm.InstallStrategyNameDeployment)
	}
	seen := map[string]bool{}
	for i, d := range install.StrategySpec.DeploymentSpecs {
		switch {
		case d.Name == "":
			return invalid(v1alpha1.CSVReasonInvalidStrategy, "Deployment number %d of the install strategy has no name", i+1)
		case seen[d.Name]:
			return invalid(v1alpha1.CSVReasonInvalidStrategy, "The install strategy has two deployments named %q", d.Name)
		}
		seen[d.Name] = true
	}
	for _, p := range install.StrategySpec.Permissions {
		if p.ServiceAccountName == "" {
			return invalid(v1alpha1.CSVReasonInvalidStrategy, "Permissions of the install strategy name no service account")
		}
	}
	for _, p := range install.StrategySpec.ClusterPermissions {
		if p.ServiceAccountName == "" {
			return invalid(v1alpha1.CSVReasonInvalidStrategy, "Cluster permissions of the install strategy name no service account")
		}
	}
	return nil
}

// validateAPIServices rejects a CSV that owns API services, which are not supported.
func validateAPIServices(csv *v1alpha1.ClusterServiceVersion) error {
	var owned []string
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		owned = append(owned, d.Version+"."+d.Group)
	}
	if len(owned) == 0 {
		return nil
	}
	return invalid(v1alpha1.CSVReasonUnsupported, "API services are not supported: %s", strings.Join(sorted(owned), ", "))
}
