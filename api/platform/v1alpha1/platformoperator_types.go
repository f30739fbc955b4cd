package v1alpha1

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// PlatformOperatorKind is the kind of a PlatformOperator.
const PlatformOperatorKind = "PlatformOperator"

// Labels and annotations that users set.
const (
	// AnnotationAdopt on an object without a controller is its owner's consent that the PlatformOperator with that name
	// adopts it.
	AnnotationAdopt = "operatorstatus.io/adopt"

	// AnnotationDeleteAnyway on a PlatformOperator that is being deleted, with the value "true", uninstalls the
	// operator even if users' data exists. The data and its namespace are kept. On a CustomResourceDefinition of operator-status, it lets
	// the definition be deleted, with all objects of its kind.
	AnnotationDeleteAnyway = "operatorstatus.io/delete-anyway"

	// LabelAggregateToCompose on a ClusterRole, with the value "true", grants its rules to the service account
	// operator-status-composer, as which `spec.resources` of PlatformOperators are applied unless another is named.
	LabelAggregateToCompose = "operatorstatus.io/aggregate-to-compose"
)

// Labels, annotations and finalizers that operator-status sets.
const (
	// Finalizer on a PlatformOperator keeps it until the composed objects are deleted or released.
	Finalizer = "operatorstatus.io/composed"

	// LabelPlatformOperator on a composed object names the PlatformOperator that composed it.
	LabelPlatformOperator = "operatorstatus.io/platform-operator"
)

// Limits of a PlatformOperator's status.
const (
	// MaxRelatedObjects is the number of objects that `status.relatedObjects` lists.
	MaxRelatedObjects = 100

	// MaxHolds is the number of causes that `status.holds` lists.
	MaxHolds = 20
)

// ManagementPolicy defines how the objects of a PlatformOperator are managed.
// +kubebuilder:validation:Enum=Full;Observe
type ManagementPolicy string

const (
	// ManagementFull creates the objects and keeps them in their desired state.
	ManagementFull ManagementPolicy = "Full"

	// ManagementObserve only reports on a Subscription that is managed elsewhere.
	ManagementObserve ManagementPolicy = "Observe"
)

// DeletionPolicy defines whether the objects are deleted with the PlatformOperator.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes them: the operator is uninstalled.
	DeletionDelete DeletionPolicy = "Delete"

	// DeletionOrphan keeps them: the operator continues to run unmanaged.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// PlatformOperatorSpec defines which operator to install, and how. Only the name of the package is required.
// +kubebuilder:validation:XValidation:rule="has(self.namespace) == has(oldSelf.namespace)",message="namespace cannot be changed, since the operator would be removed and reinstalled: create another PlatformOperator"
type PlatformOperatorSpec struct {
	// Package is the operator to install.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Package"
	Package Package `json:"package"`

	// Namespace to install the operator in. If omitted, a namespace named after the PlatformOperator is created. A
	// namespace that already exists is used, and kept when the PlatformOperator is deleted.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Namespace",xDescriptors="urn:alm:descriptor:io.kubernetes:Namespace"
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespace cannot be changed, since the operator would be removed and reinstalled: create another PlatformOperator"
	Namespace string `json:"namespace,omitempty"`

	// Approval of updates. Automatic, the default, installs updates as soon as the running operator allows them; Manual
	// requires a user to approve each update.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Approval"
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	// +kubebuilder:default=Automatic
	Approval olm.Approval `json:"approval,omitempty"`

	// Config is OLM's SubscriptionConfig for the operator's pods. It has the schema of a Subscription's `spec.config`,
	// and is validated there.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`

	// Resources are additional objects that belong to the operator, such as the custom resource that it is installed
	// for.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources"
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Resources []Resource `json:"resources,omitempty"`

	// ServiceAccountName is the name of the service account, in the namespace that the operator is installed in, that
	// reads, applies and deletes the objects in `resources`. To set it, or to change `resources` while it is set, a
	// user needs permission to impersonate it. If omitted, it is the account of the manager's
	// --default-resources-account, or operator-status-composer, which does not apply RBAC objects.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// ManagementPolicy defines how the objects are managed: Full, the default, or Observe.
	// +optional
	// +kubebuilder:default=Full
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`

	// DeletionPolicy defines whether the objects are deleted with the PlatformOperator: Delete, the default, or Orphan.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// HoldClusterUpdates holds minor updates of the cluster while this operator is not Upgradeable.
	// +optional
	HoldClusterUpdates bool `json:"holdClusterUpdates,omitempty"`
}

// Package identifies an operator in a catalog.
type Package struct {
	// Name of the package.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="package.name cannot be changed, since another operator would replace the running one: create another PlatformOperator, and delete this one"
	Name string `json:"name"`

	// Channel to follow. Defaults to the default channel of the package.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Channel string `json:"channel,omitempty"`

	// Version is the range of versions that may be installed, such as ">=1.2.0 <2.0.0", in the syntax of a ClusterExtension's
	// `spec.source.catalog.version`. Defaults to any. Beside OLM, it only holds updates: startingCSV then selects the first version.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// Catalog that contains the package. Defaults to the manager's --default-catalog.
	// +optional
	Catalog *CatalogReference `json:"catalog,omitempty"`

	// StartingCSV is the name of the ClusterServiceVersion to install first. Defaults to the head of the channel.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StartingCSV string `json:"startingCSV,omitempty"`
}

// CatalogReference refers to a CatalogSource.
type CatalogReference struct {
	// Name of the CatalogSource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the CatalogSource. Defaults to that of the manager's --default-catalog.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// Resource is an object that belongs to the operator.
// +kubebuilder:validation:XValidation:rule="!(self.name in ['namespace', 'operatorgroup', 'subscription'])",message="namespace, operatorgroup and subscription are reserved names"
// +kubebuilder:validation:XValidation:rule="has(self.manifest.metadata.name) && size(self.manifest.metadata.name) > 0",message="manifest.metadata.name is required"
type Resource struct {
	// Name of the entry, which identifies it in `status.resources`.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Manifest of the object. If its kind is namespaced and it names no namespace, it is created in the operator's.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest"`

	// ReadinessChecks define when the object is ready: when all of them pass. If omitted, the conventions of its kind
	// apply, as in kubectl and GitOps tools: a Deployment is ready if it is available, and many other objects if their
	// condition Ready is True.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ReadinessChecks []ReadinessCheck `json:"readinessChecks,omitempty"`
}

