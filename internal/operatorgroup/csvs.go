package operatorgroup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// CSVs returns the CSVs of a namespace by name, except copies. They may be shared with the cache: callers must not
// modify them.
func CSVs(ctx context.Context, c client.Reader, namespace string) (map[string]*v1alpha1.ClusterServiceVersion, error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions of namespace %s: %w", namespace, err)
	}
	out := make(map[string]*v1alpha1.ClusterServiceVersion, len(list.Items))
	for i := range list.Items {
		if csv := &list.Items[i]; !csv.IsCopied() {
			out[csv.Name] = csv
		}
	}
	return out, nil
}
