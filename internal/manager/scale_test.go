package manager_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// herd is many Foos with random conditions.
type herd struct {
	c         *testcluster.Cluster
	group     string
	namespace string
	size      int
}

// newHerd creates the CRD, the account, and the Foos with their conditions.
func newHerd(t *testing.T, c *testcluster.Cluster, group string, size int, r *rand.Rand) herd {
	t.Helper()
	h := herd{c: c, group: group, namespace: c.Namespace(t, "herd"), size: size}
	account(t, c, h.namespace, group)
	c.Apply(t, h.namespace, replace(builder.CRD("foos", group), "subresources: {status: {}}", "subresources: {}"))
	statuses := make([]map[string]any, size)
	for i := range statuses {
		statuses[i] = randomStatus(r)
	}
	h.each(t, size, func(i int) error {
		o := newFoo(group, h.namespace, fooName(i))
		o.Object["status"] = statuses[i]
		return c.Client.Create(t.Context(), o)
	})
	return h
}

func fooName(i int) string { return fmt.Sprintf("foo-%05d", i) }

// randomStatus returns conditions with a random status, or none, for Migrating and BadConnectivity, among others. One
// in ten is migrating.
func randomStatus(r *rand.Rand) map[string]any {
	var conditions []any
	for conditionType, statuses := range map[string][]string{
		"Migrating":       {"True", "False", "False", "False", "False", "False", "False", "False", "Unknown", ""},
		"BadConnectivity": {"True", "False", "False", "False", "Unknown", ""},
		"Unrelated":       {"True", "False", ""},
	} {
		if status := statuses[r.IntN(len(statuses))]; status != "" {
			conditions = append(conditions, map[string]any{"type": conditionType, "status": status})
		}
	}
	r.Shuffle(len(conditions), func(i, j int) { conditions[i], conditions[j] = conditions[j], conditions[i] })
	return map[string]any{"conditions": conditions}
}

