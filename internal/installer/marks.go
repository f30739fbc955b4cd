package installer

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels and annotations by which programs mark the objects that they install. Helm does not mark those in a chart's folder `crds`.
const (
	AnnotationRelease          = "meta.helm.sh/release-name"
	AnnotationReleaseNamespace = "meta.helm.sh/release-namespace"

	annotationApplication = "argocd.argoproj.io/tracking-id"
	labelApplication      = "argocd.argoproj.io/instance"
)

// Kinds by which Flux applies objects. The labels of those begin with their groups.
var (
	HelmRelease   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	Kustomization = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
)

// Marks returns the marks of an object that was installed together with others: its Helm release, Flux object or Argo CD Application, and the
// recommended label that names the application it is a part of.
func Marks(labels, annotations map[string]string) []string {
	var out []string
	add := func(kind string, name ...string) {
		if name[len(name)-1] != "" {
			out = append(out, kind+" "+strings.Join(name, "/"))
		}
	}
	add("Helm release", annotations[AnnotationReleaseNamespace], annotations[AnnotationRelease])
	for _, kind := range []schema.GroupVersionKind{HelmRelease, Kustomization} {
		add(kind.Kind, labels[kind.Group+"/namespace"], labels[kind.Group+"/name"])
	}
	add("Application", tracked(annotations))
	add("Application", labels[labelApplication])
	add("part of", labels["app.kubernetes.io/part-of"])
	return out
}

// tracked returns the name of the Application in Argo CD's annotation. It begins with the namespace of the Application and an underscore
// unless that is Argo CD's own.
func tracked(annotations map[string]string) string {
	application, _, _ := strings.Cut(annotations[annotationApplication], ":")
	return application
}

// ApplicationOf returns the name of the Application by which Argo CD applied one of the workloads, as Argo CD marks them, or empty.
func ApplicationOf(workloads []Workload) string {
	for _, w := range workloads {
		if name := cmp.Or(tracked(w.Annotations), w.Labels[labelApplication]); name != "" {
			return name
		}
	}
	return ""
}
