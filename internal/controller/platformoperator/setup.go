package platformoperator

import (
	"context"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// The indexes of PlatformOperators in the cache.
const (
	// IndexPackage indexes by the name of the package.
	IndexPackage = "spec.package.name"

	// IndexNamespace indexes by the namespace to install in; "*" for a PlatformOperator that observes in any namespace.
	IndexNamespace = "namespaceToInstallIn"
)

// concurrency is how many PlatformOperators are reconciled at once.
const concurrency = 4

// IndexCache adds the indexes that this package uses.
func IndexCache(ctx context.Context, indexer client.FieldIndexer) error {
	for name, value := range map[string]func(*v1alpha1.PlatformOperator) string{
		IndexPackage: func(op *v1alpha1.PlatformOperator) string { return op.Spec.Package.Name },
		IndexNamespace: func(op *v1alpha1.PlatformOperator) string {
			if op.Spec.ManagementPolicy == v1alpha1.ManagementObserve && op.Spec.Namespace == "" {
				return anywhere
			}
			return op.GetNamespaceToInstallIn()
		},
	} {
		if err := indexer.IndexField(ctx, &v1alpha1.PlatformOperator{}, name, func(o client.Object) []string {
			return []string{value(o.(*v1alpha1.PlatformOperator))}
		}); err != nil {
			return fmt.Errorf("indexing PlatformOperators by %s: %w", name, err)
		}
	}
	return nil
}

// anywhere is the index value of a PlatformOperator that observes in any namespace. No namespace can have that name.
const anywhere = "*"

// SetupWithManager enqueues a PlatformOperator when it, an object that it composes, or another PlatformOperator for its
// package changes. WatchOLM adds the watches that need OLM's kinds once those are installed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) (controller.Controller, error) {
	// Updates of its status do not enqueue it.
	changed := predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetDeletionTimestamp() != nil
	}))
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("platform-operator").
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Watches(&v1alpha1.PlatformOperator{}, r.enqueueSamePackage(), builder.WithPredicates(changed)).
		Watches(&apiextensions.CustomResourceDefinition{}, r.kinds()).
		WatchesRawSource(source.Func(r.departures.start)).
		Build(r)
	if err != nil {
		return nil, err
	}
	r.Watches.mu.Lock()
	defer r.Watches.mu.Unlock()
	r.Watches.controller = c
	return c, nil
}

// WatchOLM enqueues a PlatformOperator when an object of OLM in its namespace, or a Probe, changes.
func (r *Reconciler) WatchOLM(mgr ctrl.Manager, c controller.Controller) error {
	for _, kind := range []client.Object{
		&operatorsv1alpha1.Subscription{}, &operatorsv1alpha1.ClusterServiceVersion{}, &operatorsv1alpha1.Probe{}, &operatorsv1.OperatorGroup{},
	} {
		inside := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return r.inNamespace(ctx, o.GetNamespace())
		})
		if err := c.Watch(source.Kind(mgr.GetCache(), kind, inside)); err != nil {
			return err
		}
	}
	r.subscriptions.Store(true)
	return c.Watch(source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for _, request := range r.list(ctx) {
			queue.Add(request)
		}
		return nil
	}))
}

// WatchHolds enqueues a PlatformOperator when an UpgradeHold in its namespace changes.
func (r *Reconciler) WatchHolds(mgr ctrl.Manager, c controller.Controller) error {
	return c.Watch(source.Kind[client.Object](mgr.GetCache(), &holdv1alpha1.UpgradeHold{}, upgradehold.Enqueue(holdv1alpha1.InstallerOLM,
		func(ctx context.Context, of types.NamespacedName) []reconcile.Request {
			return r.inNamespace(ctx, of.Namespace)
		})))
}

// inNamespace returns the PlatformOperators that an object in a namespace may belong to.
func (r *Reconciler) inNamespace(ctx context.Context, namespace string) []reconcile.Request {
	return append(r.list(ctx, client.MatchingFields{IndexNamespace: namespace}), r.list(ctx, client.MatchingFields{IndexNamespace: anywhere})...)
}

// enqueueSamePackage enqueues a PlatformOperator and the others for its package, both the current and the previous one.
func (r *Reconciler) enqueueSamePackage() handler.EventHandler {
	add := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], o client.Object) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		for _, request := range r.list(ctx, client.MatchingFields{IndexPackage: o.(*v1alpha1.PlatformOperator).Spec.Package.Name}) {
			queue.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, queue, e.Object)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, queue, e.ObjectOld)
			add(ctx, queue, e.ObjectNew)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, queue, e.Object)
		},
	}
}

// kinds enqueues the PlatformOperators that wait for a kind when a CRD changes, and stops the watches of a deleted CRD.
func (r *Reconciler) kinds() handler.EventHandler {
	waiting := func(ctx context.Context, _ client.Object) []reconcile.Request {
		return r.requests(ctx, func(op *v1alpha1.PlatformOperator) bool {
			for _, resource := range op.Status.Resources {
				if resource.Reason == v1alpha1.ReasonKindNotFound {
					return true
				}
			}
			return false
		})
	}
	out := handler.EnqueueRequestsFromMapFunc(waiting)
	return handler.Funcs{
		CreateFunc: out.Create,
		UpdateFunc: out.Update,
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			crd, ok := e.Object.(*apiextensions.CustomResourceDefinition)
			if !ok {
				return
			}
			for _, v := range crd.Spec.Versions {
				r.Watches.Stop(ctx, schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
			}
		},
	}
}

func (r *Reconciler) list(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	return r.requests(ctx, nil, options...)
}

func (r *Reconciler) requests(ctx context.Context, wanted func(*v1alpha1.PlatformOperator) bool, options ...client.ListOption) []reconcile.Request {
	return kube.EnqueueListed(ctx, r.Client, &v1alpha1.PlatformOperatorList{}, wanted, options...)
}
