package csv

import (
	"context"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/kube"
)

// concurrency is how many CSVs are reconciled concurrently. Independent objects of each are applied concurrently, too.
const concurrency = 8

// SetupWithManager enqueues a CSV when it changes, or a related CSV, an object that it needs or
// consists of, its grant, InstallPlan, Subscription or Probe, an OperatorGroup, or a namespace that one names or may select.
// around restricts the reconciler to its lifecycle mode.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	for field, keys := range indexes {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ClusterServiceVersion{}, field, keys); err != nil {
			return err
		}
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &operatorsv1.OperatorGroup{}, IndexStatic, staticOf); err != nil {
		return err
	}
	watches := ctrl.NewControllerManagedBy(mgr).
		Named("csv").
		For(&v1alpha1.ClusterServiceVersion{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(r.enqueueChain)).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(r.enqueueSharing),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&apiextensions.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.needing)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.recorded)).
		Watches(&operatorsv1.OperatorGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace)).
		Watches(&operatorsv1.OperatorGroup{}, handler.EnqueueRequestsFromMapFunc(r.enqueueConflicting), builder.WithPredicates(groupMoved)).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(r.enqueueConflicting), builder.WithPredicates(ownershipEnded)).
		Watches(&v1alpha1.Subscription{}, handler.EnqueueRequestsFromMapFunc(r.ofSubscription)).
		Watches(&olm.InstallPlan{}, handler.EnqueueRequestsFromMapFunc(r.enqueueInstalled)).
		Watches(&v1alpha1.Probe{}, &handler.EnqueueRequestForObject{}).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.naming)).
		WatchesMetadata(namespace(), handler.EnqueueRequestsFromMapFunc(r.covering))
	for _, part := range []client.Object{
		&corev1.Service{}, &corev1.Secret{}, &operatorsv2.OperatorCondition{},
		&rbacv1.Role{}, &rbacv1.RoleBinding{}, &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{},
	} {
		watches = watches.Watches(part, handler.EnqueueRequestsFromMapFunc(owners))
	}
	var err error
	r.controller, err = watches.Build(around(r))
	return err
}

func crdsOf(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	for _, d := range csv.GetAllCRDs() {
		out = append(out, d.Name)
	}
	return out
}

func namespace() *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return out
}

// recorded enqueues the CSV whose grant a Secret holds.
func (r *Reconciler) recorded(_ context.Context, o client.Object) []reconcile.Request {
	if csv, ok := record.GrantOf(o); ok {
		return []reconcile.Request{{NamespacedName: csv}}
	}
	return nil
}

// owners enqueues the CSVs that an object belongs to.
func owners(_ context.Context, o client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, key := range install.Owners(o) {
		out = append(out, reconcile.Request{NamespacedName: key})
	}
	return out
}

// naming enqueues the CSVs that own a Deployment or have one of that name in their spec. The latter may wait for its
// deletion.
func (r *Reconciler) naming(ctx context.Context, o client.Object) []reconcile.Request {
	named := r.list(ctx, func(csv *v1alpha1.ClusterServiceVersion) bool {
		return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(d olm.StrategyDeploymentSpec) bool {
			return d.Name == o.GetName()
		})
	}, client.InNamespace(o.GetNamespace()))
	return append(owners(ctx, o), named...)
}

func (r *Reconciler) ofNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.list(ctx, all, client.InNamespace(o.GetNamespace()))
}

func (r *Reconciler) needing(ctx context.Context, o client.Object) []reconcile.Request {
	return r.list(ctx, all, client.MatchingFields{IndexCRD: o.GetName()})
}

// enqueueInstalled enqueues the CSVs that an InstallPlan installs.
func (r *Reconciler) enqueueInstalled(_ context.Context, o client.Object) []reconcile.Request {
	var out []reconcile.Request
	for _, name := range o.(*olm.InstallPlan).Spec.ClusterServiceVersionNames {
		out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}})
	}
	return out
}

// covering enqueues the CSVs in namespaces whose OperatorGroup names a namespace or selects namespaces by label.
func (r *Reconciler) covering(ctx context.Context, o client.Object) []reconcile.Request {
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the OperatorGroups that may target a namespace")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if spec := &list.Items[i].Spec; spec.Selector != nil || slices.Contains(spec.TargetNamespaces, o.GetName()) {
			out = append(out, r.list(ctx, all, client.InNamespace(list.Items[i].Namespace))...)
		}
	}
	return out
}

func all(*v1alpha1.ClusterServiceVersion) bool { return true }

func (r *Reconciler) list(ctx context.Context, which func(*v1alpha1.ClusterServiceVersion) bool, options ...client.ListOption) []reconcile.Request {
	original := func(csv *v1alpha1.ClusterServiceVersion) bool { return !csv.IsCopied() && which(csv) }
	return kube.EnqueueListed(ctx, r.Client, &v1alpha1.ClusterServiceVersionList{}, original, options...)
}
