package flux

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func helmRelease(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "HelmRelease", "metadata": map[string]any{"namespace": "flux", "name": name}, "spec": spec,
	}}
}

func TestRelease(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		object *unstructured.Unstructured
		want   types.NamespacedName
	}{
		"Same":   {"A release is in the namespace of its HelmRelease, and has its name.", helmRelease("foo", nil), types.NamespacedName{Namespace: "flux", Name: "foo"}},
		"Target": {"A target namespace is a part of the name.", helmRelease("foo", map[string]any{"targetNamespace": "bar"}), types.NamespacedName{Namespace: "bar", Name: "bar-foo"}},
		"Named": {
			"A release may have a name of its own.", helmRelease("foo", map[string]any{"targetNamespace": "bar", "releaseName": "baz"}),
			types.NamespacedName{Namespace: "bar", Name: "baz"},
		},
		"Long": {
			"Helm allows 53 characters.", helmRelease(strings.Repeat("f", 60), nil),
			types.NamespacedName{Namespace: "flux", Name: strings.Repeat("f", 40) + "-47625d4c5847"},
		},
		"Malformed": {"Others may write its spec.", helmRelease("foo", map[string]any{"targetNamespace": int64(1)}), types.NamespacedName{Namespace: "flux", Name: "foo"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Release(tc.object); got != tc.want {
				t.Errorf("%s got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAppliesIn(t *testing.T) {
	kustomization := func(ids ...string) *unstructured.Unstructured {
		var entries []any
		for _, id := range ids {
			entries = append(entries, map[string]any{"id": id, "v": "v1"})
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": "Kustomization", "metadata": map[string]any{"namespace": "flux", "name": "foo"},
			"status": map[string]any{"inventory": map[string]any{"entries": entries}},
		}}
	}
	for name, tc := range map[string]struct {
		reason string
		object *unstructured.Unstructured
		want   bool
	}{
		"Released":  {"The release is in the namespace.", helmRelease("foo", map[string]any{"targetNamespace": "bar"}), true},
		"Elsewhere": {"The release is in another one.", helmRelease("foo", nil), false},
		"Applied":   {"The Kustomization has applied a Deployment there.", kustomization("_crd_apiextensions.k8s.io_CustomResourceDefinition", "bar_foo_apps_Deployment"), true},
		"Foreign":   {"It has applied objects of other namespaces.", kustomization("bars_foo_apps_Deployment", "_bar__Namespace"), false},
		"New":       {"It has not applied anything.", kustomization(), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AppliesIn("bar", tc.object); got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
}
