package installer

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
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

	// Condition is the name of the OperatorCondition that its containers write, or empty.
	Condition string

	// State is whether it runs. It is Failed if its controller has given up on that.
	State operator.State

	// Begins is true if its first version has not run yet, as far as that is known. Ran is true if a version is known to have run: one that is
	// available, or of a Deployment one that was rolled out.
	Begins, Ran bool

	// Outdated is true while a pod may be of an older version than the declared one, also if it runs.
	Outdated bool

	// OfCSV is true if it belongs to a ClusterServiceVersion.
	OfCSV bool

	// Controlled is true if it belongs to another object, whose controller updates it.
	Controlled bool
}

// EnvOperatorCondition is the environment variable by which OLM names its OperatorCondition to an operator.
const EnvOperatorCondition = "OPERATOR_CONDITION_NAME"

// OperatorConditions is the name of the CustomResourceDefinition of OperatorConditions.
const OperatorConditions = "operatorconditions.operators.coreos.com"

// WorkloadOf returns the Workload of an object, and false if it is of another kind.
func WorkloadOf(o Object) (Workload, bool) {
	out := Workload{Labels: o.GetLabels(), Annotations: o.GetAnnotations(), State: operator.Installing, Outdated: rolloutOf(o).outdated()}
	ran := func(available int32) {
		if available > 0 {
			out.State, out.Ran = operator.Running, true
		}
	}
	out.Namespace, out.Name = o.GetNamespace(), o.GetName()
	var pod *corev1.PodSpec
	switch o := o.(type) {
	case *appsv1.Deployment:
		out.Kind, pod, out.Begins = "Deployment", &o.Spec.Template.Spec, begins(o)
		ran(o.Status.AvailableReplicas)
		out.Ran = out.Ran || slices.ContainsFunc(o.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Reason == "NewReplicaSetAvailable" })
		if out.State != operator.Running && slices.ContainsFunc(o.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		}) {
			out.State = operator.Failed
		}
	case *appsv1.StatefulSet:
		out.Kind, pod = "StatefulSet", &o.Spec.Template.Spec
		ran(o.Status.AvailableReplicas)
	case *appsv1.DaemonSet:
		out.Kind, pod = "DaemonSet", &o.Spec.Template.Spec
		if ran(o.Status.NumberAvailable); o.Status.DesiredNumberScheduled == 0 && o.Status.ObservedGeneration >= o.Generation {
			out.State = operator.Running // on every node that it is for
		}
	default:
		return Workload{}, false
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		out.Images = append(out.Images, c.Image)
		for _, v := range c.Env {
			if v.Name == EnvOperatorCondition && out.Condition == "" {
				out.Condition = v.Value
			}
		}
	}
	slices.Sort(out.Images)
	out.Images = slices.Compact(out.Images)
	out.ServiceAccount = pod.ServiceAccountName
	if out.ServiceAccount == "" {
		out.ServiceAccount = "default"
	}
	_, labelled := out.Labels["olm.owner"]
	out.OfCSV = labelled && OfCSV(o)
	out.Controlled = metav1.GetControllerOf(o) != nil
	return out, true
}

// OfCSV reports whether a ClusterServiceVersion owns an object.
func OfCSV(o metav1.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.Kind == v1alpha1.ClusterServiceVersionKind })
}

// begins reports whether no revision of a Deployment has been rolled out. Its controller keeps that in a condition, also while it is scaled
// to no pods.
func begins(d *appsv1.Deployment) bool {
	return d.Annotations["deployment.kubernetes.io/revision"] == "1" && d.Status.AvailableReplicas == 0 &&
		slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentProgressing && (c.Reason == "NewReplicaSetCreated" || c.Reason == "ReplicaSetUpdated" || c.Reason == "ProgressDeadlineExceeded")
		})
}

// Account returns the service account of its pods.
func (w Workload) Account() types.NamespacedName {
	return types.NamespacedName{Namespace: w.Namespace, Name: w.ServiceAccount}
}

// Resource returns the kind for kubectl.
func (w Workload) Resource() string { return strings.ToLower(w.Kind) }

