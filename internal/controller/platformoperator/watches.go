package platformoperator

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// Watches watches composed objects of any kind. The watch of a kind starts when such an object is first composed, and
// reads only objects that have our label.
type Watches struct {
	cache   cache.Cache
	handler handler.EventHandler

	mu         sync.Mutex
	controller controller.Controller
	started    map[schema.GroupVersionKind]cache.Informer
}

// NewWatches returns Watches that run with the manager.
func NewWatches(mgr ctrl.Manager) (*Watches, error) {
	composed, err := labels.NewRequirement(v1alpha1.LabelPlatformOperator, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	out := &Watches{started: map[schema.GroupVersionKind]cache.Informer{}}
	out.cache, err = cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultLabelSelector: labels.NewSelector().Add(*composed),
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("creating the cache of composed objects: %w", err)
	}
	if err := mgr.Add(out.cache); err != nil {
		return nil, fmt.Errorf("adding the cache of composed objects: %w", err)
	}
	out.handler = handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.PlatformOperator{}, handler.OnlyControllerOwner())
	return out, nil
}

// Watches reports whether a kind is watched.
func (w *Watches) Watches(kind schema.GroupVersionKind) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.started[kind]
	return ok
}

// Start watches a kind, unless it is watched already. It does not wait for the first objects.
func (w *Watches) Start(ctx context.Context, kind schema.GroupVersionKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.started[kind]; ok {
		return
	}
	informer, err := w.cache.GetInformer(ctx, of(kind), cache.BlockUntilSynced(false))
	if err == nil {
		err = w.controller.Watch(&source.Informer{Informer: informer, Handler: w.handler})
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to watch a composed kind", "kind", kind)
		return // the next object of the kind retries
	}
	w.started[kind] = informer
}

// Stop ends the watches of kinds that the cluster no longer serves, which would otherwise be retried forever.
func (w *Watches) Stop(ctx context.Context, kinds ...schema.GroupVersionKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, kind := range kinds {
		if _, ok := w.started[kind]; !ok {
			continue
		}
		delete(w.started, kind)
		if err := w.cache.RemoveInformer(ctx, of(kind)); err != nil {
			log.FromContext(ctx).Error(err, "Failed to stop the watch of a kind that is no longer served", "kind", kind)
		}
	}
}

// Get returns an object from the watch cache, or nil if it is not found or the cache has not synced.
func (w *Watches) Get(ctx context.Context, o *unstructured.Unstructured) *unstructured.Unstructured {
	w.mu.Lock()
	informer, ok := w.started[o.GroupVersionKind()]
	w.mu.Unlock()
	if !ok || !informer.HasSynced() {
		return nil
	}
	out := of(o.GroupVersionKind())
	if err := w.cache.Get(ctx, client.ObjectKeyFromObject(o), out); err != nil {
		return nil
	}
	return out
}

func of(kind schema.GroupVersionKind) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(kind)
	return out
}
