package platformoperator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/status/condition"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
)

// identityOf returns the identity that reads, applies and deletes the objects of `spec.resources`.
func identityOf(op *v1alpha1.PlatformOperator, otherwise apply.Identity) apply.Identity {
	if name := op.Spec.ServiceAccountName; name != "" {
		return apply.Identity{Namespace: op.GetNamespaceToInstallIn(), Name: name}
	}
	return otherwise
}

// actor reads, applies and deletes objects under one identity.
type actor struct {
	apply.Identity

	// shared is true if the author of the PlatformOperator did not name the account, so every author has the objects
	// of `spec.resources` applied as it.
	shared bool

	// missing is true if the service account does not exist. The clients are then the manager's, which applies nothing
	// in its place and deletes only objects whose UID it recorded.
	missing bool

	reader client.Reader
	writer client.Client
}

// refuses returns why the actor does not apply an object, or nil. An account that all authors of PlatformOperators
// share may have more permissions than they: it neither grants them, nor writes where they must not install either.
func (c composer) refuses(a actor, o *unstructured.Unstructured) *condition.Problem {
	namespace := o.GetNamespace()
	if o.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("Namespace") {
		namespace = o.GetName()
	}
	switch {
	case a.missing:
		return &condition.Problem{Reason: v1alpha1.ReasonServiceAccountMissing, Message: fmt.Sprintf(
			"%s is not applied, since %s does not exist: create it, or name another in spec.serviceAccountName", platformoperatorstatus.Title(o), a.Identity)}
	case a.Identity == c.Composer && o.GroupVersionKind().Group == rbacv1.GroupName:
		return &condition.Problem{Reason: v1alpha1.ReasonServiceAccountRequired, Message: fmt.Sprintf(
			"%s is not applied, since RBAC objects are only applied as an explicitly chosen service account: name one with the permissions in "+
				"spec.serviceAccountName, or have a cluster admin start the manager with --default-resources-account", platformoperatorstatus.Title(o))}
	case a.shared && c.Reserved.Has(namespace):
		return &condition.Problem{Reason: v1alpha1.ReasonNamespaceReserved, Message: fmt.Sprintf(
			"%s is not applied, since namespace %s is reserved: choose another, name an account with the permissions in spec.serviceAccountName, "+
				"or remove the namespace from --reserved-namespaces of the manager", platformoperatorstatus.Title(o), namespace)}
	}
	return nil
}

// mayTouch reports whether the actor may delete or release an object that the PlatformOperator controls.
func (a actor) mayTouch(recorded types.UID, live metav1.Object) bool {
	return !a.missing || recorded == live.GetUID()
}

// permits returns how to grant the actor a permission that it lacks.
func (a actor) permits() string {
	switch {
	case a.missing:
		return fmt.Sprintf("The request was sent as the manager, since %s does not exist", a.Identity)
	case a.shared:
		return fmt.Sprintf("To allow it, add label %s=true to a ClusterRole with the permission, or bind a role with it to %s",
			v1alpha1.LabelAggregateToCompose, a.Identity)
	}
	return fmt.Sprintf("To allow it, bind a role with the permission to %s", a.Identity)
}

// actor returns the actor that reads, applies and deletes the object of an entry in `status.resources`.
func (c composer) actor(entry string) (actor, error) {
	out := c.itself()
	if platformoperatorstatus.IsComposed(entry) {
		return out, nil
	}
	out.Identity, out.shared = identityOf(c.op, c.DefaultAccount), c.op.Spec.ServiceAccountName == ""
	as, err := c.As(out.Account())
	switch {
	case apierrors.IsNotFound(err):
		out.missing = true
	case err != nil:
		return out, err
	default:
		out.reader, out.writer = as, as
	}
	return out, nil
}

// itself returns the manager as an actor.
func (c composer) itself() actor { return actor{reader: c.Reader, writer: c.Client} }

// watch enqueues the PlatformOperator when an object of a kind changes, and reports whether that is possible. The
// manager also watches kinds that a service account applies, if it may list them; the account still reads the objects.
func (c composer) watch(ctx context.Context, as actor, kind schema.GroupVersionKind) bool {
	if !as.IsManager() && !c.Watches.Watches(kind) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.Live.List(ctx, list, client.Limit(1)); err != nil {
			return false
		}
	}
	c.Watches.Start(ctx, kind)
	return true
}
