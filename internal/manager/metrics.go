package manager

import (
	"context"
	"fmt"

	olmv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	registry "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/metrics"
)

// addMetrics collects metrics of the cluster's operators, of each kind once it is installed.
func addMetrics(ctx context.Context, mgr ctrl.Manager, installed *crdGate) error {
	operators := metrics.NewOperators(installer.Installers{olmv0.Installer{}, controllers.Reported{}}, mgr.GetClient(), mgr.Elected())
	if err := registry.Registry.Register(operators); err != nil {
		return fmt.Errorf("registering the metrics of operators: %w", err)
	}
	durations, err := metrics.NewDurations(registry.Registry, mgr.Elected())
	if err != nil {
		return fmt.Errorf("registering the metrics of durations: %w", err)
	}
	for _, kind := range operators.Kinds() {
		installed.when(func() error { operators.Add(kind); return nil }, kind.GroupVersionKind)
	}
	for _, kind := range []struct {
		schema.GroupVersionKind
		object client.Object
	}{
		{v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), &v1alpha1.Subscription{}},
		{v1alpha1.GroupVersion.WithKind(olmv1alpha1.InstallPlanKind), &olmv1alpha1.InstallPlan{}},
		{v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind), &v1alpha1.ClusterServiceVersion{}},
	} {
		installed.when(func() error {
			informer, err := mgr.GetCache().GetInformer(ctx, kind.object, cache.BlockUntilSynced(false))
			if err != nil {
				return fmt.Errorf("observing durations: %w", err)
			}
			_, err = informer.AddEventHandler(durations.Handler())
			return err
		}, kind.GroupVersionKind)
	}
	return nil
}
