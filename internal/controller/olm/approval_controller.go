package olm

import (
	"context"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/bridge"
	"github.com/operator-status/operator-status/internal/enqueue"
)

// ApprovalReconciler approves the InstallPlans of OLM that Subscriptions leave to operator-status, once every operator
// that they update allows it.
type ApprovalReconciler struct {
	Client client.Client

	// Reader bypasses the cache, since an approval must not depend on stale objects.
	Reader client.Reader

	// Identity identifies this process as a reader of custom resources.
	Identity string

	Recorder events.EventRecorder
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=installplans,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile approves an InstallPlan if its Verdict allows it.
func (r *ApprovalReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	plan, err := find[olm.InstallPlan](ctx, r.Client, request.NamespacedName)
	if err != nil || !bridge.Waits(plan) {
		return reconcile.Result{}, err
	}
	n, err := readAll(ctx, r.Client, r.Client, plan.Namespace, r.Identity)
	if err != nil || !bridge.Judge(plan, n).Ours {
		return reconcile.Result{}, err
	}
	if plan, err = find[olm.InstallPlan](ctx, r.Reader, request.NamespacedName); err != nil || !bridge.Waits(plan) {
		return reconcile.Result{}, err
	}
	if n, err = readLive(ctx, r.Client, r.Reader, plan.Namespace, r.Identity); err != nil {
		return reconcile.Result{}, err
	}
	verdict := bridge.Judge(plan, n)
	if verdict.Approve() {
		return apply.Requeue(reconcile.Result{}, r.approve(ctx, plan, verdict))
	}
	if verdict.Gate.Held && verdict.Gate.Reason == v1alpha1.ReasonProbeNotRead {
		return reconcile.Result{RequeueAfter: time.Second}, nil // no event signals that it has been read
	}
	return reconcile.Result{}, nil
}

// approve approves a plan as it was judged: a newer resourceVersion is a conflict, and is judged again.
func (r *ApprovalReconciler) approve(ctx context.Context, plan *olm.InstallPlan, verdict bridge.Verdict) error {
	approved := plan.DeepCopy()
	approved.Spec.Approved = true
	if err := apply.Patch(ctx, r.Client, plan, approved, FieldOwner); err != nil {
		return err
	}
	if verdict.Gate.Overridden {
		r.Recorder.Eventf(plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", verdict.Gate.Message)
	}
	log.FromContext(ctx).Info("Approved InstallPlan", "installs", plan.Spec.ClusterServiceVersionNames)
	return nil
}

// SetupWithManager enqueues a plan when it changes, and all waiting plans of a namespace when a Subscription,
// ClusterServiceVersion, Probe or OperatorCondition there does. around restricts the reconciler to its lifecycle mode.
func (r *ApprovalReconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	waiting := handler.EnqueueRequestsFromMapFunc(r.waiting)
	return ctrl.NewControllerManagedBy(mgr).
		Named("olm-approval").
		For(&olm.InstallPlan{}).
		Watches(&v1alpha1.Subscription{}, waiting).
		Watches(&v1alpha1.ClusterServiceVersion{}, waiting).
		Watches(&v1alpha1.Probe{}, waiting).
		Watches(&operatorsv2.OperatorCondition{}, waiting).
		Complete(around(r))
}

// waiting returns requests for the plans of a namespace that wait for approval.
func (r *ApprovalReconciler) waiting(ctx context.Context, o client.Object) []reconcile.Request {
	return enqueue.Listed(ctx, r.Client, &olm.InstallPlanList{}, bridge.Waits, client.InNamespace(o.GetNamespace()))
}
