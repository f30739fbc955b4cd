package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProbeKind is the kind of a Probe.
const ProbeKind = "Probe"

// ProbeManager defines the owner of a Probe: the writer of its spec and of its status.
// +kubebuilder:validation:Enum=crdAnnotations;policy;operator
type ProbeManager string

const (
	// ManagerCRDAnnotations marks a Probe whose spec operator-status keeps equal to the annotations of the CRDs that
	// the ClusterServiceVersion of the same name owns, or without one, that the operator serves. Other changes to the spec are
	// overwritten, except isolation.
	ManagerCRDAnnotations ProbeManager = "crdAnnotations"

	// ManagerPolicy marks a Probe whose spec operator-status keeps equal to the ProbePolicies that apply to the operator, none of
	// whose CRDs is annotated.
	ManagerPolicy ProbeManager = "policy"

	// ManagerOperator marks a Probe whose status is written by the operator itself. operator-status only reads it.
	ManagerOperator ProbeManager = "operator"
)

// ProbeIsolation defines where the custom resources of a Probe are watched from.
// +kubebuilder:validation:Enum=Shared;Pod
type ProbeIsolation string

const (
	// IsolationShared watches from the manager, which impersonates the operator's service account.
	IsolationShared ProbeIsolation = "Shared"

	// IsolationPod watches from a dedicated pod that runs as the operator's service account. operator-status creates its
	// Deployment, and a Role for the status of this Probe and nothing else, in the Probe's namespace.
	IsolationPod ProbeIsolation = "Pod"
)

// Annotations that authors of operators set. The value is an expression over the condition types in
// `.status.conditions` and the fields of the custom resources.
const (
	// AnnotationUpgradeable on a CustomResourceDefinition defines when the operator may be updated, for example
	// "!Migrating".
	AnnotationUpgradeable = "olm.operatorframework.io/condition.Upgradeable"

	// AnnotationImportant on a CustomResourceDefinition names the conditions that the cluster admin should see, for example
	// "BadConnectivity || UnhealthyDatabase".
	AnnotationImportant = "olm.operatorframework.io/condition.Important"
)

// Limits of a Probe.
const (
	// MaxProbeResources is the number of resources that one Probe may name.
	MaxProbeResources = 64

	// MaxStatusProbeResources is the number of custom resources that a Probe's status lists. `status.summary` counts
	// the rest.
	MaxStatusProbeResources = 50
)

// ProbeSpec defines which custom resources determine the status of an operator, and how to evaluate their conditions.
// +kubebuilder:validation:XValidation:rule="!has(self.manager) || self.manager != 'operator' || !has(self.probeResources) || size(self.probeResources) == 0",message="probeResources must be empty if manager is operator: the operator writes the status itself"
// +kubebuilder:validation:XValidation:rule="!has(self.isolation) || self.isolation != 'Pod' || !has(self.manager) || self.manager != 'operator'",message="isolation must not be Pod if manager is operator: there is nothing to read"
type ProbeSpec struct {
	// Manager defines the owner of this Probe. If omitted, its author owns the spec and operator-status writes the
	// status.
	// +optional
	Manager ProbeManager `json:"manager,omitempty"`

	// Operator is the operator that the Probe is about, in any version, if it is not that of a ClusterServiceVersion.
	// +optional
	Operator *ProbedOperator `json:"operator,omitempty"`

	// ServiceAccountName is the name of the service account, in the Probe's namespace, that is impersonated to read the
	// custom resources. If omitted, it is the first service account of the operator that exists and may list and watch them:
	// of the ClusterServiceVersion of the same name, or of the workloads of spec.operator.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Account",xDescriptors="urn:alm:descriptor:io.kubernetes:ServiceAccount"
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Namespaces to read custom resources in. A namespace that does not exist yet is read once it does. If omitted,
	// custom resources are read in all namespaces. If a ClusterServiceVersion of the same name exists, its target
	// namespaces are used instead.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Namespaces"
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:MinLength=1
	Namespaces []string `json:"namespaces,omitempty"`

	// Isolation defines where the custom resources are watched from. Defaults to Shared. The Probe of a
	// ClusterServiceVersion that replaces another takes over its isolation.
	// +optional
	Isolation ProbeIsolation `json:"isolation,omitempty"`

	// Settle is for how long no custom resource of the running version must have held an update before one may begin, so that the
	// operator can reconcile its custom resources after an update before the next one. By default an update begins at once.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="settle must be from 0s to 168h"
	Settle *metav1.Duration `json:"settle,omitempty"`

	// YieldAfter is for how long custom resources of the running version may hold an update without interruption. After that, it is
	// allowed although they do, until none of them does any longer. By default they hold it as long as they like.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="yieldAfter must be more than 0s and at most 8760h"
	YieldAfter *metav1.Duration `json:"yieldAfter,omitempty"`

	// AlertAfter is for how long custom resources may hold an update before the alert HeldTooLong is raised. By default that is a day.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('8760h')",message="alertAfter must be more than 0s and at most 8760h"
	AlertAfter *metav1.Duration `json:"alertAfter,omitempty"`

	// ProbeResources are the custom resources that determine the status of the operator.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Probe Resources"
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ProbeResources []ProbeResource `json:"probeResources,omitempty"`
}

