package installplan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

// asking is a ClusterServiceVersion whose strategy asks for that.
func asking(strategy string) *unstructured.Unstructured {
	out := csv("foo.v1")
	out.Object["spec"].(map[string]any)["install"] = object(`{"strategy":"deployment","spec":` + strategy + `}`).Object
	return out
}

const (
	here     = `{"permissions":[{"serviceAccountName":"foo","rules":[]}]}`
	anywhere = `{"clusterPermissions":[{"serviceAccountName":"foo","rules":[]}]}`
)

func TestAllowed(t *testing.T) {
	refused := func(what string) *resolve.Problem {
		return &resolve.Problem{Reason: "NotAllowed", Message: what + " would reach beyond namespace default, which a bundle may only from a catalog in namespace olm, " +
			"or as the service account that OperatorGroup mine names in spec.serviceAccountName"}
	}
	var many []*unstructured.Unstructured
	for i := range 7 {
		many = append(many, clusterRole(fmt.Sprintf("role-%d", i)))
	}
	foo := object(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"foo"}}`)
	wide := crd()
	wide.Object["spec"].(map[string]any)["scope"] = "Cluster"
	cases := map[string]struct {
		reason  string
		objects []*unstructured.Unstructured
		from    string // the catalog's namespace; default unless told
		account string
		targets []string // default unless told
		want    *resolve.Problem
	}{
		"Namespaced": {reason: "What stays in the namespace is the namespace's own affair.",
			objects: []*unstructured.Unstructured{asking(here), configMap("foo")}},
		"Definition": {reason: "A definition is the whole cluster's.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), crd()}, want: refused("CustomResourceDefinition foos.example.com of foo.v1")},
		"ClusterRole": {reason: "So is a ClusterRole.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), clusterRole("all")}, want: refused("ClusterRole all of foo.v1")},
		"ClusterPermissions": {reason: "A ClusterServiceVersion is namespaced, but what it asks for is not.",
			objects: []*unstructured.Unstructured{asking(anywhere)}, want: refused("clusterPermissions of foo.v1")},
		"PermissionsElsewhere": {reason: "Permissions are given in each namespace that the group names, and the group is the namespace admin's to write.",
			objects: []*unstructured.Unstructured{asking(here)}, targets: []string{"default", "kube-system"},
			want: refused("permissions of foo.v1 in the namespaces of OperatorGroup mine")},
		"PermissionsEverywhere": {reason: "All namespaces are others, too.",
			objects: []*unstructured.Unstructured{asking(here)}, targets: []string{""},
			want: refused("permissions of foo.v1 in the namespaces of OperatorGroup mine")},
		"NoPermissions": {reason: "Who asks for nothing gets nothing elsewhere.",
			objects: []*unstructured.Unstructured{csv("foo.v1")}, targets: []string{""}},
		"UnknownKind": {reason: "A kind of which nothing is known may be anything.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), object(`{"apiVersion":"odd.com/v1","kind":"Odd","metadata":{"name":"odd"}}`)},
			want:    refused("Odd odd of foo.v1")},
		"NotAStrategy": {reason: "What cannot be read is not trusted.",
			objects: []*unstructured.Unstructured{asking(`{"permissions":"all"}`)},
			want:    refused("ClusterServiceVersion foo.v1: cannot restore slice from string")},
		"OwnKind": {reason: "A custom resource of a namespaced kind that the bundle brings stays in the namespace.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), crd(), foo}, want: refused("CustomResourceDefinition foos.example.com of foo.v1")},
		"OwnWideKind": {reason: "One of a kind that is cluster-scoped does not.",
			objects: []*unstructured.Unstructured{csv("foo.v1"), wide, foo},
			want:    refused("CustomResourceDefinition foos.example.com of foo.v1, Foo foo of foo.v1")},
		"Many": {reason: "Five are named, the rest is counted.", objects: append(many, csv("foo.v1")),
			want: refused("ClusterRole role-0 of foo.v1, ClusterRole role-1 of foo.v1, ClusterRole role-2 of foo.v1, ClusterRole role-3 of foo.v1, ClusterRole role-4 of foo.v1 and 2 more")},
		"GlobalCatalog": {reason: "Who writes a global catalog is trusted with the cluster.", from: "olm",
			objects: []*unstructured.Unstructured{asking(anywhere), crd(), clusterRole("all")}, targets: []string{""}},
		"ServiceAccount": {reason: "As an account of the namespace, the API server judges each step.", account: "installer",
			objects: []*unstructured.Unstructured{asking(anywhere), crd(), clusterRole("all")}, targets: []string{""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.from == "" {
				tc.from = "default"
			}
			if tc.targets == nil {
				tc.targets = []string{"default"}
			}
			in := scope(tc.targets...)
			in.Group.Spec.ServiceAccountName = tc.account
			steps := stepsOf(t, tc.from, tc.objects...)
			scopes := (&Reconciler{Client: cluster(t, nothing)}).scopes(steps)
			if diff := cmp.Diff(tc.want, Allowed(steps, in, "olm", scopes)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAllowedOfSeveralCatalogs: each step is judged by the catalog that it comes from.
func TestAllowedOfSeveralCatalogs(t *testing.T) {
	namespaced := func(k schema.GroupVersionKind) bool { return k.Kind != "ClusterRole" }
	steps := append(stepsOf(t, "olm", csv("foo.v1"), clusterRole("trusted")), stepsOf(t, "default", csv("foo.v1"), clusterRole("own"))...)
	problem := Allowed(steps, scope("default"), "olm", namespaced)
	if problem == nil || !strings.HasPrefix(problem.Message, "ClusterRole own of foo.v1 would reach") {
		t.Errorf("got %+v; want the namespace's own alone to be refused", problem)
	}
}

func TestMayReachBeyond(t *testing.T) {
	for _, tc := range []struct {
		account, from, global string
		want                  bool
	}{
		{"", "default", "olm", false},
		{"", "olm", "olm", true},
		{"installer", "default", "olm", true},
		{"installer", "olm", "olm", true},
		{"", "", "olm", false}, // nobody knows where it came from
	} {
		g := group()
		g.Spec.ServiceAccountName = tc.account
		if got := MayReachBeyond(g, tc.from, tc.global); got != tc.want {
			t.Errorf("as %q, from a catalog in %q, with %s global: %t; want %t", tc.account, tc.from, tc.global, got, tc.want)
		}
	}
}
