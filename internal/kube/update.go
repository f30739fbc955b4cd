package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// UpdateStatus writes the status of an object. Like Patch and PatchStatus, it fails if the object has been changed or
// deleted since it was read: Requeue handles that error.
func UpdateStatus(ctx context.Context, c client.Client, o client.Object, owner client.FieldOwner) error {
	return wrapped(c, "writing the status of", o, c.Status().Update(ctx, o, owner))
}

// PatchStatus writes the difference between two statuses of an object, for kinds whose statuses may have fields that our
// Go types lack.
func PatchStatus(ctx context.Context, c client.Client, before, after client.Object, owner client.FieldOwner) error {
	return wrapped(c, "writing the status of", after, c.Status().Patch(ctx, after, ifUnchanged(before), owner))
}

// Patch writes the difference between two versions of an object, except their statuses.
func Patch(ctx context.Context, c client.Client, before, after client.Object, owner client.FieldOwner) error {
	return wrapped(c, "patching", after, c.Patch(ctx, after, ifUnchanged(before), owner))
}

// Modify reads an object, applies change, and patches the object except for its status. It retries if another client
// changes it meanwhile. change reports whether a write is needed.
func Modify[O interface {
	client.Object
	DeepCopy() O
}](ctx context.Context, c client.Client, o O, owner client.FieldOwner, change func(O) bool) error {
	key := client.ObjectKeyFromObject(o)
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, key, o); err != nil {
			return err
		}
		before := o.DeepCopy()
		if !change(o) {
			return nil
		}
		return c.Patch(ctx, o, ifUnchanged(before), owner)
	})
}

// ifUnchanged returns a merge patch that replaces lists whole, and is a conflict if the object has changed.
func ifUnchanged(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// wrapped adds the object to the error of a write.
func wrapped(c client.Client, action string, o client.Object, err error) error {
	if err == nil {
		return nil
	}
	kind, _ := apiutil.GVKForObject(o, c.Scheme()) // empty for an unknown kind, which has failed before
	err = fmt.Errorf("%s %s %s: %w", action, kind.Kind, client.ObjectKeyFromObject(o), err)
	if apierrors.IsNotFound(err) {
		return &deletedError{err}
	}
	return err
}

// deletedError is the error of a write whose object no longer exists.
type deletedError struct{ error }

func (d *deletedError) Unwrap() error { return d.error }

// Requeue returns the result of a reconcile. If an object has been changed or deleted since it was read, the cache is
// about to have that, unless it lags behind: the reconcile is repeated, after pauses that become longer, and is no error.
func Requeue(result reconcile.Result, err error) (reconcile.Result, error) {
	if Outdated(err) {
		return reconcile.Result{Requeue: true}, nil //nolint:staticcheck // an error would back off as well, but is logged
	}
	return result, err
}

// Sooner returns the shorter of two delays before a request is reconciled again, of which zero is none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Outdated reports whether a write failed only because its object has been changed or deleted since it was read.
func Outdated(err error) bool {
	var notFound *deletedError
	return apierrors.IsConflict(err) || errors.As(err, &notFound)
}
