package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UpgradeHoldPolicyKind is the kind of an UpgradeHoldPolicy.
const UpgradeHoldPolicyKind = "UpgradeHoldPolicy"

// LabelUpgradeHoldPolicy on an UpgradeHold names the UpgradeHoldPolicy that it was created for.
const LabelUpgradeHoldPolicy = "operatorstatus.io/upgradeholdpolicy"

// UpgradeHoldPolicySpec selects operators, and defines when their updates are held.
// +kubebuilder:validation:XValidation:rule="!has(self.from) || !has(self.until) || self.from < self.until",message="from must be before until"
// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from >= timestamp('0001-01-01T00:00:00Z')",message="from must be a time of RFC 3339, such as 2026-12-04T18:00:00Z"
// +kubebuilder:validation:XValidation:rule="!has(self.until) || self.until >= timestamp('0001-01-01T00:00:00Z')",message="until must be a time of RFC 3339, such as 2026-12-04T18:00:00Z"
type UpgradeHoldPolicySpec struct {
	// Match selects the operators. By default these are all that OLM, OLM v1 or Helm installed. Those of other programs, which have the
	// installer Workload, are only selected if match.installers has it, since the programs that update the cluster itself are among them.
	// +optional
	Match *OperatorMatch `json:"match,omitempty"`

	HoldTerms `json:",inline"`
}

// UpgradeHoldPolicyStatus counts the operators that a policy selects.
type UpgradeHoldPolicyStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Matched and Held.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Summary counts the operators that the policy selects.
	// +optional
	Summary UpgradeHoldPolicySummary `json:"summary,omitzero"`
}

// UpgradeHoldPolicySummary counts operators.
type UpgradeHoldPolicySummary struct {
	// Operators that the policy selects.
	Operators int32 `json:"operators"`

	// Held are those of them whose updates it holds now.
	Held int32 `json:"held"`
}

// UpgradeHoldPolicy holds the updates of many operators: until a time, outside of update windows, or until it is deleted. Each operator
// that it selects, also one that is installed later, gets an UpgradeHold. First installations are not held.
//
// +kubebuilder:object:root=true
// +operator-sdk:csv:customresourcedefinitions:displayName="Upgrade Hold Policy"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=holdpolicy,categories={olm,operator-status}
// +kubebuilder:printcolumn:name="Operators",type=integer,JSONPath=`.status.summary.operators`
// +kubebuilder:printcolumn:name="Held",type=integer,JSONPath=`.status.summary.held`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.spec.until`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Held")].message`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name must not be longer than 63 characters, since it is the value of a label"
type UpgradeHoldPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec selects operators, and defines when their updates are held.
	Spec UpgradeHoldPolicySpec `json:"spec"`

	// Status counts the operators that the policy selects.
	// +optional
	Status UpgradeHoldPolicyStatus `json:"status,omitzero"`
}

// UpgradeHoldPolicyList is a list of UpgradeHoldPolicies.
//
// +kubebuilder:object:root=true
type UpgradeHoldPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []UpgradeHoldPolicy `json:"items"`
}

// Selects reports whether an operator that was installed in a namespace from a package, which is empty if there is none or it is not known,
// is one that the policy is for.
func (s *UpgradeHoldPolicySpec) Selects(by Installer, namespace, pkg string) bool {
	if by == InstallerWorkload && (s.Match == nil || len(s.Match.Installers) == 0) {
		return false
	}
	return s.Match.Matches(by, namespace, pkg)
}
