package install

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TargetsAnnotation is the value of the annotation olm.targetNamespaces: sorted, and empty for all namespaces.
func TargetsAnnotation(targets []string) string {
	if slices.Contains(targets, metav1.NamespaceAll) {
		return ""
	}
	return strings.Join(sorted(targets), ",")
}

// namespaceSelector selects the target namespaces for a webhook; nil selects all. Namespaces that are listed by name are
// selected by the label that the API server sets on each, so that none has to be labelled first.
func (in Install) namespaceSelector() *metav1.LabelSelector {
	switch {
	case in.allNamespaces():
		return nil
	case in.Group != nil && len(in.Group.Spec.TargetNamespaces) == 0 && in.Group.Spec.Selector != nil:
		return in.Group.Spec.Selector.DeepCopy()
	default:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: in.Targets,
		}}}
	}
}
