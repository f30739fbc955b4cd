// Package workloads reads the workloads of a cluster, their roles, and the records of Helm, from a cache that keeps little of them.
package workloads

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/helm"
	"github.com/operator-status/operator-status/internal/probepolicy"
)

// Cache has the workloads of a cluster, their roles, and the metadata of the records of Helm. It starts to watch a kind when that is
// read first.
type Cache struct {
	cache.Cache

	roles     *roles
	operators *indexes
}

// New returns a Cache with Options.
func New(c cache.Cache) Cache {
	return Cache{c, &roles{indexes: indexes{missing: accountIndexes()}}, &indexes{missing: operatorIndexes()}}
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

// Owned returns the workloads of an operator, in whichever namespaces they are.
func (c Cache) Owned(ctx context.Context, of holdv1alpha1.OperatorReference) ([]installer.Workload, error) {
	return c.by(ctx, byOperator, of.String())
}

// Parts returns the workloads that an operator consists of.
func (c Cache) Parts(ctx context.Context, of holdv1alpha1.OperatorReference) ([]installer.Workload, error) {
	out, err := c.Owned(ctx, of)
	return slices.DeleteFunc(out, func(w installer.Workload) bool { return !probepolicy.IsPart(of, w) }), err
}

// OfRecord returns the operators of the release that a record of Helm belongs to. Flux may keep it in another namespace than the release.
func (c Cache) OfRecord(ctx context.Context, record metav1.Object) []holdv1alpha1.OperatorReference {
	out := helm.OfRecord(record)
	some, err := c.by(ctx, byRelease, releaseKey(record.GetNamespace(), record.GetLabels()[helm.LabelName]))
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the workloads of a release", "namespace", record.GetNamespace(), "record", record.GetName())
	}
	for _, w := range some {
		out = append(out, helm.OfWorkload(w)...)
	}
	return out
}

// Named returns the workloads with a name, of any kind.
func (c Cache) Named(ctx context.Context, key types.NamespacedName) ([]installer.Workload, error) {
	var out []installer.Workload
	for _, o := range Kinds() {
		switch err := c.Get(ctx, key, o, client.UnsafeDisableDeepCopy); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("getting %T %s: %w", o, key, err)
		default:
			w, _ := installer.WorkloadOf(o) // it is of such a kind
			out = append(out, w)
		}
	}
	return out, nil
}

// OfCondition returns the operators that write an OperatorCondition in their namespace, which no ClusterServiceVersion describes.
func (c Cache) OfCondition(ctx context.Context, oc client.Object) []holdv1alpha1.OperatorReference {
	some, err := c.In(ctx, oc.GetNamespace())
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the workloads of an OperatorCondition", "namespace", oc.GetNamespace(), "name", oc.GetName())
	}
	var out []holdv1alpha1.OperatorReference
	for _, w := range some {
		if of := controllers.Owner(w); w.Condition == oc.GetName() && !w.OfCSV && of.Namespace == w.Namespace {
			out = append(out, of)
		}
	}
	return out
}

// by returns the workloads that have a key in an index of operators.
func (c Cache) by(ctx context.Context, name, key string) ([]installer.Workload, error) {
	if err := c.operators.add(ctx, c.Cache); err != nil {
		return nil, err
	}
	return c.list(ctx, client.MatchingFields{name: key})
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
		Generation: object.GetGeneration(), Labels: object.GetLabels(), Annotations: object.GetAnnotations(),
	}
	delete(small.Annotations, corev1.LastAppliedConfigAnnotation)
	for _, owner := range object.GetOwnerReferences() {
		if ptr.Deref(owner.Controller, false) || owner.Kind == v1alpha1.ClusterServiceVersionKind {
			small.OwnerReferences = append(small.OwnerReferences, metav1.OwnerReference{Kind: owner.Kind, Name: owner.Name, Controller: owner.Controller})
		}
	}
	if role := trimRole(object); role != nil {
		return role, nil
	}
	switch o := o.(type) {
	case *appsv1.Deployment:
		out := &appsv1.Deployment{
			ObjectMeta: small, Spec: appsv1.DeploymentSpec{Template: podOf(o.Spec.Template)},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: o.Status.ObservedGeneration, Replicas: o.Status.Replicas, UpdatedReplicas: o.Status.UpdatedReplicas,
				AvailableReplicas: o.Status.AvailableReplicas,
			},
		}
		for _, c := range o.Status.Conditions {
			out.Status.Conditions = append(out.Status.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
		return out, nil
	case *appsv1.StatefulSet:
		return &appsv1.StatefulSet{
			ObjectMeta: small, Spec: appsv1.StatefulSetSpec{Template: podOf(o.Spec.Template), UpdateStrategy: o.Spec.UpdateStrategy},
			Status: appsv1.StatefulSetStatus{
				ObservedGeneration: o.Status.ObservedGeneration, Replicas: o.Status.Replicas, UpdatedReplicas: o.Status.UpdatedReplicas,
				CurrentRevision: o.Status.CurrentRevision, UpdateRevision: o.Status.UpdateRevision, AvailableReplicas: o.Status.AvailableReplicas,
			},
		}, nil
	case *appsv1.DaemonSet:
		return &appsv1.DaemonSet{
			ObjectMeta: small,
			Spec: appsv1.DaemonSetSpec{
				Template: podOf(o.Spec.Template), UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: o.Spec.UpdateStrategy.Type},
			},
			Status: appsv1.DaemonSetStatus{
				ObservedGeneration: o.Status.ObservedGeneration, DesiredNumberScheduled: o.Status.DesiredNumberScheduled,
				CurrentNumberScheduled: o.Status.CurrentNumberScheduled, UpdatedNumberScheduled: o.Status.UpdatedNumberScheduled,
				NumberAvailable: o.Status.NumberAvailable,
			},
		}, nil
	}
	object.SetManagedFields(nil)
	return object, nil
}

func podOf(t corev1.PodTemplateSpec) (out corev1.PodTemplateSpec) {
	out.Spec.ServiceAccountName = t.Spec.ServiceAccountName
	out.Spec.InitContainers, out.Spec.Containers = trimContainers(t.Spec.InitContainers), trimContainers(t.Spec.Containers)
	return out
}

func trimContainers(containers []corev1.Container) []corev1.Container {
	out := make([]corev1.Container, 0, len(containers))
	for _, c := range containers {
		small := corev1.Container{Image: c.Image}
		for _, v := range c.Env {
			if v.Name == installer.EnvOperatorCondition {
				small.Env = append(small.Env, v)
			}
		}
		out = append(out, small)
	}
	return out
}
