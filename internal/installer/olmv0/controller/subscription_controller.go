package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// SubscriptionReconciler adds the conditions that OLM does not have to OLM's Subscriptions.
type SubscriptionReconciler struct {
	Client client.Client

	// OptIns reads the operators' declarations from a cache.
	OptIns *optin.Store

	// Identity identifies this process as a reader of custom resources.
	Identity string

	Now func() time.Time

	histories sync.Map // history by types.NamespacedName
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=subscriptions;installplans;catalogsources;clusterserviceversions,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=subscriptions/status,verbs=patch

// Reconcile writes our conditions if they changed, once OLM has not written to the Subscription for a while.
func (r *SubscriptionReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	sub, err := find[v1alpha1.Subscription](ctx, r.Client, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if sub == nil || !sub.DeletionTimestamp.IsZero() {
		r.histories.Delete(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	in, err := r.inputs(ctx, sub)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of Subscription %s: %w", request, err)
	}
	if wait, err := r.stillDenied(ctx, in); err != nil || wait {
		return reconcile.Result{}, err
	}
	desired := bridge.Conditions(in)
	h := r.observe(sub)
	if sub.ResourceVersion == h.replaced {
		log.FromContext(ctx).V(2).Info("Skipping the update of the Subscription, since the cache does not have the last one yet")
		return reconcile.Result{}, nil // the cache does not have our write yet; its event enqueues the Subscription
	}
	differ, onlyMessages := bridge.Changed(sub.Status.Conditions, desired)
	if !differ {
		h.wanting = time.Time{}
		r.histories.Store(client.ObjectKeyFromObject(sub), h)
		log.FromContext(ctx).V(2).Info("Skipping the update of the Subscription, since nothing changed")
		return reconcile.Result{}, nil
	}
	if h.wanting.IsZero() {
		h.wanting = in.Now.Time
	}
	r.histories.Store(client.ObjectKeyFromObject(sub), h)
	if wait := h.due(onlyMessages).Sub(in.Now.Time); wait > 0 {
		log.FromContext(ctx).V(1).Info("Delaying the update of the Subscription", "requeueAfter", wait, "changedByOLM", h.at, "onlyMessages", onlyMessages)
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	return kube.Requeue(reconcile.Result{}, r.write(ctx, sub, desired, h))
}

// stillDenied reports whether nothing holds the update that OLM could not begin any more, but the API server would still deny it.
// The conditions wait for the UpgradeHold to change: they make OLM try again, which it would otherwise do after minutes.
func (r *SubscriptionReconciler) stillDenied(ctx context.Context, in bridge.Inputs) (bool, error) {
	if !in.Denied || in.HeldByPolicy.Held {
		return false, nil
	}
	list := &holdv1alpha1.UpgradeHoldList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	for i := range list.Items {
		if bridge.Denies(&list.Items[i], in.Subscription) {
			return true, nil
		}
	}
	return false, nil
}

// observe records when another client last wrote to a Subscription.
func (r *SubscriptionReconciler) observe(sub *v1alpha1.Subscription) history {
	var h history
	if known, ok := r.histories.Load(client.ObjectKeyFromObject(sub)); ok {
		h = known.(history)
	}
	if sub.ResourceVersion != h.mine && sub.ResourceVersion != h.seen {
		h.seen, h.at = sub.ResourceVersion, r.Now()
	}
	return h
}

// inputs reads the inputs of a Subscription's conditions.
func (r *SubscriptionReconciler) inputs(ctx context.Context, sub *v1alpha1.Subscription) (bridge.Inputs, error) {
	n, err := cached(r.Client, r.OptIns).readAll(ctx, sub.Namespace, r.Identity)
	if err != nil {
		return bridge.Inputs{}, err
	}
	var catalog *olm.CatalogSource
	if sub.Spec != nil {
		key := types.NamespacedName{Namespace: sub.Spec.CatalogSourceNamespace, Name: sub.Spec.CatalogSource}
		if catalog, err = find[olm.CatalogSource](ctx, r.Client, key); err != nil {
			return bridge.Inputs{}, err
		}
	}
	plan, err := planOf(ctx, r.Client, sub)
	if err != nil {
		return bridge.Inputs{}, err
	}
	out := n.Inputs(sub, catalog, plan)
	out.Now = metav1.NewTime(r.Now())
	return out, nil
}

// write replaces the whole list.
func (r *SubscriptionReconciler) write(ctx context.Context, sub *v1alpha1.Subscription, desired []v1alpha1.SubscriptionCondition, h history) error {
	out := sub.DeepCopy()
	out.Status.Conditions = desired
	if err := kube.PatchStatus(ctx, r.Client, sub, out, FieldOwner); err != nil {
		return err
	}
	h.replaced, h.mine, h.wrote, h.wanting = sub.ResourceVersion, out.ResourceVersion, r.Now(), time.Time{}
	r.histories.Store(client.ObjectKeyFromObject(sub), h)
	log.FromContext(ctx).Info("Updated Subscription conditions", "upToDate", out.Status.GetCondition(v1alpha1.SubscriptionUpToDate))
	return nil
}

// SetupWithManager enqueues a Subscription when it, its catalog, or an InstallPlan, ClusterServiceVersion, Probe,
// OperatorCondition or UpgradeHold of its namespace changes. around restricts the reconciler to its lifecycle mode.
func (r *SubscriptionReconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	neighbours := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.neighbours(ctx, client.ObjectKeyFromObject(o))
	})
	from := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return r.list(ctx, func(sub *v1alpha1.Subscription) bool {
			return sub.Spec != nil && sub.Spec.CatalogSource == o.GetName() && sub.Spec.CatalogSourceNamespace == o.GetNamespace()
		})
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("olm-subscription").
		For(&v1alpha1.Subscription{}).
		Watches(&olm.InstallPlan{}, neighbours).
		Watches(&v1alpha1.ClusterServiceVersion{}, neighbours).
		Watches(&v1alpha1.Probe{}, neighbours).
		Watches(&operatorsv2.OperatorCondition{}, neighbours).
		Watches(&olm.CatalogSource{}, from).
		Watches(&holdv1alpha1.UpgradeHold{}, upgradehold.Enqueue(holdv1alpha1.InstallerOLM, r.neighbours)).
		Complete(around(r))
}

// neighbours returns requests for the Subscriptions in the namespace of an object, which share their InstallPlans.
func (r *SubscriptionReconciler) neighbours(ctx context.Context, of types.NamespacedName) []reconcile.Request {
	return r.list(ctx, func(*v1alpha1.Subscription) bool { return true }, client.InNamespace(of.Namespace))
}

func (r *SubscriptionReconciler) list(ctx context.Context, which func(*v1alpha1.Subscription) bool, options ...client.ListOption) []reconcile.Request {
	return kube.EnqueueListed(ctx, r.Client, &v1alpha1.SubscriptionList{}, which, options...)
}
