package store

import (
	"context"
	"sync"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// changes notifies any number of listeners about CatalogSources that changed. A slow listener blocks no other; several
// changes of one CatalogSource may reach it as one.
type changes struct {
	mu        sync.Mutex
	listeners map[*listener]bool
}

type listener struct {
	mu      sync.Mutex
	pending map[types.NamespacedName]bool
	wake    chan struct{}
}

// Changes returns a source that sends a generic event for each existing CatalogSource when it starts, and then whenever
// the content, health or priority of a CatalogSource changes or the CatalogSource is deleted. Only namespace and name
// of the event's object are set.
func (s *Store) Changes(h handler.EventHandler) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		l := s.changes.listen()
		l.add(s.keys()...)
		go func() {
			defer s.changes.leave(l)
			for {
				select {
				case <-ctx.Done():
					return
				case <-l.wake:
				}
				for _, key := range l.take() {
					cs := &olm.CatalogSource{}
					cs.Namespace, cs.Name = key.Namespace, key.Name
					h.Generic(ctx, event.GenericEvent{Object: cs}, queue)
				}
			}
		}()
		return nil
	})
}

func (c *changes) listen() *listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &listener{pending: map[types.NamespacedName]bool{}, wake: make(chan struct{}, 1)}
	if c.listeners == nil {
		c.listeners = map[*listener]bool{}
	}
	c.listeners[l] = true
	return l
}

func (c *changes) leave(l *listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listeners, l)
}

func (c *changes) notify(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.listeners {
		l.add(key)
	}
}

func (l *listener) add(keys ...types.NamespacedName) {
	l.mu.Lock()
	for _, key := range keys {
		l.pending[key] = true
	}
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default: // it is awake already
	}
}

func (l *listener) take() []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]types.NamespacedName, 0, len(l.pending))
	for key := range l.pending {
		out = append(out, key)
	}
	clear(l.pending)
	return out
}
