package installplan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
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

// TestAPIRolesDryRun verifies that the manager dry-runs one of the roles for APIs, and a service account, which may have rights to only
// some of the APIs, all of them.
func TestAPIRolesDryRun(t *testing.T) {
	csv := object(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":"foo.v1"},"spec":{
		"installModes":[{"type":"OwnNamespace","supported":true}],
		"install":{"strategy":"deployment","spec":{"deployments":[{"name":"foo","spec":{
			"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a"}]}}}}]}},
		"customresourcedefinitions":{"owned":[{"name":"foos.example.com","version":"v1","kind":"Foo"},{"name":"bars.example.com","version":"v1","kind":"Bar"}]}}}`)
	for name, tc := range map[string]struct {
		as   apply.Identity
		want int
	}{
		"Manager":        {want: 1},
		"ServiceAccount": {apply.Identity{Namespace: "default", Name: "installer"}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			content := &record.Content{Identity: tc.as, Bundles: []record.Bundle{bundle("foo.v1", "", csv)}}
			r := &run{Reconciler: &Reconciler{Now: time.Now}, plan: plan(), content: content, scope: scope("default")}
			tasks, err := r.parts(0)
			if err != nil {
				t.Fatal(err)
			}
			roles, others := 0, 0
			for _, task := range tasks {
				if task.object.GetKind() == "ClusterRole" {
					roles++
				} else {
					others++
				}
			}
			if roles != tc.want || others != 4 { // the OperatorCondition with its Role and RoleBinding, and the Deployment
				t.Errorf("%d ClusterRoles are dry-run, want %d, and %d other objects", roles, tc.want, others)
			}
		})
	}
}
