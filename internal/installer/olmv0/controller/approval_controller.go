package controller

import (
	"context"
	"sync"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/live"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// ApprovalReconciler approves the InstallPlans of OLM that Subscriptions leave to operator-status, once every operator
// that they update allows it.
type ApprovalReconciler struct {
	Client client.Client

	// Reader bypasses the cache, since an approval must not depend on stale objects.
	Reader client.Reader

	// OptIns reads the operators' declarations from a cache.
	OptIns *optin.Store

	// Live reads custom resources for the decision whether an update may begin.
	Live live.Probes

	// Identity identifies this process as a reader of custom resources.
	Identity string

	Recorder events.EventRecorder

	waiting sync.Map // by types.NamespacedName of a plan: since when it has been asked again and again
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=installplans,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile approves an InstallPlan if its Verdict allows it.
func (r *ApprovalReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	plan, err := find[olm.InstallPlan](ctx, r.Client, request.NamespacedName)
	if err != nil || !bridge.Waits(plan) {
		r.waiting.Delete(request.NamespacedName)
		return reconcile.Result{}, err
	}
	n, err := cached(r.Client, r.OptIns).readAll(ctx, plan.Namespace, r.Identity)
	if err != nil {
		return reconcile.Result{}, err
	}
	if verdict := bridge.Judge(plan, n); !verdict.Ours {
		logVerdict(ctx, verdict)
		return reconcile.Result{}, nil
	}
	if plan, err = find[olm.InstallPlan](ctx, r.Reader, request.NamespacedName); err != nil || !bridge.Waits(plan) {
		return reconcile.Result{}, err
	}
	verdict, judged, err := r.judge(ctx, plan)
	if err != nil {
		return reconcile.Result{}, err
	}
	logVerdict(ctx, verdict)
	if verdict.Approve() {
		return kube.Requeue(reconcile.Result{}, r.approve(ctx, plan, verdict, judged))
	}
	if !verdict.Gate.NeedsPolling() {
		r.waiting.Delete(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	since, asked := r.waiting.LoadOrStore(request.NamespacedName, metav1.Now())
	if !asked && verdict.Gate.Unreported() {
		r.Recorder.Eventf(plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeHeldByCustomResources, v1alpha1.EventActionApprove, "%s", verdict.Gate.Message)
	}
	return reconcile.Result{RequeueAfter: condition.BackOff(new(since.(metav1.Time)), time.Now())}, nil
}

// logVerdict logs a Verdict on a plan that waits for approval.
func logVerdict(ctx context.Context, v bridge.Verdict) {
	logger := log.FromContext(ctx).V(1)
	if !logger.Enabled() {
		return
	}
	message := "Holding the InstallPlan"
	switch {
	case v.Approve():
		message = "Approving the InstallPlan"
	case !v.Ours:
		message = "Leaving the InstallPlan to its users"
	}
	out := []any{"ours", v.Ours}
	if v.Gate.Reason != "" {
		out = append(out, "held", v.Gate.Held, "reason", v.Gate.Reason, "message", v.Gate.Message)
	}
	if len(v.Missing) > 0 {
		out = append(out, "missingApprovals", v.Missing)
	}
	logger.Info(message, out...)
}

// judge returns the Verdict on a plan from the state of the API server, and when it was true. If the plan would be approved, that
// includes the custom resources of the operators that it updates.
func (r *ApprovalReconciler) judge(ctx context.Context, plan *olm.InstallPlan) (verdict bridge.Verdict, at time.Time, err error) {
	n, err := r.readLive(ctx, plan)
	if err != nil {
		return bridge.Verdict{}, time.Time{}, err
	}
	if verdict := bridge.Judge(plan, n); !verdict.Approve() {
		return verdict, time.Now(), nil
	}
	decision, at, err := r.Live.Decide(ctx, func(ctx context.Context) (out []live.Update, err error) {
		if n, err = r.readLive(ctx, plan); err != nil {
			return nil, err
		}
		for _, in := range n.Updates(plan) {
			update := live.Update{Inputs: in}
			if in.Running != nil {
				update.CSV = n.CSVs[in.Running.Name]
			}
			out = append(out, update)
		}
		return out, nil
	})
	if err != nil {
		return bridge.Verdict{}, time.Time{}, err
	}
	verdict = bridge.Judge(plan, n)
	verdict.Gate = decision
	return verdict, at, nil
}

func (r *ApprovalReconciler) readLive(ctx context.Context, plan *olm.InstallPlan) (bridge.Namespace, error) {
	return at(r.Reader, r.Client, r.OptIns).readLive(ctx, plan.Namespace, r.Identity)
}

// approve approves a plan as it was judged: a newer resourceVersion is a conflict, and is judged again.
func (r *ApprovalReconciler) approve(ctx context.Context, plan *olm.InstallPlan, verdict bridge.Verdict, judged time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, judged.Add(live.DecisionLasts))
	defer cancel()
	approved := plan.DeepCopy()
	approved.Spec.Approved = true
	if err := kube.Patch(ctx, r.Client, plan, approved, FieldOwner); err != nil {
		return err
	}
	if verdict.Gate.Overridden {
		r.Recorder.Eventf(plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", verdict.Gate.Message)
	}
	log.FromContext(ctx).Info("Approved InstallPlan", "installs", plan.Spec.ClusterServiceVersionNames)
	return nil
}

// SetupWithManager enqueues a plan when it changes, and all waiting plans of a namespace when a Subscription,
// ClusterServiceVersion, Probe, OperatorCondition or UpgradeHold there does. around restricts the reconciler to its lifecycle mode.
func (r *ApprovalReconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	waiting := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.waitingPlans(ctx, client.ObjectKeyFromObject(o))
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("olm-approval").
		For(&olm.InstallPlan{}).
		Watches(&v1alpha1.Subscription{}, waiting).
		Watches(&v1alpha1.ClusterServiceVersion{}, waiting).
		Watches(&v1alpha1.Probe{}, waiting).
		Watches(&operatorsv2.OperatorCondition{}, waiting).
		Watches(&holdv1alpha1.UpgradeHold{}, upgradehold.Enqueue(holdv1alpha1.InstallerOLM, r.waitingPlans)).
		Complete(around(r))
}

// waitingPlans returns requests for the plans in the namespace of an object that wait for approval.
func (r *ApprovalReconciler) waitingPlans(ctx context.Context, of types.NamespacedName) []reconcile.Request {
	return kube.EnqueueListed(ctx, r.Client, &olm.InstallPlanList{}, bridge.Waits, client.InNamespace(of.Namespace))
}