// ProbedOperator names an operator in the namespace of a Probe, which holds its updates in any version.
type ProbedOperator struct {
	// Installer is the program that installs the operator: OLMv1, Helm, or Workload for another one than OLM.
	// +kubebuilder:validation:Enum=OLMv1;Helm;Workload
	Installer string `json:"installer"`

	// Name of the ClusterExtension, which installs in the namespace of the Probe, of the Helm release, or of the Deployment,
	// StatefulSet or DaemonSet that the operator runs in.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProbeResource names one kind of custom resource and the expressions that evaluate its conditions and fields.
//
// The validation rules accept exactly the expressions that internal/expression parses: every token is in a valid
// position, and parentheses pair and nest no deeper than eight.
// +kubebuilder:validation:XValidation:rule="has(self.name) || has(self.resource)",message="name is required: the name of a CustomResourceDefinition, such as foos.example.com"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !has(self.resource) || self.name == self.resource",message="name and resource are the same field: set only one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.upgradeable) || (self.upgradeable + '&&').matches('^([\\\\s!(]*(((metadata|spec|status)([.][-A-Za-z0-9_]+|\\\\[[-A-Za-z0-9_./]+\\\\])+|([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9][.]reason)(\\\\s*(==|!=|<=?|>=?)\\\\s*((\"[^\"\\\\\\\\]*\"|true|false|-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?)|(metadata|spec|status)([.][-A-Za-z0-9_]+|\\\\[[-A-Za-z0-9_./]+\\\\])+)|\\\\s+in\\\\s*[(]\\\\s*(\"[^\"\\\\\\\\]*\"|true|false|-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?)(\\\\s*,\\\\s*(\"[^\"\\\\\\\\]*\"|true|false|-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?))*\\\\s*[)])|([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])[\\\\s)]*(&&|[|][|]))+$')",message="upgradeable is not a valid expression: join condition types (CamelCase or foo.example.com/CamelCase) and comparisons of fields with && and ||, negate with !, group with parentheses, as in !Migrating && (Ready || status.phase == \"Running\")"
// +kubebuilder:validation:XValidation:rule="!has(self.upgradeable) || self.upgradeable.matches('^([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*([(]([^()\"]|\"[^\"]*\")*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*[)]([^()\"]|\"[^\"]*\")*)*$')",message="upgradeable is not a valid expression: its parentheses are unbalanced, or nested deeper than 8"
// +kubebuilder:validation:XValidation:rule="!has(self.important) || (self.important + '||').matches('^(\\\\s*(((metadata|spec|status)([.][-A-Za-z0-9_]+|\\\\[[-A-Za-z0-9_./]+\\\\])+|([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9][.]reason)(\\\\s*(==|!=|<=?|>=?)\\\\s*((\"[^\"\\\\\\\\]*\"|true|false|-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?)|(metadata|spec|status)([.][-A-Za-z0-9_]+|\\\\[[-A-Za-z0-9_./]+\\\\])+)|\\\\s+in\\\\s*[(]\\\\s*(\"[^\"\\\\\\\\]*\"|true|false|-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?)(\\\\s*,\\\\s*(\"[^\"\\\\\\\\]*\"|true|false|-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?))*\\\\s*[)])|([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])\\\\s*[|][|])+$')",message="important is not a valid expression: it may only join condition types (CamelCase or foo.example.com/CamelCase) and comparisons of fields with ||, as in \"BadConnectivity || UnhealthyDatabase\""
// +kubebuilder:validation:XValidation:rule="(!has(self.upgradeable) || !self.upgradeable.matches('(^(|([^\"]|\"[^\"]*\")*[!(&|])\\\\s*(metadata|spec|status)([.][-A-Za-z0-9_]+|\\\\[[-A-Za-z0-9_./]+\\\\])+\\\\s*([)&|](.|\\\\n)*)?$)|(^(|([^\"]|\"[^\"]*\")*[\\\\s!(&|=<>,])status[.]conditions([.\\\\s()!&|,<>=\"\\\\[](.|\\\\n)*)?$)')) && (!has(self.important) || !self.important.matches('(^(|([^\"]|\"[^\"]*\")*[!(&|])\\\\s*(metadata|spec|status)([.][-A-Za-z0-9_]+|\\\\[[-A-Za-z0-9_./]+\\\\])+\\\\s*([)&|](.|\\\\n)*)?$)|(^(|([^\"]|\"[^\"]*\")*[\\\\s!(&|=<>,])status[.]conditions([.\\\\s()!&|,<>=\"\\\\[](.|\\\\n)*)?$)'))",message="a field alone is not an expression, compare it with a value, as in \"spec.suspend == true\"; conditions are named by their type, not read from status.conditions"
type ProbeResource struct {
	// Name of the CustomResourceDefinition, `<plural>.<group>`, or of an API group that contains exactly one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Resource is an alternative to Name with the same meaning.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource,omitempty"`

	// Upgradeable defines when the operator may be updated: an expression over the condition types of the custom
	// resource, such as "!Migrating && (Ready || example.com/Done)", and over comparisons of its fields, such as
	// "status.phase == "Running"". A condition that is Unknown or absent is unknown, as is a comparison with an absent field,
	// and only an expression that is false holds an update.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Upgradeable string `json:"upgradeable,omitempty"`

	// Important lists condition types and comparisons, joined by ||, that the cluster admin should see if they are true.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Important string `json:"important,omitempty"`
}

// CRDName returns Name, or Resource if Name is empty.
func (r ProbeResource) CRDName() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Resource
}

