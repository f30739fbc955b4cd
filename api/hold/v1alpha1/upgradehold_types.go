package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// UpgradeHoldKind is the kind of an UpgradeHold.
const UpgradeHoldKind = "UpgradeHold"

// Labels that operator-status sets or reads.
const (
	// LabelReported on an UpgradeHold marks one that operator-status created because of an operator's conditions, and
	// deletes once the operator may be updated.
	LabelReported = "operatorstatus.io/reported"

	// LabelEnforces on a ValidatingAdmissionPolicyBinding names the Installer whose updates its policy denies.
	LabelEnforces = "operatorstatus.io/enforces"

	// LabelDenies on a ConfigMap marks a part of the index in which ValidatingAdmissionPolicies look up the updates that UpgradeHolds
	// deny. Its value is one of those below. The policies would be evaluated once for each UpgradeHold, and a ConfigMap is of a kind that
	// the API server knows from its start: without the kind of its parameters, a policy denies everything that it matches.
	LabelDenies = "operatorstatus.io/denies"

	// DeniesInstallPlans is the value of LabelDenies for the InstallPlans of OLM.
	DeniesInstallPlans = "installplans"

	// DeniesRevisions is the value of LabelDenies for the records of Helm's and OLM v1's revisions.
	DeniesRevisions = "revisions"

	// DeniesWorkloads is the value of LabelDenies for the images of workloads.
	DeniesWorkloads = "workloads"

	// DeniesDefinitions is the value of LabelDenies for the schemas of CustomResourceDefinitions.
	DeniesDefinitions = "definitions"
)

// Installer is a program that installs operators.
type Installer string

// Installers of operators.
const (
	// InstallerOLM is the Operator Lifecycle Manager, or the built-in loops of operator-status, which have its API. An operator
	// is identified by its Subscription.
	InstallerOLM Installer = "OLM"

	// InstallerOLMv1 is OLM v1. An operator is identified by its ClusterExtension, and the namespace that this installs in.
	InstallerOLMv1 Installer = "OLMv1"

	// InstallerHelm is Helm, or a program that writes releases as Helm does, such as Flux's helm-controller. An operator is
	// identified by its release.
	InstallerHelm Installer = "Helm"

	// InstallerWorkload is any other program, such as Argo CD, Flux's kustomize-controller or kubectl. An operator is identified by
	// the Deployment, StatefulSet or DaemonSet that it runs in.
	InstallerWorkload Installer = "Workload"
)

