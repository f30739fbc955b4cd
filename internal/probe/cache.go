package probe

import (
	"context"
	"fmt"

	"github.com/crossplane/crossplane-runtime/v2/pkg/reconciler/customresourcesgate"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Strip keeps out of the cache what no stage reads: most of what a cluster's CustomResourceDefinitions,
// ClusterServiceVersions and service accounts weigh. It goes by the type of the object, since a cache must be told of
// a kind only once it is installed.
func Strip(o any) (any, error) {
	switch o := o.(type) {
	case *apiextensions.CustomResourceDefinition:
		return customresourcesgate.TransformStripCRDSchema(o)
	case *olm.ClusterServiceVersion:
		return stripCSV(o), nil
	case *metav1.PartialObjectMetadata:
		o.Labels, o.Annotations, o.ManagedFields = nil, nil, nil
	case client.Object:
		o.SetManagedFields(nil)
	}
	return o, nil
}

// stripCSV keeps what says who a ClusterServiceVersion is, what it owns, under which accounts it runs, and its phase;
// of a copy that OLM made in another namespace, that it is one.
func stripCSV(csv *olm.ClusterServiceVersion) *olm.ClusterServiceVersion {
	out := &olm.ClusterServiceVersion{TypeMeta: csv.TypeMeta, ObjectMeta: csv.ObjectMeta}
	out.ManagedFields = nil
	out.Annotations = map[string]string{}
	for _, name := range []string{operatorsv1.OperatorGroupTargetsAnnotationKey, olm.OperatorGroupNamespaceAnnotationKey} {
		if value, ok := csv.Annotations[name]; ok {
			out.Annotations[name] = value
		}
	}
	out.Status.Reason = csv.Status.Reason
	if csv.IsCopied() {
		return out
	}
	out.Spec.Replaces = csv.Spec.Replaces
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		out.Spec.CustomResourceDefinitions.Owned = append(out.Spec.CustomResourceDefinitions.Owned,
			olm.CRDDescription{Name: d.Name})
	}
	strategy := &out.Spec.InstallStrategy.StrategySpec
	for _, name := range serviceAccounts(csv) {
		strategy.Permissions = append(strategy.Permissions, olm.StrategyDeploymentPermissions{ServiceAccountName: name})
	}
	out.Status.Phase = csv.Status.Phase
	return out
}

// IndexCache adds the indexes that this package looks things up by, but for those on kinds that may not be installed.
func IndexCache(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &apiextensions.CustomResourceDefinition{}, IndexCRDGroup, func(o client.Object) []string {
		return []string{o.(*apiextensions.CustomResourceDefinition).Spec.Group}
	}); err != nil {
		return fmt.Errorf("indexing CustomResourceDefinitions by group: %w", err)
	}
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
	return nil
}

// IndexCSVs adds the indexes on ClusterServiceVersions, once they are installed.
func IndexCSVs(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &olm.ClusterServiceVersion{}, IndexOwnedCRD, func(o client.Object) []string {
		return ownedCRDs(o.(*olm.ClusterServiceVersion))
	}); err != nil {
		return fmt.Errorf("indexing ClusterServiceVersions by owned CustomResourceDefinition: %w", err)
	}
	return nil
}
