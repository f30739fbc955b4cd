package annotations

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// indexOwnedGroup finds ClusterServiceVersions by the API groups of the CustomResourceDefinitions they own.
const indexOwnedGroup = "spec.customresourcedefinitions.owned.group"

// CSVDefinition is the name of the CustomResourceDefinition of ClusterServiceVersions.
const CSVDefinition = "clusterserviceversions.operators.coreos.com"

// Owners finds the ClusterServiceVersions that own CustomResourceDefinitions.
type Owners struct {
	// Client reads from a cache.
	Client client.Reader

	mu      sync.Mutex
	indexed atomic.Bool
}

// Index adds the index that In reads, unless it exists. Call it once ClusterServiceVersions are installed.
func (o *Owners) Index(ctx context.Context, indexer client.FieldIndexer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.indexed.Load() {
		return nil
	}
	if err := indexer.IndexField(ctx, &v1alpha1.ClusterServiceVersion{}, indexOwnedGroup, func(csv client.Object) []string {
		return probepolicy.Groups(CRDNames(csv.(*v1alpha1.ClusterServiceVersion)))
	}); err != nil {
		return fmt.Errorf("indexing ClusterServiceVersions by the API groups of their CustomResourceDefinitions: %w", err)
	}
	o.indexed.Store(true)
	return nil
}

// In returns the ClusterServiceVersions that own a CustomResourceDefinition of an API group, without copies in other namespaces. There are
// none before Index. Callers must not change them.
func (o *Owners) In(ctx context.Context, group string) ([]*v1alpha1.ClusterServiceVersion, error) {
	if !o.indexed.Load() {
		return nil, nil
	}
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := o.Client.List(ctx, list, client.MatchingFields{indexOwnedGroup: group}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions that own CustomResourceDefinitions of %s: %w", group, err)
	}
	var out []*v1alpha1.ClusterServiceVersion
	for i := range list.Items {
		if !list.Items[i].IsCopied() {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}

// Unowned returns those of all CustomResourceDefinitions that are annotated and that no ClusterServiceVersion owns, and whether it is known
// already which ClusterServiceVersions exist.
func (o *Owners) Unowned(ctx context.Context, all []apiextensions.CustomResourceDefinition) (
	out []*apiextensions.CustomResourceDefinition, known bool, err error,
) {
	isCSVs := func(crd apiextensions.CustomResourceDefinition) bool { return crd.Name == CSVDefinition }
	if !o.indexed.Load() && slices.ContainsFunc(all, isCSVs) {
		return nil, false, nil
	}
	for i := range all {
		if !IsAnnotated(&all[i]) {
			continue
		}
		owners, err := o.In(ctx, probepolicy.GroupOf(all[i].Name))
		if err != nil {
			return nil, false, err
		}
		if !slices.ContainsFunc(owners, func(csv *v1alpha1.ClusterServiceVersion) bool { return csvchain.Owns(csv, all[i].Name) }) {
			out = append(out, &all[i])
		}
	}
	return out, true, nil
}

// createdBefore is how long before a ClusterServiceVersion OLM may create a CustomResourceDefinition that it owns.
const createdBefore = time.Minute

// AwaitsOwner reports whether OLM, or the built-in loops, created a CustomResourceDefinition so recently that the ClusterServiceVersion that
// owns it may not exist yet.
func AwaitsOwner(crd *apiextensions.CustomResourceDefinition, now time.Time) bool {
	return crd.Labels["olm.managed"] == "true" && now.Sub(crd.CreationTimestamp.Time) < createdBefore
}
