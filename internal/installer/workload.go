package installer

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

// Workload is a Deployment, StatefulSet or DaemonSet. An operator runs in one, or in several.
type Workload struct {
	operator.Ref

	Labels, Annotations map[string]string

	// ServiceAccount is the name of that of its pods.
	ServiceAccount string

	// Images are those of its containers, sorted.
	Images []string

	// OfCSV is true if it belongs to a ClusterServiceVersion.
	OfCSV bool
}

// WorkloadOf returns the Workload of an object, and false if it is of another kind.
func WorkloadOf(o Object) (Workload, bool) {
	out := Workload{Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
	out.Namespace, out.Name = o.GetNamespace(), o.GetName()
	var pod *corev1.PodSpec
	switch o := o.(type) {
	case *appsv1.Deployment:
		out.Kind, pod = "Deployment", &o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		out.Kind, pod = "StatefulSet", &o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		out.Kind, pod = "DaemonSet", &o.Spec.Template.Spec
	default:
		return Workload{}, false
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		out.Images = append(out.Images, c.Image)
	}
	slices.Sort(out.Images)
	out.Images = slices.Compact(out.Images)
	out.ServiceAccount = pod.ServiceAccountName
	if out.ServiceAccount == "" {
		out.ServiceAccount = "default"
	}
	_, out.OfCSV = out.Labels["olm.owner"]
	return out, true
}

// Resource returns the kind for kubectl.
func (w Workload) Resource() string { return strings.ToLower(w.Kind) }

// Installed is an operator that no ClusterServiceVersion describes, and a version of which has run.
type Installed struct {
	Running operator.Version

	// Request is the object on which a user allows a held update.
	Request operator.Request

	// Accounts are the names of the service accounts that it runs as, in order of preference.
	Accounts []string

	// Denied returns the updates that the API server denies while the operator is held, except for the version that a user allows.
	// crds are the names of its CustomResourceDefinitions that are known.
	Denied func(allowed string, crds []string) *holdv1alpha1.DeniedUpdates
}

// AccountsOf returns the names of the service accounts that workloads run as, each once, in their order.
func AccountsOf(workloads []Workload) []string {
	var out []string
	for _, w := range workloads {
		if !slices.Contains(out, w.ServiceAccount) {
			out = append(out, w.ServiceAccount)
		}
	}
	return out
}
