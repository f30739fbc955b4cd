// Package olmv1 describes the operators of OLM v1: those of ClusterExtensions, by the labels of what these install. It is pure.
package olmv1

import (
	"cmp"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Labels of the objects that a ClusterExtension installs.
const (
	LabelKind = "olm.operatorframework.io/owner-kind"
	LabelName = "olm.operatorframework.io/owner-name"
)

// Kind is that of a ClusterExtension.
var Kind = schema.GroupVersionKind{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterExtension"}

// Definition is the name of the CustomResourceDefinition of ClusterExtensions.
const Definition = "clusterextensions.olm.operatorframework.io"

// owner is the label of the records that operator-controller keeps of its revisions, as Helm does.
const owner = "operator-controller"

// OfWorkload returns the operator of the ClusterExtension that installed a workload, or none.
func OfWorkload(w installer.Workload) []holdv1alpha1.OperatorReference {
	if w.Labels[LabelKind] != Kind.Kind || w.Labels[LabelName] == "" {
		return nil
	}
	return []holdv1alpha1.OperatorReference{{Installer: holdv1alpha1.InstallerOLMv1, Namespace: w.Namespace, Name: w.Labels[LabelName]}}
}

// Workloads returns those of workloads that the ClusterExtension of an operator installed, sorted.
func Workloads(of holdv1alpha1.OperatorReference, workloads []installer.Workload) []installer.Workload {
	var out []installer.Workload
	for _, w := range workloads {
		if slices.Contains(OfWorkload(w), of) {
			out = append(out, w)
		}
	}
	slices.SortFunc(out, func(a, b installer.Workload) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// Find returns the operator of a ClusterExtension, or nil if none of the workloads belongs to it. extension may be nil.
func Find(of holdv1alpha1.OperatorReference, extension metav1.Object, workloads []installer.Workload) *installer.Installed {
	its := Workloads(of, workloads)
	if len(its) == 0 || extension == nil {
		return nil
	}
	ref := operator.Ref{Kind: Kind.Kind, Name: of.Name}
	return &installer.Installed{
		Running:  operator.Version{Ref: ref},
		Request:  operator.Request{Ref: ref, Resource: "clusterextension.olm.operatorframework.io", Annotations: extension.GetAnnotations()},
		Version:  installer.VersionOf(its),
		Accounts: installer.AccountsOf(its),
		Retry: &installer.Retry{
			Kind: Kind, Object: types.NamespacedName{Name: of.Name}, Annotations: []string{v1alpha1.AnnotationResolveAnew},
		},
		Denied: func(allowed string, _ []string) *holdv1alpha1.DeniedUpdates { return denied(of, allowed) },
	}
}

// denied returns the records of updates. They are in the namespace of operator-controller, wherever that is. A user allows a revision as Helm
// writes it.
func denied(of holdv1alpha1.OperatorReference, allowed string) *holdv1alpha1.DeniedUpdates {
	out := &holdv1alpha1.DeniedRevisions{Owner: owner, Release: of.Name, Statuses: []string{"pending-upgrade"}}
	if n, err := strconv.Atoi(allowed); err == nil && strconv.Itoa(n) == allowed {
		out.Except = []string{allowed}
	}
	return &holdv1alpha1.DeniedUpdates{Revisions: out}
}
