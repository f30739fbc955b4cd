package upgradehold

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/holdpolicy"
)

// List returns the UpgradeHolds of the cluster, and those that UpgradeHoldPolicies determine for some Subscriptions and that do not exist
// yet. namespace is that of operator-status. Callers must not change them.
func List(ctx context.Context, from client.Reader, namespace string, subs []v1alpha1.Subscription) ([]holdv1alpha1.UpgradeHold, error) {
	holds, policies := &holdv1alpha1.UpgradeHoldList{}, &holdv1alpha1.UpgradeHoldPolicyList{}
	if err := from.List(ctx, policies, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the UpgradeHoldPolicies: %w", err)
	}
	if err := from.List(ctx, holds, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	var operators []holdpolicy.Operator
	for i := range subs {
		operators = append(operators, holdpolicy.Subscribed(&subs[i]))
	}
	return append(slices.Clip(holds.Items), holdpolicy.Missing(policies.Items, operators, holds.Items, namespace)...), nil
}

// Of returns the UpgradeHolds of an operator that are not being deleted. Callers must not change them.
func Of(ctx context.Context, from client.Reader, op holdv1alpha1.OperatorReference) ([]holdv1alpha1.UpgradeHold, error) {
	list := &holdv1alpha1.UpgradeHoldList{}
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(list.Items), func(h holdv1alpha1.UpgradeHold) bool {
		return h.Spec.Operator != op || !h.DeletionTimestamp.IsZero()
	}), nil
}
