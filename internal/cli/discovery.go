package cli

import (
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// discoverer is a lister that knows which kinds the API server serves, whether or not the user may read their objects: the API server also
// denies a user without rights the kinds that it does not have.
type discoverer interface {
	// serves reports whether the API server serves a kind, if that is known.
	serves(kind schema.GroupVersionKind) (served, known bool)
}

// discovering is a client of a cluster that is a discoverer. All users may ask which kinds are served.
type discovering struct {
	client.Client
	resources func(groupVersion string) (*metav1.APIResourceList, error)
}

// newDiscovering returns a client that asks the API server once for each group and version.
func newDiscovering(c client.Client, asking discovery.ServerResourcesInterface) discovering {
	type answer struct {
		list *metav1.APIResourceList
		err  error
	}
	var mu sync.Mutex
	answers := map[string]answer{}
	return discovering{c, func(groupVersion string) (*metav1.APIResourceList, error) {
		mu.Lock()
		defer mu.Unlock()
		known, ok := answers[groupVersion]
		if !ok {
			known.list, known.err = asking.ServerResourcesForGroupVersion(groupVersion)
			answers[groupVersion] = known
		}
		return known.list, known.err
	}}
}

func (d discovering) serves(kind schema.GroupVersionKind) (served, known bool) {
	list, err := d.resources(kind.GroupVersion().String())
	switch {
	case apierrors.IsNotFound(err):
		return false, true
	case err != nil:
		return false, false
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }), true
}
