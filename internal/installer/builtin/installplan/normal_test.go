package installplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestNormal(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &olm.CatalogSource{})
	for name, tc := range map[string]struct {
		reason string
		in     map[string]any
		want   map[string]any
		err    bool
	}{
		"UnknownField": {
			reason: "An apply would be refused for a field that the kind has not.",
			in:     map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "dada": "x", "data": map[string]any{"k": "v"}},
			want:   map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"}},
		},
		"Null": {
			reason: "A null field is left out.",
			in:     map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "creationTimestamp": nil}, "data": nil},
			want:   map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}},
		},
		"AnotherCase": {
			reason: "Authors write a field in another case, and OLM reads it all the same.",
			in:     map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "Immutable": true},
			want:   map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "immutable": true},
		},
		"UnknownKind": {
			reason: "A custom resource is as it is.",
			in:     map[string]any{"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"x": nil}},
			want:   map[string]any{"apiVersion": "example.com/v1", "kind": "Foo", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"x": nil}},
		},
		"WrongType": {
			reason: "An object that cannot be decoded as its kind returns an error.",
			in:     map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": "x"},
			err:    true,
		},
		"Panic": {
			reason: "An object whose type panics returns an error, too.",
			in: map[string]any{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource", "metadata": map[string]any{"name": "a"},
				"spec": map[string]any{"updateStrategy": map[string]any{}}},
			err: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := normal(scheme, &unstructured.Unstructured{Object: tc.in})
			if (err != nil) != tc.err {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, got.Object); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
