package installer

import "strings"

// Marks returns what an object is marked with that was installed together with others: its Helm release, Flux object or Argo CD Application,
// and the application that its author says it is a part of.
func Marks(labels, annotations map[string]string) []string {
	var out []string
	add := func(kind string, name ...string) {
		if name[len(name)-1] != "" {
			out = append(out, kind+" "+strings.Join(name, "/"))
		}
	}
	application, _, _ := strings.Cut(annotations["argocd.argoproj.io/tracking-id"], ":")
	add("Helm release", annotations["meta.helm.sh/release-namespace"], annotations["meta.helm.sh/release-name"])
	add("HelmRelease", labels["helm.toolkit.fluxcd.io/namespace"], labels["helm.toolkit.fluxcd.io/name"])
	add("Kustomization", labels["kustomize.toolkit.fluxcd.io/namespace"], labels["kustomize.toolkit.fluxcd.io/name"])
	add("Application", application)
	add("Application", labels["argocd.argoproj.io/instance"])
	add("part of", labels["app.kubernetes.io/part-of"])
	return out
}
