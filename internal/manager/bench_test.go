package manager_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// BenchmarkFlipToStatus measures the latency from a flip of a custom resource to the Probe's status, and compares it
// with the lower bound: a bare watch that patches a status as soon as it receives the flip. Both take turns on one API
// server.
func BenchmarkFlipToStatus(b *testing.B) {
	c := testcluster.Start(b)
	c.StartManager(b)
	watcher, err := client.NewWithWatch(c.Config, client.Options{Scheme: c.Client.Scheme()})
	if err != nil {
		b.Fatal(err)
	}
	managed := newCourse(b, c, watcher, "managed")
	probe := userProbe(managed.namespace, "probe", v1alpha1.ProbeResource{Name: "foos.managed.example.com", Upgradeable: "!Migrating"})
	c.Create(b, probe)
	awaitProbe(b, c, key(probe), "Upgradeable=True/AllUpgradeable")

	bare := newCourse(b, c, watcher, "bare")
	mirror := probeNamed(bare.namespace, "probe")
	c.Create(b, mirror)
	go bare.mirror(b, mirror)

	managed.observe(b)
	bare.observe(b)
	i := 0
	for b.Loop() {
		i++
		managed.flip(b, i%2 == 1)
		bare.flip(b, i%2 == 1)
	}
	slices.Sort(managed.took)
	slices.Sort(bare.took)
	for _, p := range []int{50, 99} {
		at := (len(managed.took) - 1) * p / 100
		b.ReportMetric(float64(managed.took[at].Microseconds()), fmt.Sprintf("p%d-us", p))
		b.ReportMetric(float64(managed.took[at])/float64(bare.took[at]), fmt.Sprintf("x-of-bare-p%d", p))
	}
}

// course is a Foo, and a Probe in its namespace that should report its flips.
type course struct {
	c         *testcluster.Cluster
	watcher   client.WithWatch
	namespace string
	foo       *unstructured.Unstructured
	probes    apiwatch.Interface
	took      []time.Duration
}

func newCourse(b *testing.B, c *testcluster.Cluster, watcher client.WithWatch, name string) *course {
	b.Helper()
	group := name + ".example.com"
	out := &course{c: c, watcher: watcher, namespace: c.Namespace(b, name)}
	account(b, c, out.namespace, group)
	c.Apply(b, out.namespace, builder.CRD("foos", group))
	out.foo = foo(b, c, group, out.namespace, "foo", "Migrating=False")
	return out
}

func (c *course) observe(b *testing.B) {
	var err error
	if c.probes, err = c.watcher.Watch(b.Context(), &v1alpha1.ProbeList{}, client.InNamespace(c.namespace)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.probes.Stop)
}

// mirror patches a Probe's status as soon as the Foo's conditions change.
func (c *course) mirror(b *testing.B, probe *v1alpha1.Probe) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": c.foo.GetAPIVersion(), "kind": "FooList"}}
	foos, err := c.watcher.Watch(b.Context(), list, client.InNamespace(c.namespace))
	if err != nil {
		b.Error(err)
		return
	}
	defer foos.Stop()
	for e := range foos.ResultChan() {
		foo, ok := e.Object.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		conditions, _, _ := unstructured.NestedSlice(foo.Object, "status", "conditions")
		status := metav1.ConditionTrue
		if conditions[0].(map[string]any)["status"] == "True" {
			status = metav1.ConditionFalse
		}
		before := probe.DeepCopy()
		c.fill(probe, status)
		if err := c.c.Client.Status().Patch(b.Context(), probe, client.MergeFrom(before)); err != nil && b.Context().Err() == nil {
			b.Error(err)
		}
	}
}

// fill sets a status of the size that the manager writes, so the work of the API server is the same.
func (c *course) fill(probe *v1alpha1.Probe, upgradeable metav1.ConditionStatus) {
	for _, t := range []string{v1alpha1.ConditionUpgradeable, v1alpha1.ConditionImportant, v1alpha1.ConditionSynced} {
		condition := metav1.Condition{
			Type: t, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynced, ObservedGeneration: probe.Generation,
			Message: "Waiting for Foo " + c.namespace + "/foo: Migrating is True",
		}
		if t == v1alpha1.ConditionUpgradeable {
			condition.Status = upgradeable
		}
		meta.SetStatusCondition(&probe.Status.Conditions, condition)
	}
	probe.Status.ObservedGeneration = probe.Generation
	probe.Status.ProbeResources = nil
	probe.Status.Summary = &v1alpha1.ProbeSummary{Total: 1}
	if upgradeable == metav1.ConditionFalse {
		probe.Status.Summary.NotUpgradeable = 1
		probe.Status.ProbeResources = []v1alpha1.ProbeResourceStatus{{
			Resource: "foos.bare.example.com", Kind: "Foo", Namespace: c.namespace, Name: "foo", Blocking: true, Reasons: []string{"!Migrating"},
		}}
	}
}

// flip sets the Foo's Migrating, and waits until the Probe reports it.
func (c *course) flip(b *testing.B, migrating bool) {
	want := map[bool]metav1.ConditionStatus{true: metav1.ConditionFalse, false: metav1.ConditionTrue}[migrating]
	conditions := map[bool]string{true: "Migrating=True", false: "Migrating=False"}[migrating]
	began := time.Now()
	patched := make(chan struct{})
	go func() {
		defer close(patched)
		setConditions(b, c.c, c.foo, conditions)
	}()
	for e := range c.probes.ResultChan() {
		p, ok := e.Object.(*v1alpha1.Probe)
		if ok && meta.IsStatusConditionPresentAndEqual(p.Status.Conditions, v1alpha1.ConditionUpgradeable, want) {
			break
		}
	}
	c.took = append(c.took, time.Since(began))
	<-patched
}
