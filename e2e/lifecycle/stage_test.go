package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// stage is a namespace with its own OperatorGroup and a catalog in the global namespace.
type stage struct {
	namespace string
	catalog   types.NamespacedName
}

const global = "olm"

// newStage creates a stage with a catalog of packages.
func newStage(t *testing.T, prefix string, packages ...testcatalog.Package) *stage {
	t.Helper()
	cluster.RemoveCRDs(t)
	s := &stage{namespace: cluster.Namespace(t, prefix)}
	s.catalog = types.NamespacedName{Namespace: global, Name: s.namespace}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "group"}}
	group.Spec.TargetNamespaces = []string{s.namespace}
	cluster.Create(t, group)
	s.offer(t, packages...)
	made := *s
	t.Cleanup(func() { made.clear(t) })
	return s
}

// offer replaces the contents of the catalog with packages.
func (s *stage) offer(t *testing.T, packages ...testcatalog.Package) {
	t.Helper()
	cluster.Offer(t, s.catalog, packages...)
}

func configOf(t testing.TB, packages ...testcatalog.Package) declcfg.DeclarativeConfig {
	t.Helper()
	out, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// offerConfig replaces the contents of the catalog.
func (s *stage) offerConfig(t *testing.T, config declcfg.DeclarativeConfig) {
	t.Helper()
	cluster.OfferCatalog(t, s.catalog, config)
}

// catalogSource returns the CatalogSource of the stage, with only its name and namespace.
func (s *stage) catalogSource() *olm.CatalogSource {
	return &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.catalog.Namespace, Name: s.catalog.Name}}
}

// clear deletes the namespace and the catalog.
func (s *stage) clear(t *testing.T) {
	ctx := context.Background()
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}},
		s.catalogSource(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.catalog.Namespace, Name: s.catalog.Name}},
	} {
		if err := cluster.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
		}
	}
}

// publish returns a package of the given versions, oldest first.
func publish(t testing.TB, versions ...testcatalog.Foo) testcatalog.Package {
	t.Helper()
	return testcatalog.Published(t, versions...)
}

// subscribe creates a Subscription with the name of its package.
func (s *stage) subscribe(t *testing.T, pkg string, change ...func(*v1alpha1.Subscription)) *v1alpha1.Subscription {
	t.Helper()
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: pkg}}
	sub.Spec = &olm.SubscriptionSpec{
		Package: pkg, Channel: "stable",
		CatalogSource: s.catalog.Name, CatalogSourceNamespace: s.catalog.Namespace,
	}
	for _, c := range change {
		c(sub)
	}
	cluster.Create(t, sub)
	return sub
}

// awaitInstalled waits until a Subscription reports that a version runs and is the newest, and checks its phase.
func (s *stage) awaitInstalled(t *testing.T, sub *v1alpha1.Subscription, csv string) {
	t.Helper()
	s.await(t, sub, func() string {
		if sub.Status.InstalledCSV != csv || !sub.Status.UpToDate || sub.Status.Message != "" {
			return fmt.Sprintf("installedCSV is %q, UpToDate %v, message %q", sub.Status.InstalledCSV, sub.Status.UpToDate, sub.Status.Message)
		}
		return ""
	})
	found := &v1alpha1.ClusterServiceVersion{}
	if err := cluster.Client.Get(t.Context(), s.key(csv), found); err != nil || found.Status.Phase != olm.CSVPhaseSucceeded {
		t.Fatalf("the Subscription reports that %s is installed and running, but it is not: %v %s", csv, err, found.Status.Phase)
	}
}

// await is Cluster.Await, and logs the state of the namespace if the test fails.
func (s *stage) await(t *testing.T, o client.Object, check func() string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			s.logState(t)
		}
	}()
	cluster.Await(t, o, check)
}

// awaitTrue waits until a condition of a Subscription is True with that reason and its message contains the words.
func (s *stage) awaitTrue(t *testing.T, sub *v1alpha1.Subscription, kind v1alpha1.SubscriptionConditionType, reason string, words ...string) {
	t.Helper()
	s.await(t, sub, func() string {
		c := sub.Status.GetCondition(kind)
		if c.Status != corev1.ConditionTrue || c.Reason != reason {
			return fmt.Sprintf("%s is %s (%s): %s", kind, c.Status, c.Reason, c.Message)
		}
		for _, w := range words {
			if !strings.Contains(c.Message, w) {
				return fmt.Sprintf("the message does not contain %q: %s", w, c.Message)
			}
		}
		return ""
	})
}

// logState logs the state of the namespace.
func (s *stage) logState(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	for _, list := range []client.ObjectList{&v1alpha1.SubscriptionList{}, &olm.InstallPlanList{}, &v1alpha1.ClusterServiceVersionList{}, &v1alpha1.ProbeList{}} {
		if err := cluster.Client.List(ctx, list, client.InNamespace(s.namespace)); err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%T:\n%s", list, summary(list))
	}
}

func summary(list client.ObjectList) string {
	var out strings.Builder
	switch list := list.(type) {
	case *v1alpha1.SubscriptionList:
		for _, i := range list.Items {
			fmt.Fprintf(&out, "%s current=%s installed=%s upToDate=%v: %s\n", i.Name, i.Status.CurrentCSV, i.Status.InstalledCSV, i.Status.UpToDate, i.Status.Message)
		}
	case *olm.InstallPlanList:
		for _, i := range list.Items {
			fmt.Fprintf(&out, "%s %v %s: %s\n", i.Name, i.Spec.ClusterServiceVersionNames, i.Status.Phase, i.Status.Message)
		}
	case *v1alpha1.ClusterServiceVersionList:
		for _, i := range list.Items {
			fmt.Fprintf(&out, "%s replaces=%s %s (%s): %s\n", i.Name, i.Spec.Replaces, i.Status.Phase, i.Status.Reason, i.Status.Message)
		}
	case *v1alpha1.ProbeList:
		for _, i := range list.Items {
			fmt.Fprintf(&out, "%s %+v\n", i.Name, i.Status.Conditions)
		}
	}
	return out.String()
}

func (s *stage) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: name}
}

func (s *stage) csv(name string) *v1alpha1.ClusterServiceVersion {
	return &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

// custom creates a custom resource of a package, with conditions as YAML.
func (s *stage) custom(t *testing.T, pkg, name, conditions string) *unstructured.Unstructured {
	t.Helper()
	return s.customIn(t, s.namespace, pkg, name, conditions)
}

// customIn is custom for another namespace.
func (s *stage) customIn(t *testing.T, namespace, pkg, name, conditions string) *unstructured.Unstructured {
	t.Helper()
	f := testcatalog.Foo{Name: pkg}
	kind := strings.ToUpper(pkg[:1]) + pkg[1:]
	_, group, _ := strings.Cut(f.CRD(), ".")
	fresh := cluster.Rediscovered(t)
	fresh.Apply(t, namespace, fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s}\nstatus: {conditions: %s}\n", group, kind, name, conditions))
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
	out.SetNamespace(namespace)
	out.SetName(name)
	return out
}

// finishMigration sets Migrating of a custom resource to False.
func finishMigration(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	const patch = `{"status":{"conditions":[{"type":"Migrating","status":"False","reason":"Test","message":""}]}}`
	if err := cluster.Client.Status().Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}
