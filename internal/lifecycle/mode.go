// Package lifecycle decides whether the built-in lifecycle controllers run, which install, update and clean up operators
// on clusters without OLM.
package lifecycle

import (
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Names of the CustomResourceDefinitions by which the mode is decided.
const (
	subscriptionsCRD = "subscriptions.operators.coreos.com"
	olmConfigsCRD    = "olmconfigs.operators.coreos.com" // only OLM ships it
)

// Mode determines which lifecycle controllers run: the built-in ones, OLM's or none.
type Mode string

// Modes. ModeAuto is only a flag value, which Decide resolves.
const (
	ModeAuto    Mode = "auto"
	ModeBuiltin Mode = "builtin"
	ModeOLM     Mode = "olm"
	ModeOff     Mode = "off"
)

// ParseMode parses the value of --lifecycle.
func ParseMode(s string) (Mode, error) {
	known := []Mode{ModeAuto, ModeBuiltin, ModeOLM, ModeOff}
	if m := Mode(s); slices.Contains(known, m) {
		return m, nil
	}
	return "", fmt.Errorf("unknown lifecycle %q: use one of %v", s, known)
}

// Decide returns the mode and why it was chosen. The built-in controllers run only if the CustomResourceDefinition of
// Subscriptions has our label and our schema and OLM is not installed. subscriptions is nil if that definition does not
// exist.
func Decide(flag Mode, subscriptions *apiextensions.CustomResourceDefinition, olmConfigs bool) (Mode, string) {
	switch {
	case flag == ModeOff || flag == ModeOLM:
		return flag, fmt.Sprintf("the flag is --lifecycle=%s", flag)
	case olmConfigs:
		return ModeOLM, fmt.Sprintf("CustomResourceDefinition %s exists, which only OLM installs", olmConfigsCRD)
	case subscriptions == nil:
		return ModeOff, fmt.Sprintf("CustomResourceDefinition %s not found: for the built-in loops apply config/lifecycle", subscriptionsCRD)
	case subscriptions.Labels[v1alpha1.LabelLifecycle] != v1alpha1.LifecycleBuiltin:
		return ModeOff, fmt.Sprintf("CustomResourceDefinition %s lacks the label %s=%s, so it has another owner",
			subscriptionsCRD, v1alpha1.LabelLifecycle, v1alpha1.LifecycleBuiltin)
	case !hasOurStatus(subscriptions):
		return ModeOff, fmt.Sprintf("CustomResourceDefinition %s has no status.UpToDate: apply config/lifecycle again", subscriptionsCRD)
	}
	return ModeBuiltin, fmt.Sprintf("CustomResourceDefinition %s is ours and OLM is not installed", subscriptionsCRD)
}

// hasOurStatus reports whether the schema has the status that we write, which the API server would otherwise prune.
func hasOurStatus(crd *apiextensions.CustomResourceDefinition) bool {
	for _, v := range crd.Spec.Versions {
		if v.Name != v1alpha1.GroupVersion.Version || v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		_, ok := v.Schema.OpenAPIV3Schema.Properties["status"].Properties["UpToDate"]
		return ok
	}
	return false
}
