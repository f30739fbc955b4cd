// Package flux describes the objects by which Flux applies operators. It is pure.
package flux

import (
	"cmp"
	"slices"

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

	Spec struct {
		Suspend bool `json:"suspend,omitempty"`
	} `json:"spec,omitzero"`

	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

func (a *applier) deepCopy() (out applier) {
	out.TypeMeta = a.TypeMeta
	a.DeepCopyInto(&out.ObjectMeta)
	out.Spec = a.Spec
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
	out := found.unfinished()
	if out == nil || installer.ReportsDenied(out.Message) {
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(by.Kind)
	out.Ref, out.Steps = ref, []operator.Step{operator.Describe("To see it", plural.GroupResource().String(), ref.Namespace, ref.Name)}
	return out
}

// unfinished describes why an object is not ready, or returns nil if it is, or has never been reconciled.
func (a *applier) unfinished() *operator.Unfinished {
	ready := meta.FindStatusCondition(a.Status.Conditions, "Ready")
	switch {
	case ready == nil:
		return nil
	case ready.Status == metav1.ConditionTrue && ready.ObservedGeneration != 0 && ready.ObservedGeneration < a.Generation && !a.Spec.Suspend:
		return &operator.Unfinished{
			Since: installer.Changed(a), Reason: "NotReconciled", Message: "Flux has not processed its last change: check that its controllers run",
		}
	case ready.Status == metav1.ConditionTrue:
		return nil
	}
	return &operator.Unfinished{
		Since: ready.LastTransitionTime, Reason: ready.Reason, Message: cmp.Or(ready.Message, ready.Reason),
		Broken:  ready.Status == metav1.ConditionFalse && ready.Reason != "DependencyNotReady",
		Invalid: ready.Status == metav1.ConditionFalse && slices.Contains(invalid, ready.Reason),
	}
}

// invalid are the reasons for which Flux cannot build what it is to apply.
var invalid = []string{"BuildFailed", "ArtifactFailed"}
