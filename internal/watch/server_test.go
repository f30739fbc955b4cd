package watch_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/internal/watch"
)

// TestServer verifies the engine against a real API server. Each test has its own CustomResourceDefinition.
func TestServer(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	cluster := testcluster.Start(t)
	t.Run("CloseEndsAll", func(t *testing.T) {
		f := newFixture(t, cluster, "close.example.com")
		f.awaitServed(t)
		testCloseEndsAll(t, f)
	})
	tests := map[string]func(*testing.T, fixture){
		"ComeAndGo":            testCreateAndDelete,
		"Shared":               testShared,
		"GrowingTypes":         testGrowingTypes,
		"Impersonated":         testImpersonated,
		"ListWithoutWatch":     testListWithoutWatch,
		"CRDGone":              testCRDGone,
		"LostConnection":       testLostConnection,
		"ExpiredWatch":         testExpiredWatch,
		"WithoutWatchList/400": withoutWatchList(http.StatusBadRequest, metav1.StatusReasonBadRequest),
		"WithoutWatchList/422": withoutWatchList(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid),
		"BrokenJSON":           testBrokenJSON,
		"SlowJSON":             testSlowJSON,
		"ServerAway":           testServerAway,
		"SilentWatch":          testSilentWatch,
		"List":                 testList,
		"ListRefused":          testListRefused,
	}
	fixtures := map[string]fixture{}
	for name := range tests {
		fixtures[name] = newFixture(t, cluster, strings.ToLower(strings.ReplaceAll(name, "/", ".x"))+".example.com")
	}
	t.Run("all", func(t *testing.T) { // returns after the parallel tests; the cluster must not stop before
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				fixtures[name].awaitServed(t)
				test(t, fixtures[name])
			})
		}
	})
}

// fixture is a CustomResourceDefinition of kind Foo on a cluster.
type fixture struct {
	*testcluster.Cluster
	group string
}

func newFixture(t testing.TB, c *testcluster.Cluster, group string) fixture {
	t.Helper()
	f := fixture{Cluster: c, group: group}
	f.createCRD(t, apiextensions.NamespaceScoped)
	return f
}

// awaitServed waits until the API server serves Foos, some time after it has established them.
func (f fixture) awaitServed(t testing.TB) {
	t.Helper()
	eventually(t, "the API server serves Foos", func() bool {
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": f.group + "/v1", "kind": "FooList"}}
		return f.Client.List(context.Background(), list) == nil
	})
}

func (f fixture) crd() *apiextensions.CustomResourceDefinition {
	return &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "foos." + f.group}}
}

