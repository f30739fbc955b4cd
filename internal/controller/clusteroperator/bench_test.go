package clusteroperator_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	clusteroperatorstatus "github.com/operator-status/operator-status/internal/status/clusteroperator"
)

// BenchmarkStatus measures Status alone, with healthy and with broken PlatformOperators.
func BenchmarkStatus(b *testing.B) {
	for _, many := range []int{50, 5000} {
		for name, reason := range map[string]string{"well": platformv1alpha1.ReasonInstalled, "broken": "PackageNotFound"} {
			b.Run(fmt.Sprintf("%d/%s", many, name), func(b *testing.B) {
				in := clusteroperatorstatus.Inputs{Cluster: clusteroperatorstatus.Cluster{Release: "1.0.0", Reached: true}, Now: metav1.Now()}
				for i := range many {
					p := platformOperator(fmt.Sprintf("po-%04d", (i*7919)%many)) // unordered, like a cache
					installed(p, reason, "There is no package of that name in the catalog olm/operators")
					in.Operators = append(in.Operators, *p)
				}
				in.Current, _ = clusteroperatorstatus.Compute(in)
				b.ReportAllocs()
				for b.Loop() {
					clusteroperatorstatus.Compute(in)
				}
			})
		}
	}
}

// BenchmarkReckoning measures a reconcile after one of 5,000 PlatformOperators changed, including reads from the cache,
// relative to the one write that follows it.
func BenchmarkReckoning(b *testing.B) {
	const many = 5000
	c := start(b)
	platform(b, c, many)
	co := c.InstallClusterOperator(b)
	r := run(b, c)
	await(b, c, "Available=True/PlatformOperatorsInstalled")
	c.AwaitIdle(b, restful, agent)
	var reckoning time.Duration
	b.Run("reckoning", func(b *testing.B) {
		before := r.reckonings.Load()
		for b.Loop() {
			if _, err := r.reconciler.Reconcile(context.Background(), reconcile.Request{}); err != nil {
				b.Fatal(err)
			}
		}
		if n := r.reckonings.Load() - before; n < int64(b.N) {
			b.Fatalf("%d reckonings in %d rounds", n, b.N)
		}
		reckoning = b.Elapsed() / time.Duration(b.N)
	})
	b.Run("write", func(b *testing.B) {
		r.stop() // otherwise it would revert these writes
		if err := c.Client.Get(context.Background(), client.ObjectKeyFromObject(co), co); err != nil {
			b.Fatal(err)
		}
		i := 0
		for b.Loop() {
			i++
			before := co.DeepCopy()
			co.Status.Conditions[1].Message = fmt.Sprintf("Waiting for %d of %d PlatformOperators", i, many)
			patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
			if err := c.Client.Status().Patch(context.Background(), co, patch); err != nil {
				b.Fatal(err)
			}
		}
		write := b.Elapsed() / time.Duration(b.N)
		b.ReportMetric(float64(reckoning)/float64(write), "reckoning/write")
	})
}
