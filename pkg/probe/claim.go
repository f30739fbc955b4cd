package probe

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Claim sets spec.manager of the operator's Probe to operator: from then on only the operator writes its status. It
// creates the Probe if it does not exist, owned by the ClusterServiceVersion of the same name if that kind is served.
// SetUpgradeable and Update do the same.
//
// It returns ErrCRDAnnotations or ErrProbeResources if the Probe belongs to another writer, ErrNoCSV if neither the Probe
// nor its ClusterServiceVersion exists, ErrNotServed, ErrUnknownOperator, or the error of a request.
func (c *Client) Claim(ctx context.Context) error {
	key, err := c.ready(ctx)
	if err != nil {
		return err
	}
	err = retry.OnError(retry.DefaultRetry, isOutdated, func() error {
		_, err := c.claim(ctx, key)
		return err
	})
	if err != nil {
		return fmt.Errorf("claiming Probe %s: %w", key, err)
	}
	return nil
}

// claim returns the Probe once it is the operator's.
func (c *Client) claim(ctx context.Context, key types.NamespacedName) (*v1alpha1.Probe, error) {
	actual, err := c.get(ctx, key)
	if apierrors.IsNotFound(err) {
		return c.create(ctx, key)
	}
	if err != nil {
		return nil, err
	}
	desired := actual.DeepCopy()
	if desired.Spec == nil {
		desired.Spec = &v1alpha1.ProbeSpec{}
	}
	switch {
	case desired.Spec.Manager == v1alpha1.ManagerCRDAnnotations:
		return nil, ErrCRDAnnotations
	case len(desired.Spec.ProbeResources) > 0:
		return nil, ErrProbeResources
	case desired.Spec.Manager == v1alpha1.ManagerOperator:
		return actual, nil
	}
	desired.Spec.Manager = v1alpha1.ManagerOperator
	return patch(actual, desired, func(o client.Object, p client.Patch) error { return c.client.Patch(ctx, o, p) })
}

func (c *Client) create(ctx context.Context, key types.NamespacedName) (*v1alpha1.Probe, error) {
	probe := &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator},
	}
	csv := newObject(v1alpha1.ClusterServiceVersionKind)
	switch err := c.client.Get(ctx, key, csv); {
	case meta.IsNoMatchError(err): // a cluster without ClusterServiceVersions
	case apierrors.IsNotFound(err):
		c.forgetKey() // the owner of the pod's Deployment may have changed
		return nil, fmt.Errorf("%w: %s", ErrNoCSV, key)
	case err != nil:
		return nil, fmt.Errorf("reading its ClusterServiceVersion: %w", err)
	default:
		owner := metav1.NewControllerRef(csv, csv.GroupVersionKind())
		*owner.BlockOwnerDeletion = false // true would need rights on the finalizers of its owner
		probe.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(probe)
	if err != nil {
		return nil, err
	}
	object := newObject(v1alpha1.ProbeKind)
	kind := object.GroupVersionKind()
	object.Object = content
	object.SetGroupVersionKind(kind)
	if err := c.client.Create(ctx, object); err != nil {
		return nil, err
	}
	return decode(object)
}
