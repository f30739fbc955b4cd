package v1alpha1

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SubscriptionKind is the kind of a Subscription.
const SubscriptionKind = "Subscription"

// SubscriptionConditionType is the type of a Subscription's condition.
type SubscriptionConditionType string

// SubscriptionCondition is a condition of a Subscription.
type SubscriptionCondition struct {
	// Type of the condition.
	Type SubscriptionConditionType `json:"type"`

	// Status of the condition, one of True, False, Unknown. True indicates a problem or a pending action, except for
	// UpToDate.
	Status corev1.ConditionStatus `json:"status"`

	// Reason is a brief CamelCase reason for the condition's last transition.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a human-readable explanation of the problem and its remedy.
	// +optional
	Message string `json:"message,omitempty"`

	// LastHeartbeatTime is kept for clients that know it from OLM. operator-status does not set it, to avoid writes
	// that change nothing else.
	// +optional
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// LastTransitionTime is when Status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// SubscriptionStatus is the status as OLM defines it, extended by the proposal "Improved Subscription Status".
type SubscriptionStatus struct {
	// ObservedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// CurrentCSV is the name of the ClusterServiceVersion that the Subscription is progressing to.
	// +optional
	CurrentCSV string `json:"currentCSV,omitempty"`

	// InstalledCSV is the name of the last ClusterServiceVersion that Succeeded.
	// +optional
	InstalledCSV string `json:"installedCSV,omitempty"`

	// Install refers to the latest InstallPlan, for older clients. Newer ones read InstallPlanRef.
	// +optional
	Install *olm.InstallPlanReference `json:"installplan,omitempty"`

	// State summarizes the Subscription with the states of OLM.
	// +optional
	State olm.SubscriptionState `json:"state,omitempty"`

	// Reason for State.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// Message is a human-readable explanation of why the Subscription waits or has failed. It is empty otherwise.
	// +optional
	Message string `json:"message,omitempty"`

	// InstallPlanGeneration is the number of InstallPlans created for the Subscription.
	// +optional
	InstallPlanGeneration int `json:"installPlanGeneration,omitempty"`

	// InstallPlanRef refers to the latest InstallPlan that contains CurrentCSV.
	// +optional
	InstallPlanRef *corev1.ObjectReference `json:"installPlanRef,omitempty"`

	// CatalogHealth reports the health of the CatalogSources visible to the Subscription, sorted by namespace and name.
	// +optional
	// +listType=atomic
	CatalogHealth []olm.SubscriptionCatalogHealth `json:"catalogHealth,omitempty"`

	// UpToDate is true if the newest ClusterServiceVersion of the package and channel is installed and running. The
	// name of the field is spelled as in the proposal. It may be absent if OLM writes the status.
	// +optional
	UpToDate bool `json:"UpToDate"`

	// Conditions of the Subscription. An absent condition is Unknown.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []SubscriptionCondition `json:"conditions,omitempty"`

	// LastUpdated is when the status last changed.
	LastUpdated metav1.Time `json:"lastUpdated"`
}

// GetCondition returns the condition of type t, with status Unknown if it is absent.
func (s *SubscriptionStatus) GetCondition(t SubscriptionConditionType) SubscriptionCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return SubscriptionCondition{Type: t, Status: corev1.ConditionUnknown}
}

// SetCondition adds or replaces a condition. LastTransitionTime changes only with the status, and LastHeartbeatTime is
// kept.
func (s *SubscriptionStatus) SetCondition(condition SubscriptionCondition) {
	for i, c := range s.Conditions {
		if c.Type != condition.Type {
			continue
		}
		if c.Status == condition.Status {
			condition.LastTransitionTime = c.LastTransitionTime
		}
		condition.LastHeartbeatTime = c.LastHeartbeatTime
		s.Conditions[i] = condition
		return
	}
	s.Conditions = append(s.Conditions, condition)
}

// NewInstallPlanReference converts a reference to an InstallPlan to OLM's older type; nil stays nil.
func NewInstallPlanReference(ref *corev1.ObjectReference) *olm.InstallPlanReference {
	if ref == nil {
		return nil
	}
	return &olm.InstallPlanReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Name: ref.Name, UID: ref.UID}
}

// Subscription keeps an operator up to date with a channel of a package in a catalog. Kind and spec are OLM's.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName={sub,subs},categories=olm
type Subscription struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	// Spec defines the package to subscribe to, and how. Its schema is OLM's; hack/crds inserts it.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec *olm.SubscriptionSpec `json:"spec"`

	// Status reports the progress of the Subscription.
	// +optional
	Status SubscriptionStatus `json:"status,omitzero"`
}

// IsManual reports whether each InstallPlan has to be approved.
func (s *Subscription) IsManual() bool {
	return s.Spec != nil && s.Spec.InstallPlanApproval == olm.ApprovalManual
}

// IsGated reports whether operator-status approves the InstallPlans, once the running operator allows the update.
func (s *Subscription) IsGated() bool {
	return s.Labels[LabelGate] == GateApproval && s.IsManual()
}

// SubscriptionList is a list of Subscriptions.
//
// +kubebuilder:object:root=true
type SubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Subscription `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, &Subscription{}, &SubscriptionList{})
		return nil
	})
}

// Older reports whether a is older than b, or has the same age and a name that sorts first.
func Older(a, b *Subscription) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
