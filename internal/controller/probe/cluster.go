package probe

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Names of field indexes of the cache.
const (
	// IndexCRDGroup finds CustomResourceDefinitions by their API group.
	IndexCRDGroup = "spec.group"

	// IndexOwnedCRD finds ClusterServiceVersions by the CustomResourceDefinitions they own.
	IndexOwnedCRD = "spec.customresourcedefinitions.owned.name"

	// IndexNamedCRD finds Probes by the names of their resources.
	IndexNamedCRD = "spec.probeResources.name"

	// IndexNamespace finds Probes by the namespaces that they name.
	IndexNamespace = "spec.namespaces"
)

const csvCRD = "clusterserviceversions.operators.coreos.com"

// csvOf returns a ClusterServiceVersion. It returns nil if it does not exist, its kind is not installed, or it is a
// copy that OLM made in another namespace.
func csvOf(ctx context.Context, c client.Reader, key types.NamespacedName) (*v1alpha1.ClusterServiceVersion, error) {
	if served, err := serves(ctx, c, csvCRD, v1alpha1.GroupVersion.Version); err != nil || !served {
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

// serves reports whether a CustomResourceDefinition is established and serves that version.
func serves(ctx context.Context, c client.Reader, name, version string) (bool, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := c.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return apihelpers.IsCRDConditionTrue(crd, apiextensions.Established) &&
		slices.ContainsFunc(crd.Spec.Versions, func(v apiextensions.CustomResourceDefinitionVersion) bool {
			return v.Name == version && v.Served
		}), nil
}

// siblings returns the ClusterServiceVersions of a namespace.
func siblings(ctx context.Context, c client.Reader, namespace string) ([]v1alpha1.ClusterServiceVersion, error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions of namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// findCRD returns the CustomResourceDefinition of that name, or else the only one of the API group of that name.
func findCRD(ctx context.Context, c client.Reader, name string) (*apiextensions.CustomResourceDefinition, *condition.Problem, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	err := c.Get(ctx, types.NamespacedName{Name: name}, crd)
	if err == nil {
		return usable(crd)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, nil, fmt.Errorf("getting CustomResourceDefinition %s: %w", name, err)
	}
	group := &apiextensions.CustomResourceDefinitionList{}
	if err := c.List(ctx, group, client.MatchingFields{IndexCRDGroup: name}); err != nil {
		return nil, nil, fmt.Errorf("listing the CustomResourceDefinitions of group %s: %w", name, err)
	}
	switch len(group.Items) {
	case 0:
		return nil, &condition.Problem{Reason: v1alpha1.ReasonResourceNotFound, Message: fmt.Sprintf(
			"There is no CustomResourceDefinition, and no API group, named %s", name)}, nil
	case 1:
		return usable(&group.Items[0])
	default:
		return nil, &condition.Problem{Reason: v1alpha1.ReasonResourceAmbiguous, Message: fmt.Sprintf(
			"API group %s holds %d CustomResourceDefinitions: name one of them, such as %s",
			name, len(group.Items), firstName(group.Items))}, nil
	}
}

func firstName(crds []apiextensions.CustomResourceDefinition) string {
	out := crds[0].Name
	for _, crd := range crds {
		out = min(out, crd.Name)
	}
	return out
}

func usable(crd *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, *condition.Problem, error) {
	if _, ok := servedVersion(crd); ok && apihelpers.IsCRDConditionTrue(crd, apiextensions.Established) {
		return crd, nil, nil
	}
	return nil, &condition.Problem{Reason: v1alpha1.ReasonResourceNotFound, Message: fmt.Sprintf(
		"CustomResourceDefinition %s is there, but the API server does not serve it", crd.Name)}, nil
}

// servedVersion returns the version to read: the storage version if served, since it needs no conversion, otherwise the
// first served one.
func servedVersion(crd *apiextensions.CustomResourceDefinition) (schema.GroupVersionResource, bool) {
	out := schema.GroupVersionResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	for _, v := range crd.Spec.Versions {
		if v.Served && (v.Storage || out.Version == "") {
			out.Version = v.Name
		}
	}
	return out, out.Version != ""
}
