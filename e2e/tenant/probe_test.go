package tenant

import (
	"fmt"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestManyWatches verifies that a Probe with too many resources and namespaces, which once took 10,240 watches and 614
// MiB, is rejected with TooManyWatches while others are still read. Namespaces that do not exist need no watches.
func TestManyWatches(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	namespace := cluster.Namespace(t, "fan")
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "operator"}
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: meta}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: meta.Name}},
	})
	hostile := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hostile"}, Spec: &v1alpha1.ProbeSpec{ServiceAccountName: meta.Name}}
	for i := range 256 {
		hostile.Spec.Namespaces = append(hostile.Spec.Namespaces, fmt.Sprintf("no-such-%d", i))
	}
	absent := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "absent"}, Spec: hostile.Spec.DeepCopy()}
	for i := range 26 {
		hostile.Spec.Namespaces[i] = cluster.Namespace(t, "fan-out")
	}
	for i := range 40 {
		name := fmt.Sprintf("f%ds.fan.example.com", i)
		cluster.Apply(t, "", fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s}
spec:
  group: fan.example.com
  scope: Namespaced
  names: {plural: f%[1]ds, singular: f%[1]d, kind: F%[1]d, listKind: F%[1]dList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, i, name))
		hostile.Spec.ProbeResources = append(hostile.Spec.ProbeResources, v1alpha1.ProbeResource{Name: name, Upgradeable: "!Migrating"})
	}
	absent.Spec.ProbeResources = hostile.Spec.ProbeResources
	modest := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "modest"}, Spec: &v1alpha1.ProbeSpec{
		ServiceAccountName: meta.Name, ProbeResources: hostile.Spec.ProbeResources[:1],
	}}
	cluster.Create(t, operatorOf(modest), operatorOf(absent), operatorOf(hostile), modest)
	cluster.Await(t, modest, func() string { return testcluster.Lacking(modest.Status.Conditions, "Synced=True/Synced") })
	before := manager.PeakMemory(t)
	cluster.Create(t, absent)
	cluster.Await(t, absent, func() string {
		return testcluster.Lacking(absent.Status.Conditions, "Upgradeable=True/NoResources", "Synced=False/NamespaceNotFound")
	})
	cluster.Create(t, hostile)
	cluster.Await(t, hostile, func() string { return testcluster.Lacking(hostile.Status.Conditions, "Synced=False/TooManyWatches") })
	cluster.Await(t, modest, func() string { return testcluster.Lacking(modest.Status.Conditions, "Synced=True/Synced") })
	if grown := (manager.PeakMemory(t) - before) >> 20; grown > 64 {
		t.Errorf("the rejected Probe used %d MiB of memory", grown)
	}
}

// TestProbeAfterRightsRevoked verifies that a Probe that is created after its account lost its rights does not read through a
// watch that another Probe started before.
func TestProbeAfterRightsRevoked(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	cluster.Apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: deals.late.example.com}
spec:
  group: late.example.com
  scope: Namespaced
  names: {plural: deals, singular: deal, kind: Deal, listKind: DealList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}, subresources: {status: {}}}
`)
	namespace, victim := cluster.Namespace(t, "late"), cluster.Namespace(t, "victim")
	account := metav1.ObjectMeta{Namespace: namespace, Name: "operator"}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account.Name}},
	}
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: account}, binding)
	probe := func(name, expression string) *v1alpha1.Probe {
		out := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: &v1alpha1.ProbeSpec{
			ServiceAccountName: account.Name, ProbeResources: []v1alpha1.ProbeResource{{Name: "deals.late.example.com", Upgradeable: expression}},
		}}
		cluster.Create(t, operatorOf(out), out)
		return out
	}
	first := probe("first", "!Insolvent")
	cluster.Await(t, first, func() string { return testcluster.Lacking(first.Status.Conditions, "Synced=True/Synced") })
	if err := cluster.Client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, binding)
	operator := clientOf(t, "system:serviceaccount:"+namespace+":"+account.Name)
	cluster.Await(t, first, func() string { // the authorizer learns of it a moment later
		if err := operator.List(t.Context(), &apiextensions.CustomResourceDefinitionList{}); !apierrors.IsForbidden(err) {
			return fmt.Sprintf("the account still has its rights: %v", err)
		}
		return ""
	})
	cluster.Rediscovered(t).Apply(t, victim,
		"apiVersion: late.example.com/v1\nkind: Deal\nmetadata: {name: merger}\nstatus: {conditions: [{type: Solvent, status: \"False\"}]}\n")
	late := probe("late", "Solvent")
	cluster.Await(t, late, func() string { return testcluster.Lacking(late.Status.Conditions, "Synced=False/Forbidden") })
	if got := fmt.Sprintf("%+v", late.Status); strings.Contains(got, "merger") {
		t.Errorf("the status names a custom resource that the account may not read: %s", got)
	}
}

// operatorOf returns the ClusterServiceVersion that a Probe is named after, with the same target namespaces.
func operatorOf(probe *v1alpha1.Probe) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: probe.Namespace, Name: probe.Name}}
	out.Annotations = map[string]string{operatorsv1.OperatorGroupTargetsAnnotationKey: strings.Join(probe.Spec.Namespaces, ",")}
	out.Spec.DisplayName = probe.Name
	out.Spec.InstallStrategy.StrategyName = olm.InstallStrategyNameDeployment
	out.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []olm.StrategyDeploymentSpec{}
	return out
}