// Version returns the version in the recommended label, or else the tag of the first image, or empty.
func (w Workload) Version() string {
	if version := w.Labels["app.kubernetes.io/version"]; version != "" {
		return version
	}
	if len(w.Images) == 0 {
		return ""
	}
	image, _, _ := strings.Cut(w.Images[0], "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		return image[i+1:]
	}
	return ""
}

// By returns the name of the program that applied a workload, as far as its labels and annotations tell, or empty.
func (w Workload) By() string {
	switch {
	case w.Labels[HelmRelease.Group+"/name"] != "", w.Labels[Kustomization.Group+"/name"] != "":
		return "Flux"
	case w.Annotations[annotationApplication] != "", w.Labels[labelApplication] != "":
		return "Argo CD"
	default:
		return ""
	}
}

// Installed is an operator that no ClusterServiceVersion describes, and a version of which has run.
type Installed struct {
	Running operator.Version

	// Request is the object on which a user allows a held update.
	Request operator.Request

	// Version stands for the version that runs: it changes with the images of its workloads.
	Version string

	// Accounts are the names of the service accounts that it runs as, in order of preference.
	Accounts []string

	// Conditions are the OperatorConditions in which it may report itself.
	Conditions []types.NamespacedName

	// Retry is how to have the installer try again at once, or nil.
	Retry *Retry

	// Unrecorded is true if the installer keeps records of its updates, and none was found.
	Unrecorded bool

	// Denied returns the updates that the API server denies while the operator is held, except for the version that a user allows.
	// crds are the names of its CustomResourceDefinitions that are known.
	Denied func(allowed string, crds []string) *holdv1alpha1.DeniedUpdates
}

// mostDefinitions is a limit of holdv1alpha1.DeniedUpdates.
const mostDefinitions = 500

// DeniedDefinitions returns as many of some names of CustomResourceDefinitions as an UpgradeHold can deny.
func DeniedDefinitions(crds []string) []string { return crds[:min(len(crds), mostDefinitions)] }

// VersionOf returns a text that changes with the images of workloads.
func VersionOf(workloads []Workload) string {
	var images []string
	for _, w := range workloads {
		images = append(images, w.Images...)
	}
	slices.Sort(images)
	sum := sha256.Sum256([]byte(strings.Join(images, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Retry is how to have an installer try again at once: it reacts to a change of annotations.
type Retry struct {
	Kind        schema.GroupVersionKind
	Object      types.NamespacedName
	Annotations []string
}

// RetryOf returns how to have the controller of Flux that applied one of the workloads try again, or nil.
func RetryOf(workloads []Workload) *Retry {
	for _, w := range workloads {
		for _, kind := range []schema.GroupVersionKind{HelmRelease, Kustomization} {
			if name := w.Labels[kind.Group+"/name"]; name != "" {
				return &Retry{
					Kind: kind, Object: types.NamespacedName{Namespace: w.Labels[kind.Group+"/namespace"], Name: name},
					Annotations: []string{"reconcile.fluxcd.io/requestedAt", "reconcile.fluxcd.io/resetAt"},
				}
			}
		}
	}
	return nil
}

// ReportsDenied reports whether a message of an installer is about an update that one of the policies denied.
func ReportsDenied(message string) bool {
	return strings.Contains(message, "denied request: The update ")
}

// ConditionsOf returns the OperatorConditions of workloads.
func ConditionsOf(workloads []Workload) []types.NamespacedName {
	var out []types.NamespacedName
	for _, w := range workloads {
		name := types.NamespacedName{Namespace: w.Namespace, Name: w.Condition}
		if w.Condition != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// mostAccounts limits the service accounts that are asked about for an operator: a tenant can give each workload another one.
const mostAccounts = 16

// AccountsOf returns the names of the service accounts that workloads run as, each once, in their order. Of many it returns the first ones.
func AccountsOf(workloads []Workload) []string {
	var out []string
	for _, w := range workloads {
		if !slices.Contains(out, w.ServiceAccount) && len(out) < mostAccounts {
			out = append(out, w.ServiceAccount)
		}
	}
	return out
}