func (f fixture) createCRD(t testing.TB, scope apiextensions.ResourceScope) {
	t.Helper()
	manifest := strings.Replace(builder.CRD("foos", f.group), string(apiextensions.NamespaceScoped), string(scope), 1)
	objects, err := testcluster.Decode([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	f.Create(t, objects[0])
}

func (f fixture) foo(namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": f.group + "/v1", "kind": "Foo"}}
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// setConditions creates a Foo if it does not exist, and sets its conditions, "Type=Status".
func (f fixture) setConditions(t testing.TB, namespace, name string, conditions ...string) {
	t.Helper()
	ctx := context.Background()
	o := f.foo(namespace, name)
	if err := f.Client.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("creating Foo %s: %v", name, err)
	}
	list := []any{}
	for _, c := range conditions {
		conditionType, status, _ := strings.Cut(c, "=")
		list = append(list, map[string]any{"type": conditionType, "status": status})
	}
	patch := f.foo(namespace, name)
	patch.Object["status"] = map[string]any{"conditions": list}
	if err := f.Client.Status().Patch(ctx, patch, client.Merge); err != nil {
		t.Fatalf("patching the status of Foo %s: %v", name, err)
	}
}

func (f fixture) delete(t testing.TB, o client.Object) {
	t.Helper()
	if err := f.Client.Delete(context.Background(), o); err != nil {
		t.Fatalf("deleting %T %s: %v", o, o.GetName(), err)
	}
}

// engine returns an Engine that reads from the cluster with the user agent of the manager.
func (f fixture) engine(t testing.TB) *watch.Engine {
	t.Helper()
	config := rest.CopyConfig(f.Config)
	config.UserAgent = manager.UserAgent
	return newEngine(t, config)
}

func newEngine(t testing.TB, config *rest.Config) *watch.Engine {
	t.Helper()
	e := watch.New(config, logr.Discard())
	t.Cleanup(e.Close)
	return e
}

func (f fixture) target() watch.Target {
	return watch.Target{Resource: schema.GroupVersionResource{Group: f.group, Version: "v1", Resource: "foos"}}
}

// subscription lists the objects that have one of some conditions with status True.
type subscription struct {
	*watch.Subscription
	notified chan struct{}
	count    *atomic.Int32
}

func subscribe(t testing.TB, engine *watch.Engine, target watch.Target, conditionTypes ...string) subscription {
	t.Helper()
	s := subscription{notified: make(chan struct{}, 1), count: &atomic.Int32{}}
	request := requestFor(target, conditionTypes...)
	request.Notify = func(bool) {
		s.count.Add(1)
		select {
		case s.notified <- struct{}{}:
		default:
		}
	}
	sub, err := engine.Subscribe(request)
	if err != nil {
		t.Fatal(err)
	}
	s.Subscription = sub
	return s
}

// requestFor returns a request for the objects that have one of some conditions with status True.
func requestFor(target watch.Target, conditionTypes ...string) watch.Request {
	explain := func(conditions []observed.Condition) (out observed.Explanation) {
		for _, c := range conditions {
			if c.Status == observed.True && slices.Contains(conditionTypes, c.Type) {
				out.Blocks = c.Type
			}
		}
		return out
	}
	return watch.Request{
		Target: target, Terms: conditionTypes, Listed: 1000,
		Judge: func(conditions []observed.Condition) observed.Verdict {
			return observed.Verdict{Blocks: explain(conditions).Blocks != ""}
		},
		Explain: explain,
	}
}

// await waits until check returns an empty string for the Snapshot. After the first, it takes a Snapshot only when
// notified, so a missing notification fails the test.
func (s subscription) await(t testing.TB, check func(observed.Snapshot) string) observed.Snapshot {
	t.Helper()
	timeout := time.After(testcluster.Timeout)
	for {
		snapshot := s.Snapshot()
		problem := check(snapshot)
		if problem == "" {
			return snapshot
		}
		select {
		case <-s.notified:
		case <-timeout:
			t.Fatalf("%s\nis %+v", problem, snapshot)
		}
	}
}

// awaits waits for total objects, of which those in want, "namespace/name", are listed.
func (s subscription) awaits(t testing.TB, total int, want ...string) {
	t.Helper()
	s.await(t, func(got observed.Snapshot) string {
		var names []string
		for _, i := range got.Items {
			names = append(names, strings.TrimPrefix(i.Namespace+"/"+i.Name, "/"))
		}
		if !got.Filled || got.Err != nil || got.Total != total || !slices.Equal(names, want) {
			return fmt.Sprintf("want %d objects, listed %v", total, want)
		}
		return ""
	})
}

func (s subscription) awaitErr(t testing.TB, what string, is func(error) bool) observed.Snapshot {
	t.Helper()
	return s.await(t, func(got observed.Snapshot) string {
		if got.Err == nil || !is(got.Err) {
			return "want an error: " + what
		}
		return ""
	})
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(testcluster.Timeout); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

func testCreateAndDelete(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	engine := f.engine(t)
	f.setConditions(t, n, "a", "Migrating=True")
	first := subscribe(t, engine, f.target(), "Migrating")
	first.awaits(t, 1, n+"/a")
	f.setConditions(t, n, "b")
	first.awaits(t, 2, n+"/a")

	second := subscribe(t, engine, f.target(), "Migrating") // filled at once by the reading of the first
	if got := second.Snapshot(); !got.Filled || got.Total != 2 {
		t.Errorf("a second Subscription to the same target: got %+v", got)
	}
	first.Close()
	f.setConditions(t, n, "b", "Migrating=True")
	f.delete(t, f.foo(n, "a"))
	second.awaits(t, 1, n+"/b")
	second.Close()

	f.setConditions(t, n, "c", "Migrating=True") // without a Subscription
	third := subscribe(t, engine, f.target(), "Migrating")
	third.awaits(t, 2, n+"/b", n+"/c")
	if got := first.Snapshot(); got.Total != 2 || len(got.Items) != 1 {
		t.Errorf("a closed Subscription lost its result: got %+v", got)
	}
}

// testShared verifies that Subscriptions to one target share a watch request, by the audit log of the API server.
func testShared(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	since := time.Now()
	engine := f.engine(t)
	f.setConditions(t, n, "a", "Migrating=True")
	subs := []subscription{subscribe(t, engine, f.target(), "Migrating", "Ready")}
	subs[0].awaits(t, 1, n+"/a")
	for _, conditionTypes := range [][]string{{"Migrating"}, {"Ready"}, {"Migrating"}} {
		subs = append(subs, subscribe(t, engine, f.target(), conditionTypes...))
	}
	f.setConditions(t, n, "b", "Migrating=True", "Ready=True")
	subs[1].awaits(t, 2, n+"/a", n+"/b")
	subs[2].awaits(t, 2, n+"/b")
	subs[3].awaits(t, 2, n+"/a", n+"/b")
	engine.Close()

	var requests []string // logged when they have ended
	want := f.reading(t)
	eventually(t, "the watch has ended", func() bool {
		requests = nil
		for _, r := range f.Requests(t, since) {
			if strings.Contains(r.URI, f.group) {
				requests = append(requests, r.Verb)
			}
		}
		return len(requests) >= len(want)
	})
	if diff := cmp.Diff(want, requests); diff != "" {
		t.Errorf("requests: -want +got\n%s", diff)
	}
}

func testGrowingTypes(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	engine := newEngine(t, p.config())
	f.setConditions(t, n, "a", "Migrating=True", "Busy=True")
	f.setConditions(t, n, "b", "Busy=True")
	first := subscribe(t, engine, f.target(), "Migrating")
	first.awaits(t, 2, n+"/a")
	second := subscribe(t, engine, f.target(), "Busy", "Migrating")
	if got := first.Snapshot(); got.Total != 2 || got.Blocking != 1 {
		t.Errorf("the previous result is lost during a new list: got %+v", got)
	}
	second.awaits(t, 2, n+"/a", n+"/b")
	subscribe(t, engine, f.target(), "Busy").awaits(t, 2, n+"/a", n+"/b") // needs no new condition type
	f.setConditions(t, n, "b")
	first.awaits(t, 2, n+"/a")
	second.awaits(t, 2, n+"/a")
	reading := f.reading(t)
	eventually(t, "the resource was listed twice, and one request is open", func() bool {
		all, open := p.counts() // a reading that is replaced may not have come to its last request
		return all <= 2*len(reading) && open == 1
	})
}

// reading returns the requests that read Foos and then wait for changes. Kubernetes 1.33 does not stream lists by default:
// it refuses the watch that also lists.
func (f fixture) reading(t *testing.T) []string {
	t.Helper()
	c, err := rest.HTTPClientFor(f.Config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Get(strings.TrimSuffix(f.Config.Host,
		"/") + "/api/v1/namespaces?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
		return []string{"watch"}
	case http.StatusUnprocessableEntity:
		return []string{"watch", "list", "watch"}
	default:
		t.Fatalf("watch with sendInitialEvents: %s", response.Status)
		return nil
	}
}

// account creates a service account that may use those verbs on Foos, in namespace or, if that is empty, in all.
func (f fixture) account(t *testing.T, home, namespace string, verbs ...string) types.NamespacedName {
	t.Helper()
	name := types.NamespacedName{Namespace: home, Name: "reader"}
	if err := f.Client.Create(context.Background(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: home,
		Name: "reader"}}); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	rules := []rbacv1.PolicyRule{{APIGroups: []string{f.group}, Resources: []string{"foos"}, Verbs: verbs}}
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: home, Name: "reader"}}
	meta := metav1.ObjectMeta{Name: "reader-" + home + "-" + strings.Join(verbs, "-"), Namespace: namespace}
	if namespace == "" {
		f.Create(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}})
	} else {
		f.Create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rules},
			&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}})
	}
	return name
}

