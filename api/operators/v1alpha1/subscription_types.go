package v1alpha1

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// SubscriptionKind is the kind of a Subscription.
const SubscriptionKind = "Subscription"

// SubscriptionConditionType names one thing that can be wrong with a Subscription.
type SubscriptionConditionType string

// SubscriptionCondition says of one thing whether it is wrong.
type SubscriptionCondition struct {
	// Type of the condition.
	Type SubscriptionConditionType `json:"type"`

	// Status is True where the thing is wrong, False where it is not, and Unknown where that cannot be told.
	Status corev1.ConditionStatus `json:"status"`

	// Reason is a word for the last transition.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message says in a sentence what is wrong and what ends it.
	// +optional
	Message string `json:"message,omitempty"`

	// LastHeartbeatTime is kept for clients that know it from OLM. operator-status does not write it: it would be a
	// write without news.
	// +optional
	LastHeartbeatTime *metav1.Time `json:"lastHeartbeatTime,omitempty"`

	// LastTransitionTime is when Status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// SubscriptionStatus is OLM's, with what the proposal "Improved Subscription Status" adds.
type SubscriptionStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// CurrentCSV is the ClusterServiceVersion that the Subscription is progressing to.
	// +optional
	CurrentCSV string `json:"currentCSV,omitempty"`

	// InstalledCSV is the last ClusterServiceVersion that Succeeded.
	// +optional
	InstalledCSV string `json:"installedCSV,omitempty"`

	// Install refers to the latest InstallPlan, for old clients. New ones read InstallPlanRef.
	// +optional
	Install *olm.InstallPlanReference `json:"installplan,omitempty"`

	// State sums the Subscription up in OLM's words.
	// +optional
	State olm.SubscriptionState `json:"state,omitempty"`

	// Reason of State.
	// +optional
	Reason olm.ConditionReason `json:"reason,omitempty"`

	// Message says in a sentence what the Subscription waits for or what is wrong. It is empty where all is well.
	// +optional
	Message string `json:"message,omitempty"`

	// InstallPlanGeneration counts the InstallPlans made for the Subscription.
	// +optional
	InstallPlanGeneration int `json:"installPlanGeneration,omitempty"`

	// InstallPlanRef refers to the latest InstallPlan that contains CurrentCSV.
	// +optional
	InstallPlanRef *corev1.ObjectReference `json:"installPlanRef,omitempty"`

	// CatalogHealth tells how the CatalogSources are that the Subscription can see, sorted by namespace and name.
	// +optional
	// +listType=atomic
	CatalogHealth []olm.SubscriptionCatalogHealth `json:"catalogHealth,omitempty"`

	// UpToDate is true where the newest ClusterServiceVersion of the package and channel is installed and running.
	// The name on the wire is spelt as the proposal spells it. It may be absent, where an OLM writes the status.
	// +optional
	UpToDate bool `json:"UpToDate"`

	// Conditions are what is known to be wrong, or not. One that is absent reads Unknown.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []SubscriptionCondition `json:"conditions,omitempty"`

	// LastUpdated is when the status last changed.
	LastUpdated metav1.Time `json:"lastUpdated"`
}

// GetCondition is the condition of that type, and Unknown where there is none.
func (s *SubscriptionStatus) GetCondition(t SubscriptionConditionType) SubscriptionCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return SubscriptionCondition{Type: t, Status: corev1.ConditionUnknown}
}

// SetCondition sets a condition. LastTransitionTime moves only where the status changes.
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

// NewInstallPlanReference is the old form of a reference to an InstallPlan.
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

	// Spec says what to subscribe to. Its schema is the one that OLM publishes: hack/crds puts it in.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Spec *olm.SubscriptionSpec `json:"spec"`

	// Status says how far the Subscription has come.
	// +optional
	Status SubscriptionStatus `json:"status,omitzero"`
}

// IsManual is true where somebody has to approve each InstallPlan.
func (s *Subscription) IsManual() bool {
	return s.Spec != nil && s.Spec.InstallPlanApproval == olm.ApprovalManual
}

// IsGated is true where that somebody is operator-status, which does so once the running operator allows it.
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

// Older orders Subscriptions by age, and those of an age by name.
func Older(a, b *Subscription) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
