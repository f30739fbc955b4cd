// Package isolation runs the reader of a Probe with isolation Pod: a Deployment of one pod with the account of the
// operator, and a Role for the status of this Probe and nothing else.
package isolation

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

// LiveReader returns the reader of a Probe: shared, or for isolation Pod the pod of its Deployment as it is now. That is
// gate.NoReader unless the only pod is ready and runs the current template. Use a client that bypasses the cache where
// an update depends on it.
func LiveReader(ctx context.Context, c client.Reader, probe *v1alpha1.Probe, shared string) (string, error) {
	if !probe.IsIsolated() {
		return shared, nil
	}
	deployment, err := Deployment(ctx, c, probe)
	if err != nil || deployment == nil {
		return gate.NoReader, err
	}
	return ReaderOf(deployment), nil
}

// Deployment returns the Deployment that reads for a Probe, or nil.
func Deployment(ctx context.Context, c client.Reader, probe *v1alpha1.Probe) (*appsv1.Deployment, error) {
	out, key := &appsv1.Deployment{}, types.NamespacedName{Namespace: probe.Namespace, Name: Name(probe)}
	if err := c.Get(ctx, key, out); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("getting Deployment %s, which reads for Probe %s: %w", key, probe.Name, err)
	}
	return out, nil
}

// ReaderOf returns the identity of the reader that a Deployment runs, as in the status of its Probe, or gate.NoReader
// if its only pod is not ready or has an old template.
func ReaderOf(d *appsv1.Deployment) string {
	s := d.Status
	if s.ObservedGeneration < d.Generation || s.Replicas != 1 || s.UpdatedReplicas != 1 || s.ReadyReplicas != 1 {
		return gate.NoReader
	}
	if identity := d.Spec.Template.Annotations[annotationReader]; identity != "" {
		return identity
	}
	return gate.NoReader
}
