package platform

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
)

// identityOf returns as whom the objects of `spec.resources` are read, applied and deleted.
func identityOf(op *v1alpha1.PlatformOperator, otherwise apply.Identity) apply.Identity {
	if name := op.Spec.ServiceAccountName; name != "" {
		return apply.Identity{Namespace: op.GetNamespaceToInstallIn(), Name: name}
	}
	return otherwise
}

// actor reads, applies and deletes objects.
type actor struct {
	apply.Identity

	// missing is true where the service account does not exist. The clients are then the manager's, which applies nothing in its
	// place, and deletes only what it recorded.
	missing bool

	reader client.Reader
	writer client.Client
}

// refuses returns why it does not apply an object; nil if it tries to. The manager may be allowed everything, so that to grant
// rights on behalf of any author of a PlatformOperator would make a cluster admin of him.
func (a actor) refuses(o *unstructured.Unstructured) *Problem {
	switch {
	case a.missing:
		return &Problem{Reason: v1alpha1.ReasonServiceAccountMissing, Message: fmt.Sprintf(
			"%s is not applied, since %s does not exist: create it, or name another in spec.serviceAccountName", titleOf(o), a.Identity)}
	case a.IsManager() && o.GroupVersionKind().Group == rbacv1.GroupName:
		return &Problem{Reason: v1alpha1.ReasonServiceAccountRequired, Message: fmt.Sprintf(
			"%s is not applied, since objects of RBAC are only applied as a service account: name one that may in spec.serviceAccountName, "+
				"or have a cluster admin start the manager with --default-resources-account", titleOf(o))}
	}
	return nil
}

// mayTouch reports whether it may delete or release an object that the PlatformOperator controls.
func (a actor) mayTouch(recorded types.UID, live metav1.Object) bool {
	return !a.missing || recorded == live.GetUID()
}

// permits says how it can be allowed what it may not do.
func (a actor) permits() string {
	switch {
	case a.missing:
		return fmt.Sprintf("It is done as the manager, since %s does not exist", a.Identity)
	case a.IsManager():
		return fmt.Sprintf("To allow it, label a ClusterRole that does with %s=true", labelAggregate)
	}
	return fmt.Sprintf("To allow it, bind a role that does to %s", a.Identity)
}

// actor returns who reads, applies and deletes the object of an entry in `status.resources`.
func (c composer) actor(entry string) (actor, error) {
	out := c.itself()
	identity := identityOf(c.op, c.DefaultAccount)
	if composed(entry) || identity.IsManager() {
		return out, nil
	}
	out.Identity = identity
	as, err := c.As(identity.Account())
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

// itself is the manager.
func (c composer) itself() actor { return actor{reader: c.Reader, writer: c.Client} }

// watch has the PlatformOperator enqueued when an object of a kind changes, and reports whether that is possible. Objects of a
// service account are watched by the manager as well, but only where it may: what they are like is then read as the account.
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
