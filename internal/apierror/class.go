package apierror

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Transient reports whether an error of a write may pass by itself, or when somebody grants a right: the API server is busy or
// behind, a quota is used up, a namespace is being deleted. What is left are answers that trying again does not change.
func Transient(err error) bool {
	switch {
	case err == nil:
		return false
	case Denied(err), apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsTimeout(err),
		apierrors.IsServerTimeout(err), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err),
		apierrors.IsUnauthorized(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	case meta.IsNoMatchError(err):
		return false
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return !ok || status.ErrStatus.Code >= 500
}

// Denied reports whether the identity lacks a right, or a quota or a policy is in the way. The API server tells of all three by
// the same code.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// DryRunUnsupported reports whether the API server could not dry-run a request because a webhook that it would call does not
// support that.
func DryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}