// OperatorReference identifies an operator across its versions.
type OperatorReference struct {
	// Installer is the program that installs the operator: OLM, OLMv1, Helm, or Workload for any other.
	// +optional
	// +kubebuilder:validation:Enum=OLM;OLMv1;Helm;Workload
	// +kubebuilder:default=OLM
	Installer Installer `json:"installer,omitempty"`

	// Namespace of the object that asks for the operator's updates. For OLM, this is the Subscription, and for Helm the release.
	// For OLMv1 it is the namespace that a ClusterExtension installs in. Otherwise it is that of the Deployment, StatefulSet or
	// DaemonSet that the operator runs in.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="!(self in ['kube-system', 'kube-public', 'kube-node-lease'])",message="updates in the namespaces of Kubernetes itself cannot be held"
	Namespace string `json:"namespace"`

	// Name of that object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// UpgradeHoldSpec names an operator whose updates are held.
// +kubebuilder:validation:XValidation:rule="!has(self.from) || !has(self.until) || self.from < self.until",message="from must be before until"
// +kubebuilder:validation:XValidation:rule="!has(self.from) || self.from >= timestamp('0001-01-01T00:00:00Z')",message="from must be a time of RFC 3339, such as 2026-12-04T18:00:00Z"
// +kubebuilder:validation:XValidation:rule="!has(self.until) || self.until >= timestamp('0001-01-01T00:00:00Z')",message="until must be a time of RFC 3339, such as 2026-12-04T18:00:00Z"
type UpgradeHoldSpec struct {
	// Operator whose updates are held.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the operator cannot be changed: create another UpgradeHold"
	Operator OperatorReference `json:"operator"`

	HoldTerms `json:",inline"`
}

// HoldTerms are why and when updates are held.
type HoldTerms struct {
	// Message is why the updates are held. It is part of the error that the installer gets.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// From is when the hold begins. By default it begins at once.
	// +optional
	From *metav1.Time `json:"from,omitempty"`

	// Until is when the hold ends. Without it, the hold ends when the UpgradeHold is deleted.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// UpdateWindows are times at which updates are not held. An update that began may end after its window.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	UpdateWindows []UpdateWindow `json:"updateWindows,omitempty"`

	// RequestedBy is the user who holds the updates. It is for information only: the API server does not verify it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	RequestedBy string `json:"requestedBy,omitempty"`
}

// UpdateWindow is a recurring time at which updates may begin.
type UpdateWindow struct {
	// Schedule is when the window opens: minute, hour, day of the month, month and day of the week, as that of a CronJob.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^\S+( +\S+){4}$`
	Schedule string `json:"schedule"`

	// Duration is how long the window is open, at most a day.
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s') && duration(self) <= duration('24h')",message="the duration must be more than 0s and at most 24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	Duration metav1.Duration `json:"duration"`

	// TimeZone is that of the schedule, such as Europe/Berlin. Defaults to UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// UpgradeHoldStatus describes whether and why an operator must not be updated. ValidatingAdmissionPolicies read it, and only
// operator-status may write it.
type UpgradeHoldStatus struct {
	// ObservedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions are Held and Enforced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Message is the error that the installer gets when it tries to update the operator. It is empty unless Held is True.
	// +optional
	Message string `json:"message,omitempty"`

	// Holds are the causes for which the operator must not be updated, at most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Holds []HoldCause `json:"holds,omitempty"`

	// Denied is what the API server denies meanwhile. It is empty unless Held is True.
	// +optional
	Denied *DeniedUpdates `json:"denied,omitempty"`
}

// HoldCause is one cause for which an operator must not be updated.
type HoldCause struct {
	// Reason is one of the reasons of Held.
	Reason string `json:"reason"`

	// By is the object that reports the cause, as kind, namespace and name: Probe default/foo.v1.0.0.
	By string `json:"by"`

	// Since is when it started to, if that is known.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Until is when it ends, if a time ends it.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Message describes the cause, and what ends it.
	Message string `json:"message"`

	// Override is a command by which an administrator lets the update begin nevertheless. <version> in it stands for the version of the
	// update. It is empty for the hold of an administrator, who releases it.
	// +optional
	Override string `json:"override,omitempty"`
}

// DeniedUpdates are the objects that start an update of the operator.
type DeniedUpdates struct {
	// InstallPlans of OLM.
	// +optional
	InstallPlans *DeniedInstallPlans `json:"installPlans,omitempty"`

	// Revisions of a Helm release.
	// +optional
	Revisions *DeniedRevisions `json:"revisions,omitempty"`

	// Workloads that must keep their images: those with the name of an operator that no program keeps records of.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Workloads []DeniedWorkload `json:"workloads,omitempty"`

	// CustomResourceDefinitions are the names of those that must keep their versions, since the operator serves them. It is empty if a user
	// allows an update.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	CustomResourceDefinitions []string `json:"customResourceDefinitions,omitempty"`
}

// Allows reports whether a version of the operator may be installed although others are denied.
func (d *DeniedUpdates) Allows(version string) bool {
	switch {
	case d == nil:
		return false
	case d.InstallPlans != nil:
		return slices.Contains(d.InstallPlans.Except, version)
	case d.Revisions != nil:
		return slices.Contains(d.Revisions.Except, version)
	default:
		return slices.ContainsFunc(d.Workloads, func(w DeniedWorkload) bool { return slices.Contains(w.Except, version) })
	}
}

// DeniedInstallPlans selects the approved InstallPlans that install another version of an operator. Those that update only other
// operators, or install new ones, are not denied.
type DeniedInstallPlans struct {
	// Namespace of the InstallPlans.
	Namespace string `json:"namespace"`

	// Versions are names of the operator's ClusterServiceVersions.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	Versions []string `json:"versions,omitempty"`

	// Pattern is a regular expression (RE2) that all names of the operator's ClusterServiceVersions match.
	Pattern string `json:"pattern"`

	// Except are the names of ClusterServiceVersions that may be installed: the one that runs, and one that a user allows.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Except []string `json:"except,omitempty"`
}

// DeniedRevisions selects the records that Helm, or OLM v1 with Helm's code, writes before it changes anything.
type DeniedRevisions struct {
	// Owner is the program that writes the records: helm if empty, or operator-controller.
	// +optional
	Owner string `json:"owner,omitempty"`

	// Namespace of the records, or any if empty.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Release is the name of the release.
	Release string `json:"release"`

	// Statuses of the records that are denied: pending-upgrade, pending-install if the release runs already, and pending-rollback unless it
	// needs to be repaired.
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Statuses []string `json:"statuses"`

	// Except is the revision that a user allows.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=5
	Except []string `json:"except,omitempty"`
}

// DeniedWorkload selects the changes of a workload that update an operator.
type DeniedWorkload struct {
	// Kind, Namespace and Name of the Deployment, StatefulSet or DaemonSet.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// Except are the images that it may get: those that it runs, and one that a user allows.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	Except []string `json:"except,omitempty"`
}

// UpgradeHold states that an operator must not be updated. operator-status creates one for each operator whose conditions do not
// allow an update, and deletes it once they do. Users create one to hold the updates of an operator themselves.
//
// The API server denies what would start an update while Held is True, with the message of the status.
//
// +kubebuilder:object:root=true
// +operator-sdk:csv:customresourcedefinitions:displayName="Upgrade Hold"
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=hold,categories={olm,operator-status}
// +kubebuilder:printcolumn:name="Installer",type=string,JSONPath=`.spec.operator.installer`,priority=1
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.operator.namespace`
// +kubebuilder:printcolumn:name="Operator",type=string,JSONPath=`.spec.operator.name`
// +kubebuilder:printcolumn:name="Held",type=string,JSONPath=`.status.conditions[?(@.type=="Held")].status`
// +kubebuilder:printcolumn:name="Enforced",type=string,JSONPath=`.status.conditions[?(@.type=="Enforced")].status`
// +kubebuilder:printcolumn:name="By",type=string,JSONPath=`.status.holds[0].by`
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=`.status.holds[0].since`
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.spec.until`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.holds[0].message`
type UpgradeHold struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// Spec names an operator whose updates are held.
	Spec UpgradeHoldSpec `json:"spec"`

	// Status describes whether and why the operator must not be updated.
	// +optional
	Status UpgradeHoldStatus `json:"status,omitzero"`
}

// UpgradeHoldList is a list of UpgradeHolds.
//
// +kubebuilder:object:root=true
type UpgradeHoldList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []UpgradeHold `json:"items"`
}

// IsReported reports whether operator-status created the hold because of the operator's conditions.
func (h *UpgradeHold) IsReported() bool { return h.Labels[LabelReported] == "true" }

// Policy returns the name of the UpgradeHoldPolicy that the hold was created for, or empty.
func (h *UpgradeHold) Policy() string {
	if owner := metav1.GetControllerOf(h); owner != nil && owner.Kind == UpgradeHoldPolicyKind {
		return owner.Name
	}
	return ""
}

// ProbedOperator returns the operator that a Probe names, and false if it is that of the ClusterServiceVersion of the same name.
func ProbedOperator(p *operatorsv1alpha1.Probe) (OperatorReference, bool) {
	if p.Spec == nil || p.Spec.Operator == nil {
		return OperatorReference{}, false
	}
	named := p.Spec.Operator
	return OperatorReference{Installer: Installer(named.Installer), Namespace: p.Namespace, Name: named.Name}, true
}

// SubscribedOperator returns the reference to the operator of a Subscription.
func SubscribedOperator(namespace, name string) OperatorReference {
	return OperatorReference{Installer: InstallerOLM, Namespace: namespace, Name: name}
}

// ReservedNamespaces are those of Kubernetes itself, in which updates cannot be held.
var ReservedNamespaces = []string{metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"}

// String describes an operator in messages: Subscription foo/foo, Helm release foo/foo.
func (r OperatorReference) String() string {
	what := "workload"
	switch r.Installer {
	case InstallerOLM:
		what = "Subscription"
	case InstallerOLMv1:
		return "ClusterExtension " + r.Name + " in namespace " + r.Namespace
	case InstallerHelm:
		what = "Helm release"
	case InstallerWorkload:
	}
	return what + " " + r.Namespace + "/" + r.Name
}

// longestName limits the name of an UpgradeHold. It leaves room for what the API server appends to generateName.
const longestName = 200

// HoldName returns the name of the UpgradeHold that operator-status creates for an operator.
func (r OperatorReference) HoldName() string {
	return shortened(strings.ToLower(string(r.Installer)) + "." + r.Namespace + "." + r.Name)
}

// HoldNameFor returns the name of the UpgradeHold that operator-status creates for an operator because of a policy.
func (r OperatorReference) HoldNameFor(policy string) string {
	return shortened(policy + "." + r.HoldName())
}

// ProbeName returns the name of the Probe that operator-status creates for an operator that has no ClusterServiceVersion.
func (r OperatorReference) ProbeName() string {
	return shortened(strings.ToLower(string(r.Installer)) + "." + r.Name)
}

// shortened returns a name that is no longer than longestName. One that was longer stays unique.
func shortened(name string) string {
	if len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:longestName-17], "-.") + "-" + hex.EncodeToString(sum[:8])
}
