package watch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// BenchmarkFlip compares the latency from a patch to a notification of the engine with that of a bare watch.
func BenchmarkFlip(b *testing.B) {
	f := newFixture(b, testcluster.Start(b), "flip.example.com")
	f.awaitServed(b)
	n := f.Namespace(b, "flip")
	const objects = 1000
	fill(b, f, n, objects)

	sub := subscribe(b, f.engine(b), f.target(), "Migrating")
	sub.awaits(b, objects)
	bare := bareWatch(b, f, n)

	var engine, peer []time.Duration
	i := 0
	for b.Loop() {
		name := fmt.Sprintf("foo-%04d", i/2%objects)
		status, blocking := "True", 1
		if i%2 == 1 {
			status, blocking = "False", 0
		}
		i++
		patch := []byte(fmt.Sprintf(`{"status":{"conditions":[{"type":"Migrating","status":%q}]}}`, status))
		start := time.Now()
		seen := make(chan time.Duration, 1)
		go func() {
			<-bare
			seen <- time.Since(start)
		}()
		patched := make(chan error, 1)
		go func() { patched <- f.patchStatus(n, name, patch) }()
		for sub.Snapshot().Blocking != blocking {
			<-sub.notified
		}
		engine = append(engine, time.Since(start))
		peer = append(peer, <-seen)
		if err := <-patched; err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(engine)
	slices.Sort(peer)
	for _, p := range []int{50, 99} {
		at := (len(engine) - 1) * p / 100
		b.ReportMetric(float64(engine[at].Microseconds()), fmt.Sprintf("engine-p%d-us", p))
		b.ReportMetric(float64(engine[at])/float64(peer[at]), fmt.Sprintf("x-of-bare-watch-p%d", p))
	}
}

func (f fixture) patchStatus(namespace, name string, patch []byte) error {
	return f.Client.Status().Patch(context.Background(), f.foo(namespace, name), client.RawPatch(types.MergePatchType, patch))
}

// bareWatch sends for each event of a watch, with nothing in between.
func bareWatch(b *testing.B, f fixture, namespace string) <-chan struct{} {
	b.Helper()
	c, err := dynamic.NewForConfig(f.Config)
	if err != nil {
		b.Fatal(err)
	}
	resource := c.Resource(f.target().Resource).Namespace(namespace)
	list, err := resource.List(context.Background(), metav1.ListOptions{Limit: 1})
	if err != nil {
		b.Fatal(err)
	}
	w, err := resource.Watch(context.Background(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	out := make(chan struct{})
	go func() {
		for e := range w.ResultChan() {
			if _, ok := e.Object.(*unstructured.Unstructured); ok {
				out <- struct{}{}
			}
		}
	}()
	return out
}

func fill(b *testing.B, f fixture, namespace string, objects int) {
	b.Helper()
	var workers sync.WaitGroup
	names := make(chan string)
	for range 8 {
		workers.Go(func() {
			for name := range names {
				o := f.foo(namespace, name)
				o.Object["spec"] = map[string]any{"replicas": int64(3), "storage": map[string]any{"size": "100Gi", "class": "fast"}}
				if err := f.Client.Create(context.Background(), o); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range objects {
		names <- fmt.Sprintf("foo-%04d", i)
	}
	close(names)
	workers.Wait()
	if b.Failed() {
		b.FailNow()
	}
}
