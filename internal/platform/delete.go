package platform

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// delete does what deletionPolicy says with what the PlatformOperator consists of, and lets it go.
func (c composer) delete(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(c.op, v1alpha1.Finalizer) {
		return reconcile.Result{}, nil
	}
	if c.op.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		if err := c.releaseAll(ctx); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, c.finish(ctx)
	}
	left, err := c.dismantle(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("deleting what PlatformOperator %s consists of: %w", c.op.Name, err)
	}
	if len(left) == 0 {
		return reconcile.Result{}, c.finish(ctx)
	}
	return reconcile.Result{RequeueAfter: retry}, c.write(ctx, Deleting(c.op, left, metav1.NewTime(c.Now())))
}

// dismantle deletes a wave at a time, and returns what is not gone yet: first what the operator may have to clean up after, then
// the operator, then what it stood on.
func (c composer) dismantle(ctx context.Context) ([]Object, error) {
	var waves [3][]v1alpha1.ResourceStatus
	for _, r := range c.op.Status.Resources {
		switch r.Name {
		case entrySubscription:
			waves[1] = append(waves[1], r)
		case entryNamespace, entryOperatorGroup:
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
	live, err := c.remove(ctx, r.Reference)
	if err != nil || live == nil {
		return nil, err
	}
	return []Object{{Desired: Desired{Entry: r.Name, Object: live}, Live: live, Leaving: true}}, nil
}

// uninstallOperator deletes the ClusterServiceVersions of a Subscription.
func (c composer) uninstallOperator(ctx context.Context, ref corev1.ObjectReference) ([]Object, error) {
	sub := &operatorsv1alpha1.Subscription{}
	err := c.Reader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, sub)
	if apierrors.IsNotFound(err) || err == nil && !controls(c.op, sub) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("getting Subscription %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	var out []Object
	for _, name := range slices.Compact([]string{sub.Status.InstalledCSV, sub.Status.CurrentCSV}) {
		csv := object(operatorsv1alpha1.GroupVersion.String(), operatorsv1alpha1.ClusterServiceVersionKind, sub.Namespace, name)
		if name == "" {
			continue
		}
		if err := c.Reader.Get(ctx, client.ObjectKeyFromObject(csv), csv); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("getting %s: %w", titleOf(csv), err)
		}
		if csv.GetDeletionTimestamp() == nil {
			log.FromContext(ctx).Info("Uninstalling the operator of a PlatformOperator", "csv", name)
			if err := c.Client.Delete(ctx, csv); client.IgnoreNotFound(err) != nil {
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
