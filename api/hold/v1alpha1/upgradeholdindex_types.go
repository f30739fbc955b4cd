package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// HeldEntry denies updates of one object.
type HeldEntry struct {
	// Message is why, for the installer.
	Message string `json:"message"`

	// Except are versions that are not denied: images of a workload, or revisions of a release.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	Except []string `json:"except,omitempty"`

	// Statuses of the records of a release that are denied.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Statuses []string `json:"statuses,omitempty"`
}

// UpgradeHoldIndexSpec has the updates that UpgradeHolds deny, by the object of a request.
type UpgradeHoldIndexSpec struct {
	// Workloads by kind, namespace and name: Deployment/foo/foo.
	// +optional
	Workloads map[string]HeldEntry `json:"workloads,omitempty"`

	// Definitions by the name of the CustomResourceDefinition.
	// +optional
	Definitions map[string]HeldEntry `json:"definitions,omitempty"`

	// Releases by owner, namespace and name of their records: helm/foo/foo. Those of operator-controller have no namespace:
	// operator-controller//foo.
	// +optional
	Releases map[string]HeldEntry `json:"releases,omitempty"`
}

// UpgradeHoldIndex is a part of the index of all UpgradeHolds, in which ValidatingAdmissionPolicies look an object up: they
// would be evaluated once for each UpgradeHold. Only operator-status writes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,path=upgradeholdindices,singular=upgradeholdindex
type UpgradeHoldIndex struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec has the updates that UpgradeHolds deny.
	Spec UpgradeHoldIndexSpec `json:"spec"`
}

// UpgradeHoldIndexList is a list of UpgradeHoldIndices.
//
// +kubebuilder:object:root=true
type UpgradeHoldIndexList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []UpgradeHoldIndex `json:"items"`
}
