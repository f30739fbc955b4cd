package probe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
)

// held returns the updates that wait for a Probe, or none while Subscriptions are not watched.
func (r *StatusReconciler) held(ctx context.Context, key types.NamespacedName) ([]probestatus.Held, error) {
	if !r.subscriptions.Load() {
		return nil, nil
	}
	subs := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, subs, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", key.Namespace, err)
	}
	waits := slices.ContainsFunc(subs.Items, func(sub v1alpha1.Subscription) bool {
		return sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld).Status == corev1.ConditionTrue
	})
	if !waits {
		return nil, nil
	}
	list, err := siblings(ctx, r.Client, key.Namespace)
	if err != nil {
		return nil, err
	}
	csvs := map[string]*v1alpha1.ClusterServiceVersion{}
	for i := range list {
		csvs[list[i].Name] = &list[i]
	}
	return probestatus.HeldBy(key.Name, subs.Items, csvs), nil
}

// WatchSubscriptions enqueues the Probes of a namespace when a Subscription changes, since they report held updates.
// Call it once Subscriptions and ClusterServiceVersions are installed.
func (r *StatusReconciler) WatchSubscriptions(mgr ctrl.Manager, c controller.Controller) error {
	err := c.Watch(source.Kind[client.Object](mgr.GetCache(), &v1alpha1.Subscription{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace)))
	r.subscriptions.Store(err == nil)
	return err
}
