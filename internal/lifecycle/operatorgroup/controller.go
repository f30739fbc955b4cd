// Package operatorgroup is the loop of OperatorGroups: it says which namespaces each covers.
package operatorgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
)

// FieldOwner is who the API server says wrote an OperatorGroup's status.
const FieldOwner = client.FieldOwner("operator-status-operatorgroup")

// Reconciler keeps the status of OperatorGroups true.
type Reconciler struct {
	Client client.Client
	Now    func() time.Time
}

// Reconcile says which namespaces one OperatorGroup covers.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	group := &operatorsv1.OperatorGroup{}
	if err := r.Client.Get(ctx, request.NamespacedName, group); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	targets, err := surroundings.Targets(ctx, r.Client, group)
	if err != nil {
		return reconcile.Result{}, err
	}
	if group.Status.LastUpdated != nil && slices.Equal(targets, group.Status.Namespaces) {
		return reconcile.Result{}, nil
	}
	out := group.DeepCopy()
	now := metav1.NewTime(r.Now())
	out.Status.Namespaces, out.Status.LastUpdated = targets, &now
	if err := r.Client.Status().Update(ctx, out, FieldOwner); err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the status of OperatorGroup %s: %w", request, err)
	}
	return reconcile.Result{}, nil
}

// SetupWithManager has an OperatorGroup looked at when it changes, and where it selects namespaces by label when one of
// those does.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return ctrl.NewControllerManagedBy(mgr).
		Named("operatorgroup").
		For(&operatorsv1.OperatorGroup{}).
		WatchesMetadata(namespace, handler.EnqueueRequestsFromMapFunc(r.selecting)).
		Complete(around(r))
}

func (r *Reconciler) selecting(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list); err != nil {
		log.FromContext(ctx).Error(err, "Listing the OperatorGroups that a namespace may be in")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if list.Items[i].Spec.Selector != nil {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}