// ProbeStatus reports whether the operator may be updated, and which custom resources determine that.
type ProbeStatus struct {
	// ObservedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Reader is the leader election identity of the manager that last read every custom resource that the spec names,
	// or of the pod if isolation is Pod. A gate lets an update proceed only if the current holder of the lease, or the
	// current pod while it is ready, has read them.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reader string `json:"reader,omitempty"`

	// ObservedTargets is a hash of the namespaces in which the custom resources were read. A gate compares it with the
	// target namespaces of the OperatorGroup.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ObservedTargets string `json:"observedTargets,omitempty"`

	// AllowedSince is since when no custom resource of the running version has held an update, if spec.settle is set.
	// +optional
	AllowedSince *metav1.Time `json:"allowedSince,omitempty"`

	// BlockedSince is since when custom resources of the running version have held an update without interruption, if spec.yieldAfter
	// is set.
	// +optional
	BlockedSince *metav1.Time `json:"blockedSince,omitempty"`

	// ObservedVersion is a hash of the images of the running version, if spec.operator and spec.settle or spec.yieldAfter are set. A
	// change of it resets allowedSince and blockedSince.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ObservedVersion string `json:"observedVersion,omitempty"`

	// Conditions of the Probe; known types are Upgradeable, Important, Synced, PodReady, GateConflict, AnnotationsDiffer
	// and Holding.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors="urn:alm:descriptor:io.kubernetes.conditions"
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// ProbeResources lists at most 50 custom resources that hold the update, that have important conditions, or whose
	// conditions cannot be read, in this order. Each part is sorted by resource, namespace and name, with custom resources
	// that are counted without a name last.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Custom Resources"
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	ProbeResources []ProbeResourceStatus `json:"probeResources,omitempty"`

	// Summary contains the numbers of custom resources.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Summary"
	// +optional
	Summary *ProbeSummary `json:"summary,omitempty"`
}

// NotShown is part of the messages of Upgradeable and Important that count custom resources without naming all of them,
// because their names may not be disclosed.
const NotShown = "not shown"

