// Package operatorgroup is the loop of OperatorGroups: it says which namespaces each covers, and keeps the cluster roles
// that people are bound to.
package operatorgroup

import (
	"context"
	"fmt"
	"slices"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// FieldOwner is who the API server says wrote an OperatorGroup's status.
const FieldOwner = client.FieldOwner("operator-status-operatorgroup")

// Reconciler keeps the status of OperatorGroups true, and their roles.
type Reconciler struct {
	Client client.Client
	Now    func() time.Time
}

// Reconcile brings one OperatorGroup up to date, or clears up after it.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	group := &operatorsv1.OperatorGroup{}
	if err := r.Client.Get(ctx, request.NamespacedName, group); apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.collect(ctx, request.NamespacedName)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if !group.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if err := r.status(ctx, group); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.roles(ctx, group)
}

// status says which namespaces an OperatorGroup covers.
func (r *Reconciler) status(ctx context.Context, group *operatorsv1.OperatorGroup) error {
	targets, err := operatorgroup.Targets(ctx, r.Client, group)
	if err != nil {
		return err
	}
	if group.Status.LastUpdated != nil && slices.Equal(targets, group.Status.Namespaces) {
		return nil
	}
	out := group.DeepCopy()
	now := metav1.NewTime(r.Now())
	out.Status.Namespaces, out.Status.LastUpdated = targets, &now
	if err := r.Client.Status().Update(ctx, out, FieldOwner); err != nil {
		return fmt.Errorf("writing the status of OperatorGroup %s: %w", client.ObjectKeyFromObject(group), err)
	}
	return nil
}

// SetupWithManager has an OperatorGroup looked at when it changes, an operator in it or one of its roles does, and where
// it selects namespaces by label when one of those does.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return ctrl.NewControllerManagedBy(mgr).
		Named("operatorgroup").
		For(&operatorsv1.OperatorGroup{}).
		WatchesMetadata(namespace, handler.EnqueueRequestsFromMapFunc(r.selecting)).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(owner)).
		Complete(around(r))
}

// ofNamespace are the OperatorGroups of a namespace.
func (r *Reconciler) ofNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.list(ctx, func(*operatorsv1.OperatorGroup) bool { return true }, client.InNamespace(o.GetNamespace()))
}

// owner is the OperatorGroup that a role is for.
func owner(_ context.Context, o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[install.LabelOwnerKind] != operatorsv1.OperatorGroupKind {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: labels[install.LabelOwnerNamespace], Name: labels[install.LabelOwner],
	}}}
}

// selecting are those that select namespaces by label.
func (r *Reconciler) selecting(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.list(ctx, func(group *operatorsv1.OperatorGroup) bool { return group.Spec.Selector != nil })
}

func (r *Reconciler) list(ctx context.Context, which func(*operatorsv1.OperatorGroup) bool, options ...client.ListOption) []reconcile.Request {
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, options...); err != nil {
		log.FromContext(ctx).Error(err, "Listing the OperatorGroups that a change concerns")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if which(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}
