package olm

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// ApprovalReconciler approves the InstallPlans of OLM that Subscriptions leave to operator-status, once every operator that
// they update allows it.
type ApprovalReconciler struct {
	Client client.Client

	// Reader reads live: what an approval depends on must not be of yesterday.
	Reader client.Reader

	// Identity is who reads custom resources in this process.
	Identity string

	Recorder events.EventRecorder
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=installplans,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile approves an InstallPlan where it may. A request is for a namespace's plan.
func (r *ApprovalReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	plan, err := find[olm.InstallPlan](ctx, r.Client, request.NamespacedName)
	if err != nil || !waits(plan) {
		return reconcile.Result{}, err
	}
	n, err := readAll(ctx, r.Client, r.Client, plan.Namespace, r.Identity)
	if err != nil || !Judge(plan, n).Ours {
		return reconcile.Result{}, err
	}
	if plan, err = find[olm.InstallPlan](ctx, r.Reader, request.NamespacedName); err != nil || !waits(plan) {
		return reconcile.Result{}, err
	}
	if n, err = readAll(ctx, r.Client, r.Reader, plan.Namespace, r.Identity); err != nil {
		return reconcile.Result{}, err
	}
	verdict := Judge(plan, n)
	if verdict.Approve() {
		return reconcile.Result{}, r.approve(ctx, plan, verdict)
	}
	if verdict.Gate.Held && verdict.Gate.Reason == v1alpha1.ReasonProbeNotRead {
		return reconcile.Result{RequeueAfter: time.Second}, nil // nothing tells when it has been
	}
	return reconcile.Result{}, nil
}

// waits is true for a plan that is neither approved nor under way.
func waits(plan *olm.InstallPlan) bool {
	return plan != nil && plan.DeletionTimestamp.IsZero() && plan.Status.Phase == olm.InstallPlanPhaseRequiresApproval && !plan.Spec.Approved
}

// approve approves a plan as it was judged, with its resourceVersion: what changed meanwhile is judged again.
func (r *ApprovalReconciler) approve(ctx context.Context, plan *olm.InstallPlan, verdict Verdict) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": plan.ResourceVersion},
		"spec":     map[string]any{"approved": true},
	})
	if err != nil {
		return err
	}
	err = r.Client.Patch(ctx, plan, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldOwner))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // what it is now is on its way to the cache, and brings it back here
	}
	if err != nil {
		return fmt.Errorf("approving InstallPlan %s: %w", client.ObjectKeyFromObject(plan), err)
	}
	if verdict.Gate.Overridden {
		r.Recorder.Eventf(plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", verdict.Gate.Message)
	}
	log.FromContext(ctx).Info("Approved an InstallPlan of OLM", "installs", plan.Spec.ClusterServiceVersionNames)
	return nil
}

// SetupWithManager has the waiting plans of a namespace looked at when something of it changes that they wait for. around
// is what the switch puts around the reconciler.
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

// waiting are the plans of a namespace that wait for approval.
func (r *ApprovalReconciler) waiting(ctx context.Context, o client.Object) []reconcile.Request {
	list := &olm.InstallPlanList{}
	if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Listing the InstallPlans that an event is about")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if waits(&list.Items[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}
