// Package uninstall prepares a cluster for the removal of operator-status.
package uninstall

import (
	"context"
	"fmt"
	"io"
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
)

// fieldOwner is the field manager of the entries of operator-status in OperatorConditions.
const fieldOwner = client.FieldOwner("operator-status")

// Release sets every Upgradeable entry of operator-status in OperatorConditions to True, so no update stays held after
// operator-status is uninstalled. A manager that still runs does not change released entries until TakeBack. It reports
// the entries that it changes, and the Subscriptions that then need approval by a user, to the given writer.
func Release(ctx context.Context, c client.Client, now metav1.Time, output io.Writer) error {
	if err := each(ctx, c, output, func(o *operatorsv2.OperatorCondition) string {
		held := ourEntry(o)
		if held == nil || held.Status == metav1.ConditionTrue && held.Reason == v1alpha1.ReasonReleased {
			return ""
		}
		setEntry(o, v1alpha1.ReasonReleased, "Released by operator-status, which is being uninstalled", now)
		return "released"
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
		if _, err := fmt.Fprintf(output, "Subscription %s/%s will wait for approval: set spec.installPlanApproval to Automatic, or approve its InstallPlans yourself\n",
			sub.Namespace, sub.Name); err != nil {
			return err
		}
	}
	return nil
}

// TakeBack undoes a Release: the Probes decide again.
func TakeBack(ctx context.Context, c client.Client, now metav1.Time, output io.Writer) error {
	return each(ctx, c, output, func(o *operatorsv2.OperatorCondition) string {
		if entry := ourEntry(o); entry == nil || entry.Reason != v1alpha1.ReasonReleased {
			return ""
		}
		setEntry(o, v1alpha1.ReasonProbeUpgradeable, "Probe "+o.Name+" decides again", now)
		return "took back"
	})
}

// each applies change to every OperatorCondition, and prints the results that are not empty.
func each(ctx context.Context, c client.Client, output io.Writer, change func(*operatorsv2.OperatorCondition) string) error {
	list := &operatorsv2.OperatorConditionList{}
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("listing the OperatorConditions: %w", err)
	}
	for i := range list.Items {
		o, did := &list.Items[i], ""
		name := client.ObjectKeyFromObject(o)
		err := kube.Modify(ctx, c, o, fieldOwner, func(o *operatorsv2.OperatorCondition) bool {
			did = change(o)
			return did != ""
		})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("changing OperatorCondition %s: %w", name, err)
		}
		if err != nil || did == "" {
			continue
		}
		if _, err := fmt.Fprintf(output, "%s OperatorCondition %s\n", did, name); err != nil {
			return err
		}
	}
	return nil
}

// ourEntry returns the condition that operator-status set in an OperatorCondition, or nil.
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