func testImpersonated(t *testing.T, f fixture) {
	here, there := f.Namespace(t, "watch"), f.Namespace(t, "watch")
	f.setConditions(t, here, "a", "Migrating=True")
	f.setConditions(t, there, "b", "Migrating=True")
	since := time.Now()
	engine := f.engine(t)
	target := f.target()
	target.Identity = f.account(t, here, here, "list", "watch")

	all := subscribe(t, engine, target, "Migrating")
	if got := all.awaitErr(t, "forbidden", apierrors.IsForbidden); got.Filled || got.Total != 0 {
		t.Errorf("got a result without permission: %+v", got)
	}
	if got := all.Snapshot().Err.Error(); !strings.Contains(got, target.Identity.Name) || !strings.Contains(got, "foos."+f.group) {
		t.Errorf("the error does not contain the identity and the resource: %s", got)
	}
	if testutil.CollectAndCount(engine, "operator_status_watch_errors_total") != 1 {
		t.Error("the failure is not counted")
	}
	target.Namespace = here
	subscribe(t, engine, target, "Migrating").awaits(t, 1, here+"/a")

	f.account(t, here, "", "list", "watch")
	all.awaits(t, 2, slices.Sorted(slices.Values([]string{here + "/a", there + "/b"}))...)
	engine.Close()
	want := "system:serviceaccount:" + here + ":reader"
	eventually(t, "the watches have ended", func() bool {
		ended := 0
		for _, r := range f.Requests(t, since) {
			if r.ObjectRef.Resource == "foos" && strings.Contains(r.URI, f.group) {
				if r.Impersonee.Username != want {
					t.Fatalf("a request does not impersonate %s: %+v", want, r)
				}
				if r.Verb == "watch" {
					ended++
				}
			}
		}
		return ended >= 2
	})
}

