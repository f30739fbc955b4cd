// Package v1alpha1 contains UpgradeHolds, and the policies for many operators, of operatorstatus.io/v1alpha1.
// +kubebuilder:object:generate=true
// +groupName=operatorstatus.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds in this package.
	GroupVersion = schema.GroupVersion{Group: "operatorstatus.io", Version: "v1alpha1"}

	// SchemeBuilder registers the kinds of this package.
	SchemeBuilder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, &UpgradeHold{}, &UpgradeHoldList{}, &ProbePolicy{}, &ProbePolicyList{},
			&UpgradeHoldPolicy{}, &UpgradeHoldPolicyList{})
		metav1.AddToGroupVersion(scheme, GroupVersion)
		return nil
	})

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)
