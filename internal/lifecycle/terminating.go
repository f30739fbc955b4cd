package lifecycle

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// retryTerminating is the interval of retries while a namespace is being deleted, which usually takes a few seconds.
const retryTerminating = 10 * time.Second

// TolerateTerminating wraps a reconciler so that creating objects in a namespace that is being deleted is not an error:
// its own objects are deleted with it. The request is retried, since the namespace may be that of another object.
func TolerateTerminating(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		result, err := inner.Reconcile(ctx, r)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			log.FromContext(ctx).V(1).Info("Waiting until a namespace is deleted", "error", err.Error())
			return reconcile.Result{RequeueAfter: retryTerminating}, nil
		}
		return result, err
	})
}
