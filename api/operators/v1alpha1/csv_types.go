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

// ClusterServiceVersionCondition says one thing of the operator, as the proposal "CSV Reporting" has it. Beside a real
// OLM, conditions are its history of phases, and have neither type nor status.
type ClusterServiceVersionCondition struct {
	// Type of the condition.
	// +optional
	Type string `json:"type,omitempty"`

	// Status of the condition.
	// +optional
	Status corev1.ConditionStatus `json:"status,omitempty"`

	// Phase is the current phase, for old readers.
	// +optional
	Phase olm.ClusterServiceVersionPhase `json:"phase,omitempty"`

	// Message says in a sentence why.
	// +optional
	Message string `json:"message,omitempty"`

	// Reason is a word for the last transition.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// LastUpdateTime is when the condition last changed at all.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// LastTransitionTime is when Status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// ClusterServiceVersionTransition is one change of phase.
type ClusterServiceVersionTransition struct {
	// Phase that the ClusterServiceVersion came to.
	Phase olm.ClusterServiceVersionPhase `json:"phase"`

	// Message says in a sentence why.
	// +optional
	Message string `json:"message,omitempty"`

	// Reason is a word for it.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// LastTransitionTime is when it came to it.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// OperatorVersion is the version of an operator that is really running.
type OperatorVersion struct {
	// Name of the operator: that of its package, where that is known.
	// +optional
	Name string `json:"name,omitempty"`

	// Version that is running.
	// +optional
	Version string `json:"version,omitempty"`
}

// ClusterServiceVersionStatus is OLM's, with what the proposal "CSV Reporting" adds.
type ClusterServiceVersionStatus struct {
	// Phase is where the ClusterServiceVersion is in its life.
	// +optional
	Phase olm.ClusterServiceVersionPhase `json:"phase,omitempty"`

	// Message says in a sentence why it is in this phase.
	// +optional
	Message string `json:"message,omitempty"`

	// Reason is a word for it.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// LastUpdateTime is when the status last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// LastTransitionTime is when Phase last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// Conditions are Available, Progressing and, where the operator has a Probe, Upgradeable.
	// +optional
	// +listType=atomic
	Conditions []ClusterServiceVersionCondition `json:"conditions,omitempty"`

	// LastTransitions are the last 20 changes of phase, the latest last.
	// +optional
	// +listType=atomic
	LastTransitions []ClusterServiceVersionTransition `json:"lastTransitions,omitempty"`

	// Version is the version really running: through an update, the old one until the new one has Succeeded.
	// +optional
	Version OperatorVersion `json:"version,omitzero"`

	// RelatedObjects are the Subscription, InstallPlan and CatalogSource that the operator came from.
	// +optional
	// +listType=atomic
	RelatedObjects []corev1.ObjectReference `json:"relatedObjects,omitempty"`

	// RequirementStatus tells of each requirement whether it is met.
	// +optional
	// +listType=atomic
	RequirementStatus []olm.RequirementStatus `json:"requirementStatus,omitempty"`

	// CertsLastUpdated is when the webhooks' certificates were made.
	// +optional
	CertsLastUpdated *metav1.Time `json:"certsLastUpdated,omitempty"`

	// CertsRotateAt is when they will be replaced.
	// +optional
	CertsRotateAt *metav1.Time `json:"certsRotateAt,omitempty"`

	// Cleanup lists the custom resources that are not gone yet while a ClusterServiceVersion with spec.cleanup.enabled is being deleted,
	// up to 50 of each kind.
	// +optional
	Cleanup olm.CleanupStatus `json:"cleanup,omitzero"`
}

// ClusterServiceVersion is one version of one operator in one namespace. Kind and spec are OLM's.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName={csv,csvs},categories=olm
type ClusterServiceVersion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Spec says how to install the operator. Its schema is the one that OLM publishes: hack/crds puts it in.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec olm.ClusterServiceVersionSpec `json:"spec"`

	// Status says whether it is installed.
	// +optional
	Status ClusterServiceVersionStatus `json:"status,omitzero"`
}

// IsCopied is true for a copy that OLM made in another namespace, for people to see that the operator looks after it.
func (c *ClusterServiceVersion) IsCopied() bool {
	return c.Status.Reason == olm.CSVReasonCopied || olm.IsCopied(c)
}

// GetAllCRDs are the CustomResourceDefinitions that the operator owns or requires, each once, sorted by name.
func (c *ClusterServiceVersion) GetAllCRDs() []olm.CRDDescription {
	return olm.ClusterServiceVersion{Spec: c.Spec}.GetAllCRDDescriptions()
}

// ServiceAccounts are the names of the service accounts that the operator's deployments run under and its permissions are for,
// sorted.
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

// GetCondition is the condition of that type, and Unknown where there is none.
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
