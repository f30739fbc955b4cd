package probe

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Claim sets spec.manager of the operator's Probe to operator: from then on only the operator writes its status. It
// creates the Probe if it does not exist, owned by the ClusterServiceVersion of the same name if that kind is served. A
// Probe that operator-status made from ProbePolicies is emptied. SetUpgradeable and Update do the same.
//
// It returns ErrCRDAnnotations or ErrProbeResources if the Probe belongs to another writer, ErrNoCSV if neither the Probe
// nor its ClusterServiceVersion exists, ErrNotServed, ErrUnknownOperator, or the error of a request.
func (c *Client) Claim(ctx context.Context) error {
	own, err := c.ready(ctx)
	if err != nil {
		return err
	}
	err = retry.OnError(retry.DefaultRetry, isOutdated, func() error {
		_, err := c.claim(ctx, own)
		return err
	})
	if err != nil {
		return fmt.Errorf("claiming Probe %s: %w", own.key, err)
	}
	return nil
}

// claim returns the Probe once it is the operator's.
func (c *Client) claim(ctx context.Context, own identity) (*v1alpha1.Probe, error) {
	actual, err := c.get(ctx, own.key)
	if apierrors.IsNotFound(err) {
		return c.create(ctx, own)
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
	case desired.Spec.Manager == v1alpha1.ManagerPolicy:
		return c.takeOver(ctx, actual, own)
	case len(desired.Spec.ProbeResources) > 0:
		return nil, ErrProbeResources
	case desired.Spec.Manager == v1alpha1.ManagerOperator && equality.Semantic.DeepEqual(desired.Spec.Operator, own.operator):
		return actual, nil
	}
	desired.Spec.Manager, desired.Spec.Operator = v1alpha1.ManagerOperator, own.operator
	return patch(actual, desired, func(o client.Object, p client.Patch) error { return c.client.Patch(ctx, o, p) })
}

// takeOver makes a Probe that was made from ProbePolicies the operator's: an operator that reports itself takes precedence
// over them. The status is emptied, too: the objects in it hold updates because of the policies, and would until the operator
// releases each of them.
func (c *Client) takeOver(ctx context.Context, actual *v1alpha1.Probe, own identity) (*v1alpha1.Probe, error) {
	desired := actual.DeepCopy()
	desired.Spec = &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator, Operator: own.operator}
	taken, err := patch(actual, desired, func(o client.Object, p client.Patch) error { return c.client.Patch(ctx, o, p) })
	if err != nil {
		return nil, err
	}
	desired = taken.DeepCopy()
	desired.Status = v1alpha1.ProbeStatus{}
	return patch(taken, desired, func(o client.Object, p client.Patch) error { return c.client.Status().Patch(ctx, o, p) })
}

func (c *Client) create(ctx context.Context, own identity) (*v1alpha1.Probe, error) {
	probe := &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: own.key.Namespace, Name: own.key.Name},
		Spec:       &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator, Operator: own.operator},
	}
	owner, err := c.owner(ctx, own)
	if err != nil {
		return nil, err
	}
	if owner != nil {
		ref := metav1.NewControllerRef(owner, owner.GroupVersionKind())
		*ref.BlockOwnerDeletion = false // true would need rights on the finalizers of its owner
		probe.OwnerReferences = []metav1.OwnerReference{*ref}
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

// owner returns the object that the Probe is deleted with: the ClusterServiceVersion, if that kind is served, or the workload, if it is in
// the namespace of the Probe.
func (c *Client) owner(ctx context.Context, own identity) (*unstructured.Unstructured, error) {
	if own.workload != nil {
		if own.workload.GetNamespace() != own.key.Namespace {
			return nil, nil
		}
		return own.workload, nil
	}
	csv := newObject(v1alpha1.ClusterServiceVersionKind)
	switch err := c.client.Get(ctx, own.key, csv); {
	case meta.IsNoMatchError(err): // a cluster without ClusterServiceVersions
		return nil, nil
	case apierrors.IsNotFound(err):
		c.forgetIdentity() // the owner of the pod's Deployment may have changed
		return nil, fmt.Errorf("%w: %s", ErrNoCSV, own.key)
	case err != nil:
		return nil, fmt.Errorf("reading its ClusterServiceVersion: %w", err)
	}
	return csv, nil
}
