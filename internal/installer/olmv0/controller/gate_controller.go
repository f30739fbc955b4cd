// Package controller reports beside a real Operator Lifecycle Manager, and gates its updates.
package controller

import (
	"context"
	"slices"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
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
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// FieldOwner is the field manager of operator-status for OLM's objects.
const FieldOwner = "operator-status"

// GateReconciler sets Upgradeable in OperatorConditions according to the Probes of the same names. It never creates an
// OperatorCondition: OLM does, for every ClusterServiceVersion.
type GateReconciler struct {
	Client   client.Client
	Clock    func() time.Time
	Recorder events.EventRecorder

	// OptIns reads the operators' declarations from a cache.
	OptIns *optin.Store

	// Self is the OperatorCondition of operator-status itself, which is never gated.
	Self types.NamespacedName
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=operatorconditions,verbs=get;list;watch;patch

// Reconcile updates an OperatorCondition's Upgradeable if the result of the Probe changed.
func (r *GateReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	condition := &operatorsv2.OperatorCondition{}
	if err := r.Client.Get(ctx, request.NamespacedName, condition); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	n, err := cached(r.Client, r.OptIns).read(ctx, request.Namespace, "")
	if err != nil {
		return reconcile.Result{}, err
	}
	waiver, sub := n.Waiver(request.Name)
	if waiver == nil && !slices.Contains(holdv1alpha1.ReservedNamespaces, request.Namespace) {
		if waiver, err = r.enforced(ctx, n.HoldsBegun(request.Name)); err != nil {
			return reconcile.Result{}, err
		}
	}
	desired := gate.Upgradeable(condition.Spec.Conditions, n.Probe(request.Name), waiver, metav1.NewTime(r.Clock()))
	if request.NamespacedName == r.Self || !gate.OperatorConditionChanged(condition.Spec.Conditions, desired) {
		log.FromContext(ctx).V(2).Info("Skipping the update of the OperatorCondition", "self", request.NamespacedName == r.Self)
		return reconcile.Result{}, nil
	}
	if err := r.write(ctx, condition, desired); err != nil {
		return kube.Requeue(reconcile.Result{}, err)
	}
	if waiver != nil && waiver.Reason == v1alpha1.ReasonOverridden {
		r.Recorder.Eventf(sub, condition, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", waiver.Message)
	}
	return reconcile.Result{}, nil
}

// enforced returns the waiver of a cluster with a policy that enforces UpgradeHolds, or nil. OLM has to evaluate OperatorConditions
// only if nothing prevents an update before it begins, or if it began before that, and not if an administrator has released all updates.
func (r *GateReconciler) enforced(ctx context.Context, holdsBegun bool) (*gate.Waiver, error) {
	enforcement, err := upgradehold.EnforcementOf(ctx, r.Client, []string{holdv1alpha1.DeniesInstallPlans}, r.OptIns.Namespace)
	if err != nil || enforcement == upgradehold.NotEnforced || enforcement == upgradehold.Enforced && holdsBegun {
		return nil, err
	}
	return &gate.Waiver{Reason: v1alpha1.ReasonUpgradeHold, Message: "UpgradeHolds hold the updates before their InstallPlan is approved"}, nil
}

// write replaces the whole list, which is atomic.
func (r *GateReconciler) write(ctx context.Context, condition *operatorsv2.OperatorCondition, desired []metav1.Condition) error {
	before := condition.DeepCopy()
	condition.Spec.Conditions = desired
	if err := kube.Patch(ctx, r.Client, before, condition, FieldOwner); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Updated Upgradeable in OperatorCondition", "conditions", desired)
	return nil
}

// SetupWithManager enqueues an OperatorCondition when it, the Probe of its name, or a Subscription of its namespace
// changes. around restricts the reconciler to its lifecycle mode.
func (r *GateReconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("operatorcondition-gate").
		For(&operatorsv2.OperatorCondition{}).
		Watches(&v1alpha1.Probe{}, &handler.EnqueueRequestForObject{}).
		Watches(&v1alpha1.Subscription{}, handler.EnqueueRequestsFromMapFunc(r.neighbours)).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicy{}, handler.EnqueueRequestsFromMapFunc(r.neighbours)).
		Watches(&admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, handler.EnqueueRequestsFromMapFunc(r.neighbours)).
		Complete(around(r))
}

// neighbours returns requests for the OperatorConditions of a namespace.
func (r *GateReconciler) neighbours(ctx context.Context, o client.Object) []reconcile.Request {
	return kube.EnqueueListed[*operatorsv2.OperatorCondition](ctx, r.Client, &operatorsv2.OperatorConditionList{}, nil, client.InNamespace(o.GetNamespace()))
}