// ReadinessCheckType is the type of a readiness check, as in Crossplane.
// +kubebuilder:validation:Enum=None;NonEmpty;MatchString;MatchInteger;MatchTrue;MatchFalse;MatchCondition
type ReadinessCheckType string

// Types of readiness checks.
const (
	// CheckNone passes as soon as the object exists.
	CheckNone ReadinessCheckType = "None"

	// CheckNonEmpty passes if the field exists and is not null.
	CheckNonEmpty ReadinessCheckType = "NonEmpty"

	// CheckMatchString passes if the field is equal to the string.
	CheckMatchString ReadinessCheckType = "MatchString"

	// CheckMatchInteger passes if the field is equal to the integer.
	CheckMatchInteger ReadinessCheckType = "MatchInteger"

	// CheckMatchTrue passes if the field is true.
	CheckMatchTrue ReadinessCheckType = "MatchTrue"

	// CheckMatchFalse passes if the field is false.
	CheckMatchFalse ReadinessCheckType = "MatchFalse"

	// CheckMatchCondition passes if the condition has the status.
	CheckMatchCondition ReadinessCheckType = "MatchCondition"
)

// ReadinessCheck defines a requirement that an object meets once it is ready, as in Crossplane.
// +kubebuilder:validation:XValidation:rule="self.type in ['None', 'MatchCondition'] || has(self.fieldPath) && size(self.fieldPath) > 0",message="fieldPath is required for this type of check"
// +kubebuilder:validation:XValidation:rule="self.type != 'MatchString' || has(self.matchString) && size(self.matchString) > 0",message="matchString is required for the type MatchString"
// +kubebuilder:validation:XValidation:rule="self.type != 'MatchInteger' || has(self.matchInteger)",message="matchInteger is required for the type MatchInteger"
// +kubebuilder:validation:XValidation:rule="self.type != 'MatchCondition' || has(self.matchCondition)",message="matchCondition is required for the type MatchCondition"
type ReadinessCheck struct {
	// Type of the check.
	Type ReadinessCheckType `json:"type"`

	// FieldPath is the path of the field, such as `status.replicas[0].phase`.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	FieldPath string `json:"fieldPath,omitempty"`

	// MatchString is the required value of the field, for the type MatchString.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MatchString string `json:"matchString,omitempty"`

	// MatchInteger is the required value of the field, for the type MatchInteger.
	// +optional
	MatchInteger *int64 `json:"matchInteger,omitempty"`

	// MatchCondition is the required condition, for the type MatchCondition.
	// +optional
	MatchCondition *MatchCondition `json:"matchCondition,omitempty"`
}

// MatchCondition is a condition that an object must have.
type MatchCondition struct {
	// Type of the condition.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`

	// Status that the condition must have.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status"`
}