// each calls do n times, with limited concurrency.
func (h herd) each(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	const workers = 16
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				if err := do(i); err != nil {
					t.Errorf("%d of %d: %v", i, n, err)
					return
				}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// flip sets another status of a Foo.
func (h herd) flip(t *testing.T, i int, status map[string]any) error {
	o := newFoo(h.group, h.namespace, fooName(i))
	before := o.DeepCopy()
	o.Object["status"] = status
	return h.c.Client.Patch(t.Context(), o, client.MergeFrom(before))
}

func (h herd) probe(t *testing.T) types.NamespacedName {
	t.Helper()
	p := userProbe(h.namespace, "herd", v1alpha1.ProbeResource{
		Name: "foos." + h.group, Upgradeable: "!Migrating", Important: "BadConnectivity",
	})
	h.c.Create(t, p)
	return key(p)
}

// recompute returns the status that the Probe should have, computed from a list of all Foos without code of this
// project.
func (h herd) recompute(t *testing.T) ([]v1alpha1.ProbeResourceStatus, *v1alpha1.ProbeSummary) {
	t.Helper()
	foos := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": h.group + "/v1", "kind": "FooList"}}
	if err := h.c.Client.List(t.Context(), foos, client.InNamespace(h.namespace)); err != nil {
		t.Fatal(err)
	}
	var listed []v1alpha1.ProbeResourceStatus
	summary := &v1alpha1.ProbeSummary{Total: int32(len(foos.Items))}
	for _, foo := range foos.Items {
		item := v1alpha1.ProbeResourceStatus{Resource: "foos." + h.group, Kind: "Foo", Namespace: h.namespace, Name: foo.GetName()}
		conditions, _, _ := unstructured.NestedSlice(foo.Object, "status", "conditions")
		migrating := "Unknown"
		for _, c := range conditions {
			condition := c.(map[string]any)
			switch condition["type"] {
			case "Migrating":
				if migrating = condition["status"].(string); migrating == "True" {
					item.Blocking = true
					item.Reasons = append(item.Reasons, "!Migrating")
					summary.NotUpgradeable++
				}
			case "BadConnectivity":
				if condition["status"] == "True" {
					item.Reasons = append(item.Reasons, "BadConnectivity")
					summary.Important++
				}
			}
		}
		if migrating == "Unknown" {
			summary.Unknown++
		}
		if len(item.Reasons) > 0 {
			listed = append(listed, item)
		}
	}
	slices.SortFunc(listed, func(a, b v1alpha1.ProbeResourceStatus) int {
		if a.Blocking != b.Blocking {
			return map[bool]int{true: -1, false: 1}[a.Blocking]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	if len(listed) > 50 {
		summary.Omitted = int32(len(listed) - 50)
		listed = listed[:50]
	}
	return listed, summary
}

// awaitExactStatus waits until the Probe has the status that the Foos imply.
func (h herd) awaitExactStatus(t *testing.T, name types.NamespacedName) {
	t.Helper()
	listed, summary := h.recompute(t)
	p := probeNamed(name.Namespace, name.Name)
	h.c.Await(t, p, func() string {
		return gocmp.Diff(summary, p.Status.Summary) + gocmp.Diff(listed, p.Status.ProbeResources)
	})
	want := "Upgradeable=True/AllUpgradeable"
	switch {
	case summary.NotUpgradeable > 0:
		want = "Upgradeable=False/NotUpgradeable"
	case summary.Unknown > 0:
		want = "Upgradeable=True/SomeUnknown"
	}
	awaitProbe(t, h.c, name, want, "Synced=True/Synced")
}

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestTenThousand verifies the status after 1,000 flips of 10,000 custom resources against an independent count.
func TestTenThousand(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	r := seeded(t)
	c := testcluster.Start(t)
	m := c.StartManager(t)
	began := time.Now()
	h := newHerd(t, c, "herd.example.com", 10000, r)
	t.Logf("10,000 custom resources created in %s", time.Since(began).Round(time.Millisecond))

	began = time.Now()
	name := h.probe(t)
	h.awaitExactStatus(t, name)
	t.Logf("all counted %s after the Probe was created", time.Since(began).Round(time.Millisecond))

	const flips = 1000
	targets, statuses := make([]int, flips), make([]map[string]any, flips)
	for i := range flips {
		targets[i], statuses[i] = r.IntN(h.size), randomStatus(r)
	}
	began = time.Now()
	h.each(t, flips, func(i int) error { return h.flip(t, targets[i], statuses[i]) })
	flipped := time.Now()
	h.awaitExactStatus(t, name)
	writes := 0
	for _, request := range c.Requests(t, began) {
		if request.IsWrite() {
			writes++
		}
	}
	t.Logf("%d flips in %s, the status correct %s later, after %d writes", flips,
		flipped.Sub(began).Round(time.Millisecond), time.Since(flipped).Round(time.Millisecond), writes)
	if writes >= flips {
		t.Errorf("%d writes for %d flips: they do not coalesce", writes, flips)
	}
	m.CheckAlive(t)
}

// TestKilledDuringFlips verifies that the manager computes the same status after kill -9 at any moment.
func TestKilledDuringFlips(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	r := seeded(t)
	h := newHerd(t, cluster, "killed.example.com", 300, r)
	name := h.probe(t)
	m := cluster.StartManager(t)
	for range 5 {
		statuses := make([]map[string]any, h.size)
		for i := range statuses {
			statuses[i] = randomStatus(r)
		}
		at := int32(r.IntN(h.size))
		h.each(t, h.size, func(i int) error {
			if int32(i) == at {
				m.Kill(t)
			}
			return h.flip(t, i, statuses[i])
		})
		m = cluster.StartManager(t)
		h.awaitExactStatus(t, name)
	}
	m.CheckAlive(t)
}

// TestWithoutOLM verifies that only features that need OLM's kinds wait until they are installed. The kinds may be
// installed, deleted and installed again.
func TestWithoutOLM(t *testing.T) {
	c := testcluster.Start(t)
	m := c.StartManager(t)
	namespace := c.Namespace(t, "without")
	account(t, c, namespace, "without.example.com")
	c.Apply(t, namespace, builder.CRD("foos", "without.example.com", upgradeableNotMigrating))
	foo(t, c, "without.example.com", namespace, "foo", "Migrating=True")
	p := userProbe(namespace, "by-hand", v1alpha1.ProbeResource{Name: "foos.without.example.com", Upgradeable: "!Migrating"})
	c.Create(t, p)
	awaitProbe(t, c, key(p), "Upgradeable=False/NotUpgradeable")

	for range 2 {
		c.InstallOLM(t)
		operator := csv(namespace, "foo-operator.v1", "foos.without.example.com")
		c = c.Rediscovered(t)
		c.Create(t, operator)
		made := awaitProbe(t, c, key(operator), "Upgradeable=False/NotUpgradeable")
		c.UninstallOLM(t)
		c.AwaitGone(t, made)
		p = userProbe(namespace, "without-it-again-"+made.ResourceVersion, v1alpha1.ProbeResource{Name: "foos.without.example.com", Upgradeable: "Migrating"})
		c.Create(t, p)
		awaitProbe(t, c, key(p), "Upgradeable=True/AllUpgradeable")
	}
	m.CheckAlive(t)
}
