package platformoperator

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apifields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// departures enqueues a PlatformOperator that is being deleted when an object that blocks the deletion is deleted. It
// watches only one of the blocking objects at a time, since the reconcile lists them all again.
type departures struct {
	mu      sync.Mutex
	ctx     context.Context
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
	awaited map[string]departure // by PlatformOperator
}

type departure struct {
	uid  types.UID
	stop context.CancelFunc
}

// start keeps the queue, which is valid for as long as the controller runs.
func (d *departures) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx, d.queue, d.awaited = ctx, queue, map[string]departure{}
	return nil
}

// await watches an object on behalf of a PlatformOperator, and stops the previous watch; nil only stops it.
func (d *departures) await(op string, o *found) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, ok := d.awaited[op]
	if ok && o != nil && before.uid == o.UID {
		return
	}
	if ok {
		before.stop()
		delete(d.awaited, op)
	}
	if o == nil {
		return
	}
	ctx, stop := context.WithCancel(d.ctx)
	d.awaited[op] = departure{o.UID, stop}
	go d.watch(ctx, op, o)
}

// watch waits until the object is deleted or replaced by another of its name, and then enqueues the PlatformOperator.
func (d *departures) watch(ctx context.Context, op string, o *found) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(o.GroupVersionKind().GroupVersion().WithKind(o.Kind + "List"))
	one := func(options metav1.ListOptions) *client.ListOptions {
		options.FieldSelector = apifields.OneTermEqualSelector("metadata.name", o.Name).String()
		return &client.ListOptions{Namespace: o.Namespace, Raw: &options}
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			out := list.DeepCopy()
			return out, o.as.List(ctx, out, one(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			return o.as.Watch(ctx, list.DeepCopy(), one(options))
		},
	}
	absent := func(store cache.Store) (bool, error) { return len(store.ListKeys()) == 0, nil }
	gone := func(event apiwatch.Event) (bool, error) {
		live, err := meta.Accessor(event.Object)
		return event.Type == apiwatch.Deleted || err == nil && live.GetUID() != o.UID, nil
	}
	_, err := watch.UntilWithSync(ctx, source, &metav1.PartialObjectMetadata{}, absent, gone)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to watch an object that blocks the deletion of a PlatformOperator", "platformOperator", op)
	}
	d.mu.Lock()
	delete(d.awaited, op)
	d.mu.Unlock()
	d.queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: op}})
}
