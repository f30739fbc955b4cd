// Package installplan contains the InstallPlan controller. It resolves the CSVs that a plan names into steps, waits
// until the plan is approved and no running operator holds its update, and applies it.
package installplan

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/live"
	"github.com/operator-status/operator-status/internal/optin"
)

// Catalogs provides bundles. *catalog.Store implements it.
type Catalogs interface {
	// Visible returns the catalogs that a namespace can see, in order of preference.
	Visible(namespace string) []catalog.Catalog

	// VisibleBy returns the catalogs that the operators of an OperatorGroup may come from.
	VisibleBy(group *operatorsv1.OperatorGroup, namespace string) []catalog.Catalog

	// Manifests reads a bundle.
	Manifests(ctx context.Context, catalog types.NamespacedName, bundle *catalog.Bundle) (*store.Manifests, error)
}

// Reconciler reconciles InstallPlans.
type Reconciler struct {
	// Client reads from the cache, which omits the manifests of plans.
	Client client.Client

	// Reader reads from the API server.
	Reader client.Reader

	// As returns a client that impersonates a service account.
	As func(types.NamespacedName) (client.Client, error)

	Catalogs Catalogs

	// Kubernetes asks the API server for its version.
	Kubernetes discovery.ServerVersionInterface

	// Records stores the content of plans that are being applied.
	Records *record.Store

	// Trust determines the identity that plans are applied as.
	Trust apply.Trust

	// Rights enqueues plans that wait for a permission when permissions change.
	Rights *apply.Rights

	// OptIns stores the operators' declarations, and reads them from the API server.
	OptIns *optin.Store

	// Live reads custom resources for the decision whether an update may begin.
	Live live.Probes

	// HideForeignNames is true if custom resources outside the namespace of a plan must not be named in its status.
	HideForeignNames bool

	// ProbeReader returns the identity of the process that reads custom resources, or gate.NoReader if none does.
	ProbeReader func(context.Context) (string, error)

	Recorder events.EventRecorder
	Now      func() time.Time

	readings   *readings
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	controller controller.Controller
	swept      atomic.Bool
}

// A plan may contain any kind and grant an operator any permission, so installing operators requires all of them, as
// with OLM.
// +kubebuilder:rbac:groups=*,resources=*,verbs=*
// +kubebuilder:rbac:urls=*,verbs=*

// Reconcile advances one InstallPlan as far as possible.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if !r.swept.Swap(true) { // cleans up after the previous process
		if err := r.sweep(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	cached := &olm.InstallPlan{}
	if err := r.Client.Get(ctx, request.NamespacedName, cached); apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.sweep(ctx)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if settled(cached) {
		return reconcile.Result{}, nil
	}
	plan := &olm.InstallPlan{}
	if err := r.Reader.Get(ctx, request.NamespacedName, plan); err != nil || settled(plan) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.advance(ctx, plan)
	if kube.Outdated(err) {
		log.FromContext(ctx).V(1).Info("Requeuing the InstallPlan, since an object changed meanwhile", "error", err.Error())
	}
	return kube.Requeue(result, err)
}

// settled reports whether a plan is finished or being deleted.
func settled(plan *olm.InstallPlan) bool {
	return plan.Status.Phase == olm.InstallPlanPhaseComplete || plan.Status.Phase == olm.InstallPlanPhaseFailed ||
		!plan.DeletionTimestamp.IsZero()
}

// advance takes one action after the other, until one ends the reconcile.
func (r *Reconciler) advance(ctx context.Context, plan *olm.InstallPlan) (reconcile.Result, error) {
	a := &attempt{r: r, facts: facts{plan: plan}}
	defer a.release()
	for after, do := begin, next(begin, a.facts); ; after, do = do, next(do, a.facts) {
		a.debug(ctx, "Next action", "action", do, "after", after)
		if end := a.end(do); end != nil {
			result, err := end(ctx)
			if result.RequeueAfter > 0 {
				a.debug(ctx, "Requeuing the InstallPlan", "action", do, "requeueAfter", result.RequeueAfter)
			}
			return result, err
		}
		if err := a.act(do)(ctx); errors.Is(err, errReading) {
			a.debug(ctx, "Waiting until the bundles have been read", "action", do)
			return reconcile.Result{}, nil
		} else if err != nil {
			return reconcile.Result{}, err
		}
	}
}

// sweep deletes the stored content of plans that are Complete or no longer exist.
func (r *Reconciler) sweep(ctx context.Context) error {
	list := &olm.InstallPlanList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the InstallPlans: %w", err)
	}
	needed := map[types.UID]bool{}
	for i := range list.Items {
		needed[list.Items[i].UID] = list.Items[i].Status.Phase != olm.InstallPlanPhaseComplete
	}
	return r.Records.SweepContents(ctx, func(plan types.UID) bool { return needed[plan] })
}
