// Package v1 contains the kind of the sample operators.
// +kubebuilder:object:generate=true
// +groupName=example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of Foo.
var GroupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// AddToScheme adds Foo to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// ConditionMigrating is True while the data of a Foo is migrated to another version. The operator must not be updated
// then.
const ConditionMigrating = "Migrating"

// Reasons of Migrating.
const (
	// ReasonInProgress means that the migration takes its time, or that `spec.hold` does not let it end.
	ReasonInProgress = "InProgress"

	// ReasonUpToDate means that the data has the version in the spec.
	ReasonUpToDate = "UpToDate"

	// ReasonNewerData means that the data has a newer version than the spec, which is not migrated back.
	ReasonNewerData = "NewerData"
)

// FooSpec defines a store of data.
type FooSpec struct {
	// Version that the data should have. If it is newer than that of the data, the data is migrated.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9]{1,9}[.][0-9]{1,9}[.][0-9]{1,9}$`
	Version string `json:"version,omitempty"`

	// MigrationSeconds is how long a migration takes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MigrationSeconds int32 `json:"migrationSeconds,omitempty"`

	// Hold keeps a migration from ending.
	// +optional
	Hold bool `json:"hold,omitempty"`
}

// FooStatus reports on the data.
type FooStatus struct {
	// Version of the data.
	// +optional
	Version string `json:"version,omitempty"`

	// Conditions of the Foo; the operator sets Migrating.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Foo is a store of data.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Migrating",type=string,JSONPath=`.status.conditions[?(@.type=="Migrating")].status`
type Foo struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// +optional
	Spec FooSpec `json:"spec,omitzero"`
	// +optional
	Status FooStatus `json:"status,omitzero"`
}

// FooList is a list of Foos.
//
// +kubebuilder:object:root=true
type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Foo `json:"items"`
}
