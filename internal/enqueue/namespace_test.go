package enqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// counting counts the requests that are added.
type counting struct {
	queue
	added int
}

func (c *counting) Add(reconcile.Request) { c.added++ }

func TestPerNamespace(t *testing.T) {
	for _, c := range []struct {
		name   string
		events int
		apart  time.Duration
		want   int
		reason string
	}{
		{"One", 1, 0, 1, "one event is not delayed, nor repeated"},
		{"Apart", 3, time.Second, 3, "nor are events that are no burst"},
		{"Burst", 10_000, 0, 2, "the first event, and the last state"},
		{"Lasting", 100, 10 * time.Millisecond, 6, "once per interval of the second that they last, and the last state"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				h := PerNamespace(func(_ context.Context, namespace string) []reconcile.Request {
					asked++
					return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: "a"}}}
				})
				q := &counting{}
				for range c.events {
					h.Create(t.Context(), event.CreateEvent{Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant"}}}, q)
					time.Sleep(c.apart)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if asked != c.want || q.added != c.want {
					t.Errorf("asked %d times, added %d requests, want %d: %s", asked, q.added, c.want, c.reason)
				}
			})
		})
	}
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = (*counting)(nil)
