package probe

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
)

// TestPodSettles verifies that a pod that restarts, with the identity that it had, begins to settle again, and that once.
func TestPodSettles(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo"}}
	probe.Spec = &v1alpha1.ProbeSpec{Settle: &metav1.Duration{Duration: 10 * time.Minute}}
	probe.Status.Reader = "pod"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(probe).WithStatusSubresource(probe).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceGet: func(ctx context.Context, c client.Client, _ string, o, _ client.Object, _ ...client.SubResourceGetOption) error {
			return c.Get(ctx, client.ObjectKeyFromObject(o), o)
		},
	}).Build()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	t.Cleanup(queue.ShutDown)
	r := &PodReader{plan: podPlan{Probe: client.ObjectKeyFromObject(probe)}, client: c, queue: queue, log: logr.Discard()}
	read := []probestatus.Read{{Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 1}}}}
	in := probestatus.Inputs{Reader: "pod", Resources: []probestatus.Resource{{CRD: "foos.example.com", Kind: "Foo", Read: read}}}
	for _, step := range []struct{ reason, want string }{
		{"The pod may not have run for a while.", v1alpha1.ReasonSettling},
		{"Now it has.", v1alpha1.ReasonAllUpgradeable},
	} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(probe), probe); err != nil {
			t.Fatal(err)
		}
		probe.Status.AllowedSince = new(metav1.NewTime(time.Now().Add(-time.Hour)))
		if err := c.Status().Update(t.Context(), probe); err != nil {
			t.Fatal(err)
		}
		if err := r.report(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(probe), probe); err != nil {
			t.Fatal(err)
		}
		if got := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable); got == nil || got.Reason != step.want {
			t.Errorf("%s\ngot %+v, want %s", step.reason, got, step.want)
		}
	}
}
