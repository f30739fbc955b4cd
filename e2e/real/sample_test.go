package real

import (
	"fmt"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/e2e/images"
	"github.com/operator-status/operator-status/e2e/samples"
	foov1 "github.com/operator-status/operator-status/e2e/samples/foo/v1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// sample is an operator that the built-in loops installed, and whose update is held while it migrates a Foo.
type sample struct {
	cluster        *testcluster.Cluster // which knows the kinds that were installed
	namespace      string
	sub            *v1alpha1.Subscription
	foo            *foov1.Foo
	former, latter string // the ClusterServiceVersions
}

// newSample installs the sample, has it migrate a Foo, offers the next version and waits until that is held.
func newSample(t *testing.T, registry images.Registry) *sample {
	t.Helper()
	s := &sample{cluster: cluster.Rediscovered(t)}
	s.namespace = s.cluster.Namespace(t, "sample")
	operator, versions := registry.Sample(t), samples.Versions()
	s.former, s.latter = samples.CSV(samples.Annotated, versions[0]), samples.CSV(samples.Annotated, versions[1])
	s.offer(t, operator, versions[0])
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{s.namespace}
	s.sub = &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: samples.Annotated}, Spec: &olm.SubscriptionSpec{
		Package: samples.Annotated, Channel: "stable", CatalogSource: s.namespace, CatalogSourceNamespace: global,
	}}
	s.cluster.Create(t, group, s.sub)
	awaitRunning(t, s.cluster, s.sub, s.former)

	s.foo = samples.NewFoo(t, s.cluster, s.namespace, "data")
	samples.AwaitFoo(t, s.cluster, s.foo, "1.0.0", metav1.ConditionFalse)
	samples.Change(t, s.cluster, s.foo, func(spec *foov1.FooSpec) { spec.Version, spec.Hold = "1.1.0", true })
	samples.AwaitFoo(t, s.cluster, s.foo, "1.0.0", metav1.ConditionTrue)
	s.offer(t, operator, versions...)
	s.awaitHeld(t)
	return s
}

// offer offers versions of the sample that run an image.
func (s *sample) offer(t *testing.T, image string, versions ...string) {
	t.Helper()
	pkg, err := samples.Package(samples.Annotated, func(string) string { return image }, versions...)
	if err != nil {
		t.Fatal(err)
	}
	s.cluster.Offer(t, client.ObjectKey{Namespace: global, Name: s.namespace}, pkg)
}

// awaitHeld waits until the update is held.
func (s *sample) awaitHeld(t *testing.T) {
	t.Helper()
	s.cluster.Await(t, s.sub, func() string {
		if c := s.sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld); c.Status != corev1.ConditionTrue || s.sub.Status.InstalledCSV != s.former {
			return fmt.Sprintf("installedCSV is %q, UpgradeHeld %s: %s", s.sub.Status.InstalledCSV, c.Status, c.Message)
		}
		return ""
	})
}

// finish ends the migration, waits until the next version has migrated the Foo, and uninstalls the sample.
func (s *sample) finish(t *testing.T) {
	t.Helper()
	samples.Change(t, s.cluster, s.foo, func(spec *foov1.FooSpec) { spec.Hold = false })
	awaitRunning(t, s.cluster, s.sub, s.latter)
	samples.AwaitFoo(t, s.cluster, s.foo, "1.1.0", metav1.ConditionFalse)
	uninstall(t, s.cluster, s.sub, s.latter)
}

// awaitRunning waits until a Subscription reports that a version runs and is the newest.
func awaitRunning(t *testing.T, c *testcluster.Cluster, sub *v1alpha1.Subscription, csv string) {
	t.Helper()
	c.AwaitWithin(t, patience, sub, func() string {
		if sub.Status.InstalledCSV != csv || !sub.Status.UpToDate {
			return fmt.Sprintf("installedCSV is %q, UpToDate %v: %s", sub.Status.InstalledCSV, sub.Status.UpToDate, sub.Status.Message)
		}
		return ""
	})
}

// uninstall deletes a Subscription and its ClusterServiceVersion.
func uninstall(t *testing.T, c *testcluster.Cluster, sub *v1alpha1.Subscription, csv string) {
	t.Helper()
	for _, o := range []client.Object{sub, &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: sub.Namespace, Name: csv}}} {
		if err := c.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		c.AwaitGone(t, o)
	}
}
