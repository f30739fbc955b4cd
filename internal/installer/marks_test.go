package installer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMarks(t *testing.T) {
	type texts = map[string]string
	cases := map[string]struct {
		reason              string
		labels, annotations texts
		want                []string
	}{
		"None":  {reason: "kubectl marks nothing.", labels: texts{"app": "foo"}, annotations: texts{"meta.helm.sh/release-namespace": "foo"}},
		"Helm":  {reason: "A release has a namespace.", annotations: texts{"meta.helm.sh/release-namespace": "a", "meta.helm.sh/release-name": "b"}, want: []string{"Helm release a/b"}},
		"Argo":  {reason: "The Application is the first part.", annotations: texts{"argocd.argoproj.io/tracking-id": "b:apps/Deployment:a/c"}, want: []string{"Application b"}},
		"Label": {reason: "Argo CD can track by label.", labels: texts{"argocd.argoproj.io/instance": "b"}, want: []string{"Application b"}},
		"Flux": {
			reason: "A HelmRelease may be applied by a Kustomization.", want: []string{"HelmRelease a/b", "Kustomization c/d"},
			labels: texts{
				"helm.toolkit.fluxcd.io/namespace": "a", "helm.toolkit.fluxcd.io/name": "b",
				"kustomize.toolkit.fluxcd.io/namespace": "c", "kustomize.toolkit.fluxcd.io/name": "d",
			},
		},
		"PartOf": {reason: "Authors mark what belongs together.", labels: texts{"app.kubernetes.io/part-of": "b"}, want: []string{"part of b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Marks(tc.labels, tc.annotations)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
