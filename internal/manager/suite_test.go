package manager_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// cluster is shared by the tests that need no API server of their own. Each test has its own namespaces and CRDs.
var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the manager is a separate process with its own log
	os.Exit(testcluster.Run(m, func(c *testcluster.Cluster) { cluster = c }))
}

const (
	upgradeableNotMigrating = `olm.operatorframework.io/condition.Upgradeable: "!Migrating"`
	importantConnectivity   = `olm.operatorframework.io/condition.Important: "BadConnectivity || UnhealthyDatabase"`
)

// csv returns a ClusterServiceVersion that owns CustomResourceDefinitions and runs as the account foo-operator.
func csv(namespace, name string, owned ...string) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	out.Spec.DisplayName = name
	out.Spec.InstallStrategy.StrategyName = olm.InstallStrategyNameDeployment
	out.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []olm.StrategyDeploymentSpec{}
	out.Spec.InstallStrategy.StrategySpec.Permissions = []olm.StrategyDeploymentPermissions{
		{ServiceAccountName: "foo-operator", Rules: []rbacv1.PolicyRule{}},
	}
	for _, o := range owned {
		out.Spec.CustomResourceDefinitions.Owned = append(out.Spec.CustomResourceDefinitions.Owned,
			olm.CRDDescription{Name: o, Version: "v1", Kind: "Foo"})
	}
	return out
}

// account creates the service account foo-operator, with permission to read a group in all namespaces.
func account(t testing.TB, c *testcluster.Cluster, namespace, group string) {
	t.Helper()
	c.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator"}})
	grantAll(t, c, namespace, group)
}

func grantAll(t testing.TB, c *testcluster.Cluster, namespace, group string) {
	t.Helper()
	name := "foo-operator-of-" + namespace
	c.Create(t,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "foo-operator"}},
		})
}

// grantIn lets foo-operator of one namespace read a group in another, by a Role.
func grantIn(t testing.TB, c *testcluster.Cluster, accountNamespace, namespace, group string) {
	t.Helper()
	c.Create(t,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{group}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "foo-operator"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: accountNamespace, Name: "foo-operator"}},
		})
}

func newFoo(group, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Foo"}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// foo creates a Foo with conditions, each "Type=Status".
func foo(t testing.TB, c *testcluster.Cluster, group, namespace, name string, conditions ...string) *unstructured.Unstructured {
	t.Helper()
	o := newFoo(group, namespace, name)
	c.Create(t, o)
	if len(conditions) > 0 {
		setConditions(t, c, o, conditions...)
	}
	return o
}

func getFoo(t testing.TB, group, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := newFoo(group, namespace, name)
	if err := cluster.Client.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, o); err != nil {
		t.Fatalf("getting Foo %s/%s: %v", namespace, name, err)
	}
	return o
}

// setConditions replaces the conditions of a Foo, each "Type=Status".
func setConditions(t testing.TB, c *testcluster.Cluster, o *unstructured.Unstructured, conditions ...string) {
	t.Helper()
	list := []any{}
	for _, condition := range conditions {
		conditionType, status, _ := strings.Cut(condition, "=")
		list = append(list, map[string]any{"type": conditionType, "status": status, "reason": "Test"})
	}
	o.Object["status"] = map[string]any{"conditions": list}
	if err := c.Client.Status().Update(context.Background(), o); err != nil {
		t.Fatalf("updating the status of Foo %s: %v", o.GetName(), err)
	}
}

func crdNamed(name string) *apiextensions.CustomResourceDefinition {
	return &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// annotate sets the upgradeable annotation of a CustomResourceDefinition, or removes it if upgradeable is empty.
func annotate(t testing.TB, crd, upgradeable string) {
	t.Helper()
	o := crdNamed(crd)
	if err := cluster.Client.Get(context.Background(), key(o), o); err != nil {
		t.Fatal(err)
	}
	before := o.DeepCopy()
	if upgradeable == "" {
		delete(o.Annotations, v1alpha1.AnnotationUpgradeable)
	} else {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.AnnotationUpgradeable, upgradeable)
	}
	if err := cluster.Client.Patch(context.Background(), o, client.MergeFrom(before)); err != nil {
		t.Fatalf("annotating %s: %v", crd, err)
	}
}

func mustDelete(t testing.TB, o client.Object) {
	t.Helper()
	if err := cluster.Client.Delete(context.Background(), o); err != nil {
		t.Fatalf("deleting %T %s: %v", o, o.GetName(), err)
	}
}

func probeNamed(namespace, name string) *v1alpha1.Probe {
	return &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// userProbe returns a Probe that a user manages.
func userProbe(namespace, name string, resources ...v1alpha1.ProbeResource) *v1alpha1.Probe {
	p := probeNamed(namespace, name)
	p.Spec = &v1alpha1.ProbeSpec{ServiceAccountName: "foo-operator", ProbeResources: resources}
	return p
}

// awaitProbe waits until a Probe's conditions are "Type=Status/Reason", and returns it. Every type and reason seen
// meanwhile must be registered.
func awaitProbe(t testing.TB, c *testcluster.Cluster, key types.NamespacedName, want ...string) *v1alpha1.Probe {
	t.Helper()
	p := probeNamed(key.Namespace, key.Name)
	c.Await(t, p, func() string {
		checkRegistered(t, p)
		if lacking := testcluster.Lacking(p.Status.Conditions, want...); lacking != "" {
			return lacking
		}
		if p.Spec != nil && p.Spec.Manager != v1alpha1.ManagerOperator && p.Status.ObservedGeneration != p.Generation {
			return "the status is of an earlier generation"
		}
		return ""
	})
	return p
}

// checkRegistered verifies that every type and reason that operator-status writes is a constant of the API.
func checkRegistered(t testing.TB, p *v1alpha1.Probe) {
	t.Helper()
	if p.Spec == nil || p.Spec.Manager == v1alpha1.ManagerOperator {
		return
	}
	for _, c := range p.Status.Conditions {
		if !registered[c.Type] || !registered[c.Reason] {
			t.Errorf("Probe %s: condition %s or reason %s is not a constant of the API", p.Name, c.Type, c.Reason)
		}
	}
}

// registered are the values of the API's constants.
var registered = testcluster.Registered()

func message(p *v1alpha1.Probe, conditionType string) string {
	c := meta.FindStatusCondition(p.Status.Conditions, conditionType)
	if c == nil {
		return ""
	}
	return c.Message
}

func checkEqual(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got\n%s", what, diff)
	}
}

func key(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }

func replace(s, old, with string) string { return strings.Replace(s, old, with, 1) }
