package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	unstructured "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestKilledAfterEveryWrite updates an operator while the manager is killed after its first write, another one while it
// is killed after the second, and so on. All must end in the same state. Before the manager restarts, the catalog
// contents change under the same names: the result must be the old or the new contents, never a mixture. Unless E2E_ALL
// is set, it does so for every third write, from a random one on.
func TestKilledAfterEveryWrite(t *testing.T) {
	cluster.AwaitNoneTerminating(t)
	catalogs := "--catalog-dir=" + t.TempDir()
	manager := cluster.StartManager(t, catalogs)
	first := newCrash(t, 0)
	first.install(t)
	manager.Terminate(t)
	writes := first.updateKilledAfter(t, 0, catalogs)
	manager = cluster.StartManager(t, catalogs)
	want, content := first.awaitSettled(t)
	t.Logf("without a kill, the update takes %d writes and results in\n%s", writes, strings.Join(want, "\n"))
	if content != "old" {
		t.Fatalf("the content after the update is %q, want old: the test proves nothing", content)
	}

	contents := map[string]int{}
	start, step := testcluster.Every(t, 3)
	for k := start; k <= writes; k += step {
		t.Run(fmt.Sprint(k), func(sub *testing.T) {
			c := newCrash(sub, k)
			c.install(sub)
			manager.Terminate(sub)
			if c.updateKilledAfter(sub, k, catalogs) < k {
				sub.Logf("the manager was not killed: the update took fewer than %d writes", k)
			}
			c.offer(sub, c.published(sub, "new"))
			manager = cluster.StartManager(t, catalogs) // for the next one, too
			c.awaitInstalled(sub, c.sub, c.csv("1.1.0"))
			cluster.AwaitGone(sub, c.stage.csv(c.csv("1.0.0")))
			got, content := c.awaitSettled(sub)
			contents[content]++
			manager.CheckAlive(sub)
			if diff := cmp.Diff(want, got); diff != "" {
				sub.Errorf("after a kill after write %d, the result differs (-without +with kill):\n%s", k, diff)
			}
		})
	}
	t.Logf("updates by their content: %v", contents)
	if contents["old"] == 0 || contents["new"] == 0 || len(contents) != 2 {
		t.Errorf("updates by their content are %v, want some old, some new and none mixed", contents)
	}
}

// crash is an operator that is updated by a manager that is killed after its k-th write.
type crash struct {
	*stage
	name string
	sub  *v1alpha1.Subscription
}

func newCrash(t *testing.T, k int) *crash {
	t.Helper()
	c := &crash{name: fmt.Sprintf("crash%02d", k)}
	c.stage = newStage(t, c.name, publish(t, c.foo("1.0.0", "old")))
	return c
}

// foo returns a version of the operator, with content in an annotation or label of each object in the bundle.
func (c *crash) foo(version, content string) testcatalog.Foo {
	return testcatalog.Foo{
		Name: c.name, Version: version, Upgradeable: "!Migrating",
		Change: func(csv, crd *unstructured.Unstructured) {
			for _, o := range []*unstructured.Unstructured{csv, crd} {
				annotations := o.GetAnnotations()
				annotations["content"] = content
				o.SetAnnotations(annotations)
			}
			deployments, _, _ := unstructured.NestedSlice(csv.Object, "spec", "install", "spec", "deployments")
			_ = unstructured.SetNestedField(deployments[0].(map[string]any), content, "label", "content")
			_ = unstructured.SetNestedSlice(csv.Object, deployments, "spec", "install", "spec", "deployments")
		},
		More: []string{fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, annotations: {content: %s}}\n", content)},
	}
}

func (c *crash) csv(version string) string { return c.foo(version, "").CSV() }

func (c *crash) published(t *testing.T, content string) testcatalog.Package {
	t.Helper()
	return publish(t, c.foo("1.0.0", "old"), c.foo("1.1.0", content))
}

// install has the running manager install the first version.
func (c *crash) install(t *testing.T) {
	t.Helper()
	c.sub = c.subscribe(t, c.name)
	c.awaitInstalled(t, c.sub, c.csv("1.0.0"))
	ownedBy(t, c.stage, c.csv("1.0.0"))
}

// updateKilledAfter starts the update with a manager that is killed after its k-th write, or when the update is done.
// It returns the number of writes.
func (c *crash) updateKilledAfter(t *testing.T, k int, catalogs string) int {
	t.Helper()
	c.offer(t, c.published(t, "old"))
	var manager atomic.Pointer[testcluster.Manager]
	killed := make(chan struct{})
	proxy, writes := cluster.CountWrites(t, c.concerns, func(n int) {
		if n == k {
			manager.Load().Kill(t)
			close(killed)
		}
	})
	m := cluster.Through(proxy).StartManager(t, catalogs)
	manager.Store(m)
	ctx, done := context.WithTimeout(t.Context(), testcluster.Timeout)
	defer done()
	for ctx.Err() == nil {
		select {
		case <-killed:
			return int(writes.Load())
		case <-time.After(20 * time.Millisecond): // the poll interval
		}
		if c.updated(ctx, c.sub, c.csv("1.1.0")) {
			m.Kill(t)
			return int(writes.Load())
		}
	}
	t.Fatal("timed out: the manager was not killed and the update is not done")
	return 0
}

