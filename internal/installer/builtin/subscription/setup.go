package subscription

import (
	"context"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
)

// concurrency is how many namespaces are reconciled concurrently.
const concurrency = 4

// SetupWithManager enqueues a namespace when one of its Subscriptions, or an object that they depend on, changes.
// around restricts the reconciler to its lifecycle mode.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	of := handler.EnqueueRequestsFromMapFunc(namespaceOf)
	seeing := handler.EnqueueRequestsFromMapFunc(r.seeing)
	return ctrl.NewControllerManagedBy(mgr).
		Named("subscription").
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Watches(&v1alpha1.Subscription{}, of).
		Watches(&olm.InstallPlan{}, of).
		Watches(&v1alpha1.ClusterServiceVersion{}, of).
		Watches(&operatorsv1.OperatorGroup{}, of).
		Watches(&olm.CatalogSource{}, seeing).
		Watches(&apiextensions.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.unresolved)).
		WatchesRawSource(r.Catalogs.Changes(seeing)).
		Complete(around(r))
}

func request(namespace string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: namespace}}
}

func namespaceOf(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{request(o.GetNamespace())}
}

// seeing enqueues the namespaces that can see a CatalogSource.
func (r *Reconciler) seeing(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetNamespace() != r.GlobalNamespace {
		return namespaceOf(ctx, o)
	}
	return r.namespacesOf(ctx, func(*v1alpha1.Subscription) bool { return true })
}

// unresolved enqueues the namespaces of unresolved Subscriptions: a new kind on the cluster may resolve them.
func (r *Reconciler) unresolved(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.namespacesOf(ctx, func(sub *v1alpha1.Subscription) bool {
		return sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed).Status == "True"
	})
}

// namespacesOf enqueues the namespaces of Subscriptions, each once.
func (r *Reconciler) namespacesOf(ctx context.Context, wanted func(*v1alpha1.Subscription) bool) []reconcile.Request {
	found := sets.New[reconcile.Request]()
	for _, sub := range kube.EnqueueListed(ctx, r.Client, &v1alpha1.SubscriptionList{}, wanted) {
		found.Insert(request(sub.Namespace))
	}
	return found.UnsortedList()
}
