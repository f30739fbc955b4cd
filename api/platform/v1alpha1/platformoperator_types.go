package v1alpha1

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// PlatformOperatorKind is the kind of a PlatformOperator.
const PlatformOperatorKind = "PlatformOperator"

const (
	// Finalizer on a PlatformOperator keeps it until what it composed is deleted, or let go.
	Finalizer = "operatorstatus.io/composed"

	// LabelPlatformOperator on a composed object names the PlatformOperator that composed it.
	LabelPlatformOperator = "operatorstatus.io/platform-operator"

	// AnnotationAdopt on an object that nobody controls is its owner's consent that the PlatformOperator of that name
	// takes it over.
	AnnotationAdopt = "operatorstatus.io/adopt"

	// AnnotationDeleteAnyway on a PlatformOperator that is being deleted, with the value "true", uninstalls the operator although
	// there is users' data. The data stays, and the namespace that it is in.
	AnnotationDeleteAnyway = "operatorstatus.io/delete-anyway"
)

// Limits on what a PlatformOperator's status lists.
const (
	// MaxRelatedObjects is how many objects `status.relatedObjects` lists.
	MaxRelatedObjects = 100
)

// ManagementPolicy says what is done about the objects of a PlatformOperator.
// +kubebuilder:validation:Enum=Full;Observe
type ManagementPolicy string

const (
	// ManagementFull makes the objects and keeps them as they should be.
	ManagementFull ManagementPolicy = "Full"

	// ManagementObserve only reports on a Subscription that somebody else looks after.
	ManagementObserve ManagementPolicy = "Observe"
)

// DeletionPolicy says what becomes of the objects when the PlatformOperator is deleted.
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes them: the operator is uninstalled.
	DeletionDelete DeletionPolicy = "Delete"

	// DeletionOrphan leaves them, and the operator runs on with nobody looking after it.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// PlatformOperatorSpec says which operator to install, and how. The name of its package is enough.
// +kubebuilder:validation:XValidation:rule="has(self.namespace) == has(oldSelf.namespace)",message="namespace cannot be changed, since the operator would be removed and installed anew: create another PlatformOperator"
type PlatformOperatorSpec struct {
	// Package is the operator to install.
	Package Package `json:"package"`

	// Namespace to install the operator in. Left out, it is one named after the PlatformOperator, which is made.
	// One that is there already is used, and stays when the PlatformOperator goes.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="namespace cannot be changed, since the operator would be removed and installed anew: create another PlatformOperator"
	Namespace string `json:"namespace,omitempty"`

	// Approval of updates. Automatic, the default, has them installed as soon as the running operator allows it; Manual
	// leaves each to a person.
	// +optional
	// +kubebuilder:validation:Enum=Automatic;Manual
	// +kubebuilder:default=Automatic
	Approval olm.Approval `json:"approval,omitempty"`

	// Config is OLM's SubscriptionConfig, for the pods of the operator. Its schema is that of a Subscription's
	// `spec.config`, which checks it.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`

	// Resources are what belongs to the operator besides, such as the custom resource that it is installed for.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Resources []Resource `json:"resources,omitempty"`

	// ServiceAccountName is the service account, in the namespace that the operator is installed in, that reads, applies and
	// deletes the objects of `resources`. To set it, or to change `resources` while it is set, takes the right to impersonate
	// it. Left out, it is the account of the manager's --default-resources-account, or the manager itself, which applies no
	// objects of RBAC.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// ManagementPolicy says what is done about the objects: Full, the default, or Observe.
	// +optional
	// +kubebuilder:default=Full
	ManagementPolicy ManagementPolicy `json:"managementPolicy,omitempty"`

	// DeletionPolicy says what becomes of the objects when the PlatformOperator is deleted: Delete, the default, or
	// Orphan.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// HoldClusterUpdates has minor updates of the cluster wait while this operator is not Upgradeable.
	// +optional
	HoldClusterUpdates bool `json:"holdClusterUpdates,omitempty"`
}

// Package is an operator in a catalog.
type Package struct {
	// Name of the package.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="package.name cannot be changed, since another operator would take the place of the one that runs: create another PlatformOperator, and delete this one"
	Name string `json:"name"`

	// Channel to follow. Left out, it is the package's default channel.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Channel string `json:"channel,omitempty"`

	// Catalog that has the package. Left out, it is the one of the manager's --default-catalog.
	// +optional
	Catalog *CatalogReference `json:"catalog,omitempty"`

	// StartingCSV is the ClusterServiceVersion to install first. Left out, it is the newest of the channel.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	StartingCSV string `json:"startingCSV,omitempty"`
}

