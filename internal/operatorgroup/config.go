package operatorgroup

import (
	"context"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Config reads spec.config of a Subscription from the API server: a cached Subscription only shows whether it is set.
func Config(ctx context.Context, live client.Reader, cached *v1alpha1.Subscription) (*olm.SubscriptionConfig, error) {
	if cached.Spec == nil || cached.Spec.Config == nil {
		return nil, nil
	}
	key, sub := client.ObjectKeyFromObject(cached), &v1alpha1.Subscription{}
	if err := live.Get(ctx, key, sub); err != nil {
		return nil, fmt.Errorf("getting Subscription %s: %w", key, err)
	}
	if sub.Spec == nil {
		return nil, nil
	}
	return sub.Spec.Config, nil
}