// concerns reports whether a write concerns this operator: it is in its namespace, in that of catalogs or of the manager,
// or in none. It excludes dry runs, access reviews and leases.
func (c *crash) concerns(r *http.Request) bool {
	if r.URL.Query().Has("dryRun") || strings.Contains(r.URL.Path, "accessreviews") || strings.Contains(r.URL.Path, "/leases") {
		return false
	}
	_, rest, namespaced := strings.Cut(r.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	return !namespaced || slices.Contains([]string{c.namespace, c.catalog.Namespace, testcluster.ManagerAccount.Namespace}, namespace)
}

// updated reports whether the update is done and the old version is deleted.
func (s *stage) updated(ctx context.Context, sub *v1alpha1.Subscription, csv string) bool {
	if err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(sub), sub); err != nil || !sub.Status.UpToDate || sub.Status.InstalledCSV != csv {
		return false
	}
	old := s.csv(strings.Replace(csv, "1.1.0", "1.0.0", 1))
	return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(old), old))
}

// generated matches the parts of names that differ only by namespace and package: the suffix after a version, that of an
// InstallPlan and that of an OperatorGroup's role.
var generated = regexp.MustCompile(`(-operator\.v1\.[01]\.0).*|^(olm\.og\..*)-[0-9A-Za-z]+$|[0-9a-f]{10}$`)

// awaitSettled waits until the garbage collector has deleted everything of the old version. It returns the remaining objects
// without the package, namespace and content in them, and the content itself: several values if contents are mixed.
func (c *crash) awaitSettled(t *testing.T) (lines []string, content string) {
	t.Helper()
	old := func(l string) bool {
		return strings.Contains(l, "operator.v1.0.0") && !strings.Contains(l, "InstallPlan") && !strings.Contains(l, "replaces=")
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(context.Context) (bool, error) {
		lines = c.lines(t, c.name)
		return !slices.ContainsFunc(lines, old), nil
	})
	if err != nil {
		t.Errorf("objects of the old version are left:\n%s", strings.Join(lines, "\n"))
	}
	var contents []string
	for i := range lines {
		for _, found := range ofContent.FindAllStringSubmatch(lines[i], -1) {
			contents = append(contents, found[1])
		}
		lines[i] = ofContent.ReplaceAllString(lines[i], "content")
	}
	slices.Sort(contents)
	return lines, strings.Join(slices.Compact(contents), " and ")
}

var ofContent = regexp.MustCompile(`content=(\w+)`)

// lines returns one line for each object of a package.
func (s *stage) lines(t *testing.T, pkg string) []string {
	t.Helper()
	var out []string
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterServiceVersionList{}, &v1alpha1.SubscriptionList{}, &v1alpha1.ProbeList{}, &olm.InstallPlanList{}, &operatorsv2.OperatorConditionList{},
		&appsv1.DeploymentList{}, &corev1.ServiceAccountList{}, &corev1.ConfigMapList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &apiextensions.CustomResourceDefinitionList{},
	} {
		options := []client.ListOption{client.InNamespace(s.namespace)}
		switch list.(type) {
		case *apiextensions.CustomResourceDefinitionList:
			options = []client.ListOption{client.MatchingFields{"metadata.name": testcatalog.Foo{Name: pkg}.CRD()}}
		case *rbacv1.ClusterRoleList, *rbacv1.ClusterRoleBindingList:
			options = []client.ListOption{client.MatchingLabels{"olm.owner.namespace": s.namespace}}
		}
		if err := cluster.Client.List(t.Context(), list, options...); err != nil {
			t.Fatal(err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			out = append(out, line(item.(client.Object)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	kind := strings.ToUpper(pkg[:1]) + pkg[1:]
	for i := range out {
		out[i] = strings.NewReplacer(s.namespace, "NAMESPACE", pkg, "PACKAGE", kind, "KIND").Replace(out[i])
	}
	slices.Sort(out)
	return out
}

// line returns the type, name, owners and relevant state of an object.
func line(o client.Object) string {
	var owners []string
	for _, owner := range o.GetOwnerReferences() {
		owners = append(owners, fmt.Sprintf("%s controller=%v", owner.Name, owner.Controller != nil && *owner.Controller))
	}
	state := ""
	switch o := o.(type) {
	case *v1alpha1.ClusterServiceVersion:
		state = fmt.Sprintf("%s replaces=%s version=%s", o.Status.Phase, o.Spec.Replaces, o.Status.Version.Version)
	case *v1alpha1.Subscription:
		state = fmt.Sprintf("installed=%s current=%s upToDate=%v message=%q", o.Status.InstalledCSV, o.Status.CurrentCSV, o.Status.UpToDate, o.Status.Message)
	case *olm.InstallPlan:
		state = fmt.Sprintf("%v %s approved=%v", o.Spec.ClusterServiceVersionNames, o.Status.Phase, o.Spec.Approved)
	case *appsv1.Deployment:
		state = o.Spec.Template.Spec.Containers[0].Image
	case *rbacv1.Role:
		state = fmt.Sprint(o.Rules)
	case *rbacv1.ClusterRole:
		state = fmt.Sprint(o.Rules)
	}
	for _, got := range []string{o.GetAnnotations()["content"], o.GetLabels()["content"]} {
		if got != "" {
			state += " content=" + got
		}
	}
	return strings.TrimSpace(fmt.Sprintf("%T %s %v %v %s", o, generated.ReplaceAllString(o.GetName(), "$1$2"), owners, o.GetLabels()["olm.owner"], state))
}
