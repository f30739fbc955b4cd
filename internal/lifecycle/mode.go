// Package lifecycle holds the loops that install, update and clean up operators where there is no OLM, one room a loop,
// and decides whether they run.
package lifecycle

import (
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Names of the CustomResourceDefinitions that tell who runs the loops.
const (
	subscriptionsCRD = "subscriptions.operators.coreos.com"
	olmConfigsCRD    = "olmconfigs.operators.coreos.com" // OLM alone ships it
)

// Mode says who runs the loops.
type Mode string

// Modes. As a flag's value, ModeAuto finds out.
const (
	ModeAuto    Mode = "auto"
	ModeBuiltin Mode = "builtin"
	ModeOLM     Mode = "olm"
	ModeOff     Mode = "off"
)

// ParseMode reads a flag's value.
func ParseMode(s string) (Mode, error) {
	known := []Mode{ModeAuto, ModeBuiltin, ModeOLM, ModeOff}
	if m := Mode(s); slices.Contains(known, m) {
		return m, nil
	}
	return "", fmt.Errorf("unknown lifecycle %q: use one of %v", s, known)
}

// Decide says who runs the loops, and why. The built-in ones run only where the CustomResourceDefinition of
// Subscriptions carries our label and our schema, and no OLM is installed: never both. subscriptions is nil where
// there is none.
func Decide(flag Mode, subscriptions *apiextensions.CustomResourceDefinition, olmConfigs bool) (Mode, string) {
	switch {
	case flag == ModeOff || flag == ModeOLM:
		return flag, fmt.Sprintf("the flag says --lifecycle=%s", flag)
	case olmConfigs:
		return ModeOLM, fmt.Sprintf("there is a CustomResourceDefinition %s, which only OLM brings", olmConfigsCRD)
	case subscriptions == nil:
		return ModeOff, fmt.Sprintf("there is no CustomResourceDefinition %s: for the built-in loops apply config/lifecycle", subscriptionsCRD)
	case subscriptions.Labels[v1alpha1.LabelLifecycle] != v1alpha1.LifecycleBuiltin:
		return ModeOff, fmt.Sprintf("CustomResourceDefinition %s lacks the label %s=%s, so it is someone else's",
			subscriptionsCRD, v1alpha1.LabelLifecycle, v1alpha1.LifecycleBuiltin)
	case !hasOurStatus(subscriptions):
		return ModeOff, fmt.Sprintf("CustomResourceDefinition %s has no status.UpToDate: apply config/lifecycle again", subscriptionsCRD)
	}
	return ModeBuiltin, fmt.Sprintf("CustomResourceDefinition %s is ours and there is no OLM", subscriptionsCRD)
}

// hasOurStatus is false for a schema from which the API server would prune what we write.
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
