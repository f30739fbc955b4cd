package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// UpdateStatus writes the status of an object. Like PatchStatus, it fails if the object has been changed or deleted since
// it was read: Requeue handles that error.
func UpdateStatus(ctx context.Context, c client.Client, o client.Object, owner client.FieldOwner) error {
	return ofStatus(c, o, c.Status().Update(ctx, o, owner))
}

// PatchStatus writes the difference between two statuses of an object, for kinds whose statuses may have fields that our
// Go types lack.
func PatchStatus(ctx context.Context, c client.Client, before, after client.Object, owner client.FieldOwner) error {
	return ofStatus(c, after, c.Status().Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), owner))
}

// ofStatus adds the object to an error about its status.
func ofStatus(c client.Client, o client.Object, err error) error {
	if err == nil {
		return nil
	}
	kind, _ := apiutil.GVKForObject(o, c.Scheme()) // empty for an unknown kind, which has failed before
	err = fmt.Errorf("writing the status of %s %s: %w", kind.Kind, client.ObjectKeyFromObject(o), err)
	if apierrors.IsNotFound(err) {
		return &deleted{err}
	}
	return err
}

// deleted is the error if the object of a status does not exist any more.
type deleted struct{ error }

func (d *deleted) Unwrap() error { return d.error }

// soon is how long a cache may take to catch up.
const soon = 100 * time.Millisecond

// Requeue returns the result of a reconcile. If an object has been changed or deleted since it was read, the cache is
// about to have that: the reconcile is repeated soon, and is no error.
func Requeue(result reconcile.Result, err error) (reconcile.Result, error) {
	if Outdated(err) {
		return reconcile.Result{RequeueAfter: soon}, nil
	}
	return result, err
}

// Outdated reports whether a write failed only because its object has been changed since it was read, or its status
// because the object has been deleted.
func Outdated(err error) bool {
	var gone *deleted
	return apierrors.IsConflict(err) || errors.As(err, &gone)
}
