package upgradehold

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// IndexReconciler keeps the index of UpgradeHolds.
type IndexReconciler struct {
	Index *upgradehold.Index

	// Parts has the ConfigMaps of the index.
	Parts cache.Cache
}

// Reconcile writes the index if it changed.
func (r *IndexReconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	err := r.Index.Write(ctx)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // the cache is behind
	}
	return reconcile.Result{}, err
}

// SetupWithManager has the index written when an UpgradeHold or the index changes.
func (r *IndexReconciler) SetupWithManager(mgr manager.Manager) error {
	return builder.ControllerManagedBy(mgr).
		Named("upgradehold-index").
		Watches(&holdv1alpha1.UpgradeHold{}, handler.EnqueueRequestsFromMapFunc(once[client.Object])).
		WatchesRawSource(source.Kind(r.Parts, &corev1.ConfigMap{}, handler.TypedEnqueueRequestsFromMapFunc(once[*corev1.ConfigMap]))).
		Complete(r)
}

// once enqueues one request for all: the index is written as a whole.
func once[T client.Object](context.Context, T) []reconcile.Request { return []reconcile.Request{{}} }
