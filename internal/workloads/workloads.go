// Package workloads reads the workloads of a cluster, their roles, and the records of Helm, from a cache that keeps little of them.
package workloads

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/helm"
)

// Cache has the workloads of a cluster, their roles, and the metadata of the records of Helm. It starts to watch a kind when that is
// read first.
type Cache struct {
	cache.Cache

	roles *roles
}

// New returns a Cache with Options.
func New(c cache.Cache) Cache {
	return Cache{c, &roles{missing: indexes()}}
}

// Options returns the options of the cache.
func Options() cache.Options {
	return cache.Options{
		DefaultTransform: trim,
		ByObject:         map[client.Object]cache.ByObject{Record(): {Label: labels.SelectorFromSet(labels.Set{helm.LabelOwner: helm.Owner})}},
	}
}

// Kinds returns an object of each kind of workload.
func Kinds() []client.Object {
	return []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}}
}

// Record returns an object of the kind of Helm's records.
func Record() client.Object {
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return out
}

// In returns the workloads of a namespace.
func (c Cache) In(ctx context.Context, namespace string) ([]installer.Workload, error) {
	return c.list(ctx, client.InNamespace(namespace))
}

// list returns the workloads that options select.
func (c Cache) list(ctx context.Context, options ...client.ListOption) ([]installer.Workload, error) {
	var found installer.Cluster
	for _, list := range []installer.List{&appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}} {
		if err := c.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
			return nil, fmt.Errorf("listing workloads: %w", err)
		}
		if err := found.Add(list, nil); err != nil {
			return nil, err
		}
	}
	var out []installer.Workload
	for _, o := range found.Objects {
		if w, ok := installer.WorkloadOf(o); ok {
			out = append(out, w)
		}
	}
	return out, nil
}

// Records returns the records of Helm in a namespace.
func (c Cache) Records(ctx context.Context, namespace string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := c.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the records of Helm in namespace %s: %w", namespace, err)
	}
	return list.Items, nil
}

// trim removes everything that installer.WorkloadOf does not read.
func trim(o any) (any, error) {
	object, ok := o.(client.Object)
	if !ok {
		return o, nil
	}
	small := metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
	}
	delete(small.Annotations, corev1.LastAppliedConfigAnnotation)
	if owner := metav1.GetControllerOf(object); owner != nil {
		small.OwnerReferences = []metav1.OwnerReference{{Kind: owner.Kind, Name: owner.Name, Controller: new(true)}}
	}
	if role := trimRole(object); role != nil {
		return role, nil
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		out := &appsv1.Deployment{ObjectMeta: small, Spec: appsv1.DeploymentSpec{Template: podOf(o.Spec.Template)}}
		out.Status.AvailableReplicas = o.Status.AvailableReplicas
		for _, c := range o.Status.Conditions {
			out.Status.Conditions = append(out.Status.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status})
		}
		return out, nil
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{
			ObjectMeta: small, Spec: appsv1.StatefulSetSpec{Template: podOf(o.Spec.Template)},
			Status: appsv1.StatefulSetStatus{AvailableReplicas: o.Status.AvailableReplicas},
		}, nil
	case *appsv1.DaemonSet:
		return &appsv1.DaemonSet{
			ObjectMeta: small, Spec: appsv1.DaemonSetSpec{Template: podOf(o.Spec.Template)},
			Status: appsv1.DaemonSetStatus{NumberAvailable: o.Status.NumberAvailable},
		}, nil
	}
	object.SetManagedFields(nil)
	return object, nil
}

func podOf(t corev1.PodTemplateSpec) (out corev1.PodTemplateSpec) {
	out.Spec.ServiceAccountName = t.Spec.ServiceAccountName
	out.Spec.InitContainers, out.Spec.Containers = imagesOf(t.Spec.InitContainers), imagesOf(t.Spec.Containers)
	return out
}

func imagesOf(containers []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, 0, len(containers))
	for _, c := range containers {
		out = append(out, corev1.Container{Image: c.Image})
	}
	return out
}
