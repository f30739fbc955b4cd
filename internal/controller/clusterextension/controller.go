// Package clusterextension reports on the ClusterExtensions of OLM v1.
package clusterextension

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/kube"
	clusterextensionstatus "github.com/operator-status/operator-status/internal/status/clusterextension"
	"github.com/operator-status/operator-status/internal/workloads"
)

// FieldOwner is the field manager of the conditions.
const FieldOwner = client.FieldOwner("operator-status")

// Object returns an empty ClusterExtension.
func Object() *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(olmv1.Kind)
	return out
}

// Reconciler writes conditions of ClusterExtensions, beside those of operator-controller.
type Reconciler struct {
	// Client reads UpgradeHolds and OperatorConditions from a cache. Live bypasses it.
	Client client.Client
	Live   client.Reader

	// Installed has the ClusterExtensions and their workloads.
	Installed workloads.Cache

	controller controller.Controller

	// watchRights starts to watch Roles and RoleBindings, once there is an OperatorCondition.
	watchRights func() error
}

// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clusterextensions,verbs=get;list;watch
// +kubebuilder:rbac:groups=olm.operatorframework.io,resources=clusterextensions/status,verbs=patch

// Reconcile writes the conditions that changed, and keeps the OperatorCondition of the operator.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	extension := Object()
	if err := r.Installed.Get(ctx, req.NamespacedName, extension); err != nil || extension.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.read(ctx, extension)
	if err != nil {
		return reconcile.Result{}, err
	}
	err = errors.Join(r.report(ctx, extension, in), r.keepCondition(ctx, extension, in.Workloads))
	return kube.Requeue(reconcile.Result{}, err)
}

// report writes the conditions that changed.
func (r *Reconciler) report(ctx context.Context, extension *unstructured.Unstructured, in clusterextensionstatus.Inputs) error {
	desired := clusterextensionstatus.Compute(in)
	if !slices.ContainsFunc(desired, func(c metav1.Condition) bool {
		actual := meta.FindStatusCondition(in.Conditions, c.Type)
		return actual == nil || !equality.Semantic.DeepEqual(*actual, c)
	}) {
		return nil
	}
	return client.IgnoreNotFound(r.write(ctx, extension, desired))
}

// read returns the inputs of the conditions of a ClusterExtension.
func (r *Reconciler) read(ctx context.Context, extension *unstructured.Unstructured) (clusterextensionstatus.Inputs, error) {
	in := clusterextensionstatus.Inputs{
		Generation: extension.GetGeneration(), Conditions: conditionsOf(extension), Now: metav1.NewTime(time.Now()).Rfc3339Copy(),
	}
	namespace := Namespace(extension)
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerOLMv1, Namespace: namespace, Name: extension.GetName()}
	all, err := r.Installed.In(ctx, namespace)
	if err != nil {
		return in, err
	}
	in.Workloads = olmv1.Workloads(of, all)
	holds := &holdv1alpha1.UpgradeHoldList{}
	if err := r.Client.List(ctx, holds, client.UnsafeDisableDeepCopy); err != nil {
		return in, fmt.Errorf("listing the UpgradeHolds: %w", err)
	}
	for i := range holds.Items {
		if holds.Items[i].Spec.Operator == of {
			in.Holds = append(in.Holds, holds.Items[i])
		}
	}
	return in, nil
}

// Namespace returns the namespace of a ClusterExtension's operator.
func Namespace(extension *unstructured.Unstructured) string {
	out, _, _ := unstructured.NestedString(extension.Object, "spec", "namespace") // its schema requires it
	return out
}

// conditionsOf returns the conditions of a ClusterExtension. One that is malformed is left out.
func conditionsOf(extension *unstructured.Unstructured) []metav1.Condition {
	raw, _, _ := unstructured.NestedSlice(extension.Object, "status", "conditions") // none if malformed
	var out []metav1.Condition
	for _, entry := range raw {
		var c metav1.Condition
		fields, ok := entry.(map[string]any)
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

// write applies conditions. Server-side apply leaves those of operator-controller alone, also if it writes meanwhile.
func (r *Reconciler) write(ctx context.Context, extension *unstructured.Unstructured, conditions []metav1.Condition) error {
	entries := make([]any, 0, len(conditions))
	for i := range conditions {
		entry, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err != nil {
			return fmt.Errorf("converting a condition: %w", err)
		}
		entries = append(entries, entry)
	}
	out := Object()
	out.SetName(extension.GetName())
	out.SetUID(extension.GetUID())
	out.Object["status"] = map[string]any{"conditions": entries}
	if err := r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(out), FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("applying the conditions of ClusterExtension %s: %w", extension.GetName(), err)
	}
	return nil
}

// SetupWithManager enqueues a ClusterExtension when it, a workload of it, or an UpgradeHold of its operator changes.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	c := builder.ControllerManagedBy(mgr).
		Named("clusterextension").
		WatchesRawSource(source.Kind[client.Object](r.Installed, Object(), &handler.EnqueueRequestForObject{})).
		Watches(&holdv1alpha1.UpgradeHold{}, enqueue(func(o client.Object) []holdv1alpha1.OperatorReference {
			return []holdv1alpha1.OperatorReference{o.(*holdv1alpha1.UpgradeHold).Spec.Operator}
		}))
	for _, kind := range workloads.Kinds() {
		c = c.WatchesRawSource(source.Kind(r.Installed, kind, enqueue(func(o client.Object) []holdv1alpha1.OperatorReference {
			w, _ := installer.WorkloadOf(o)
			return olmv1.OfWorkload(w)
		})))
	}
	r.watchRights = sync.OnceValue(r.watchRightsOnce)
	var err error
	r.controller, err = c.Build(r)
	return err
}

// enqueue enqueues the ClusterExtensions of the operators of an object.
func enqueue(of func(client.Object) []holdv1alpha1.OperatorReference) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		var out []reconcile.Request
		for _, op := range of(o) {
			if op.Installer == holdv1alpha1.InstallerOLMv1 {
				out = append(out, reconcile.Request{NamespacedName: types.NamespacedName{Name: op.Name}})
			}
		}
		return out
	})
}
