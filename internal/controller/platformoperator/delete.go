package platformoperator

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
	"github.com/operator-status/operator-status/internal/annotations"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
)

// delete deletes or releases the composed objects, as deletionPolicy states, and then removes the finalizer. It
// uninstalls nothing while users have data, unless the PlatformOperator has AnnotationDeleteAnyway.
func (c composer) delete(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(c.op, v1alpha1.Finalizer) {
		return reconcile.Result{}, nil
	}
	if platformoperatorstatus.Releases(c.op) {
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
		return reconcile.Result{}, fmt.Errorf("deleting the objects of PlatformOperator %s: %w", c.op.Name, err)
	}
	return c.end(ctx, left)
}

// end removes the finalizer if nothing is left. Otherwise it reports the remaining objects, and requeues.
func (c composer) end(ctx context.Context, left []platformoperatorstatus.Object) (reconcile.Result, error) {
	if len(left) == 0 {
		return reconcile.Result{}, c.finish(ctx)
	}
	now := metav1.NewTime(c.Now())
	return reconcile.Result{RequeueAfter: platformoperatorstatus.BackOff(*c.op.DeletionTimestamp, now)},
		c.write(ctx, platformoperatorstatus.Deleting(c.op, left, now))
}

// waitForUsers reports whether users have data that the deletion would delete, or leave without the operator.
func (c composer) waitForUsers(ctx context.Context) (bool, reconcile.Result, error) {
	if c.anyway() || c.dismantling() {
		c.departures.await(c.op.Name, nil)
		return false, reconcile.Result{}, nil
	}
	users, err := c.usersData(ctx)
	if err != nil {
		return false, reconcile.Result{}, fmt.Errorf("finding user data of PlatformOperator %s: %w", c.op.Name, err)
	}
	if users.none() {
		c.departures.await(c.op.Name, nil)
		return false, reconcile.Result{}, nil
	}
	var result reconcile.Result
	if len(users.found) > 0 {
		c.departures.await(c.op.Name, &users.found[0])
	} else {
		result.RequeueAfter = unreadRetry // no watch reports that a permission was granted
	}
	if awaited, err := c.awaitsOLM(ctx); awaited || err != nil {
		return true, result, err // WatchOLM enqueues it
	}
	in, err := c.read(ctx)
	if err == nil && in.Subscription == nil {
		in.Probe, err = c.probeOf(ctx, users.orphaned)
	}
	if err != nil {
		return false, reconcile.Result{}, fmt.Errorf("reading the inputs of PlatformOperator %s: %w", c.op.Name, err)
	}
	return true, result, c.write(ctx, platformoperatorstatus.WaitingForUsers(in, users.message(c.op)))
}

// probeOf returns the Probe of one of the CSVs, or nil: of several, one that does not allow an update.
func (c composer) probeOf(ctx context.Context, csvs []*operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.Probe, error) {
	var out *operatorsv1alpha1.Probe
	for _, csv := range csvs {
		probe, err := annotations.Find(ctx, c.Client, client.ObjectKeyFromObject(csv))
		if err != nil {
			return nil, err
		}
		if out == nil || probe != nil && !meta.IsStatusConditionTrue(probe.Status.Conditions, operatorsv1alpha1.ConditionUpgradeable) {
			out = probe
		}
	}
	return out, nil
}

// unreadRetry is when to try again to list kinds that could not be listed.
const unreadRetry = 10 * time.Minute

// anyway reports whether the operator is to be uninstalled although users have data.
func (c composer) anyway() bool { return c.op.Annotations[v1alpha1.AnnotationDeleteAnyway] == "true" }

// dismantling reports whether uninstalling has started. By then no users' data existed.
func (c composer) dismantling() bool {
	synced := meta.FindStatusCondition(c.op.Status.Conditions, v1alpha1.ConditionSynced)
	return synced != nil && synced.Reason == v1alpha1.ReasonDeleting
}

// dismantle deletes the objects in phases, and returns those of the current phase that still exist: first the resources
// that the operator may have to clean up after, then the operator, then its OperatorGroup and namespace.
func (c composer) dismantle(ctx context.Context) ([]platformoperatorstatus.Object, error) {
	var phases [3][]v1alpha1.ResourceStatus
	for _, r := range c.op.Status.Resources {
		switch r.Name {
		case platformoperatorstatus.EntrySubscription:
			phases[1] = append(phases[1], r)
		case platformoperatorstatus.EntryNamespace:
			if c.anyway() { // it may contain users' data
				if left, err := c.release(ctx, r); err != nil {
					return nil, err
				} else if left != nil {
					return []platformoperatorstatus.Object{*left}, nil
				}
				continue
			}
			phases[2] = append(phases[2], r)
		case platformoperatorstatus.EntryOperatorGroup:
			phases[2] = append(phases[2], r)
		default:
			phases[0] = append(phases[0], r)
		}
	}
	for _, phase := range phases {
		var left []platformoperatorstatus.Object
		for _, r := range phase {
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

// uninstall deletes an object. It deletes the CSVs of a Subscription first, since they would outlive the Subscription.
func (c composer) uninstall(ctx context.Context, r v1alpha1.ResourceStatus) ([]platformoperatorstatus.Object, error) {
	if r.Name == platformoperatorstatus.EntrySubscription {
		if left, err := c.uninstallOperator(ctx, r.Reference); err != nil || len(left) > 0 {
			return left, err
		}
	}
	left, err := c.remove(ctx, r)
	if err != nil || left == nil {
		return nil, err
	}
	return []platformoperatorstatus.Object{*left}, nil
}

// uninstallOperator deletes the CSVs of a Subscription, and returns those that it found. Those that they replace are deleted
// first: one that outlived them would be updated to them again.
func (c composer) uninstallOperator(ctx context.Context, ref corev1.ObjectReference) ([]platformoperatorstatus.Object, error) {
	csvs, orphaned, err := c.operator(ctx, ref)
	if err != nil {
		return nil, err
	}
	if orphaned && len(csvs) > 0 {
		if csvs, err = c.unclaimed(ctx, ref.Namespace, csvs); err != nil {
			return nil, err
		}
	}
	if csvs, err = c.withReplaced(ctx, csvs); err != nil {
		return nil, err
	}
	var out []platformoperatorstatus.Object
	for _, installed := range csvs {
		csv := platformoperatorstatus.NewObject(operatorsv1alpha1.GroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind, installed.Namespace,
			installed.Name)
		csv.SetUID(installed.UID)
		if installed.DeletionTimestamp == nil {
			log.FromContext(ctx).Info("Uninstalling the operator of a PlatformOperator", "csv", csv.GetName())
			if err := c.Client.Delete(ctx, csv, client.Preconditions{UID: &installed.UID}); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("deleting %s: %w", platformoperatorstatus.Title(csv), err)
			}
		}
		out = append(out, platformoperatorstatus.Object{Desired: platformoperatorstatus.Desired{Entry: platformoperatorstatus.EntrySubscription, Object: csv},
			Live: csv, Leaving: true})
	}
	return out, nil
}

// finish removes the finalizer.
func (c composer) finish(ctx context.Context) error {
	before := c.op.DeepCopy()
	controllerutil.RemoveFinalizer(c.op, v1alpha1.Finalizer)
	err := c.Client.Patch(ctx, c.op, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the finalizer of PlatformOperator %s: %w", c.op.Name, err)
	}
	return nil
}
