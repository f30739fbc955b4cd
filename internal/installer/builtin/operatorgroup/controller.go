// Package operatorgroup contains the OperatorGroup controller. It maintains the status of OperatorGroups, the labels of
// their target namespaces, and the ClusterRoles that users are bound to.
package operatorgroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	operatorgroupstatus "github.com/operator-status/operator-status/internal/status/operatorgroup"
)

// FieldOwner is the field manager of everything that this controller writes.
const FieldOwner = client.FieldOwner("operator-status-operatorgroup")

// Reconciler reconciles OperatorGroups.
type Reconciler struct {
	Client client.Client
	Now    func() time.Time
}

// Reconcile updates the status of one OperatorGroup and the objects that depend on it, or cleans up after it. Of several in a
// namespace, where no operator runs, only the statuses are updated: else a tenant's would add labels to a namespace, and
// ClusterRoles to the cluster, without limit.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	group := &operatorsv1.OperatorGroup{}
	if err := r.Client.Get(ctx, request.NamespacedName, group); apierrors.IsNotFound(err) {
		return reconcile.Result{}, errors.Join(r.collect(ctx, request.NamespacedName), r.unlabel(ctx))
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if !group.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	targets, err := operatorgroup.Targets(ctx, r.Client, group)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.status(ctx, group, targets); err != nil {
		return kube.Requeue(reconcile.Result{}, err)
	}
	if alone, err := r.isAlone(ctx, group); err != nil || !alone {
		return reconcile.Result{}, err
	}
	if err := r.label(ctx, group, targets); err != nil {
		return reconcile.Result{}, err
	}
	csvs, err := operatorgroup.CSVs(ctx, r.Client, group.Namespace)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, errors.Join(r.annotate(ctx, group, csvs), r.roles(ctx, group, csvs))
}

// isAlone reports whether an OperatorGroup is the only one in its namespace.
func (r *Reconciler) isAlone(ctx context.Context, group *operatorsv1.OperatorGroup) (bool, error) {
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, client.InNamespace(group.Namespace), client.Limit(2), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the OperatorGroups of namespace %s: %w", group.Namespace, err)
	}
	return len(list.Items) == 1, nil
}

// status updates the status of an OperatorGroup if it changed.
func (r *Reconciler) status(ctx context.Context, group *operatorsv1.OperatorGroup, targets []string) error {
	in := operatorgroupstatus.Inputs{Group: group, Targets: targets, Now: metav1.NewTime(r.Now())}
	if name := group.Spec.ServiceAccountName; name != "" {
		account := metadataOf("ServiceAccount")
		if err := r.Client.Get(ctx, types.NamespacedName{Namespace: group.Namespace, Name: name}, account); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting service account %s/%s: %w", group.Namespace, name, err)
		}
		in.Account = account.UID
	}
	out := group.DeepCopy()
	if out.Status = operatorgroupstatus.Compute(in); equality.Semantic.DeepEqual(out.Status, group.Status) {
		return nil
	}
	return kube.UpdateStatus(ctx, r.Client, out, FieldOwner)
}

// metadataOf returns an empty object of a core kind for metadata-only reads.
func metadataOf(kind string) *metav1.PartialObjectMetadata {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return out
}

// SetupWithManager enqueues an OperatorGroup when one of these changes: the group, a CSV in its namespace (spec or
// group membership), one of its ClusterRoles, the service account that it names, or a namespace that it names or may
// select.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, around func(reconcile.Reconciler) reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("operatorgroup").
		For(&operatorsv1.OperatorGroup{}).
		Watches(&operatorsv1.OperatorGroup{}, handler.EnqueueRequestsFromMapFunc(r.last), builder.WithPredicates(deletions)).
		WatchesMetadata(metadataOf("Namespace"), handler.EnqueueRequestsFromMapFunc(r.covering)).
		WatchesMetadata(metadataOf("ServiceAccount"), handler.EnqueueRequestsFromMapFunc(r.naming)).
		Watches(&v1alpha1.ClusterServiceVersion{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace),
			builder.WithPredicates(predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, membershipChanged))).
		Watches(&rbacv1.ClusterRole{}, handler.EnqueueRequestsFromMapFunc(owner)).
		Complete(around(r))
}

// deletions passes deletions only.
var deletions = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// last enqueues the OperatorGroup that a deleted one leaves alone in their namespace.
func (r *Reconciler) last(ctx context.Context, deleted client.Object) []reconcile.Request {
	if rest := r.list(ctx, nil, client.InNamespace(deleted.GetNamespace()), client.Limit(2)); len(rest) == 1 {
		return rest
	}
	return nil
}

// ofNamespace enqueues the OperatorGroups in a namespace.
func (r *Reconciler) ofNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.list(ctx, nil, client.InNamespace(o.GetNamespace()))
}

// owner enqueues the OperatorGroup that a ClusterRole belongs to.
func owner(_ context.Context, o client.Object) []reconcile.Request {
	labels := o.GetLabels()
	if labels[install.LabelOwnerKind] != operatorsv1.OperatorGroupKind {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: labels[install.LabelOwnerNamespace], Name: labels[install.LabelOwner],
	}}}
}

// covering enqueues the OperatorGroups that name a namespace or select namespaces by label.
func (r *Reconciler) covering(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.list(ctx, func(group *operatorsv1.OperatorGroup) bool {
		return group.Spec.Selector != nil || slices.Contains(group.Spec.TargetNamespaces, namespace.GetName())
	})
}

// naming enqueues the OperatorGroups that name a service account.
func (r *Reconciler) naming(ctx context.Context, account client.Object) []reconcile.Request {
	return r.list(ctx, func(group *operatorsv1.OperatorGroup) bool {
		return group.Spec.ServiceAccountName == account.GetName()
	}, client.InNamespace(account.GetNamespace()))
}

func (r *Reconciler) list(ctx context.Context, which func(*operatorsv1.OperatorGroup) bool, options ...client.ListOption) []reconcile.Request {
	return kube.EnqueueListed(ctx, r.Client, &operatorsv1.OperatorGroupList{}, which, options...)
}
