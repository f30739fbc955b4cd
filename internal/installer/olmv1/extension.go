package olmv1

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// ClusterExtension is the part of a ClusterExtension that describes its operator.
type ClusterExtension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec struct {
		Namespace string `json:"namespace"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions,omitempty"`
	} `json:"status,omitzero"`
}

// DeepCopyObject implements runtime.Object.
func (e *ClusterExtension) DeepCopyObject() runtime.Object {
	out := *e
	e.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = nil
	for i := range e.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, *e.Status.Conditions[i].DeepCopy())
	}
	return &out
}

// ExtensionKind is how ClusterExtensions are read.
func ExtensionKind() installer.Kind {
	out := installer.PartialKind[ClusterExtension](Kind)
	out.ClusterScoped = true
	return out
}

// Reference returns the operator of a ClusterExtension.
func (e *ClusterExtension) Reference() holdv1alpha1.OperatorReference {
	return holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerOLMv1, Namespace: e.Spec.Namespace, Name: e.Name}
}

// Unfinished describes the work of operator-controller on a ClusterExtension, or its failure. It is nil after the work. A denied update is
// left to its UpgradeHold.
func (e *ClusterExtension) Unfinished() *operator.Unfinished {
	out := &operator.Unfinished{
		Ref: operator.Ref{Kind: Kind.Kind, Name: e.Name}, Since: e.CreationTimestamp, Reason: "NotReconciled",
		Message: "operator-controller has not processed it: check that it runs",
		Steps:   []operator.Step{{To: "To see it", Command: operator.Command("kubectl describe clusterextension.olm.operatorframework.io %s", e.Name)}},
	}
	progressing := meta.FindStatusCondition(e.Status.Conditions, "Progressing")
	switch {
	case e.DeletionTimestamp != nil:
		out.Since, out.Reason, out.Message = *e.DeletionTimestamp, installer.ReasonTerminating, "it is being deleted"
	case progressing == nil || progressing.ObservedGeneration < e.Generation:
	case progressing.Reason == "Succeeded", installer.ReportsDenied(progressing.Message):
		return nil
	default:
		out.Since, out.Reason, out.Message = progressing.LastTransitionTime, progressing.Reason, cmp.Or(progressing.Message, progressing.Reason)
		out.Broken = progressing.Status == metav1.ConditionFalse || progressing.Reason == "Retrying" // it reports an error
	}
	return out
}
