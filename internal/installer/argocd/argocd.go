// Package argocd describes the Applications by which Argo CD applies operators. It is pure.
package argocd

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Application is the part of an Application that tells whether it is applied.
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status struct {
		// Conditions are errors and warnings. None has a status.
		Conditions []struct {
			Type               string      `json:"type"`
			Message            string      `json:"message,omitempty"`
			LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
		} `json:"conditions,omitempty"`

		// OperationState is that of the last sync.
		OperationState struct {
			Phase      string      `json:"phase,omitempty"`
			Message    string      `json:"message,omitempty"`
			StartedAt  metav1.Time `json:"startedAt,omitzero"`
			RetryCount int64       `json:"retryCount,omitempty"`
		} `json:"operationState,omitzero"`

		Sync struct {
			Status string `json:"status,omitempty"`
		} `json:"sync,omitzero"`
	} `json:"status,omitzero"`
}

// DeepCopyObject implements runtime.Object.
func (a *Application) DeepCopyObject() runtime.Object {
	out := *a
	a.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = slices.Clone(a.Status.Conditions)
	return &out
}

var kind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// Kind is how Applications are read. They may be in other namespaces than the operators.
func Kind() installer.Kind { return installer.PartialKind[Application](kind) }

// Applications are those of a cluster, by the names in Argo CD's marks. Those of different namespaces may have the same one.
type Applications map[string][]Application

// In returns those of a cluster.
func In(c installer.Cluster) Applications {
	out := Applications{}
	for _, a := range installer.Values[Application](c) {
		for _, name := range []string{a.Name, a.Namespace + "_" + a.Name} {
			out[name] = append(out[name], a)
		}
	}
	return out
}

// Unfinished describes why the Application that applied workloads is not synced, or returns nil if it is, was not read or did not apply any.
// A denied update is left to its UpgradeHold.
func (all Applications) Unfinished(workloads []installer.Workload) *operator.Unfinished {
	found := all[installer.ApplicationOf(workloads)]
	if len(found) != 1 {
		return nil // another Argo CD may have one of the name
	}
	out := found[0].unfinished()
	if out == nil || installer.ReportsDenied(out.Message) {
		return nil
	}
	out.Ref = operator.Ref{Kind: kind.Kind, Namespace: found[0].Namespace, Name: found[0].Name}
	out.Steps = []operator.Step{operator.Describe("To see it", "application.argoproj.io", out.Namespace, out.Name)}
	return out
}

// broken are the types of conditions that keep an Application from being synced, and phases of a sync that has failed.
var broken = []string{"ComparisonError", "InvalidSpecError", "SyncError", "DeletionError", "UnknownError", "Failed", "Error"}

// invalid are the types of conditions of an Application whose manifests cannot be read.
var invalid = []string{"ComparisonError", "InvalidSpecError"}

// unfinished describes the state of an Application, or returns nil if it is synced.
func (a *Application) unfinished() *operator.Unfinished {
	for _, c := range a.Status.Conditions {
		if slices.Contains(broken, c.Type) && (c.Type != "SyncError" || a.Status.Sync.Status != "Synced") { // one that a user has synced since
			return &operator.Unfinished{Reason: c.Type, Message: c.Message, Since: c.LastTransitionTime, Broken: true, Invalid: slices.Contains(invalid, c.Type)}
		}
	}
	sync := a.Status.OperationState
	if a.Status.Sync.Status == "Synced" || sync.Phase == "" || sync.Phase == "Succeeded" {
		return nil
	}
	return &operator.Unfinished{
		Reason: "Sync" + sync.Phase, Message: cmp.Or(sync.Message, sync.Phase), Since: sync.StartedAt,
		Broken: slices.Contains(broken, sync.Phase) || sync.RetryCount > 0,
	}
}