// testListWithoutWatch verifies that an account that may list but not watch gets an error.
func testListWithoutWatch(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	f.setConditions(t, n, "a", "Migrating=True")
	target := f.target()
	target.Identity = f.account(t, n, "", "list")
	sub := subscribe(t, f.engine(t), target, "Migrating")
	sub.await(t, func(got observed.Snapshot) string { // the API server may learn of the right to list a moment later
		if got.Err == nil || !apierrors.IsForbidden(got.Err) || !got.Filled || got.Total != 1 {
			return "want the result of the list, and the error of the watch"
		}
		return ""
	})
	f.account(t, n, "", "watch")
	sub.awaits(t, 1, n+"/a")
	f.setConditions(t, n, "b", "Migrating=True")
	sub.awaits(t, 2, n+"/a", n+"/b")
}

func testCRDGone(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	f.setConditions(t, n, "a", "Migrating=True")
	engine := f.engine(t)
	everywhere := subscribe(t, engine, f.target(), "Migrating")
	here := f.target()
	here.Namespace = n
	inNamespace := subscribe(t, engine, here, "Migrating")
	everywhere.awaits(t, 1, n+"/a")
	inNamespace.awaits(t, 1, n+"/a")

	f.delete(t, f.crd())
	f.AwaitGone(t, f.crd())
	everywhere.awaitErr(t, "not found", apierrors.IsNotFound)
	inNamespace.awaitErr(t, "not found", apierrors.IsNotFound)

	f.createCRD(t, apiextensions.ClusterScoped)
	fresh, err := client.NewWithWatch(f.Config, client.Options{}) // the other one has cached the scope
	if err != nil {
		t.Fatal(err)
	}
	f.Cluster = &testcluster.Cluster{Config: f.Config, Client: fresh}
	eventually(t, "Foo a can be created", func() bool { return f.Client.Create(context.Background(), f.foo("", "a")) == nil })
	f.setConditions(t, "", "a", "Migrating=True")
	subscribe(t, f.engine(t), f.target(), "Migrating").awaits(t, 1, "a")
	everywhere.awaits(t, 1, "a")
	inNamespace.awaitErr(t, "not found", apierrors.IsNotFound)
}