// ProbeResourceStatus reports on one custom resource, or on several that are counted without their names.
type ProbeResourceStatus struct {
	// Resource is the name of the CustomResourceDefinition, as in `kubectl get <resource> -n <namespace> <name>`.
	// +optional
	Resource string `json:"resource,omitempty"`

	// Kind of the custom resource.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Namespace of the custom resource. It is empty if the resource is cluster-scoped, or for a count of custom
	// resources that were read in all namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the custom resource. It is empty if Count is set.
	Name string `json:"name"`

	// Count is the number of custom resources that this entry represents if they are not named: because they are
	// outside the Probe's namespace and the manager runs with --hide-foreign-names, or because the service account may
	// no longer read them.
	// +optional
	Count int32 `json:"count,omitempty"`

	// Blocking is true if the custom resource holds the update.
	// +optional
	Blocking bool `json:"blocking,omitempty"`

	// Unreadable is true if the custom resource cannot be evaluated because of the form of its conditions. Reasons names
	// those that the expression needs: they have no status that the API conventions know, or occur several times with
	// different statuses and no newest transition. It names status.conditions if parts of that are not conditions.
	// +optional
	Unreadable bool `json:"unreadable,omitempty"`

	// Reasons are the parts of the expressions that decided the result, in the order of the custom resource's own
	// conditions.
	// +optional
	// +listType=atomic
	Reasons []string `json:"reasons,omitempty"`
}

// ProbeSummary contains numbers of custom resources.
type ProbeSummary struct {
	// Total number of custom resources.
	Total int32 `json:"total"`

	// NotUpgradeable is the number of custom resources that hold the update.
	NotUpgradeable int32 `json:"notUpgradeable"`

	// Important is the number of custom resources with important conditions.
	Important int32 `json:"important"`

	// Unknown is the number of custom resources that cannot be evaluated, because conditions that their expression
	// needs are absent, Unknown, unreadable, or were observed before the last change of the custom resource.
	Unknown int32 `json:"unknown"`

	// Unreadable is how many of them have conditions in a form that cannot be read.
	// +optional
	Unreadable int32 `json:"unreadable,omitempty"`

	// Omitted is the number of custom resources that are counted above, but not listed in probeResources because of its
	// limit.
	Omitted int32 `json:"omitted"`
}

// Probe reports whether an operator may be updated: that of the ClusterServiceVersion with the same name, or the one that
// spec.operator names.
//
// +kubebuilder:object:root=true
// +operator-sdk:csv:customresourcedefinitions:displayName="Probe",resources={{ClusterServiceVersion,v1alpha1,""}}
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=opprobe,categories={olm,operator-status}
// +kubebuilder:printcolumn:name="Upgradeable",type=string,JSONPath=`.status.conditions[?(@.type=="Upgradeable")].status`
// +kubebuilder:printcolumn:name="Important",type=string,JSONPath=`.status.conditions[?(@.type=="Important")].status`
// +kubebuilder:printcolumn:name="Blocking",type=string,JSONPath=`.status.probeResources[?(@.blocking==true)].name`
// +kubebuilder:printcolumn:name="Synced",type=string,JSONPath=`.status.conditions[?(@.type=="Synced")].status`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Upgradeable")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Probe struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec defines which custom resources to read. If omitted, the operator writes the status itself and
	// operator-status only reads it.
	// +optional
	Spec *ProbeSpec `json:"spec,omitempty"`

	// Status reports whether the operator may be updated.
	// +optional
	Status ProbeStatus `json:"status,omitzero"`
}

// IsIsolated reports whether a pod of its own reads the custom resources of the Probe.
func (p *Probe) IsIsolated() bool {
	return p.Spec != nil && p.Spec.Isolation == IsolationPod && p.Spec.Manager != ManagerOperator
}

// AnnotatedCRDs returns the names of the CRDs whose annotations resources of the Probe of an operator without ClusterServiceVersion are from.
func (p *Probe) AnnotatedCRDs() []string {
	names := p.Annotations[AnnotationAnnotatedCRDs]
	if names == "" {
		return nil
	}
	return strings.Split(names, ",")
}

// IsGenerated reports whether operator-status writes the spec, from annotations or from ProbePolicies.
func (p *Probe) IsGenerated() bool {
	return p.Spec != nil && (p.Spec.Manager == ManagerCRDAnnotations || p.Spec.Manager == ManagerPolicy)
}

// ProbeList is a list of Probes.
//
// +kubebuilder:object:root=true
type ProbeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Probe `json:"items"`
}

func init() {
	SchemeBuilder.Register(func(scheme *runtime.Scheme) error {
		scheme.AddKnownTypes(GroupVersion, &Probe{}, &ProbeList{})
		return nil
	})
}
