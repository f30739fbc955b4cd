// Package upgradeholdpolicy keeps the UpgradeHolds of UpgradeHoldPolicies, and reports on these.
package upgradeholdpolicy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/holdpolicy"
	"github.com/operator-status/operator-status/internal/kube"
	upgradeholdpolicystatus "github.com/operator-status/operator-status/internal/status/upgradeholdpolicy"
	"github.com/operator-status/operator-status/internal/upgradehold"
	"github.com/operator-status/operator-status/internal/workloads"
)

// Reconciler keeps an UpgradeHold for each operator that a policy selects.
type Reconciler struct {
	Client client.Client // reads from a cache
	Live   client.Reader // bypasses it

	Workloads workloads.Cache

	// Namespace is that of operator-status, in which updates cannot be held.
	Namespace string

	Now func() time.Time

	controller    controller.Controller
	subscriptions atomic.Bool // whether Subscriptions are installed

	// watch starts to watch workloads and roles, once there is a policy.
	watch func() error
}

// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholdpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholdpolicies/status,verbs=update
// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholdpolicies/finalizers,verbs=update
// +kubebuilder:rbac:groups=operatorstatus.io,resources=upgradeholds,verbs=get;list;watch;create;update;delete

// Reconcile creates, changes and deletes the UpgradeHolds of a policy, and writes its status if it changed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	own, err := r.own(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	policy := &holdv1alpha1.UpgradeHoldPolicy{}
	err = r.Client.Get(ctx, request.NamespacedName, policy)
	switch {
	case apierrors.IsNotFound(err): // the garbage collection of Kubernetes may take half a minute
		return kube.Requeue(reconcile.Result{}, r.gone(ctx, request.Name, own))
	case err != nil || !policy.DeletionTimestamp.IsZero():
		return reconcile.Result{}, err
	}
	if err := r.watch(); err != nil {
		return reconcile.Result{}, fmt.Errorf("watching workloads: %w", err)
	}
	operators, known, err := r.operators(ctx, own)
	if err != nil || !known {
		return reconcile.Result{RequeueAfter: collects}, err
	}
	changes := holdpolicy.Compare(policy, operators, own, r.Namespace)
	applied := r.apply(ctx, policy, &changes)
	status, ends := upgradeholdpolicystatus.Compute(upgradeholdpolicystatus.Inputs{Policy: policy, Holds: changes.Kept, Now: metav1.NewTime(r.Now())})
	result := reconcile.Result{}
	if !ends.IsZero() {
		result.RequeueAfter = max(ends.Sub(r.Now()), time.Millisecond)
	}
	if !equality.Semantic.DeepEqual(status, policy.Status) {
		out := policy.DeepCopy()
		out.Status = status
		applied = errors.Join(applied, kube.UpdateStatus(ctx, r.Client, out, client.FieldOwner(upgradehold.FieldOwner)))
	}
	return kube.Requeue(result, applied)
}

// gone deletes the UpgradeHolds of a policy that is not in the cache. It checks the API server first: the cache lacks objects that cannot be
// decoded.
func (r *Reconciler) gone(ctx context.Context, policy string, own []*holdv1alpha1.UpgradeHold) error {
	if len(own) == 0 {
		return nil
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldPolicyKind))
	if err := r.Live.Get(ctx, types.NamespacedName{Name: policy}, live); !apierrors.IsNotFound(err) {
		return err // it exists: its event will enqueue it once it can be decoded
	}
	return r.delete(ctx, own)
}

// own returns the UpgradeHolds of a policy.
func (r *Reconciler) own(ctx context.Context, policy string) ([]*holdv1alpha1.UpgradeHold, error) {
	list := &holdv1alpha1.UpgradeHoldList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	var out []*holdv1alpha1.UpgradeHold
	for i := range list.Items {
		if h := &list.Items[i]; h.Policy() == policy && h.DeletionTimestamp.IsZero() {
			out = append(out, h)
		}
	}
	return out, nil
}

