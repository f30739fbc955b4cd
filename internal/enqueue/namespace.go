package enqueue

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// interval is how often the objects of a namespace are enqueued during a burst of events.
const interval = 200 * time.Millisecond

// queue is what a handler adds requests to.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// PerNamespace returns a handler that enqueues the requests that of returns for the namespace of an object: at once for
// the first event, then once per interval until there are no more events. With a request for each of n objects after each
// of n events, a tenant with many objects would keep all others waiting.
func PerNamespace(of func(ctx context.Context, namespace string) []reconcile.Request) handler.EventHandler {
	p := &perNamespace{of: of, bursts: map[string]bool{}}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, q queue) { p.event(ctx, e.Object, q) },
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, q queue) { p.event(ctx, e.ObjectNew, q) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { p.event(ctx, e.Object, q) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { p.event(ctx, e.Object, q) },
	}
}

type perNamespace struct {
	of func(ctx context.Context, namespace string) []reconcile.Request

	mu sync.Mutex

	// bursts has the namespaces that were enqueued within the last interval. The value is true if there were events since.
	bursts map[string]bool
}

func (p *perNamespace) event(ctx context.Context, o client.Object, q queue) {
	namespace := o.GetNamespace()
	p.mu.Lock()
	_, burst := p.bursts[namespace]
	p.bursts[namespace] = burst
	p.mu.Unlock()
	if !burst {
		p.enqueue(ctx, namespace, q)
	}
}

// enqueue adds the requests for a namespace, and again after the interval if there were events meanwhile.
func (p *perNamespace) enqueue(ctx context.Context, namespace string, q queue) {
	for _, request := range p.of(ctx, namespace) {
		q.Add(request)
	}
	time.AfterFunc(interval, func() {
		p.mu.Lock()
		again := p.bursts[namespace]
		if again {
			p.bursts[namespace] = false
		} else {
			delete(p.bursts, namespace)
		}
		p.mu.Unlock()
		if again && ctx.Err() == nil {
			p.enqueue(ctx, namespace, q)
		}
	})
}
