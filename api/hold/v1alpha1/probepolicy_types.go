package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// ProbePolicyKind is the kind of a ProbePolicy.
const ProbePolicyKind = "ProbePolicy"

// MaxPolicyOperators is the number of operators that the status of a ProbePolicy lists. `status.summary` counts the rest.
const MaxPolicyOperators = 50

// ProbePolicySpec defines when operators may be updated whose authors did not annotate their CustomResourceDefinitions.
type ProbePolicySpec struct {
	// Match restricts the policy to some of the operators that serve its CustomResourceDefinitions. By default it applies to all.
	// +optional
	Match *OperatorMatch `json:"match,omitempty"`

	// Settle is `spec.settle` of the Probes: for how long no custom resource must have held an update before one may begin, also
	// after the last one. Of several policies, the longest counts.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="settle must be from 0s to 168h"
	Settle *metav1.Duration `json:"settle,omitempty"`

	// YieldAfter is `spec.yieldAfter` of the Probes: for how long custom resources may hold an update without interruption, before it is
	// allowed although they do. Of several policies, the longest counts, and none if one of them, or an annotation, has none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="yieldAfter must be more than 0s and at most 8760h"
	YieldAfter *metav1.Duration `json:"yieldAfter,omitempty"`

	// AlertAfter is `spec.alertAfter` of the Probes: for how long custom resources may hold an update before the alert HeldTooLong is
	// raised. Of several policies, the shortest counts.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="alertAfter must be more than 0s and at most 8760h"
	AlertAfter *metav1.Duration `json:"alertAfter,omitempty"`

	// ProbeResources are CustomResourceDefinitions, by name, with the expressions that become a part of the Probe of the operator that
	// serves them: whose ClusterServiceVersion owns them, or whose service account may update the status of their custom resources. With a
	// ClusterServiceVersion, these are of an API group in which it owns a CustomResourceDefinition, and it does not require them.
	// Annotations of a CustomResourceDefinition take precedence. If several policies have expressions for one, all of them have to
	// allow the update.
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	ProbeResources []operatorsv1alpha1.ProbeResource `json:"probeResources"`
}

// ProbePolicyStatus lists the operators that a policy applies to.
type ProbePolicyStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Matched and Valid.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Summary counts the operators that the policy applies to.
	// +optional
	Summary ProbePolicySummary `json:"summary,omitzero"`

	// Operators are those that the policy applies to, at most 50: first those that may not be updated.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Operators []PolicyOperator `json:"operators,omitempty"`
}

// ProbePolicySummary counts operators.
type ProbePolicySummary struct {
	// Operators that the policy applies to.
	Operators int32 `json:"operators"`

	// NotUpgradeable are those of them whose Probe does not allow an update.
	NotUpgradeable int32 `json:"notUpgradeable"`
}

// PolicyOperator is an operator that a policy applies to.
type PolicyOperator struct {
	// Installer is the program that installed the operator. It is OLM if empty.
	// +optional
	Installer Installer `json:"installer,omitempty"`

	// Namespace of the operator and of its Probe.
	Namespace string `json:"namespace"`

	// Name of its ClusterServiceVersion and of its Probe or, of another installer than OLM, the name in spec.operator of its Probe.
	Name string `json:"name"`

	// Upgradeable is the condition Upgradeable of its Probe.
	Upgradeable metav1.ConditionStatus `json:"upgradeable"`
}

// ProbePolicy defines when the operators that serve some CustomResourceDefinitions may be updated, in every version and whatever installs
// them, although their authors did not annotate these. Each operator gets a Probe with the expressions of the policy, until the policy is deleted.
//
// +kubebuilder:object:root=true
// +operator-sdk:csv:customresourcedefinitions:displayName="Probe Policy"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={olm,operator-status}
// +kubebuilder:printcolumn:name="Operators",type=integer,JSONPath=`.status.summary.operators`
// +kubebuilder:printcolumn:name="Not upgradeable",type=integer,JSONPath=`.status.summary.notUpgradeable`
// +kubebuilder:printcolumn:name="Matched",type=string,JSONPath=`.status.conditions[?(@.type=="Matched")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Matched")].message`
type ProbePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec defines when operators may be updated.
	Spec ProbePolicySpec `json:"spec"`

	// Status lists the operators that the policy applies to.
	// +optional
	Status ProbePolicyStatus `json:"status,omitzero"`
}

// ProbePolicyList is a list of ProbePolicies.
//
// +kubebuilder:object:root=true
type ProbePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ProbePolicy `json:"items"`
}
