package kube

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

// Transient reports whether a failed write may succeed later unchanged: for example because the API server is
// unavailable or lags behind, a permission is missing, a quota is exceeded, or a namespace is being deleted. Other
// errors recur on every retry.
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

// Denied reports whether the identity lacks a permission, or a quota or an admission policy denied the request. The API
// server returns the same code for all three.
func Denied(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// DryRunUnsupported reports whether the API server could not dry-run a request because it would call a webhook that
// does not support dry run.
func DryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}
