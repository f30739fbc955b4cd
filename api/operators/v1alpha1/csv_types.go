package v1alpha1

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterServiceVersionKind is the kind of a ClusterServiceVersion.
const ClusterServiceVersionKind = "ClusterServiceVersion"

// ClusterServiceVersionCondition is a condition of the operator, as defined by the proposal "CSV Reporting". With a
// real OLM, conditions are the history of phases, and have neither type nor status.
type ClusterServiceVersionCondition struct {
	// Type of the condition.
	// +optional
	Type string `json:"type,omitempty"`

	// Status of the condition.
	// +optional
	Status corev1.ConditionStatus `json:"status,omitempty"`

	// Phase is the current phase, for clients that read OLM's older conditions.
	// +optional
	Phase olm.ClusterServiceVersionPhase `json:"phase,omitempty"`

	// Message is a human-readable explanation of the condition.
	// +optional
	Message string `json:"message,omitempty"`

	// Reason is a brief CamelCase reason for the condition's last transition.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// LastUpdateTime is when any field of the condition last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// LastTransitionTime is when Status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// ClusterServiceVersionTransition is one change of a ClusterServiceVersion's phase.
type ClusterServiceVersionTransition struct {
	// Phase that the ClusterServiceVersion entered.
	Phase olm.ClusterServiceVersionPhase `json:"phase"`

	// Message is a human-readable explanation of the change.
	// +optional
	Message string `json:"message,omitempty"`

	// Reason is a brief CamelCase reason for the change.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// LastTransitionTime is when the ClusterServiceVersion entered the phase.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// OperatorVersion is the version of an operator that is running.
type OperatorVersion struct {
	// Name of the operator: the name of its package, if that is known.
	// +optional
	Name string `json:"name,omitempty"`

	// Version that is running.
	// +optional
	Version string `json:"version,omitempty"`
}

// ClusterServiceVersionStatus is the status as OLM defines it, extended by the proposal "CSV Reporting".
type ClusterServiceVersionStatus struct {
	// Phase of the ClusterServiceVersion's lifecycle.
	// +optional
	Phase olm.ClusterServiceVersionPhase `json:"phase,omitempty"`

	// Message is a human-readable explanation of the phase.
	// +optional
	Message string `json:"message,omitempty"`

	// Reason is a brief CamelCase reason for the phase.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// LastUpdateTime is when the status last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// LastTransitionTime is when Phase last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// Conditions of the ClusterServiceVersion; known types are Available, Progressing and, if the operator has a Probe,
	// Upgradeable.
	// +optional
	// +listType=atomic
	Conditions []ClusterServiceVersionCondition `json:"conditions,omitempty"`

	// LastTransitions are the last 20 changes of phase, in chronological order.
	// +optional
	// +listType=atomic
	LastTransitions []ClusterServiceVersionTransition `json:"lastTransitions,omitempty"`

	// Version that is running. During an update it is the old version until the new one has Succeeded.
	// +optional
	Version OperatorVersion `json:"version,omitzero"`

	// RelatedObjects are the Subscription, InstallPlan and CatalogSource that the operator was installed from.
	// +optional
	// +listType=atomic
	RelatedObjects []corev1.ObjectReference `json:"relatedObjects,omitempty"`

	// RequirementStatus reports whether each requirement is met.
	// +optional
	// +listType=atomic
	RequirementStatus []olm.RequirementStatus `json:"requirementStatus,omitempty"`

	// CertsLastUpdated is when the webhooks' certificates were created.
	// +optional
	CertsLastUpdated *metav1.Time `json:"certsLastUpdated,omitempty"`

	// CertsRotateAt is when the webhooks' certificates will be rotated.
	// +optional
	CertsRotateAt *metav1.Time `json:"certsRotateAt,omitempty"`

	// Cleanup lists the custom resources that still exist while a ClusterServiceVersion with spec.cleanup.enabled is
	// being deleted, up to 50 of each kind.
	// +optional
	Cleanup olm.CleanupStatus `json:"cleanup,omitzero"`
}

// ClusterServiceVersion is one version of an operator in a namespace. Kind and spec are OLM's.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName={csv,csvs},categories=olm
type ClusterServiceVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Spec defines how to install the operator. Its schema is OLM's; hack/crds inserts it.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec olm.ClusterServiceVersionSpec `json:"spec"`

	// Status reports whether the operator is installed.
	// +optional
	Status ClusterServiceVersionStatus `json:"status,omitzero"`
}

// IsCopied reports whether c is a copy that OLM created in another namespace to show that the operator watches it.
func (c *ClusterServiceVersion) IsCopied() bool {
	return c.Status.Reason == olm.CSVReasonCopied || olm.IsCopied(c)
}

// GetAllCRDs returns the CustomResourceDefinitions that the operator owns or requires, sorted by name and without
// duplicates.
func (c *ClusterServiceVersion) GetAllCRDs() []olm.CRDDescription {
	return olm.ClusterServiceVersion{Spec: c.Spec}.GetAllCRDDescriptions()
}

// ServiceAccounts returns the names of the service accounts that the operator's deployments run as or its permissions
// are granted to, sorted and without duplicates.
func (c *ClusterServiceVersion) ServiceAccounts() []string {
	strategy := c.Spec.InstallStrategy.StrategySpec
	var out []string
	for _, d := range strategy.DeploymentSpecs {
		out = append(out, cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"))
	}
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		out = append(out, p.ServiceAccountName)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// GetCondition returns the condition of type t, with status Unknown if it is absent.
func (s *ClusterServiceVersionStatus) GetCondition(t string) ClusterServiceVersionCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return ClusterServiceVersionCondition{Type: t, Status: corev1.ConditionUnknown}
}

// ClusterServiceVersionList is a list of ClusterServiceVersions.
//
// +kubebuilder:object:root=true
type ClusterServiceVersionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ClusterServiceVersion `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, &ClusterServiceVersion{}, &ClusterServiceVersionList{})
		return nil
	})
}
