package export

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"go.opentelemetry.io/otel/sdk/resource"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestRecorder verifies that only the leader records, from live reads, and that it flushes when it ends.
func TestRecorder(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypes(olm.SchemeGroupVersion, &olm.InstallPlan{})
	began, ended := metav1.Unix(1000, 0), metav1.Unix(1060, 0)
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "foo.v1"}}
	csv.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{
		{Phase: olm.CSVPhasePending, LastTransitionTime: &began}, {Phase: olm.CSVPhaseSucceeded, LastTransitionTime: &ended},
	}
	before := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "foo"}}
	before.Status.CurrentCSV, before.Status.InstallPlanRef = "foo.v1", &corev1.ObjectReference{Name: "deleted"}
	after := before.DeepCopy()
	before.Status.SetCondition(v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionUpToDate, Status: corev1.ConditionFalse, LastTransitionTime: &began,
	})
	after.Status.SetCondition(v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionUpToDate, Status: corev1.ConditionTrue, LastTransitionTime: &ended,
	})

	to, leading := &sink{}, make(chan struct{})
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(csv).Build()
	r := NewRecorder(reader, newExporter(to, resource.Empty(), logr.Discard()), leading, logr.Discard())
	handler := r.Handler()
	handler.OnUpdate(before, after) // by a replica that does not lead
	close(leading)
	handler.OnUpdate(before, before)
	handler.OnUpdate(before, after)
	if n := len(r.updates); n != 1 {
		t.Errorf("%d updates are enqueued", n)
	}
	for range 2 * queueSize { // does not block
		handler.OnUpdate(before, after)
	}
	for len(r.updates) > 1 {
		<-r.updates
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v1", "install foo.v1"}, to.names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.NeedLeaderElection() {
		t.Error("the recorder does not end with the process")
	}
}
