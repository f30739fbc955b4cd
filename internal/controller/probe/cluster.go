package probe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/operand"
)

// Names of field indexes of the cache.
const (
	// IndexNamedCRD finds Probes by the names of their resources.
	IndexNamedCRD = "spec.probeResources.name"

	// IndexNamespace finds Probes by the namespaces that they name.
	IndexNamespace = "spec.namespaces"
)

// csvOf returns a ClusterServiceVersion. It returns nil if it does not exist, its kind is not installed, or it is a
// copy that OLM made in another namespace.
func csvOf(ctx context.Context, c client.Reader, key types.NamespacedName) (*v1alpha1.ClusterServiceVersion, error) {
	if served, err := operand.IsServed(ctx, c, annotations.CSVDefinition, v1alpha1.GroupVersion.Version); err != nil || !served {
		return nil, err
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := c.Get(ctx, key, csv); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("getting ClusterServiceVersion %s: %w", key, err)
	}
	if csv.IsCopied() {
		return nil, nil
	}
	return csv, nil
}

// operatorNotFound returns a message that the ClusterServiceVersion of a Probe does not exist. It is empty if the
// cluster does not serve ClusterServiceVersions: operators are then installed otherwise.
func operatorNotFound(ctx context.Context, c client.Reader, key types.NamespacedName) (string, error) {
	if served, err := operand.IsServed(ctx, c, annotations.CSVDefinition, v1alpha1.GroupVersion.Version); err != nil || !served {
		return "", err
	}
	others, err := siblings(ctx, c, key.Namespace)
	if err != nil {
		return "", err
	}
	for i := range others {
		if others[i].Spec.Replaces == key.Name && !others[i].IsCopied() {
			return fmt.Sprintf("ClusterServiceVersion %s has replaced %s, which this Probe is named after", others[i].Name, key.Name), nil
		}
	}
	return fmt.Sprintf("Namespace %s has no ClusterServiceVersion %s, which this Probe is named after: its operator was uninstalled, or is of another version",
		key.Namespace, key.Name), nil
}

// siblings returns the ClusterServiceVersions of a namespace, which the cache shares: they must not be changed.
func siblings(ctx context.Context, c client.Reader, namespace string) ([]v1alpha1.ClusterServiceVersion, error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions of namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}
