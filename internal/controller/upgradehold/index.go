package upgradehold

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// IndexReconciler keeps the index of UpgradeHolds.
type IndexReconciler struct{ Client client.Client }

// Reconcile writes the index if it changed.
func (r *IndexReconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	err := upgradehold.WriteIndex(ctx, r.Client)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // the cache is behind
	}
	return reconcile.Result{}, err
}

// SetupWithManager has the index written when an UpgradeHold or the index changes.
func (r *IndexReconciler) SetupWithManager(mgr manager.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	return builder.ControllerManagedBy(mgr).
		Named("upgradehold-index").
		Watches(&holdv1alpha1.UpgradeHold{}, all).
		Watches(&holdv1alpha1.UpgradeHoldIndex{}, all).
		Complete(r)
}
