package cli

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer"
)

// resync is how often an operator is read without an event: not all that it depends on may be watched by the user.
const resync = 5 * time.Second

// settle is how long events are collected before an operator is read again.
const settle = 100 * time.Millisecond

// follow calls visit with the objects that describe the operators of a namespace, or of all if that is empty, and again
// whenever they change, until visit returns true or the context ends.
func (o *options) follow(ctx context.Context, namespace string, visit func(installer.Cluster) (bool, error)) error {
	c, err := o.client()
	if err != nil {
		return err
	}
	changes := changesIn(ctx, c, o.installers.Kinds(), namespace)
	for {
		cluster, err := o.read(ctx, namespace)
		if err == nil {
			done, problem := visit(cluster)
			if err = problem; done {
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changes:
			select {
			case <-ctx.Done():
			case <-time.After(settle):
			}
		case <-time.After(resync):
		}
	}
}

// changesIn sends when something in a namespace changes that an operator consists of, as far as the user may watch it.
func changesIn(ctx context.Context, c client.WithWatch, kinds []installer.Kind, namespace string) <-chan struct{} {
	out := make(chan struct{}, 1)
	for _, k := range kinds {
		if k.ClusterScoped || k.AllNamespaces || k.Unwatched {
			continue
		}
		go func() {
			events, err := c.Watch(ctx, k.List(), client.InNamespace(namespace))
			if err != nil {
				return // the user may not watch it, or it is not installed
			}
			defer events.Stop()
			forward(events, out)
		}()
	}
	return out
}

// forward sends for events, once for those that come at a time, until the watch ends.
func forward(events watch.Interface, to chan<- struct{}) {
	for range events.ResultChan() {
		select {
		case to <- struct{}{}:
		default:
		}
	}
}
