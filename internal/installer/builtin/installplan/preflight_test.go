package installplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestMainFirst(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     []*unstructured.Unstructured
		want   []string
	}{
		"DefinitionFirst": {"An error about the CSV is reported rather than one about its parts.", []*unstructured.Unstructured{crd(), csv("foo.v1"), configMap("a")},
			[]string{"foo.v1", "foos.example.com", "a"}},
		"Two": {"Otherwise the order stays.", []*unstructured.Unstructured{configMap("b"), csv("foo.v1"), configMap("a"), csv("bar.v1")},
			[]string{"foo.v1", "bar.v1", "b", "a"}},
		"None": {"There need not be one.", []*unstructured.Unstructured{configMap("b"), configMap("a")}, []string{"b", "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var in []task
			for _, o := range tc.in {
				in = append(in, task{object: o})
			}
			var got []string
			for _, out := range mainFirst(in) {
				got = append(got, out.object.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
