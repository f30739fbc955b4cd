package installplan

import (
	"context"
	"slices"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

const (
	// concurrency is how many plans are reconciled concurrently. They mostly wait for the API server.
	concurrency = 32

	// Transient errors are retried after retryFirst, and then after twice as long each time, up to retryMost.
	retryFirst = 50 * time.Millisecond
	retryMost  = 30 * time.Second
)

// SetupWithManager enqueues a plan when it changes. Until it is approved, CSVs and Subscriptions enqueue it, and while it waits
// for approval Probes, OperatorConditions and UpgradeHolds. OperatorGroups and catalogs enqueue it until it is finished, and service accounts
// while it is applied. catalogs is the source of catalog changes; around restricts the reconciler to its lifecycle mode.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, catalogs func(handler.EventHandler) source.Source,
	around func(reconcile.Reconciler) reconcile.Reconciler) error {
	deciding := handler.EnqueueRequestsFromMapFunc(r.in(olm.InstallPlanPhaseRequiresApproval))
	resolving := handler.EnqueueRequestsFromMapFunc(r.in(olm.InstallPlanPhasePlanning, olm.InstallPlanPhaseRequiresApproval))
	unfinished := handler.EnqueueRequestsFromMapFunc(r.in(unfinished...))
	account := &metav1.PartialObjectMetadata{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	r.readings = newReadings(r.Catalogs, r.Trust.Trusts, func(plan types.NamespacedName) { r.queue.Add(reconcile.Request{NamespacedName: plan}) })
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named("installplan").
		For(&olm.InstallPlan{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryFirst, retryMost),
		}).
		Watches(&v1alpha1.Probe{}, deciding).
		Watches(&operatorsv2.OperatorCondition{}, deciding).
		Watches(&holdv1alpha1.UpgradeHold{}, upgradehold.Enqueue(holdv1alpha1.InstallerOLM, r.heldWith)).
		Watches(&v1alpha1.ClusterServiceVersion{}, resolving).
		Watches(&v1alpha1.Subscription{}, resolving).
		Watches(&operatorsv1.OperatorGroup{}, unfinished).
		WatchesMetadata(account, handler.EnqueueRequestsFromMapFunc(r.in(olm.InstallPlanPhaseInstalling))).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue = queue
			return nil
		})).
		WatchesRawSource(catalogs(handler.EnqueueRequestsFromMapFunc(r.seeing))).
		Build(around(r))
	return err
}

// in enqueues the plans of a namespace in these phases.
func (r *Reconciler) in(phases ...olm.InstallPlanPhase) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.list(ctx, phases, client.InNamespace(o.GetNamespace()))
	}
}

// heldWith enqueues the plans that wait for approval in the namespace of an UpgradeHold's operator.
func (r *Reconciler) heldWith(ctx context.Context, operator types.NamespacedName) []reconcile.Request {
	return r.list(ctx, []olm.InstallPlanPhase{olm.InstallPlanPhaseRequiresApproval}, client.InNamespace(operator.Namespace))
}

// unfinished are the phases of plans that may still proceed.
var unfinished = []olm.InstallPlanPhase{olm.InstallPlanPhasePlanning, olm.InstallPlanPhaseRequiresApproval, olm.InstallPlanPhaseInstalling}

// seeing enqueues the plans of the namespaces that can see a CatalogSource. A plan that is Installing may have been
// interrupted before its first write and is resolved again.
func (r *Reconciler) seeing(ctx context.Context, o client.Object) []reconcile.Request {
	if o.GetNamespace() == r.Trust.GlobalNamespace {
		return r.list(ctx, unfinished)
	}
	return r.list(ctx, unfinished, client.InNamespace(o.GetNamespace()))
}

// waitingForRights enqueues the plans that may wait for permissions of their identity.
func (r *Reconciler) waitingForRights(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.list(ctx, []olm.InstallPlanPhase{olm.InstallPlanPhaseInstalling})
}

func (r *Reconciler) list(ctx context.Context, phases []olm.InstallPlanPhase, options ...client.ListOption) []reconcile.Request {
	inPhase := func(plan *olm.InstallPlan) bool { return slices.Contains(phases, plan.Status.Phase) }
	return kube.EnqueueListed(ctx, r.Client, &olm.InstallPlanList{}, inPhase, options...)
}
