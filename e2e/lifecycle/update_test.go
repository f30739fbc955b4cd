package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestUpdate verifies the life cycle of an operator: it is installed, an update is held while a custom resource is
// Migrating and then continues, objects of the old version move to the new one, the old one is deleted, and
// uninstalling the operator keeps its custom resources.
func TestUpdate(t *testing.T) {
	catalogs := "--catalog-dir=" + t.TempDir()
	manager := cluster.StartManager(t, catalogs)
	foo := func(version string) testcatalog.Foo {
		return testcatalog.Foo{Name: "update", Version: version, Upgradeable: "!Migrating"}
	}
	v1, v2 := foo("1.0.0"), foo("1.1.0")
	s := newStage(t, "update", publish(t, v1))
	sub := s.subscribe(t, "update")
	s.awaitInstalled(t, sub, v1.CSV())

	cr := s.custom(t, "update", "example", `[{type: Migrating, status: "True", reason: Moving, message: half way}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1.CSV()}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	owned := ownedBy(t, s, v1.CSV())

	cluster.AwaitNoneTerminating(t)     // namespaces of other tests
	cluster.AwaitIdle(t, 3*time.Second) // the objects of the first version are complete
	before := story.Snapshot(t, cluster, asksForUpdate)
	s.offer(t, publish(t, v1, v2))
	checkHeld := func() {
		t.Helper()
		s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "example", "Migrating", v1alpha1.AnnotationAllowUpgrade)
		if diff := cmp.Diff(before, story.Snapshot(t, cluster, asksForUpdate)); diff != "" {
			t.Errorf("the cluster has changed while the update is held:\n%s", diff)
		}
	}
	checkHeld()
	manager.Kill(t)
	manager = cluster.StartManager(t, catalogs)
	cluster.AwaitSynced(t)
	checkHeld()
	if sub.Status.UpToDate || sub.Status.InstalledCSV != v1.CSV() || sub.Status.CurrentCSV != v2.CSV() || !strings.Contains(sub.Status.Message, "Migrating") {
		t.Errorf("while the update is held, the status of the Subscription is wrong: %+v", sub.Status)
	}
	s.checkAbsent(t, s.csv(v2.CSV()))

	finishMigration(t, cr)
	start := time.Now()
	s.awaitInstalled(t, sub, v2.CSV())
	t.Logf("updated %s after the custom resource allowed it", time.Since(start).Round(100*time.Millisecond))
	cluster.AwaitGone(t, s.csv(v1.CSV()))
	s.await(t, owned, func() string {
		if len(owned.OwnerReferences) != 1 || owned.OwnerReferences[0].Name != v2.CSV() || !*owned.OwnerReferences[0].Controller {
			return fmt.Sprintf("its owners are %+v", owned.OwnerReferences)
		}
		return ""
	})
	s.checkDeployment(t, "update-operator", "example.com/update-operator:1.1.0", v2.CSV())
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeHeld, "update: The update to "+v2.CSV()+" is held")
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeReleased, v2.CSV())
	s.checkUninstall(t, sub, v2, cr)
	manager.CheckAlive(t)
}

// asksForUpdate selects the objects in which an update is asked for and planned.
func asksForUpdate(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case v1alpha1.SubscriptionKind, olm.CatalogSourceKind, olm.InstallPlanKind:
		return true
	case "ConfigMap":
		return o.GetNamespace() == global
	default:
		return false
	}
}

// TestOverride verifies that the allow-upgrade annotation ends a hold, but only for the version that it names.
func TestOverride(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo {
		return testcatalog.Foo{Name: "override", Version: version, Upgradeable: "!Migrating"}
	}
	v1, v2 := foo("1.0.0"), foo("2.0.0")
	s := newStage(t, "override", publish(t, v1))
	sub := s.subscribe(t, "override")
	s.awaitInstalled(t, sub, v1.CSV())
	s.custom(t, "override", "busy", `[{type: Migrating, status: "True"}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1.CSV()}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	s.offer(t, publish(t, v1, v2))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable)
	for _, csv := range []string{"override-operator.v9", v2.CSV()} {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.AnnotationAllowUpgrade, csv)
		if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		if csv != v2.CSV() {
			s.checkAbsent(t, s.csv(v2.CSV()))
		}
	}
	s.awaitInstalled(t, sub, v2.CSV())
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeOverridden, "")
}

// TestManual verifies that a plan waits for approval and its message states how to approve it.
func TestManual(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	v1 := testcatalog.Foo{Name: "manual", Version: "1.0.0"}
	s := newStage(t, "manual", publish(t, v1))
	sub := s.subscribe(t, "manual", func(sub *v1alpha1.Subscription) { sub.Spec.InstallPlanApproval = olm.ApprovalManual })
	s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, v1alpha1.ReasonRequiresApproval)
	s.checkAbsent(t, s.csv(v1.CSV()))
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: sub.Status.InstallPlanRef.Name}}
	s.await(t, plan, func() string {
		if plan.Status.Phase != olm.InstallPlanPhaseRequiresApproval || !strings.Contains(plan.Status.Message, "kubectl patch installplan.operators.coreos.com") {
			return string(plan.Status.Phase) + plan.Status.Message
		}
		return ""
	})
	if err := cluster.Client.Patch(t.Context(), plan, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approved":true}}`))); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, v1.CSV())
}

