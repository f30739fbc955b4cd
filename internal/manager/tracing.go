package manager

import (
	"context"
	"fmt"

	olmv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/tracing/export"
)

// addTracing exports traces of updates if a collector is configured.
func addTracing(ctx context.Context, mgr ctrl.Manager, installed *crdGate, o Options) error {
	options := export.Options{Endpoint: o.TracingEndpoint, Insecure: o.TracingInsecure, Version: Version}
	if !options.Enabled() {
		return nil
	}
	log := mgr.GetLogger().WithName("tracing")
	exporter, err := export.NewExporter(ctx, options, log)
	if err != nil {
		return err
	}
	recorder := export.NewRecorder(mgr.GetAPIReader(), exporter, mgr.Elected(), log)
	if err := mgr.Add(recorder); err != nil {
		return fmt.Errorf("adding the trace recorder: %w", err)
	}
	installed.when(func() error {
		informer, err := mgr.GetCache().GetInformer(ctx, &v1alpha1.Subscription{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("tracing updates: %w", err)
		}
		_, err = informer.AddEventHandler(recorder.Handler())
		return err
	}, v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind), v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind),
		olmv1alpha1.SchemeGroupVersion.WithKind(olmv1alpha1.InstallPlanKind))
	return nil
}
