package clusterextension

import (
	"context"
	"fmt"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv1"
	"github.com/operator-status/operator-status/internal/operand"
)

// keepCondition creates the OperatorCondition that the workloads of a ClusterExtension name, and lets their accounts write it. The rights for
// that are in config/operatorconditions.
func (r *Reconciler) keepCondition(ctx context.Context, extension *unstructured.Unstructured, workloads []installer.Workload) error {
	desired := olmv1.OperatorCondition(extension, Namespace(extension), workloads)
	if desired == nil {
		return nil
	}
	served, err := operand.IsServed(ctx, r.Client, installer.OperatorConditions, operatorsv2.GroupVersion.Version)
	if err != nil || !served {
		return err
	}
	live := &operatorsv2.OperatorCondition{}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(desired), live)
	if err == nil && !metav1.IsControlledBy(live, extension) {
		return nil // that of a user, or of a ClusterServiceVersion with this name
	}
	switch {
	case apierrors.IsNotFound(err):
		if err := r.Client.Create(ctx, desired, FieldOwner); apierrors.IsAlreadyExists(err) {
			return nil // its event is on the way
		} else if err != nil {
			return fmt.Errorf("creating OperatorCondition %s: %w", client.ObjectKeyFromObject(desired), err)
		}
		live = desired
	case err != nil:
		return fmt.Errorf("getting OperatorCondition %s: %w", client.ObjectKeyFromObject(desired), err)
	default:
		if err := r.changeCondition(ctx, live, desired); err != nil {
			return err
		}
	}
	if err := r.watchRights(); err != nil {
		return fmt.Errorf("watching the rights to write OperatorConditions: %w", err)
	}
	live.Spec.ServiceAccounts = desired.Spec.ServiceAccounts
	return r.keepRights(ctx, live)
}

// changeCondition updates the accounts of an OperatorCondition. The rest is its operator's, and its users'.
func (r *Reconciler) changeCondition(ctx context.Context, live, desired *operatorsv2.OperatorCondition) error {
	if equality.Semantic.DeepEqual(live.Spec.ServiceAccounts, desired.Spec.ServiceAccounts) {
		return nil
	}
	changed := live.DeepCopy()
	changed.Spec.ServiceAccounts = desired.Spec.ServiceAccounts
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, changed, patch, FieldOwner); err != nil {
		return fmt.Errorf("changing the accounts of OperatorCondition %s: %w", client.ObjectKeyFromObject(live), err)
	}
	return nil
}

// keepRights lets the accounts of an OperatorCondition write it.
func (r *Reconciler) keepRights(ctx context.Context, oc *operatorsv2.OperatorCondition) error {
	role, binding := olmv1.RightsOf(oc)
	if complete, err := r.isBound(ctx, role, binding); complete || err != nil {
		return err
	}
	if mine, err := r.keepRight(ctx, oc, role, &rbacv1.Role{}); !mine || err != nil {
		return err // a user's Role is not for these accounts
	}
	_, err := r.keepRight(ctx, oc, binding, &rbacv1.RoleBinding{})
	return err
}

// isBound reports whether a Role and its binding exist in the cache.
func (r *Reconciler) isBound(ctx context.Context, role *rbacv1.Role, binding *rbacv1.RoleBinding) (bool, error) {
	known := &rbacv1.RoleBinding{}
	for _, o := range []client.Object{&rbacv1.Role{}, known} {
		if err := r.Installed.Get(ctx, client.ObjectKeyFromObject(role), o); err != nil {
			return false, client.IgnoreNotFound(err)
		}
	}
	return known.RoleRef == binding.RoleRef && equality.Semantic.DeepEqual(known.Subjects, binding.Subjects), nil
}

// keepRight creates or updates an object that an OperatorCondition controls, and returns false if another has its name.
func (r *Reconciler) keepRight(ctx context.Context, oc *operatorsv2.OperatorCondition, desired, live client.Object) (bool, error) {
	key := client.ObjectKeyFromObject(desired)
	switch err := r.Live.Get(ctx, key, live); {
	case apierrors.IsNotFound(err):
		if err := r.Client.Create(ctx, desired, FieldOwner); err != nil {
			return false, fmt.Errorf("creating %T %s: %w", desired, key, err)
		}
	case err != nil:
		return false, fmt.Errorf("getting %T %s: %w", desired, key, err)
	case !metav1.IsControlledBy(live, oc):
		return false, nil
	default:
		desired.SetResourceVersion(live.GetResourceVersion())
		if err := r.Client.Update(ctx, desired, FieldOwner); err != nil {
			return false, fmt.Errorf("updating %T %s: %w", desired, key, err)
		}
	}
	return true, nil
}

// WatchConditions enqueues a ClusterExtension when its OperatorCondition changes, and all of them now that these can exist.
func (r *Reconciler) WatchConditions(c cache.Cache) error {
	owner := handler.TypedEnqueueRequestForOwner[client.Object](r.Client.Scheme(), r.Client.RESTMapper(), Object(), handler.OnlyControllerOwner())
	if err := r.controller.Watch(source.Kind[client.Object](c, &operatorsv2.OperatorCondition{}, owner)); err != nil {
		return err
	}
	return r.controller.Watch(source.Kind[client.Object](r.Installed, Object(), &handler.EnqueueRequestForObject{}))
}

// watchRightsOnce enqueues a ClusterExtension when a Role or RoleBinding of its name changes: that of a former OperatorCondition is deleted
// after the new one was created.
func (r *Reconciler) watchRightsOnce() error {
	named := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		extension := Object()
		if err := r.Installed.Get(ctx, client.ObjectKey{Name: o.GetName()}, extension); err != nil || Namespace(extension) != o.GetNamespace() {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(extension)}}
	})
	for _, kind := range []client.Object{&rbacv1.Role{}, &rbacv1.RoleBinding{}} {
		if err := r.controller.Watch(source.Kind(r.Installed, kind, named)); err != nil {
			return err
		}
	}
	return nil
}
