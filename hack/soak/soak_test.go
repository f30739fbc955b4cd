// Package soak runs the manager beside hostile tenants that write random catalogs, bundles, custom resources, Probes
// and annotations. The manager must not exit or exceed its memory limit, nor affect an unrelated operator.
package soak

import (
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var (
	duration = flag.Duration("soak", 0, "Duration of the test; 0 to skip it.")
	seed     = flag.Uint64("seed", 0, "Seed of the random choices; 0 for a new one.")
)

// memoryLimit is the memory limit in config/manager, in bytes.
const memoryLimit = 512 << 20

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	flag.Parse()
	if *duration == 0 && !*crowds {
		os.Exit(m.Run())
	}
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, _ string) { cluster = c }))
}

func TestSoak(t *testing.T) {
	if *duration == 0 {
		t.Skip("`make soak` runs it")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	t.Setenv("MEMORY_LIMIT", strconv.Itoa(memoryLimit))
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--catalog-allow-cidr=127.0.0.0/8", "--catalog-plaintext=127.0.0.1")
	n := newNeighbour(t)
	for range 10 {
		n.quiet, n.quietRequests = append(n.quiet, n.catalog.read(t)), append(n.quietRequests, requests(t))
	}
	ctx, cancel := context.WithTimeout(t.Context(), *duration)
	defer cancel()
	h := newHostile(t, rand.New(rand.NewPCG(*seed, 0)))
	h.exhaustResources(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.run(ctx)
	}()
	n.watch(ctx, t)
	<-done
	manager.CheckAlive(t)
	if peak := manager.PeakMemoryOfOne(t); peak > memoryLimit {
		t.Errorf("the manager and its child processes used %d MiB of memory, more than the limit of %d MiB", peak>>20, memoryLimit>>20)
	} else {
		t.Logf("the manager and its child processes used at most %d MiB of memory", peak>>20)
	}
	t.Logf("a trusted catalog was read after %s, at most %s, before the attack, and after %s, at most %s, during it", median(n.quiet), slices.Max(n.quiet),
		median(n.reads), slices.Max(n.reads))
	t.Logf("the API server alone took %s before the attack, and %s during it", median(n.quietRequests), median(n.requests))
	for part := range slices.Chunk(n.reads, max(1, len(n.reads)/6)) {
		t.Logf("a sixth of the reads took %s", median(part))
	}
	if median(n.reads) > 2*median(n.quiet) {
		t.Error("reading a trusted catalog takes more than twice as long during the attack")
	}
	t.Logf("%d writes, of which the API server accepted %d; the neighbour's Probe was updated %d times, within %s", h.tried, h.accepted, n.times, n.slowest)
}

// neighbour is an operator from a trusted catalog whose Probe must follow its custom resource.
type neighbour struct {
	probe   *v1alpha1.Probe
	times   int
	slowest time.Duration

	// catalog is another trusted one. quiet lists how long each read took before the attack, and reads during it.
	catalog      trusted
	quiet, reads []time.Duration

	// quietRequests and requests list how long the API server took meanwhile for requests that do not involve the manager.
	quietRequests, requests []time.Duration
}

const (
	neighbourName = "neighbour"
	patience      = time.Minute
)

func newNeighbour(t *testing.T) *neighbour {
	t.Helper()
	foo := testcatalog.Foo{Name: neighbourName, Version: "1.0.0", Upgradeable: "!Migrating"}
	key := types.NamespacedName{Namespace: "olm", Name: neighbourName}
	cluster.Offer(t, key, testcatalog.Published(t, foo))
	namespace := cluster.Namespace(t, neighbourName)
	cluster.Create(t, &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}, Spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{namespace}},
	})
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: neighbourName}, Spec: &olm.SubscriptionSpec{
		Package: neighbourName, CatalogSource: key.Name, CatalogSourceNamespace: key.Namespace,
	}}
	cluster.Create(t, sub)
	cluster.Await(t, sub, func() string {
		if !sub.Status.UpToDate {
			return "it is not up to date: " + sub.Status.Message
		}
		return ""
	})
	return &neighbour{catalog: newTrusted(t), probe: &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: foo.CSV()}}}
}

// watch changes the custom resource and waits until the Probe has followed, repeatedly until ctx is done.
func (n *neighbour) watch(ctx context.Context, t *testing.T) {
	for value := metav1.ConditionTrue; ctx.Err() == nil; value = negate(value) {
		start := time.Now()
		if err := put(ctx, "neighbour", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "neighbour.example.com/v1", "kind": "Neighbour",
			"metadata": map[string]any{"namespace": n.probe.Namespace, "name": "one"},
			"status":   map[string]any{"conditions": []any{map[string]any{"type": "Migrating", "status": string(value)}}},
		}}); err != nil {
			if ctx.Err() == nil {
				t.Fatal(err)
			}
			return
		}
		cluster.AwaitWithin(t, patience, n.probe, func() string {
			if c := meta.FindStatusCondition(n.probe.Status.Conditions, v1alpha1.ConditionUpgradeable); c == nil || c.Status != negate(value) {
				return "Upgradeable is not " + string(negate(value))
			}
			return ""
		})
		n.times++
		n.slowest = max(n.slowest, time.Since(start))
		n.reads, n.requests = append(n.reads, n.catalog.read(t)), append(n.requests, requests(t))
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // the rate is not tested
		}
	}
}

func negate(s metav1.ConditionStatus) metav1.ConditionStatus {
	if s == metav1.ConditionTrue {
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}
