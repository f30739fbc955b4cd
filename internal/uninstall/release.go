// Package uninstall prepares a cluster for the removal of operator-status.
package uninstall

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operator"
)

// fieldOwner is the field manager of the entries of operator-status in OperatorConditions.
const fieldOwner = client.FieldOwner("operator-status")

// Release has the API server only audit UpgradeHolds, and sets every Upgradeable entry of operator-status in OperatorConditions to
// True, so no update stays held after operator-status is uninstalled. A manager that still runs changes neither until TakeBack. It
// reports what it changes, and the Subscriptions that then need approval by a user, to the given writer.
func Release(ctx context.Context, c client.Client, now metav1.Time, output io.Writer) error {
	if err := enforce(ctx, c, admissionregistrationv1.Audit, "released", output); err != nil {
		return err
	}
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
	if err := c.List(ctx, list); err != nil && !isNotServed(err) {
		return fmt.Errorf("listing the Subscriptions: %w", err)
	}
	for i := range list.Items {
		sub := &list.Items[i]
		if err := resolveAnew(ctx, c, sub, now); err != nil {
			return err
		}
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

// resolveAnew makes OLM try an update again that was denied: otherwise it does so after minutes.
func resolveAnew(ctx context.Context, c client.Client, sub *v1alpha1.Subscription, now metav1.Time) error {
	if csvchain.DeniedVersions(sub) == nil {
		return nil
	}
	before := sub.DeepCopy()
	metav1.SetMetaDataAnnotation(&sub.ObjectMeta, v1alpha1.AnnotationResolveAnew, strconv.FormatInt(now.Unix(), 10))
	return client.IgnoreNotFound(c.Patch(ctx, sub, client.MergeFrom(before), fieldOwner))
}

// TakeBack undoes a Release: the API server enforces UpgradeHolds, and the Probes decide again.
func TakeBack(ctx context.Context, c client.Client, now metav1.Time, output io.Writer) error {
	if err := enforce(ctx, c, admissionregistrationv1.Deny, "took back", output); err != nil {
		return err
	}
	return each(ctx, c, output, func(o *operatorsv2.OperatorCondition) string {
		if entry := ourEntry(o); entry == nil || entry.Reason != v1alpha1.ReasonReleased {
			return ""
		}
		setEntry(o, v1alpha1.ReasonProbeUpgradeable, "Probe "+o.Name+" decides again", now)
		return "took back"
	})
}

// enforce sets the action of each binding of a policy that enforces UpgradeHolds, and prints those that change.
func enforce(ctx context.Context, c client.Client, action admissionregistrationv1.ValidationAction, did string, output io.Writer) error {
	list := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := c.List(ctx, list, client.HasLabels{holdv1alpha1.LabelEnforces}); err != nil {
		return fmt.Errorf("listing the ValidatingAdmissionPolicyBindings: %w", err)
	}
	actions := []admissionregistrationv1.ValidationAction{action}
	change := func(b *admissionregistrationv1.ValidatingAdmissionPolicyBinding) string {
		if slices.Equal(b.Spec.ValidationActions, actions) {
			return ""
		}
		b.Spec.ValidationActions = actions
		return did
	}
	for i := range list.Items {
		if err := modify(ctx, c, output, "ValidatingAdmissionPolicyBinding", &list.Items[i], change); err != nil {
			return err
		}
	}
	return nil
}

// each applies change to every OperatorCondition, and prints the results that are not empty.
func each(ctx context.Context, c client.Client, output io.Writer, change func(*operatorsv2.OperatorCondition) string) error {
	list := &operatorsv2.OperatorConditionList{}
	if err := c.List(ctx, list); err != nil && !isNotServed(err) {
		return fmt.Errorf("listing the OperatorConditions: %w", err)
	}
	for i := range list.Items {
		if err := modify(ctx, c, output, "OperatorCondition", &list.Items[i], change); err != nil {
			return err
		}
	}
	return nil
}

// isNotServed reports whether the cluster has no such kind, as without OLM.
func isNotServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// modify applies change to an object unless it was deleted, and prints the result if that is not empty.
func modify[O interface {
	client.Object
	DeepCopy() O
}](ctx context.Context, c client.Client, output io.Writer, kind string, o O, change func(O) string) error {
	name, did := operator.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}, ""
	err := kube.Modify(ctx, c, o, fieldOwner, func(o O) bool {
		did = change(o)
		return did != ""
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("changing %s: %w", name, err)
	}
	if err != nil || did == "" {
		return nil
	}
	_, err = fmt.Fprintf(output, "%s %s\n", did, name)
	return err
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
