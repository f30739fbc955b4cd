package controllers

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Check implements installer.Checker.
func (i Installer) Check(c installer.Cluster) []operator.Operator {
	return operator.Sorted(append(i.Operators(c), unserved(c)...))
}

// CheckKinds implements installer.Checker.
func (Installer) CheckKinds() []installer.Kind { return nil }

// unserved returns an operator that is not installed for each annotated CustomResourceDefinition whose operator was not found: its author
// expects it to hold updates, and it holds none. There are none if one may have been overlooked.
func unserved(c installer.Cluster) []operator.Operator {
	if c.Namespace != "" || slices.ContainsFunc(append(Kinds(), installer.Kind{Plural: "ClusterServiceVersions"}), func(k installer.Kind) bool {
		return slices.Contains(c.Unread, k.Plural)
	}) {
		return nil
	}
	annotated := sets.New[string]()
	for _, crd := range installer.Values[metav1.PartialObjectMetadata](c) {
		if _, ok := crd.Annotations[v1alpha1.AnnotationUpgradeable]; ok {
			annotated.Insert(crd.Name)
		}
	}
	if len(annotated) == 0 {
		return nil // the common case
	}
	served := sets.New[string]()
	for _, w := range In(c) {
		served.Insert(w.Definitions...)
	}
	for _, csv := range installer.Values[v1alpha1.ClusterServiceVersion](c) {
		for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
			served.Insert(owned.Name)
		}
	}
	for _, probe := range installer.Values[v1alpha1.Probe](c) {
		if probe.Spec != nil {
			for _, r := range probe.Spec.ProbeResources {
				served.Insert(r.CRDName())
			}
		}
	}
	var out []operator.Operator
	for _, name := range sets.List(annotated.Difference(served)) {
		out = append(out, operator.Operator{
			Name: name, State: operator.NotInstalled, UpToDate: metav1.ConditionUnknown, Upgradeable: metav1.ConditionUnknown,
			Notices: []operator.Blocker{operatorNotFound(name)},
		})
	}
	return out
}

func operatorNotFound(crd string) operator.Blocker {
	return operator.Blocker{
		Impact: operator.Notice, By: "CustomResourceDefinition " + crd, Reason: v1alpha1.ReasonOperatorNotFound,
		Cause: fmt.Sprintf("No operator was found that serves %s, so its annotation %s holds no update: no ClusterServiceVersion owns it, "+
			"and no workload runs as a service account whose roles name its API group and let it update the status. "+
			"If one serves it nevertheless, create a Probe that names the operator in spec.operator", crd, v1alpha1.AnnotationUpgradeable),
		Steps: []operator.Step{operator.Describe("To see it", "customresourcedefinition", "", crd)},
	}
}
