package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ProbeKind is the kind of a Probe.
const ProbeKind = "Probe"

// ProbeManager says who owns a Probe: who may write its spec and who its status.
// +kubebuilder:validation:Enum=crdAnnotations;operator
type ProbeManager string

const (
	// ManagerCRDAnnotations marks a Probe whose spec operator-status keeps equal to the annotations of the CRDs
	// that the ClusterServiceVersion of the same name owns. Changes to the spec by anyone else are overridden.
	ManagerCRDAnnotations ProbeManager = "crdAnnotations"

	// ManagerOperator marks a Probe whose status the operator itself writes. operator-status only reads it.
	ManagerOperator ProbeManager = "operator"
)

// ProbeIsolation says where the custom resources of a Probe are watched from.
// +kubebuilder:validation:Enum=Shared;Pod
type ProbeIsolation string

const (
	// IsolationShared watches from the manager, impersonating the operator's service account.
	IsolationShared ProbeIsolation = "Shared"

	// IsolationPod watches from a pod of its own that runs under the operator's service account.
	IsolationPod ProbeIsolation = "Pod"
)

// Annotations on a CustomResourceDefinition by which an operator opts in: the value is an expression over the
// condition types in `.status.conditions` of the custom resources.
const (
	// AnnotationUpgradeable states when the operator may be updated, for example "!Migrating".
	AnnotationUpgradeable = "olm.operatorframework.io/condition.Upgradeable"

	// AnnotationImportant names the conditions that the cluster admin should see, for example
	// "BadConnectivity || UnhealthyDatabase".
	AnnotationImportant = "olm.operatorframework.io/condition.Important"
)

// Limits on what a Probe holds.
const (
	// MaxProbeResources is how many resources one Probe may name.
	MaxProbeResources = 64

	// MaxStatusProbeResources is how many custom resources a Probe's status lists. `status.summary` counts the rest.
	MaxStatusProbeResources = 50
)

// ProbeSpec says which custom resources speak for an operator, and how to read their conditions.
// +kubebuilder:validation:XValidation:rule="!has(self.manager) || self.manager != 'operator' || !has(self.probeResources) || size(self.probeResources) == 0",message="probeResources must be empty where manager is operator: the operator writes the status itself"
// +kubebuilder:validation:XValidation:rule="!has(self.isolation) || self.isolation != 'Pod'",message="isolation Pod is not available yet: leave isolation out or set it to Shared"
type ProbeSpec struct {
	// Manager says who owns this Probe. Left out, its author owns the spec and operator-status writes the status.
	// +optional
	Manager ProbeManager `json:"manager,omitempty"`

	// ServiceAccountName is the service account, in the Probe's namespace, whose rights the custom resources are
	// read with. Left out, it is the first service account of the ClusterServiceVersion of the same name that
	// exists and may list and watch them.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Namespaces to read custom resources in, each from when it exists. Left out, all. Where a ClusterServiceVersion of the same name exists,
	// its target namespaces are used instead.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:MinLength=1
	Namespaces []string `json:"namespaces,omitempty"`

	// Isolation says where the custom resources are watched from. Left out, it is Shared.
	// +optional
	Isolation ProbeIsolation `json:"isolation,omitempty"`

	// ProbeResources are the custom resources that speak for the operator.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	ProbeResources []ProbeResource `json:"probeResources,omitempty"`
}