// TestDependency verifies that an operator that requires another's custom resources is installed together with it and
// with a Subscription that keeps the dependency up to date.
func TestDependency(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	etcd := testcatalog.Foo{Name: "etcd", Version: "0.9.0"}
	vault := testcatalog.Foo{Name: "vault", Version: "1.0.0", Requires: []string{"etcd"}}
	s := newStage(t, "vault", publish(t, vault), publish(t, etcd))
	sub := s.subscribe(t, "vault")
	s.awaitInstalled(t, sub, vault.CSV())
	dependency := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "etcd-stable-" + s.catalog.Name + "-" + global}}
	s.awaitInstalled(t, dependency, etcd.CSV())
	plan := &olm.InstallPlan{}
	if err := cluster.Client.Get(t.Context(), s.key(sub.Status.InstallPlanRef.Name), plan); err != nil {
		t.Fatal(err)
	}
	var steps []string
	for _, step := range plan.Status.Plan {
		steps = append(steps, step.Resource.Kind+" "+step.Resource.Name)
	}
	for _, want := range []string{
		"ClusterServiceVersion " + vault.CSV(), "CustomResourceDefinition " + vault.CRD(),
		"ClusterServiceVersion " + etcd.CSV(), "CustomResourceDefinition " + etcd.CRD(),
	} {
		if !strings.Contains(strings.Join(steps, "\n"), want) {
			t.Errorf("the plan has no step %s: %v", want, steps)
		}
	}
}

// checkAbsent checks that an object does not exist. The caller has already waited for a status that explains why.
func (s *stage) checkAbsent(t *testing.T, o client.Object) {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err == nil {
		s.logState(t)
		t.Errorf("%T %s exists, want not found", o, o.GetName())
	}
}

// ownedBy creates a ConfigMap whose controller is a ClusterServiceVersion, as operators do.
func ownedBy(t *testing.T, s *stage, name string) *corev1.ConfigMap {
	t.Helper()
	owner := &v1alpha1.ClusterServiceVersion{}
	if err := cluster.Client.Get(t.Context(), s.key(name), owner); err != nil {
		t.Fatal(err)
	}
	out := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "owned"}}
	out.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))}
	cluster.Create(t, out)
	return out
}

// checkNotUpgradeable returns an empty string if a Probe reports Upgradeable as False.
func checkNotUpgradeable(probe *v1alpha1.Probe) string {
	for _, c := range probe.Status.Conditions {
		if c.Type == v1alpha1.ConditionUpgradeable && c.Status == metav1.ConditionFalse {
			return ""
		}
	}
	return fmt.Sprintf("its conditions are %+v", probe.Status.Conditions)
}

// checkDeployment checks the image, the owner and the OPERATOR_CONDITION_NAME of a Deployment.
func (s *stage) checkDeployment(t *testing.T, name, image, csv string) {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := cluster.Client.Get(t.Context(), s.key(name), d); err != nil {
		t.Fatal(err)
	}
	container := d.Spec.Template.Spec.Containers[0]
	got := false
	for _, e := range container.Env {
		got = got || e.Name == "OPERATOR_CONDITION_NAME" && e.Value == csv
	}
	if container.Image != image || !got || len(d.OwnerReferences) != 1 || d.OwnerReferences[0].Name != csv {
		t.Errorf("Deployment %s runs %s, owners %+v, env %+v", name, container.Image, d.OwnerReferences, container.Env)
	}
}

// checkUninstall deletes a Subscription and its ClusterServiceVersion and checks that their objects are deleted,
// except the custom resource and its CustomResourceDefinition.
func (s *stage) checkUninstall(t *testing.T, sub *v1alpha1.Subscription, f testcatalog.Foo, cr client.Object) {
	t.Helper()
	for _, o := range []client.Object{sub, s.csv(f.CSV())} {
		if err := cluster.Client.Delete(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.AwaitGone(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: f.Name + "-operator"}})
	labels := client.MatchingLabels{"olm.owner": f.CSV(), "olm.owner.namespace": s.namespace}
	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}} {
		awaitNone(t, list, labels)
	}
	for _, o := range []client.Object{cr, &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: f.CRD()}}} {
		if err := cluster.Client.Get(context.Background(), client.ObjectKeyFromObject(o), o); err != nil || o.GetDeletionTimestamp() != nil {
			t.Errorf("%s was deleted with the operator: %v", o.GetName(), err)
		}
	}
}
