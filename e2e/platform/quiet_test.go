package platform

import (
	"context"
	"net/http"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestQuiet verifies that the manager sends only watches while nothing changes, and that a restarted manager writes
// once to the Probe, which records that it now reads it, and nothing else. It also verifies that a custom resource in
// spec.resources is deleted with its PlatformOperator.
func TestQuiet(t *testing.T) {
	const observed = 20 * time.Second
	cluster.AwaitNoneTerminating(t)
	cluster.InstallClusterOperator(t)
	s := newStage(t, publish(t, "calm", "1.0.0"))
	op := create(t, "calm", func(op *v1alpha1.PlatformOperator) {
		op.Spec.Resources = []v1alpha1.Resource{
			{Name: "settings", Manifest: raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}`)},
			{Name: "example", Manifest: raw(`{apiVersion: calm.example.com/v1, kind: Calm, metadata: {name: example}, spec: {size: 3}}`)},
			{Name: "web", Manifest: raw(`{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}`)},
		}
	})
	awaitRunning(t, op, "1.0.0")
	// A problem that has ended is cleared from the status after the inertia, which is a write.
	cluster.AwaitWithin(t, degradedWithin, op, func() string {
		if op.Status.QuietSince != nil {
			return "the status is not final yet"
		}
		return ""
	})
	cluster.AwaitSynced(t)
	since := cluster.AwaitIdle(t, 5*time.Second) // a write that tells only a message anew comes after 3 s

	// The test observes that nothing happens, so it has no event to wait for.
	time.Sleep(observed)

	for _, r := range cluster.Requests(t, since) {
		if r.Verb != "watch" {
			t.Errorf("request in an idle cluster: %s", r)
		}
	}
	s.manager.Terminate(t)
	restarted := time.Now()
	again := cluster.StartManager(t, s.flags()...)
	cluster.CheckTakeover(t, restarted, 1)
	again.CheckAlive(t)
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
}

// ofPlatform matches the paths of requests for PlatformOperators and the objects that they consist of.
var ofPlatform = regexp.MustCompile(`/platformoperators/phoenix|/namespaces(/phoenix)?$|/namespaces/phoenix/(operatorgroups|subscriptions|clusterserviceversions/[^/]+$)`)

// TestKilledAfterEveryWrite creates and deletes a PlatformOperator while the manager is killed after its first write,
// another one after the second, and so on until one needs fewer writes. Each must run and leave nothing behind. Unless
// E2E_ALL is set, it does so for every third write, from a random one on.
func TestKilledAfterEveryWrite(t *testing.T) {
	const most = 60
	s := newCatalog(t)
	s.offer(t, publish(t, "phoenix", "1.0.0"))
	start, step := testcluster.Every(t, 3)
	for k := start; k <= most; k += step {
		var manager atomic.Pointer[testcluster.Manager]
		killed := make(chan struct{})
		proxy, writes := cluster.CountWrites(t, func(r *http.Request) bool { return ofPlatform.MatchString(r.URL.Path) }, func(n int) {
			if n == k {
				manager.Load().Kill(t)
				close(killed)
			}
		})
		manager.Store(cluster.Through(proxy).StartManager(t, s.flags()...))
		op := create(t, "phoenix")
		awaitUnlessKilled(t, killed, func() bool { return isReady(t, op) })
		died := isClosed(killed)
		if died {
			manager.Store(cluster.StartManager(t, s.flags()...))
			awaitRunning(t, op, "1.0.0")
		}
		if err := cluster.Client.Delete(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		if !died {
			awaitUnlessKilled(t, killed, func() bool { return isNotFound(t, op) })
			if isClosed(killed) {
				manager.Store(cluster.StartManager(t, s.flags()...))
			}
		}
		cluster.AwaitGone(t, op)
		if namespace := (&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "phoenix"}}); !isNotFound(t, namespace) {
			t.Errorf("after a kill after write %d, the namespace is left", k)
		}
		manager.Load().Kill(t)
		if !isClosed(killed) {
			t.Logf("the PlatformOperator took %d writes, and the manager was killed after each", writes.Load())
			return
		}
	}
	t.Errorf("a PlatformOperator takes more than %d writes", most)
}

// awaitUnlessKilled waits until done returns true or the manager was killed.
func awaitUnlessKilled(t *testing.T, killed <-chan struct{}, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testcluster.Timeout)
	defer cancel()
	for !done() {
		select {
		case <-killed:
			return
		case <-ctx.Done():
			t.Fatal("timed out: the manager was not killed and the PlatformOperator is not done")
		case <-time.After(20 * time.Millisecond): // the poll interval
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func isReady(t *testing.T, op *v1alpha1.PlatformOperator) bool {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(op), op); err != nil {
		t.Fatal(err)
	}
	return meta.IsStatusConditionTrue(op.Status.Conditions, v1alpha1.ConditionReady)
}

func isNotFound(t *testing.T, o client.Object) bool {
	t.Helper()
	err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return apierrors.IsNotFound(err)
}