// CatalogReference names a CatalogSource.
type CatalogReference struct {
	// Name of the CatalogSource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of the CatalogSource. Left out, it is that of the manager's --default-catalog.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// Resource is an object that belongs to the operator.
// +kubebuilder:validation:XValidation:rule="!(self.name in ['namespace', 'operatorgroup', 'subscription'])",message="namespace, operatorgroup and subscription are the names of what is composed anyway"
// +kubebuilder:validation:XValidation:rule="has(self.manifest.metadata.name) && size(self.manifest.metadata.name) > 0",message="manifest.metadata.name is required"
type Resource struct {
	// Name of the entry, by which `status.resources` tells of it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Manifest of the object. Where its kind is namespaced and it names no namespace, it goes to the operator's.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Manifest runtime.RawExtension `json:"manifest"`

	// ReadinessChecks say when the object is ready: when all of them pass. Left out, what the kind itself says decides,
	// as kubectl and GitOps tools know it: a Deployment that is available, a condition Ready that is True.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ReadinessChecks []ReadinessCheck `json:"readinessChecks,omitempty"`
}

// ReadinessCheckType is one of Crossplane's.
// +kubebuilder:validation:Enum=None;NonEmpty;MatchString;MatchInteger;MatchTrue;MatchFalse;MatchCondition
type ReadinessCheckType string

// The types of readiness checks.
const (
	// CheckNone passes as soon as the object is there.
	CheckNone ReadinessCheckType = "None"

	// CheckNonEmpty passes where the field is there and not null.
	CheckNonEmpty ReadinessCheckType = "NonEmpty"

	// CheckMatchString passes where the field is that string.
	CheckMatchString ReadinessCheckType = "MatchString"

	// CheckMatchInteger passes where the field is that integer.
	CheckMatchInteger ReadinessCheckType = "MatchInteger"

	// CheckMatchTrue passes where the field is true.
	CheckMatchTrue ReadinessCheckType = "MatchTrue"

	// CheckMatchFalse passes where the field is false.
	CheckMatchFalse ReadinessCheckType = "MatchFalse"

	// CheckMatchCondition passes where the condition has that status.
	CheckMatchCondition ReadinessCheckType = "MatchCondition"
)

// ReadinessCheck says something that is so once an object is ready. The vocabulary is Crossplane's.
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

	// MatchString is the value of the field, for the type MatchString.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	MatchString string `json:"matchString,omitempty"`

	// MatchInteger is the value of the field, for the type MatchInteger.
	// +optional
	MatchInteger *int64 `json:"matchInteger,omitempty"`

	// MatchCondition is the condition to look for, for the type MatchCondition.
	// +optional
	MatchCondition *MatchCondition `json:"matchCondition,omitempty"`
}

// MatchCondition is a condition that an object should have.
type MatchCondition struct {
	// Type of the condition.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Type string `json:"type"`

	// Status that it should have.
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status metav1.ConditionStatus `json:"status"`
}

// PlatformOperatorStatus says whether the operator is installed, healthy, up to date and safe to update.
type PlatformOperatorStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Synced, Ready, Installed, Progressing, Upgradeable, UpToDate and Important.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Version of the operator that really runs: through an update, the old one until the new one has succeeded.
	// +optional
	Version string `json:"version,omitempty"`

	// Resources tell of each object that the PlatformOperator consists of: what is composed anyway first, then
	// `spec.resources` in their order, then what is desired no more and not yet gone.
	// +optional
	// +listType=atomic
	Resources []ResourceStatus `json:"resources,omitempty"`

	// RelatedObjects are where to look when something is wrong: the objects above, and the InstallPlan,
	// ClusterServiceVersions, Probe and CatalogSource that they lead to; sorted, and no more than 100.
	// +optional
	// +listType=atomic
	RelatedObjects []corev1.ObjectReference `json:"relatedObjects,omitempty"`

	// FailingSince is the first bad moment of the trouble that it is in. It stays until the PlatformOperator has not
	// been failing for the manager's --degraded-inertia, two minutes unless set, so that one that comes and goes is not hidden.
	// +optional
	FailingSince *metav1.Time `json:"failingSince,omitempty"`

	// QuietSince is when that trouble ended, where it did, until FailingSince is cleared.
	// +optional
	QuietSince *metav1.Time `json:"quietSince,omitempty"`

	// FailingReason is the reason of the trouble that FailingSince is about.
	// +optional
	FailingReason string `json:"failingReason,omitempty"`

	// FailingMessage says in a sentence what the trouble is, or was.
	// +optional
	FailingMessage string `json:"failingMessage,omitempty"`

	// OnDeletion says what becomes of the operator and its namespace when the PlatformOperator is deleted, and what that waits
	// for.
	// +optional
	OnDeletion string `json:"onDeletion,omitempty"`
}

// ResourceStatus tells of one object.
type ResourceStatus struct {
	// Name of the entry in `spec.resources`; namespace, operatorgroup or subscription for what is composed anyway.
	Name string `json:"name"`

	// Reference to the object.
	Reference corev1.ObjectReference `json:"reference"`

	// Ready is true where the object is ready.
	Ready bool `json:"ready"`

	// Reason is a word for why the object is not ready: its own, where it gives one.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Message says in a sentence why the object is not ready.
	// +optional
	Message string `json:"message,omitempty"`
}

// PlatformOperator is an operator that the platform consists of: it is installed, kept as it should be, and its status
// tells all that there is to know of it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=platop
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.conditions[?(@.type=="Installed")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="UpToDate",type=string,JSONPath=`.status.conditions[?(@.type=="UpToDate")].status`
// +kubebuilder:printcolumn:name="Upgradeable",type=string,JSONPath=`.status.conditions[?(@.type=="Upgradeable")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="has(self.spec.namespace) || size(self.metadata.name) <= 63 && !self.metadata.name.contains('.')",message="spec.namespace is required where the name cannot be that of a namespace: without dots, and 63 characters at most"
type PlatformOperator struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec says which operator to install.
	Spec PlatformOperatorSpec `json:"spec"`

	// Status says how the operator is.
	// +optional
	Status PlatformOperatorStatus `json:"status,omitzero"`
}

// GetNamespaceToInstallIn is the namespace of the operator: the spec's, or else that of the PlatformOperator's name.
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
