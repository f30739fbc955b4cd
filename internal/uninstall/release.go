// Package uninstall does what comes before operator-status is uninstalled.
package uninstall

import (
	"context"
	"fmt"
	"io"
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// fieldOwner is the field manager of the entries of operator-status in OperatorConditions.
const fieldOwner = client.FieldOwner("operator-status")

// Release sets every Upgradeable entry of operator-status in OperatorConditions to True, so that no update stays held
// after operator-status is uninstalled. A manager that still runs does not change released entries until TakeBack. It
// reports the entries that it changes, and the Subscriptions that then need approval by a user, to the given writer.
func Release(ctx context.Context, c client.Client, now metav1.Time, tell io.Writer) error {
	if err := each(ctx, c, func(o *operatorsv2.OperatorCondition) (bool, error) {
		held := ourEntry(o)
		if held == nil || held.Status == metav1.ConditionTrue && held.Reason == v1alpha1.ReasonReleased {
			return false, nil
		}
		setEntry(o, v1alpha1.ReasonReleased, "Released by operator-status, which is being uninstalled", now)
		_, err := fmt.Fprintf(tell, "released OperatorCondition %s/%s\n", o.Namespace, o.Name)
		return true, err
	}); err != nil {
		return err
	}
	list := &v1alpha1.SubscriptionList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("listing the Subscriptions: %w", err)
	}
	for i := range list.Items {
		sub := &list.Items[i]
		if !sub.IsGated() {
			continue
		}
		if _, err := fmt.Fprintf(tell, "Subscription %s/%s will wait for approval: set spec.installPlanApproval to Automatic, or approve its InstallPlans yourself\n",
			sub.Namespace, sub.Name); err != nil {
			return err
		}
	}
	return nil
}

// TakeBack undoes a Release: the Probes decide again.
func TakeBack(ctx context.Context, c client.Client, now metav1.Time, tell io.Writer) error {
	return each(ctx, c, func(o *operatorsv2.OperatorCondition) (bool, error) {
		if entry := ourEntry(o); entry == nil || entry.Reason != v1alpha1.ReasonReleased {
			return false, nil
		}
		setEntry(o, v1alpha1.ReasonProbeUpgradeable, "Probe "+o.Name+" decides again", now)
		_, err := fmt.Fprintf(tell, "took back OperatorCondition %s/%s\n", o.Namespace, o.Name)
		return true, err
	})
}

// each patches the OperatorConditions that change modifies, and retries on conflict. change reports whether it did.
func each(ctx context.Context, c client.Client, change func(*operatorsv2.OperatorCondition) (bool, error)) error {
	list := &operatorsv2.OperatorConditionList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("listing the OperatorConditions: %w", err)
	}
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			o := &operatorsv2.OperatorCondition{}
			if err := c.Get(ctx, key, o); err != nil {
				return client.IgnoreNotFound(err)
			}
			before := o.DeepCopy()
			if changes, err := change(o); err != nil || !changes {
				return err
			}
			return c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), fieldOwner)
		}); err != nil {
			return fmt.Errorf("changing OperatorCondition %s: %w", key, err)
		}
	}
	return nil
}

// ourEntry returns the condition that operator-status set in an OperatorCondition; nil if there is none.
func ourEntry(o *operatorsv2.OperatorCondition) *metav1.Condition {
	out := meta.FindStatusCondition(o.Spec.Conditions, operatorsv2.Upgradeable)
	if out == nil || !v1alpha1.IsGateReason(out.Reason) {
		return nil
	}
	return out
}

func setEntry(o *operatorsv2.OperatorCondition, reason, message string, now metav1.Time) {
	o.Spec.Conditions = slices.Clone(o.Spec.Conditions)
	meta.SetStatusCondition(&o.Spec.Conditions, metav1.Condition{
		Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now,
	})
}
