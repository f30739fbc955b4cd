package real

import (
	"fmt"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/e2e/images"
	"github.com/operator-status/operator-status/e2e/samples"
	foov1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestManifests installs what `make build-installer` writes to dist/install.yaml, as the README tells, updates it, and
// deletes it. Nothing is left.
func TestManifests(t *testing.T) {
	registry := images.Of(t, clusterDir)
	remove := install(t, "default", registry.Manager(t, images.Current), 1)
	f := newFoos(t, "manifests")
	p := f.probe(t)
	f.migrating(t, "a")
	f.await(t, p, "Upgradeable=False/NotUpgradeable")

	install(t, "default", registry.Manager(t, images.Next), 1)
	f.migrating(t, "b")
	cluster.Await(t, p, func() string {
		if len(p.Status.ProbeResources) != 2 {
			return "the new version does not report the second Foo"
		}
		return ""
	})
	remove()
}

// TestLifecycleManifests installs what `make build-installer` writes to dist/install-lifecycle.yaml, on a cluster without
// OLM. It installs a real operator and holds its update, even while it is itself updated.
func TestLifecycleManifests(t *testing.T) {
	registry := images.Of(t, clusterDir)
	remove := install(t, "lifecycle", registry.Manager(t, images.Current), 1)
	cluster := cluster.Rediscovered(t)
	namespace := cluster.Namespace(t, "sample")
	operator, versions := registry.Sample(t), samples.Versions()
	offer := func(versions ...string) {
		t.Helper()
		pkg, err := samples.Package(samples.Annotated, func(string) string { return operator }, versions...)
		if err != nil {
			t.Fatal(err)
		}
		config, err := testcatalog.Config(pkg)
		if err != nil {
			t.Fatal(err)
		}
		cluster.OfferCatalog(t, client.ObjectKey{Namespace: global, Name: namespace}, config)
	}
	offer(versions[0])
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{namespace}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: samples.Annotated}, Spec: &olm.SubscriptionSpec{
		Package: samples.Annotated, Channel: "stable", CatalogSource: namespace, CatalogSourceNamespace: global,
	}}
	cluster.Create(t, group, sub)
	former, latter := samples.CSV(samples.Annotated, versions[0]), samples.CSV(samples.Annotated, versions[1])
	runs := func(csv string) {
		t.Helper()
		cluster.AwaitWithin(t, patience, sub, func() string {
			if sub.Status.InstalledCSV != csv || !sub.Status.UpToDate {
				return fmt.Sprintf("installedCSV is %q, UpToDate %v: %s", sub.Status.InstalledCSV, sub.Status.UpToDate, sub.Status.Message)
			}
			return ""
		})
	}
	held := func() {
		t.Helper()
		cluster.Await(t, sub, func() string {
			if c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld); c.Status != corev1.ConditionTrue || sub.Status.InstalledCSV != former {
				return fmt.Sprintf("installedCSV is %q, UpgradeHeld %s: %s", sub.Status.InstalledCSV, c.Status, c.Message)
			}
			return ""
		})
	}
	runs(former)
	foo := samples.NewFoo(t, cluster, namespace, "data")
	samples.AwaitFoo(t, cluster, foo, "1.0.0", metav1.ConditionFalse)
	samples.Change(t, cluster, foo, func(spec *foov1.FooSpec) { spec.Version, spec.Hold = "1.1.0", true })
	samples.AwaitFoo(t, cluster, foo, "1.0.0", metav1.ConditionTrue)
	offer(versions...)
	held()
	install(t, "lifecycle", registry.Manager(t, images.Next), 1)
	held()
	samples.Change(t, cluster, foo, func(spec *foov1.FooSpec) { spec.Hold = false })
	runs(latter)
	samples.AwaitFoo(t, cluster, foo, "1.1.0", metav1.ConditionFalse)

	for _, o := range []client.Object{sub, &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: latter}}} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		cluster.AwaitGone(t, o)
	}
	remove()
}

// global is the namespace of catalogs that are trusted with the cluster.
const global = manager.DefaultGlobalCatalogNamespace

// patience is how long installing an operator may take: its image is pulled.
const patience = 2 * time.Minute

// awaitDeployments waits until all pods of operator-status are of the current version and available.
func awaitDeployments(t *testing.T) {
	t.Helper()
	list := &appsv1.DeploymentList{}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testcluster.ManagerAccount.Namespace}}
	cluster.AwaitWithin(t, patience, namespace, func() string {
		if err := cluster.Client.List(t.Context(), list, client.InNamespace(namespace.Name)); err != nil {
			return err.Error()
		}
		for _, d := range list.Items {
			s, want := d.Status, *d.Spec.Replicas
			if s.ObservedGeneration < d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
				return fmt.Sprintf("of %d pods of %s, %d exist, %d are updated and %d available", want, d.Name, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
			}
		}
		return ""
	})
}
