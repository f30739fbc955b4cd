package controller

import (
	"context"
	"fmt"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// HoldReconciler keeps the UpgradeHolds of operators that have a Subscription, beside OLM and with the built-in loops. A request is
// for a Subscription.
type HoldReconciler struct {
	Client client.Client

	// OptIns reads the operators' declarations from a cache.
	OptIns *optin.Store

	// Identity identifies this process as a reader of custom resources.
	Identity string

	Holds *upgradehold.Writer

	// BesideOLM reports whether OLM runs the loops, and not operator-status.
	BesideOLM func() bool

	// Self is the ClusterServiceVersion of operator-status itself, whose updates are never held.
	Self types.NamespacedName
}

// Reconcile writes the UpgradeHolds of a Subscription's operator.
func (r *HoldReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	sub, err := find[v1alpha1.Subscription](ctx, r.Client, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	op := upgradehold.Operator{OperatorReference: holdv1alpha1.SubscribedOperator(request.Namespace, request.Name)}
	if sub != nil {
		n, err := cached(r.Client, r.OptIns).readAll(ctx, request.Namespace, r.Identity)
		if err != nil {
			return reconcile.Result{}, fmt.Errorf("reading what holds the updates of Subscription %s: %w", request, err)
		}
		op = r.describe(op, sub, n)
	}
	result, err := r.Holds.Write(ctx, op)
	return kube.Requeue(result, err)
}

// describe adds the gate's decision about the operator of a Subscription.
func (r *HoldReconciler) describe(op upgradehold.Operator, sub *v1alpha1.Subscription, n bridge.Namespace) upgradehold.Operator {
	besideOLM := r.BesideOLM()
	holds, running := n.Holds(sub, besideOLM)
	if running == nil || client.ObjectKeyFromObject(running) == r.Self {
		return op
	}
	op.Request, op.Installed, op.Holds, op.Allowed = sub, true, holds, sub.Annotations[v1alpha1.AnnotationAllowUpgrade]
	if !besideOLM { // the built-in loops ask the gate
		return op
	}
	op.Denied = func(allowed string) *holdv1alpha1.DeniedUpdates { return bridge.Denied(sub, running, allowed) }
	return op
}

// SetupWithManager enqueues a Subscription when it, its UpgradeHolds, or a ClusterServiceVersion, Probe or OperatorCondition of its
// namespace changes, and all when the policies do. around restricts the reconciler to its lifecycle mode.
func (r *HoldReconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	neighbours := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		all := func(*v1alpha1.Subscription) bool { return true }
		return kube.EnqueueListed(ctx, r.Client, &v1alpha1.SubscriptionList{}, all, client.InNamespace(o.GetNamespace()))
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("olm-upgradehold").
		For(&v1alpha1.Subscription{}).
		Watches(&v1alpha1.ClusterServiceVersion{}, neighbours).
		Watches(&v1alpha1.Probe{}, neighbours).
		Watches(&operatorsv2.OperatorCondition{}, neighbours).
		Watches(&holdv1alpha1.UpgradeHold{}, upgradehold.Enqueue(holdv1alpha1.InstallerOLM, subscriptionOf)).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicy{}, neighbours).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, neighbours).
		Complete(around(r))
}

// subscriptionOf returns a request for the Subscription that an UpgradeHold refers to.
func subscriptionOf(_ context.Context, operator types.NamespacedName) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: operator}}
}
