// Package operatorgroup determines which namespaces the operators of a namespace watch.
package operatorgroup

import (
	"context"
	"fmt"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/status/condition"
)

// Find returns the OperatorGroup of a namespace. Unless exactly one exists, it returns a problem that explains why
// nothing can be installed in that namespace.
func Find(ctx context.Context, c client.Reader, namespace string) (*operatorsv1.OperatorGroup, *condition.Problem, error) {
	list := &operatorsv1.OperatorGroupList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) { // no objects exist if the kind is not served
		return nil, nil, fmt.Errorf("listing the OperatorGroups of namespace %s: %w", namespace, err)
	}
	if len(list.Items) == 1 {
		return &list.Items[0], nil, nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return nil, condition.OperatorGroupProblem(namespace, names...), nil
}

// AnnotationExcludeGlobal on an OperatorGroup, with the value "true", excludes the global catalogs from its namespace,
// as in OLM.
const AnnotationExcludeGlobal = "olm.operatorframework.io/exclude-global-namespace-resolution"

// ExcludesGlobal reports whether operators in the OperatorGroup's namespace are installed only from the catalogs of
// that namespace. It is false for a nil OperatorGroup.
func ExcludesGlobal(group *operatorsv1.OperatorGroup) bool {
	return group != nil && group.Annotations[AnnotationExcludeGlobal] == "true"
}

// Targets returns the target namespaces of an OperatorGroup, which its operators watch, sorted. An empty name means all
// namespaces; no names mean that the OperatorGroup selects none.
func Targets(ctx context.Context, c client.Reader, group *operatorsv1.OperatorGroup) ([]string, error) {
	spec := group.Spec
	if len(spec.TargetNamespaces) > 0 {
		out := slices.Clone(spec.TargetNamespaces)
		slices.Sort(out)
		return slices.Compact(out), nil
	}
	if spec.Selector == nil || len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		return []string{metav1.NamespaceAll}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return nil, nil // an invalid selector selects none
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := c.List(ctx, list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing the namespaces that OperatorGroup %s/%s selects: %w", group.Namespace, group.Name, err)
	}
	var out []string
	for _, n := range list.Items {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out, nil
}
