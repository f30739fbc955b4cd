package probe

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// IndexCache adds the field indexes of this package, except those on kinds that may not be installed.
func IndexCache(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.Probe{}, IndexNamedCRD, func(o client.Object) []string {
		probe := o.(*v1alpha1.Probe)
		if probe.Spec == nil {
			return nil
		}
		var out []string
		for _, r := range probe.Spec.ProbeResources {
			out = append(out, r.CRDName())
		}
		return out
	}); err != nil {
		return fmt.Errorf("indexing Probes by resource: %w", err)
	}
	if err := indexer.IndexField(ctx, &v1alpha1.Probe{}, IndexNamespace, func(o client.Object) []string {
		probe := o.(*v1alpha1.Probe)
		if probe.Spec == nil {
			return nil
		}
		return probe.Spec.Namespaces
	}); err != nil {
		return fmt.Errorf("indexing Probes by namespace: %w", err)
	}
	return nil
}