// ProbeResource names one kind of custom resource and the expressions to read its conditions with.
//
// The rules accept what internal/expression parses, and nothing else: that every part stands where it may, and that
// parentheses pair and nest no deeper than eight.
// +kubebuilder:validation:XValidation:rule="has(self.name) || has(self.resource)",message="name is required: the name of a CustomResourceDefinition, such as foos.example.com"
// +kubebuilder:validation:XValidation:rule="!has(self.name) || !has(self.resource) || self.name == self.resource",message="name and resource are two spellings of one field: give one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.upgradeable) || (self.upgradeable + '&&').matches('^([\\\\s!(]*([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9][\\\\s)]*(&&|[|][|]))+$')",message="upgradeable is no expression: join condition types (CamelCase or foo.example.com/CamelCase) with && and ||, negate with !, group with parentheses, as in \"!Migrating && (Ready || example.com/Done)\""
// +kubebuilder:validation:XValidation:rule="!has(self.upgradeable) || self.upgradeable.matches('^[^()]*([(][^()]*([(][^()]*([(][^()]*([(][^()]*([(][^()]*([(][^()]*([(][^()]*([(][^()]*[)][^()]*)*[)][^()]*)*[)][^()]*)*[)][^()]*)*[)][^()]*)*[)][^()]*)*[)][^()]*)*[)][^()]*)*$')",message="upgradeable is no expression: its parentheses do not pair, or nest deeper than 8"
// +kubebuilder:validation:XValidation:rule="!has(self.important) || (self.important + '||').matches('^(\\\\s*([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\\\\s*[|][|])+$')",message="important is no expression: it may only join condition types (CamelCase or foo.example.com/CamelCase) with ||, as in \"BadConnectivity || UnhealthyDatabase\""
type ProbeResource struct {
	// Name of the CustomResourceDefinition, `<plural>.<group>`, or an API group that holds exactly one.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Resource is another spelling of Name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource,omitempty"`

	// Upgradeable states when the operator may be updated, over the condition types of the custom resource:
	// "!Migrating && (Ready || example.com/Done)". A condition that is absent or Unknown is unknown, and only an
	// expression that is false holds an update.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Upgradeable string `json:"upgradeable,omitempty"`

	// Important names condition types, joined by ||, that the cluster admin should see when they are true.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Important string `json:"important,omitempty"`
}

// CRDName is the name by either of its spellings.
func (r ProbeResource) CRDName() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Resource
}

// ProbeStatus says whether the operator may be updated, and which custom resources say so.
type ProbeStatus struct {
	// ObservedGeneration is the generation of the spec that this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Reader is who last read every custom resource that the spec asks for: the identity under which a manager holds its
	// leader election lease. A gate lets an update go ahead only by what the present holder has read.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Reader string `json:"reader,omitempty"`

	// ObservedTargets is a hash of the namespaces in which they were read. A gate compares it with the target namespaces
	// of the OperatorGroup.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ObservedTargets string `json:"observedTargets,omitempty"`

	// Conditions are Upgradeable, Important and Synced.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// ProbeResources are the custom resources that hold the update or have something important to say: first those
	// that hold it, each part sorted by resource, namespace and name, with those that are not named last, and no more than
	// 50 in all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	ProbeResources []ProbeResourceStatus `json:"probeResources,omitempty"`

	// Summary counts the custom resources.
	// +optional
	Summary *ProbeSummary `json:"summary,omitempty"`
}

// NotShown is in the messages of Upgradeable and Important that count custom resources without naming all of them, because
// their names may not be shown.
const NotShown = "not shown"

// ProbeResourceStatus is one custom resource and what it says, or several that are not named.
type ProbeResourceStatus struct {
	// Resource is the name of its CustomResourceDefinition: `kubectl get <resource> -n <namespace> <name>` shows it.
	// +optional
	Resource string `json:"resource,omitempty"`

	// Kind of the custom resource.
	// +optional
	Kind string `json:"kind,omitempty"`

	// Namespace of the custom resource; empty where it is cluster-scoped, or several are counted that were read in all
	// namespaces.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the custom resource. It is empty if Count is set.
	Name string `json:"name"`

	// Count is how many custom resources this stands for, if they are not named: because they are outside the Probe's
	// namespace and the manager runs with --hide-foreign-names, or because the service account may no longer read them.
	// +optional
	Count int32 `json:"count,omitempty"`

	// Blocking is true where this custom resource holds the update.
	// +optional
	Blocking bool `json:"blocking,omitempty"`

	// Reasons are the parts of the expressions that decided, in the order of the custom resource's own conditions.
	// +optional
	// +listType=atomic
	Reasons []string `json:"reasons,omitempty"`
}

// ProbeSummary counts custom resources.
type ProbeSummary struct {
	// Total is how many there are.
	Total int32 `json:"total"`

	// NotUpgradeable is how many hold the update.
	NotUpgradeable int32 `json:"notUpgradeable"`

	// Important is how many have something important to say.
	Important int32 `json:"important"`

	// Unknown is how many cannot be judged, since conditions that their expression needs are absent or Unknown.
	Unknown int32 `json:"unknown"`

	// Omitted is how many are counted above but, for want of room, not listed in probeResources.
	Omitted int32 `json:"omitted"`
}

// Probe says, under the name of an operator's ClusterServiceVersion, whether that operator may be updated.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=prb,categories=operators
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

	// Spec says what to read. Left out, the operator writes the status itself and operator-status only reads it.
	// +optional
	Spec *ProbeSpec `json:"spec,omitempty"`

	// Status says whether the operator may be updated.
	// +optional
	Status ProbeStatus `json:"status,omitzero"`
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
