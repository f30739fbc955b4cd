package installer

import "strings"

// Labels and annotations by which programs mark the objects that they install. Helm does not mark those in a chart's folder `crds`.
const (
	AnnotationRelease          = "meta.helm.sh/release-name"
	AnnotationReleaseNamespace = "meta.helm.sh/release-namespace"

	annotationApplication = "argocd.argoproj.io/tracking-id"
	labelApplication      = "argocd.argoproj.io/instance"

	// API groups of Flux, which are also the prefixes of its labels.
	groupHelmReleases   = "helm.toolkit.fluxcd.io"
	groupKustomizations = "kustomize.toolkit.fluxcd.io"
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
	application, _, _ := strings.Cut(annotations[annotationApplication], ":")
	add("Helm release", annotations[AnnotationReleaseNamespace], annotations[AnnotationRelease])
	add("HelmRelease", labels[groupHelmReleases+"/namespace"], labels[groupHelmReleases+"/name"])
	add("Kustomization", labels[groupKustomizations+"/namespace"], labels[groupKustomizations+"/name"])
	add("Application", application)
	add("Application", labels[labelApplication])
	add("part of", labels["app.kubernetes.io/part-of"])
	return out
}
