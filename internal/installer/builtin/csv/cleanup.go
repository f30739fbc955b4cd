package csv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// finalizer is set on CSVs with spec.cleanup.enabled. It is OLM's, so OLM removes it if it takes over.
const finalizer = "operators.coreos.com/csv-cleanup"

// finalize sets the finalizer of a CSV with spec.cleanup.enabled, whose deletion then waits for that of its custom
// resources, and removes it otherwise.
func (r *Reconciler) finalize(ctx context.Context, s *situation) error {
	out := s.csv.DeepCopy()
	if s.csv.Spec.Cleanup.Enabled {
		controllerutil.AddFinalizer(out, finalizer)
	} else {
		controllerutil.RemoveFinalizer(out, finalizer)
	}
	if slices.Equal(out.Finalizers, s.csv.Finalizers) {
		return nil
	}
	if err := r.patch(ctx, s.csv, out); err != nil {
		return err
	}
	s.csv = s.csv.DeepCopy() // the cache shares it
	s.csv.Finalizers, s.csv.ResourceVersion = out.Finalizers, out.ResourceVersion
	return nil
}

func (r *Reconciler) patch(ctx context.Context, before, after *v1alpha1.ClusterServiceVersion) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, after, patch, FieldOwner); err != nil {
		return fmt.Errorf("changing the finalizers of ClusterServiceVersion %s: %w", client.ObjectKeyFromObject(before), err)
	}
	return nil
}

// cleanUp deletes the custom resources of an operator that is being uninstalled, if spec.cleanup.enabled is set, and
// then removes the finalizer. Until they are deleted the operator runs, since it may have to clean up after them. A
// CSV that was replaced leaves them to its successor.
func (r *Reconciler) cleanUp(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(csv, finalizer) {
		return reconcile.Result{}, nil
	}
	s, err := r.read(ctx, csv)
	if err != nil {
		return reconcile.Result{}, err
	}
	if s.successor(csv.Name) == nil && csv.Spec.Cleanup.Enabled {
		pending, err := r.deleteOperands(ctx, csv)
		if err != nil {
			return reconcile.Result{}, err
		}
		if len(pending) > 0 {
			return kube.Requeue(reconcile.Result{RequeueAfter: cleanupRetry(csv, r.Now())}, r.reportPending(ctx, csv, pending))
		}
	}
	out := csv.DeepCopy()
	controllerutil.RemoveFinalizer(out, finalizer)
	return reconcile.Result{}, client.IgnoreNotFound(r.patch(ctx, csv, out))
}

// cleanupRetry returns when to check again whether custom resources are deleted. It grows with the age of the deletion.
func cleanupRetry(csv *v1alpha1.ClusterServiceVersion, now time.Time) time.Duration {
	return min(max(now.Sub(csv.DeletionTimestamp.Time)/2, time.Second), time.Minute)
}

// deleteOperands deletes the custom resources of an operator in its target namespaces and returns those that are not
// gone yet, or the kind without any if they cannot be read. It impersonates the operator, since a CSV may claim to own
// any kind: custom resources that its operator must not delete stay.
func (r *Reconciler) deleteOperands(ctx context.Context, csv *v1alpha1.ClusterServiceVersion) ([]olm.ResourceList, error) {
	kinds, err := operand.Kinds(ctx, r.Client, csv)
	if err != nil {
		return nil, err
	}
	group, problem, err := operatorgroup.Find(ctx, r.Client, csv.Namespace)
	if err != nil {
		return nil, err
	}
	if problem != nil && len(kinds) > 0 { // the target namespaces are unknown
		r.Recorder.Eventf(csv, nil, corev1.EventTypeWarning, v1alpha1.EventNotCleanedUp, v1alpha1.EventActionCleanUp,
			"Custom resources are not deleted: %s", problem.Message)
	}
	if problem != nil {
		return nil, nil
	}
	targets, err := operatorgroup.Targets(ctx, r.Client, group)
	if err != nil {
		return nil, err
	}
	var out []olm.ResourceList
	for _, kind := range kinds {
		pending, err := r.deleteKind(ctx, csv, kind, targets)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, errNoAccount) {
			r.Recorder.Eventf(csv, nil, corev1.EventTypeWarning, v1alpha1.EventNotCleanedUp, v1alpha1.EventActionCleanUp,
				"Custom resources of kind %s are not deleted: %s", kind.GroupKind(), kube.ErrorMessage(err, maxQuoted))
			continue
		}
		if err != nil {
			r.Recorder.Eventf(csv, nil, corev1.EventTypeWarning, v1alpha1.EventNotCleanedUp, v1alpha1.EventActionCleanUp,
				"Custom resources of kind %s are not deleted yet: %s", kind.GroupKind(), kube.ErrorMessage(err, maxQuoted))
		}
		if err != nil || len(pending.Instances) > 0 {
			out = append(out, pending)
		}
	}
	return out, nil
}

var errNoAccount = errors.New("none of the operator's service accounts exists")

// deleteKind deletes custom resources of a kind as the first of the operator's service accounts that may delete them.
func (r *Reconciler) deleteKind(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, kind operand.Kind, targets []string) (
	out olm.ResourceList, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	out = olm.ResourceList{Group: kind.Group, Kind: kind.Kind, Instances: []olm.ResourceInstance{}}
	err = errNoAccount
	for _, account := range csv.ServiceAccounts() {
		as, asErr := r.As(types.NamespacedName{Namespace: csv.Namespace, Name: account})
		if apierrors.IsNotFound(asErr) {
			continue
		}
		if asErr != nil {
			return out, asErr
		}
		if out, err = deleteAs(ctx, as, kind, targets); !apierrors.IsForbidden(err) {
			return out, err
		}
	}
	return out, err
}

// cleanupTimeout is how long deleting the custom resources of one kind may take. The next attempt deletes the rest.
const cleanupTimeout = 10 * time.Second

func deleteAs(ctx context.Context, as client.Client, kind operand.Kind, targets []string) (olm.ResourceList, error) {
	out := olm.ResourceList{Group: kind.Group, Kind: kind.Kind, Instances: []olm.ResourceInstance{}}
	for _, namespace := range kind.Where(targets) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := as.List(ctx, list, client.InNamespace(namespace)); meta.IsNoMatchError(err) {
			return out, nil // the kind was deleted
		} else if err != nil {
			return out, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			o.SetGroupVersionKind(kind.GroupVersionKind)
			out.Instances = append(out.Instances, olm.ResourceInstance{Namespace: o.Namespace, Name: o.Name})
			if !o.DeletionTimestamp.IsZero() {
				continue
			}
			if err := as.Delete(ctx, o, client.Preconditions{UID: &o.UID}); client.IgnoreNotFound(err) != nil {
				return out, err
			}
			log.FromContext(ctx).Info("Deleted custom resource of an operator that is being uninstalled",
				"kind", kind.Kind, "namespace", o.Namespace, "name", o.Name)
		}
	}
	slices.SortFunc(out.Instances, func(a, b olm.ResourceInstance) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// reportPending lists remaining custom resources in the status, up to maxPending of each kind.
func (r *Reconciler) reportPending(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, pending []olm.ResourceList) error {
	for i := range pending {
		pending[i].Instances = pending[i].Instances[:min(len(pending[i].Instances), maxPending)]
	}
	out := csv.DeepCopy()
	out.Status.Cleanup.PendingDeletion = pending
	if equality.Semantic.DeepEqual(out.Status, csv.Status) {
		return nil
	}
	return kube.UpdateStatus(ctx, r.Client, out, FieldOwner)
}

// maxPending limits how many custom resources of a kind the status lists.
const maxPending = 50
