package install

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TargetsAnnotation returns the value of the annotation olm.targetNamespaces: sorted, and empty for all namespaces.
func TargetsAnnotation(targets []string) string {
	if slices.Contains(targets, metav1.NamespaceAll) {
		return ""
	}
	return strings.Join(sorted(targets), ",")
}

// namespaceSelector returns the selector of a webhook for the target namespaces; nil selects all. Namespaces that are
// listed by name are selected by the label that the API server sets on each, not, as in OLM, by the label of the
// OperatorGroup. No namespace has to be labeled first, and users who may label a namespace cannot move it out of or
// into the webhook's scope.
func (in Install) namespaceSelector() *metav1.LabelSelector {
	switch {
	case in.allNamespaces():
		return nil
	case in.Group != nil && len(in.Group.Spec.TargetNamespaces) == 0 && in.Group.Spec.Selector != nil:
		return in.Group.Spec.Selector.DeepCopy()
	}
	// The API server rejects a selector with an invalid namespace name or without values.
	names := slices.DeleteFunc(slices.Clone(in.Targets), func(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 })
	named := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names}
	if len(names) == 0 {
		named = metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpDoesNotExist}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{named}}
}
