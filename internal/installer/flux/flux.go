// Package flux describes the objects by which Flux applies operators. It is pure.
package flux

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// applier is the part of a HelmRelease or Kustomization that tells whether it is applied.
type applier struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

func (a *applier) deepCopy() (out applier) {
	out.TypeMeta = a.TypeMeta
	a.DeepCopyInto(&out.ObjectMeta)
	for i := range a.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *a.Status.Conditions[i].DeepCopy())
	}
	return out
}

// HelmRelease is that of helm-controller.
type HelmRelease struct{ applier }

// Kustomization is that of kustomize-controller.
type Kustomization struct{ applier }

// DeepCopyObject implements runtime.Object.
func (r *HelmRelease) DeepCopyObject() runtime.Object { return &HelmRelease{r.deepCopy()} }

// DeepCopyObject implements runtime.Object.
func (k *Kustomization) DeepCopyObject() runtime.Object { return &Kustomization{k.deepCopy()} }

// Kinds are how these objects are read. They may be in other namespaces than the operators.
func Kinds() []installer.Kind {
	return []installer.Kind{installer.PartialKind[HelmRelease](installer.HelmRelease), installer.PartialKind[Kustomization](installer.Kustomization)}
}

// Objects are those by which Flux applies operators.
type Objects map[operator.Ref]*applier

// In returns those of a cluster.
func In(c installer.Cluster) Objects {
	out := Objects{}
	for _, r := range installer.Values[HelmRelease](c) {
		out[operator.Ref{Kind: installer.HelmRelease.Kind, Namespace: r.Namespace, Name: r.Name}] = &r.applier
	}
	for _, k := range installer.Values[Kustomization](c) {
		out[operator.Ref{Kind: installer.Kustomization.Kind, Namespace: k.Namespace, Name: k.Name}] = &k.applier
	}
	return out
}

// Unfinished describes why the object that applied workloads is not ready, or returns nil if it is, was not read or did not apply any. A
// denied update is left to its UpgradeHold.
func (all Objects) Unfinished(workloads []installer.Workload) *operator.Unfinished {
	by := installer.RetryOf(workloads)
	if by == nil {
		return nil
	}
	ref := operator.Ref{Kind: by.Kind.Kind, Namespace: by.Object.Namespace, Name: by.Object.Name}
	found := all[ref]
	if found == nil {
		return nil
	}
	ready := meta.FindStatusCondition(found.Status.Conditions, "Ready")
	if ready == nil || ready.Status == metav1.ConditionTrue || installer.ReportsDenied(ready.Message) {
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(by.Kind)
	return &operator.Unfinished{
		Ref: ref, Since: ready.LastTransitionTime, Reason: ready.Reason, Message: cmp.Or(ready.Message, ready.Reason),
		Broken: ready.Status == metav1.ConditionFalse && ready.Reason != "DependencyNotReady",
		Steps:  []operator.Step{operator.Describe("To see it", plural.GroupResource().String(), ref.Namespace, ref.Name)},
	}
}
