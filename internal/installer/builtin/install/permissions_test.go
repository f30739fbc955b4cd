package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Names that OLM v0.40 and v0.46 generate for these permissions of this CSV. They change with the input of the hash.
const (
	roleName        = "foo.v1-foo-3Hq1ApBIEIZ7bqFEdfbFc1yDLimecOobM9Gmgc"
	clusterRoleName = "foo.v1-4FYgUQ6j1hlZK2v7ZESwZHpy2GducKLWDooNuE"
)

func TestLiftedPermissions(t *testing.T) {
	out := rendered(t, plain(t, withPermissions(grants("foo", rule("get", "pods"))), withClusterPermissions(grants("foo", rule("get", "nodes")))))

	if diff := cmp.Diff([]rbacv1.PolicyRule{rule("get", "pods")}, found[*rbacv1.Role](t, out, roleName).Rules); diff != "" {
		t.Errorf("the role: -want, +got:\n%s", diff)
	}
	lifted := []rbacv1.PolicyRule{
		rule("get", "pods"),
		{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"namespaces"}},
	}
	if diff := cmp.Diff(lifted, found[*rbacv1.ClusterRole](t, out, roleName).Rules); diff != "" {
		t.Errorf("rules of the cluster role for namespaces: -want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]rbacv1.PolicyRule{rule("get", "nodes")}, found[*rbacv1.ClusterRole](t, out, clusterRoleName).Rules); diff != "" {
		t.Errorf("the cluster role: -want, +got:\n%s", diff)
	}
	binding := found[*rbacv1.ClusterRoleBinding](t, out, clusterRoleName)
	got := rbacv1.ClusterRoleBinding{RoleRef: binding.RoleRef, Subjects: binding.Subjects}
	want := rbacv1.ClusterRoleBinding{
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: clusterRoleName},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "operators", Name: "foo"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the binding: -want, +got:\n%s", diff)
	}
}

func TestOperatorCondition(t *testing.T) {
	out := rendered(t, plain(t, withPermissions(grants("foo"), grants("bar")), withClusterPermissions(grants("foo"))))
	var names []string
	for _, s := range found[*rbacv1.RoleBinding](t, out, "foo.v1").Subjects {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"foo", "foo", "bar"}, names); diff != "" {
		t.Errorf("the accounts, those of cluster permissions first: -want, +got:\n%s", diff)
	}
	want := []rbacv1.PolicyRule{{
		Verbs: []string{"get", "update", "patch"}, APIGroups: []string{"operators.coreos.com"},
		Resources: []string{"operatorconditions"}, ResourceNames: []string{"foo.v1"},
	}}
	if diff := cmp.Diff(want, found[*rbacv1.Role](t, out, "foo.v1").Rules); diff != "" {
		t.Errorf("the role: -want, +got:\n%s", diff)
	}
}

func TestAPIRoles(t *testing.T) {
	out := rendered(t, plain(t))
	for name, want := range map[string]rbacv1.PolicyRule{
		"admin": {Verbs: []string{"*"}, APIGroups: []string{"example.com"}, Resources: []string{"foos"}},
		"edit":  {Verbs: []string{"create", "update", "patch", "delete"}, APIGroups: []string{"example.com"}, Resources: []string{"foos"}},
		"view":  {Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"example.com"}, Resources: []string{"foos"}},
		"crdview": {Verbs: []string{"get"}, APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			ResourceNames: []string{"foos.example.com"}},
	} {
		role := found[*rbacv1.ClusterRole](t, out, "foos.example.com-v1-"+name)
		if diff := cmp.Diff([]rbacv1.PolicyRule{want}, role.Rules); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
	labels := map[string]string{
		"rbac.authorization.k8s.io/aggregate-to-view":                "true",
		"olm.opgroup.permissions/aggregate-to-d2b708116f971c41-view": "true",
		"olm.managed": "true",
	}
	if diff := cmp.Diff(labels, found[*rbacv1.ClusterRole](t, out, "foos.example.com-v1-crdview").Labels); diff != "" {
		t.Errorf("labels of the role to view the CRD: -want, +got:\n%s", diff)
	}
}

func TestGroupRoles(t *testing.T) {
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "group"}}
	csv := fooCSV()
	again := csv.DeepCopy()
	again.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: "foos.example.com", Version: "v1", Kind: "Foo"}}
	roles := GroupRoles(group, map[string]*v1alpha1.ClusterServiceVersion{"foo.v1": csv, "foo.v2": again})
	if len(roles) != 3 {
		t.Fatalf("got %d roles, want one for each access level", len(roles))
	}
	api := found[*rbacv1.ClusterRole](t, rendered(t, plain(t)), "foos.example.com-v1-admin")
	gathered := roles[0].AggregationRule.ClusterRoleSelectors
	if len(gathered) != 1 {
		t.Fatalf("got selectors %v, want one for the API", gathered)
	}
	for label := range gathered[0].MatchLabels {
		if api.Labels[label] != "true" {
			t.Errorf("the group's role selects label %s, which the role for the API does not have", label)
		}
	}
	if none := GroupRoles(group, nil); none[0].AggregationRule != nil || none[0].Name != roles[0].Name {
		t.Errorf("a group without operators has the role %+v, want the same name without an aggregation rule", none[0])
	}
	if diff := cmp.Diff("olm.og.group.admin-UdVC8TmyfgW8oV4l7P1k0ab8tmXcMSsgCEcUo", roles[0].GetName()); diff != "" {
		t.Errorf("the name: -want, +got:\n%s", diff)
	}
}
