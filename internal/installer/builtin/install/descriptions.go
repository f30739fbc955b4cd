package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// validateWebhooks returns an error if the webhook descriptions of the CSV are invalid.
func validateWebhooks(csv *v1alpha1.ClusterServiceVersion) error {
	seen := map[string]bool{}
	for _, d := range csv.Spec.WebhookDefinitions {
		err := validateWebhook(csv, d)
		if seen[d.GenerateName] {
			err = errors.New("it is defined twice")
		}
		if errors.Is(err, errRules) {
			return invalid(v1alpha1.CSVReasonInvalidWebhookDescription, "%s", err) // the message is OLM's, verbatim
		}
		if err != nil {
			return invalid(v1alpha1.CSVReasonInvalidWebhookDescription, "Webhook %q is invalid: %s", d.GenerateName, err)
		}
		seen[d.GenerateName] = true
	}
	return validatePorts(csv)
}

func validateWebhook(csv *v1alpha1.ClusterServiceVersion, d olm.WebhookDescription) error {
	if deploymentOf(csv, d) == nil {
		return fmt.Errorf("deployment %q not found in the install strategy", d.DeploymentName)
	}
	switch d.Type {
	case olm.ValidatingAdmissionWebhook, olm.MutatingAdmissionWebhook:
		return validateRules(d.Rules)
	case olm.ConversionWebhook:
		return validateConversion(csv, d)
	default:
		return fmt.Errorf("unknown type %q", d.Type)
	}
}

func deploymentOf(csv *v1alpha1.ClusterServiceVersion, d olm.WebhookDescription) *olm.StrategyDeploymentSpec {
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	i := slices.IndexFunc(deployments, func(s olm.StrategyDeploymentSpec) bool { return s.Name == d.DeploymentName })
	if i < 0 {
		return nil
	}
	return &deployments[i]
}

// errRules is the prefix of OLM's messages about webhook rules.
var errRules = errors.New("webhook rules cannot include")

// validateRules rejects a webhook that would intercept requests for the objects by which it is itself created and
// deleted.
func validateRules(rules []admissionregistrationv1.RuleWithOperations) error {
	for _, rule := range rules {
		if slices.Contains(rule.APIGroups, "*") {
			return fmt.Errorf("%w all groups", errRules)
		}
		if slices.Contains(rule.APIGroups, v1alpha1.GroupVersion.Group) {
			return fmt.Errorf("%w the OLM group", errRules)
		}
		if !slices.Contains(rule.APIGroups, admissionregistrationv1.GroupName) {
			continue
		}
		for _, resource := range rule.Resources {
			name, _, _ := strings.Cut(strings.ToLower(resource), "/")
			switch strings.TrimSuffix(name, "s") {
			case "*", "mutatingwebhookconfiguration", "validatingwebhookconfiguration":
				return fmt.Errorf("%w MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources", errRules)
			}
		}
	}
	return nil
}

// validateConversion rejects a webhook that would not convert every custom resource in the cluster.
func validateConversion(csv *v1alpha1.ClusterServiceVersion, d olm.WebhookDescription) error {
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == olm.InstallModeTypeAllNamespaces) {
			return fmt.Errorf("conversion requires %s to be the only supported install mode", olm.InstallModeTypeAllNamespaces)
		}
	}
	if len(d.ConversionCRDs) == 0 {
		return errors.New("conversionCRDs is empty")
	}
	for _, crd := range d.ConversionCRDs {
		if !csvchain.Owns(csv, crd) {
			return fmt.Errorf("it converts %s, which the operator does not own", crd)
		}
	}
	return nil
}

// validatePorts rejects webhooks of one Deployment that need the same Service port with different target ports.
func validatePorts(csv *v1alpha1.ClusterServiceVersion) error {
	type key struct {
		deployment string
		port       int32
	}
	seen := map[key]corev1.ServicePort{}
	for _, d := range csv.Spec.WebhookDefinitions {
		k, p := key{d.DeploymentName, port(d)}, servicePort(d)
		if other, ok := seen[k]; ok && other != p {
			return invalid(v1alpha1.CSVReasonInvalidWebhookDescription,
				"Webhook %q is invalid: port %d of deployment %q has two target ports, %s and %s",
				d.GenerateName, k.port, d.DeploymentName, other.TargetPort.String(), p.TargetPort.String())
		}
		seen[k] = p
	}
	return nil
}
