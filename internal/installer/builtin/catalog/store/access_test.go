package store

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

func TestOneCSV(t *testing.T) {
	object := func(kind, name string) *unstructured.Unstructured {
		out := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
		out.SetName(name)
		return out
	}
	const csv = "ClusterServiceVersion"
	for name, tc := range map[string]struct {
		reason  string
		objects []*unstructured.Unstructured
		want    string
	}{
		"One": {"A bundle with one ClusterServiceVersion of the expected name is accepted.", []*unstructured.Unstructured{object("Service", "foo"), object(csv, "foo.v1.0.0")}, ""},
		"Two": {"A bundle with two ClusterServiceVersions is refused.", []*unstructured.Unstructured{object(csv, "foo.v1.0.0"), object(csv, "bar.v1.0.0")},
			"has 2 ClusterServiceVersions (foo.v1.0.0, bar.v1.0.0): it needs exactly one"},
		"None": {"A bundle without a ClusterServiceVersion is refused.", []*unstructured.Unstructured{object("Service", "foo")},
			"has no ClusterServiceVersion among its 1 objects: it needs exactly one"},
		"Another": {"A ClusterServiceVersion of another name is refused, since the Subscription would wait for it forever.", []*unstructured.Unstructured{object(csv, "foo.v2.0.0")},
			"has a ClusterServiceVersion of another name: foo.v2.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			err := oneCSV("foo.v1.0.0", tc.objects)
			if (err == nil) != (tc.want == "") || err != nil &&
				(!strings.Contains(err.Error(), tc.want) || catalog.AsError(err, "").Reason != v1alpha1.ReasonBundleInvalid) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}