// operators returns all operators of the cluster, or false if they are not known: Subscriptions are installed, but not watched yet, as
// after a start, so that the UpgradeHolds of their operators would be deleted. own are those that had been found.
func (r *Reconciler) operators(ctx context.Context, own []*holdv1alpha1.UpgradeHold) (out []holdpolicy.Operator, known bool, err error) {
	definitions := &apiextensions.CustomResourceDefinitionList{}
	if err := r.Client.List(ctx, definitions, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	served := workloads.AllDefinitions(definitions.Items)
	if _, ok := served.Definitions[subscriptionCRD]; ok {
		if !r.subscriptions.Load() {
			return nil, false, nil
		}
		list := &v1alpha1.SubscriptionList{}
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, false, fmt.Errorf("listing the Subscriptions: %w", err)
		}
		for i := range list.Items {
			out = append(out, holdpolicy.Subscribed(&list.Items[i]))
		}
	}
	others, err := r.Workloads.Operators(ctx, served, operatorsOf(own))
	for _, of := range others {
		out = append(out, holdpolicy.Operator{OperatorReference: of})
	}
	return out, true, err
}

const subscriptionCRD = "subscriptions.operators.coreos.com"

// apply makes changes. Those that succeed are kept then, and the errors are those of the others.
func (r *Reconciler) apply(ctx context.Context, policy *holdv1alpha1.UpgradeHoldPolicy, changes *holdpolicy.Changes) error {
	var errs []error
	own := func(h *holdv1alpha1.UpgradeHold) bool { return h.Policy() == policy.Name }
	for _, h := range changes.Create {
		if _, err := upgradehold.Create(ctx, r.Client, r.Live, h, own); err != nil {
			errs = append(errs, err)
			continue
		}
		changes.Kept = append(changes.Kept, h)
	}
	for _, h := range changes.Update {
		if err := r.Client.Update(ctx, h, client.FieldOwner(upgradehold.FieldOwner)); err != nil {
			errs = append(errs, fmt.Errorf("changing UpgradeHold %s: %w", h.Name, err))
			continue
		}
		changes.Kept = append(changes.Kept, h)
	}
	return errors.Join(append(errs, r.delete(ctx, changes.Delete))...)
}

func (r *Reconciler) delete(ctx context.Context, holds []*holdv1alpha1.UpgradeHold) error {
	var errs []error
	for _, h := range holds {
		errs = append(errs, upgradehold.Delete(ctx, r.Client, h))
	}
	return errors.Join(errs...)
}

// SetupWithManager enqueues a policy when it or one of its UpgradeHolds changes, and all when an operator may have appeared or gone. A role
// may make an operator of a workload.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("upgradeholdpolicy").
		For(&holdv1alpha1.UpgradeHoldPolicy{}).
		Owns(&holdv1alpha1.UpgradeHold{}).
		Watches(&apiextensions.CustomResourceDefinition{}, r.all(), builder.WithPredicates(predicate.Funcs{UpdateFunc: workloads.Remarked})).
		Build(r)
	if err != nil {
		return err
	}
	r.controller = c
	r.watch = sync.OnceValue(func() error {
		for _, kind := range workloads.Kinds() {
			if err := c.Watch(source.Kind(r.Workloads.Cache, kind, r.all(), workloads.Moves)); err != nil {
				return err
			}
		}
		for _, kind := range workloads.RoleKinds() {
			if err := c.Watch(source.Kind(r.Workloads.Cache, kind, r.all(r.Workloads.RolesChanged))); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// WatchSubscriptions has operators of Subscriptions found, too, once these are installed.
func (r *Reconciler) WatchSubscriptions(mgr ctrl.Manager) error {
	r.subscriptions.Store(true)
	return r.controller.Watch(source.Kind[client.Object](mgr.GetCache(), &v1alpha1.Subscription{}, r.all(), kube.Existence))
}

// collects is for how long changes of operators are collected, since each may concern all policies, and after how long those that are not
// known are read again.
const collects = time.Second

// all enqueues all policies after a change of any object, and calls before with it.
func (r *Reconciler) all(before ...func()) handler.EventHandler {
	add := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, f := range before {
			f()
		}
		for _, request := range kube.EnqueueListed[*holdv1alpha1.UpgradeHoldPolicy](ctx, r.Client, &holdv1alpha1.UpgradeHoldPolicyList{}, nil) {
			queue.AddAfter(request, collects)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, _ event.CreateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
		UpdateFunc: func(ctx context.Context, _ event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
		DeleteFunc: func(ctx context.Context, _ event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			add(ctx, q)
		},
	}
}

func operatorsOf(holds []*holdv1alpha1.UpgradeHold) []holdv1alpha1.OperatorReference {
	out := make([]holdv1alpha1.OperatorReference, 0, len(holds))
	for _, h := range holds {
		out = append(out, h.Spec.Operator)
	}
	return out
}
