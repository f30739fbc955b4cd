package platform

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// global is the namespace of catalogs that are visible from every namespace.
const global = "olm"

// stage is a catalog and a manager that uses it as its default catalog.
type stage struct {
	catalog types.NamespacedName
	manager *testcluster.Manager
}

// newStage serves packages and starts a manager with them as its default catalog.
func newStage(t *testing.T, packages ...testcatalog.Package) *stage {
	t.Helper()
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	return newStageOf(t, config)
}

// newStageOf is newStage with a catalog instead of packages.
func newStageOf(t *testing.T, config declcfg.DeclarativeConfig) *stage {
	t.Helper()
	s := newCatalog(t)
	s.offerConfig(t, config)
	s.manager = cluster.StartManager(t, s.flags()...)
	return s
}

// flags returns the flags of the stage's manager.
func (s *stage) flags() []string {
	return []string{"--default-catalog=" + s.catalog.String(), "--degraded-inertia=" + inertia.String()}
}

// newCatalog returns a stage without catalog contents or a manager.
func newCatalog(t *testing.T) *stage {
	t.Helper()
	s := &stage{catalog: types.NamespacedName{Namespace: global, Name: "catalog-" + rand.String(5)}}
	named := metav1.ObjectMeta{Namespace: s.catalog.Namespace, Name: s.catalog.Name}
	t.Cleanup(func() {
		for _, o := range []client.Object{&olm.CatalogSource{ObjectMeta: named}, &corev1.ConfigMap{ObjectMeta: named}} {
			if err := cluster.Client.Delete(context.Background(), o); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// offer replaces the contents of the catalog with packages.
func (s *stage) offer(t *testing.T, packages ...testcatalog.Package) {
	t.Helper()
	cluster.Offer(t, s.catalog, packages...)
}

// offerConfig replaces the contents of the catalog.
func (s *stage) offerConfig(t *testing.T, config declcfg.DeclarativeConfig) {
	t.Helper()
	cluster.OfferCatalog(t, s.catalog, config)
}

// publish returns a package whose annotation holds an update while a custom resource is Migrating.
func publish(t *testing.T, name string, versions ...string) testcatalog.Package {
	t.Helper()
	return testcatalog.Published(t, testcatalog.Holding(name, versions...)...)
}

// create creates a PlatformOperator with the name of its package and deletes it after the test.
func create(t *testing.T, name string, change ...func(*v1alpha1.PlatformOperator)) *v1alpha1.PlatformOperator {
	t.Helper()
	op := &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
	op.Spec.Package.Name = name
	for _, c := range change {
		c(op)
	}
	cluster.Create(t, op)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), op); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		cluster.AwaitGone(t, op)
	})
	return op
}

// registered holds the values of the API's constants.
var registered = testcluster.Registered()

// awaitConditions waits until the status is current and has conditions, as "Type=Status/Reason".
func awaitConditions(t *testing.T, op *v1alpha1.PlatformOperator, want ...string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		for _, c := range op.Status.Conditions {
			if !registered[c.Type] || !registered[c.Reason] {
				t.Errorf("condition %s or reason %s is not a constant of the API", c.Type, c.Reason)
			}
		}
		if op.Status.ObservedGeneration != op.Generation {
			return "the status is of an earlier generation"
		}
		return testcluster.Lacking(op.Status.Conditions, want...)
	})
}

// awaitRunning waits until a PlatformOperator reports that a version runs and is the newest, without problems.
func awaitRunning(t *testing.T, op *v1alpha1.PlatformOperator, version string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		if op.Status.Version != version {
			return fmt.Sprintf("version is %q, want %q", op.Status.Version, version)
		}
		return ""
	})
	awaitConditions(t, op, "Synced=True/Synced", "Ready=True/Available", "Installed=True/Installed", "Progressing=False/AsDesired", "UpToDate=True/NewestRuns")
	checkRelatedObjects(t, op)
}

// checkMessage checks that the message of a condition matches all the regular expressions.
func checkMessage(t *testing.T, op *v1alpha1.PlatformOperator, condition string, words ...string) {
	t.Helper()
	c := meta.FindStatusCondition(op.Status.Conditions, condition)
	for _, w := range words {
		if c == nil || !regexp.MustCompile(w).MatchString(c.Message) {
			t.Errorf("the message of %s does not match %q: %+v", condition, w, c)
		}
	}
}

// checkRelatedObjects checks that the related objects exist.
func checkRelatedObjects(t *testing.T, op *v1alpha1.PlatformOperator) {
	t.Helper()
	if len(op.Status.RelatedObjects) == 0 {
		t.Error("status lists no related objects")
	}
	for _, ref := range op.Status.RelatedObjects {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(ref.APIVersion)
		o.SetKind(ref.Kind)
		if err := cluster.Rediscovered(t).Client.Get(t.Context(), types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, o); err != nil {
			t.Errorf("related object %s %s/%s: %v", ref.Kind, ref.Namespace, ref.Name, err)
		}
	}
}

// subscriptionOf returns the Subscription of a PlatformOperator, with only its name and namespace.
func subscriptionOf(op *v1alpha1.PlatformOperator) *operatorsv1alpha1.Subscription {
	return &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: op.GetNamespaceToInstallIn(), Name: op.Name}}
}

func patch(t *testing.T, o client.Object, text string) {
	t.Helper()
	if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}

// apply creates objects in the namespace of a PlatformOperator. Their kinds may be new.
func apply(t *testing.T, op *v1alpha1.PlatformOperator, manifests string) {
	t.Helper()
	cluster.Rediscovered(t).Apply(t, op.GetNamespaceToInstallIn(), manifests)
}

// hasMigrated is a patch that sets Migrating of a custom resource to False.
var hasMigrated = client.RawPatch(types.MergePatchType,
	[]byte(`{"status":{"conditions":[{"type":"Migrating","status":"False","reason":"Test","message":""}]}}`))
