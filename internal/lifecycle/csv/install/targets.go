package install

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TargetsAnnotation is the value of the annotation olm.targetNamespaces: sorted, and empty for all namespaces.
func TargetsAnnotation(targets []string) string {
	if slices.Contains(targets, metav1.NamespaceAll) {
		return ""
	}
	return strings.Join(sorted(targets), ",")
}

// namespaceSelector selects the target namespaces for a webhook; nil selects all. Namespaces that are listed by name are selected by
// the label that the API server sets on each, and not, as OLM does, by that of the OperatorGroup: no namespace has to be labelled first,
// and no one who may label a namespace takes it out of the webhook's reach, or into it.
func (in Install) namespaceSelector() *metav1.LabelSelector {
	switch {
	case in.allNamespaces():
		return nil
	case in.Group != nil && len(in.Group.Spec.TargetNamespaces) == 0 && in.Group.Spec.Selector != nil:
		return in.Group.Spec.Selector.DeepCopy()
	}
	// The API server refuses a selector with a name that no namespace can have, or with none at all.
	names := slices.DeleteFunc(slices.Clone(in.Targets), func(name string) bool { return len(validation.IsDNS1123Label(name)) > 0 })
	named := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names}
	if len(names) == 0 {
		named = metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpDoesNotExist}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{named}}
}
