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
	"github.com/operator-status/operator-status/internal/testcatalog"
	"github.com/operator-status/operator-status/internal/testcluster"
)

// global is the namespace of the catalogs that every namespace can see.
const global = "olm"

// stage is a catalog that is the manager's default one.
type stage struct {
	catalog types.NamespacedName
	manager *testcluster.Manager
}

// newStage serves packages, and starts a manager for which they are those that PlatformOperators mean.
func newStage(t *testing.T, packages ...testcatalog.Package) *stage {
	t.Helper()
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	return newStageOf(t, config)
}

// newStageOf does so with a catalog.
func newStageOf(t *testing.T, config declcfg.DeclarativeConfig) *stage {
	t.Helper()
	s := newCatalog(t)
	s.offerConfig(t, config)
	s.manager = cluster.StartManager(t, s.flags()...)
	return s
}

// flags are those of its manager.
func (s *stage) flags() []string {
	return []string{"--default-catalog=" + s.catalog.String(), "--degraded-inertia=" + inertia.String()}
}

// newCatalog is a stage whose catalog is still to be offered, and without a manager.
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

// offer puts packages into the catalog, in place of what is there.
func (s *stage) offer(t *testing.T, packages ...testcatalog.Package) {
	t.Helper()
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	s.offerConfig(t, config)
}

// offerConfig puts a catalog in the place of the one that is there.
func (s *stage) offerConfig(t *testing.T, config declcfg.DeclarativeConfig) {
	t.Helper()
	cluster.OfferCatalog(t, s.catalog, config)
}

// publish is a package of versions, which asks to be held while a custom resource is Migrating.
func publish(t *testing.T, name string, versions ...string) testcatalog.Package {
	t.Helper()
	return foosOf(t, testcatalog.Holding(name, versions...)...)
}

func foosOf(t *testing.T, foos ...testcatalog.Foo) testcatalog.Package {
	t.Helper()
	out, err := testcatalog.Publish(foos...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// create creates a PlatformOperator under the name of its package.
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

// registered are the values of the API's constants.
var registered = testcluster.Registered()

// says waits until conditions are "Type=Status/Reason".
func says(t *testing.T, op *v1alpha1.PlatformOperator, want ...string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		for _, c := range op.Status.Conditions {
			if !registered[c.Type] || !registered[c.Reason] {
				t.Errorf("condition %s or reason %s is no constant of the API", c.Type, c.Reason)
			}
		}
		if op.Status.ObservedGeneration != op.Generation {
			return "the status is of an earlier generation"
		}
		return testcluster.Lacking(op.Status.Conditions, want...)
	})
}

// runs waits until a PlatformOperator says that this version runs, is the newest, and all is well.
func runs(t *testing.T, op *v1alpha1.PlatformOperator, version string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		if op.Status.Version != version {
			return fmt.Sprintf("version is %q, not %q", op.Status.Version, version)
		}
		return ""
	})
	says(t, op, "Synced=True/Synced", "Ready=True/Available", "Installed=True/Installed", "Progressing=False/AsDesired", "UpToDate=True/NewestRuns")
	resolvable(t, op)
}

// tells checks that the message of a condition contains the words.
func tells(t *testing.T, op *v1alpha1.PlatformOperator, condition string, words ...string) {
	t.Helper()
	c := meta.FindStatusCondition(op.Status.Conditions, condition)
	for _, w := range words {
		if c == nil || !regexp.MustCompile(w).MatchString(c.Message) {
			t.Errorf("%s does not tell %q: %+v", condition, w, c)
		}
	}
}

// resolvable checks that the related objects are there.
func resolvable(t *testing.T, op *v1alpha1.PlatformOperator) {
	t.Helper()
	if len(op.Status.RelatedObjects) == 0 {
		t.Error("there are no related objects")
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

// subscriptionOf is the Subscription that a PlatformOperator is made of.
func subscriptionOf(op *v1alpha1.PlatformOperator) *operatorsv1alpha1.Subscription {
	return &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: op.GetNamespaceToInstallIn(), Name: op.Name}}
}

// patch changes an object by a merge patch.
func patch(t *testing.T, o client.Object, text string) {
	t.Helper()
	if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}

// apply creates objects in the namespace of a PlatformOperator, with kinds that may have come just now.
func apply(t *testing.T, op *v1alpha1.PlatformOperator, manifests string) {
	t.Helper()
	cluster.Rediscovered(t).Apply(t, op.GetNamespaceToInstallIn(), manifests)
}

// hasMigrated has a custom resource say that it is Migrating no more.
var hasMigrated = client.RawPatch(types.MergePatchType,
	[]byte(`{"status":{"conditions":[{"type":"Migrating","status":"False","reason":"Test","message":""}]}}`))

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetAPIVersion(apiVersion)
	out.SetKind(kind)
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}
