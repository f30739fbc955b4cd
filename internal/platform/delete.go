package platform

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// delete does what deletionPolicy says with what the PlatformOperator consists of, and lets it go. What users have stays: until it
// is gone nothing is uninstalled, unless that is asked for.
func (c composer) delete(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(c.op, v1alpha1.Finalizer) {
		return reconcile.Result{}, nil
	}
	if c.op.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		left, err := c.releaseAll(ctx)
		if err != nil {
			return reconcile.Result{}, err
		}
		return c.end(ctx, left)
	}
	if waits, result, err := c.waitForUsers(ctx); waits || err != nil {
		return result, err
	}
	left, err := c.dismantle(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("deleting what PlatformOperator %s consists of: %w", c.op.Name, err)
	}
	return c.end(ctx, left)
}

// end lets the PlatformOperator go once nothing is left to do, and until then says what is.
func (c composer) end(ctx context.Context, left []Object) (reconcile.Result, error) {
	if len(left) == 0 {
		return reconcile.Result{}, c.finish(ctx)
	}
	now := metav1.NewTime(c.Now())
	return reconcile.Result{RequeueAfter: backOff(*c.op.DeletionTimestamp, now)}, c.write(ctx, Deleting(c.op, left, now))
}

// waitForUsers is true while users have data that the deletion would take away, or leave without the operator.
func (c composer) waitForUsers(ctx context.Context) (bool, reconcile.Result, error) {
	if c.anyway() || c.dismantling() {
		c.departures.await(c.op.Name, nil)
		return false, reconcile.Result{}, nil
	}
	users, err := c.usersData(ctx)
	if err != nil {
		return false, reconcile.Result{}, fmt.Errorf("looking for what users have of PlatformOperator %s: %w", c.op.Name, err)
	}
	if users.none() {
		c.departures.await(c.op.Name, nil)
		return false, reconcile.Result{}, nil
	}
	var result reconcile.Result
	if len(users.found) > 0 {
		c.departures.await(c.op.Name, &users.found[0])
	} else {
		result.RequeueAfter = unreadRetry // of a right that is granted nothing tells
	}
	return true, result, c.write(ctx, WaitingForUsers(c.op, users.message(c.op), metav1.NewTime(c.Now())))
}

// unreadRetry is when to look again for what could not be read.
const unreadRetry = 10 * time.Minute

// anyway is true where somebody wants the operator uninstalled although there is users' data.
func (c composer) anyway() bool { return c.op.Annotations[v1alpha1.AnnotationDeleteAnyway] == "true" }

// dismantling is true once uninstalling has begun: by then there was no users' data.
func (c composer) dismantling() bool {
	synced := meta.FindStatusCondition(c.op.Status.Conditions, v1alpha1.ConditionSynced)
	return synced != nil && synced.Reason == v1alpha1.ReasonDeleting
}

// dismantle deletes a wave at a time, and returns what is not gone yet: first what the operator may have to clean up after, then
// the operator, then what it stood on.
func (c composer) dismantle(ctx context.Context) ([]Object, error) {
	var waves [3][]v1alpha1.ResourceStatus
	for _, r := range c.op.Status.Resources {
		switch r.Name {
		case entrySubscription:
			waves[1] = append(waves[1], r)
		case entryNamespace:
			if c.anyway() { // it may hold data
				if left, err := c.release(ctx, r); err != nil {
					return nil, err
				} else if left != nil {
					return []Object{*left}, nil
				}
				continue
			}
			waves[2] = append(waves[2], r)
		case entryOperatorGroup:
			waves[2] = append(waves[2], r)
		default:
			waves[0] = append(waves[0], r)
		}
	}
	for _, wave := range waves {
		var left []Object
		for _, r := range wave {
			found, err := c.uninstall(ctx, r)
			if err != nil {
				return nil, err
			}
			left = append(left, found...)
		}
		if len(left) > 0 {
			return left, nil
		}
	}
	return nil, nil
}

// uninstall deletes an object. Before a Subscription its operator goes, which it would leave running.
func (c composer) uninstall(ctx context.Context, r v1alpha1.ResourceStatus) ([]Object, error) {
	if r.Name == entrySubscription {
		if left, err := c.uninstallOperator(ctx, r.Reference); err != nil || len(left) > 0 {
			return left, err
		}
	}
	left, err := c.remove(ctx, r)
	if err != nil || left == nil {
		return nil, err
	}
	return []Object{*left}, nil
}

// uninstallOperator deletes the ClusterServiceVersions of a Subscription.
func (c composer) uninstallOperator(ctx context.Context, ref corev1.ObjectReference) ([]Object, error) {
	_, csvs, err := c.operator(ctx, ref)
	if err != nil {
		return nil, err
	}
	var out []Object
	for _, installed := range csvs {
		csv := object(operatorsv1alpha1.GroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind, installed.Namespace, installed.Name)
		csv.SetUID(installed.UID)
		if installed.DeletionTimestamp == nil {
			log.FromContext(ctx).Info("Uninstalling the operator of a PlatformOperator", "csv", csv.GetName())
			if err := c.Client.Delete(ctx, csv, client.Preconditions{UID: &installed.UID}); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("deleting %s: %w", titleOf(csv), err)
			}
		}
		out = append(out, Object{Desired: Desired{Entry: entrySubscription, Object: csv}, Live: csv, Leaving: true})
	}
	return out, nil
}

// finish lets the PlatformOperator go.
func (c composer) finish(ctx context.Context) error {
	before := c.op.DeepCopy()
	controllerutil.RemoveFinalizer(c.op, v1alpha1.Finalizer)
	err := c.Client.Patch(ctx, c.op, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of PlatformOperator %s: %w", c.op.Name, err)
	}
	return nil
}