// PlatformOperatorStatus reports whether the operator is installed, healthy, up to date and safe to update.
type PlatformOperatorStatus struct {
	// ObservedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions of the PlatformOperator; known types are Synced, Ready, Installed, Progressing, Upgradeable, UpToDate
	// and Important.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors="urn:alm:descriptor:io.kubernetes.conditions"
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Namespace of the operator's Subscription. With managementPolicy Observe, Subscriptions in other namespaces are
	// ignored once it is set; it is kept if the Subscription is deleted.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Version of the operator that is running. During an update it is the old version until the new one has Succeeded.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Version"
	// +optional
	Version string `json:"version,omitempty"`

	// Holds are the causes for which an update of the operator has to wait, also if none is available: those of its UpgradeHolds, at
	// most 20. Once an administrator lets the available update begin, there are none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Holds []holdv1alpha1.HoldCause `json:"holds,omitempty"`

	// Resources report on each object of the PlatformOperator: first the objects that are always composed, then
	// `spec.resources` in their order, then objects that are no longer desired but still exist.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Resources"
	// +optional
	// +listType=atomic
	Resources []ResourceStatus `json:"resources,omitempty"`

	// RelatedObjects are the objects to inspect if something is wrong: those in resources, and the InstallPlan,
	// ClusterServiceVersions, Probe and CatalogSource related to them. They are sorted and limited to 100.
	// +optional
	// +listType=atomic
	RelatedObjects []corev1.ObjectReference `json:"relatedObjects,omitempty"`

	// FailingSince is when the current failure began. It is kept until the PlatformOperator has not failed for the
	// manager's --degraded-inertia, two minutes by default, so an intermittent failure is not hidden.
	// +optional
	FailingSince *metav1.Time `json:"failingSince,omitempty"`

	// QuietSince is when the failure ended, if it has. It is unset if the failure recurs, or together with
	// FailingSince.
	// +optional
	QuietSince *metav1.Time `json:"quietSince,omitempty"`

	// FailingReason is a brief CamelCase reason for the failure that FailingSince refers to.
	// +optional
	FailingReason string `json:"failingReason,omitempty"`

	// FailingMessage is a human-readable explanation of that failure, which may have ended.
	// +optional
	FailingMessage string `json:"failingMessage,omitempty"`

	// OnDeletion explains how deleting the PlatformOperator affects the operator and its namespace, and which users'
	// data blocks the deletion.
	// +optional
	OnDeletion string `json:"onDeletion,omitempty"`
}

// ResourceStatus reports on one object.
type ResourceStatus struct {
	// Name of the entry in `spec.resources`; namespace, operatorgroup or subscription for the objects that are always
	// composed.
	Name string `json:"name"`

	// Reference to the object.
	Reference corev1.ObjectReference `json:"reference"`

	// Ready is true if the object is ready.
	Ready bool `json:"ready"`

	// Reason is a brief CamelCase reason why the object is not ready: its own if it reports one.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message is a human-readable explanation of why the object is not ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// PlatformOperator is an operator that is part of the platform. It is installed and kept in its desired state, and its
// status summarizes all objects it consists of.
//
// +kubebuilder:object:root=true
// +operator-sdk:csv:customresourcedefinitions:displayName="Platform Operator",resources={{Namespace,v1,""},{OperatorGroup,v1,""},{Subscription,v1alpha1,""}}
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=platop
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.conditions[?(@.type=="Installed")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="UpToDate",type=string,JSONPath=`.status.conditions[?(@.type=="UpToDate")].status`
// +kubebuilder:printcolumn:name="Upgradeable",type=string,JSONPath=`.status.conditions[?(@.type=="Upgradeable")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="has(self.spec.namespace) || size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="spec.namespace is required if the name is not valid for a namespace: without dots, at most 63 characters"
type PlatformOperator struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec defines which operator to install.
	Spec PlatformOperatorSpec `json:"spec"`

	// Status reports the state of the operator. A new object is not Ready before it is reconciled, for tools that wait.
	// +kubebuilder:default={conditions: {{type: "Ready", status: "Unknown", reason: "Pending", message: "It has not been reconciled yet", lastTransitionTime: "1970-01-01T00:00:00Z"}}}
	// +optional
	Status PlatformOperatorStatus `json:"status,omitzero"`
}

// GetNamespaceToInstallIn returns spec.namespace, or the name of the PlatformOperator if that is empty.
func (p *PlatformOperator) GetNamespaceToInstallIn() string {
	if p.Spec.Namespace != "" {
		return p.Spec.Namespace
	}
	return p.Name
}

// PlatformOperatorList is a list of PlatformOperators.
//
// +kubebuilder:object:root=true
type PlatformOperatorList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []PlatformOperator `json:"items"`
}
