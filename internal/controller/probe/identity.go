package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apierror"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/watch"
)

// targets returns the namespaces in which a Probe's custom resources are read; the empty one means all. With a CSV they
// are the current target namespaces of its OperatorGroup, or those of its annotation if there is not exactly one
// OperatorGroup. Without a CSV they are spec.namespaces.
func (r *StatusReconciler) targets(ctx context.Context, probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion) ([]string, error) {
	if csv == nil {
		return orAll(probe.Spec.Namespaces), nil
	}
	group, err := r.operatorGroup(ctx, csv.Namespace)
	switch {
	case err != nil:
		return nil, err
	case group == nil:
		return annotatedTargets(csv), nil
	}
	return operatorgroup.Targets(ctx, r.Client, group)
}

// targets holds target namespaces: those that exist, or the empty one for all, and those that are missing.
type targets struct{ existing, missing []string }

// sortOut returns which target namespaces of a Probe exist. The Probe's own namespace always does.
func (r *StatusReconciler) sortOut(ctx context.Context, probe *v1alpha1.Probe, namespaces []string) (out targets, err error) {
	for _, name := range namespaces {
		exists := name == metav1.NamespaceAll || name == probe.Namespace
		if !exists {
			if exists, err = r.namespaceExists(ctx, name); err != nil {
				return out, err
			}
		}
		if exists {
			out.existing = append(out.existing, name)
		} else {
			out.missing = append(out.missing, name)
		}
	}
	return out, nil
}

func (r *StatusReconciler) namespaceExists(ctx context.Context, name string) (bool, error) {
	if err := r.watchNamespaces(); err != nil {
		return false, fmt.Errorf("watching namespaces: %w", err)
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	switch err := r.Client.Get(ctx, types.NamespacedName{Name: name}, namespace); {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	default:
		return false, fmt.Errorf("getting namespace %s: %w", name, err)
	}
}

// missingNamespaces returns the Problem that namespaces do not exist; nil if none is missing.
func missingNamespaces(names []string) *condition.Problem {
	if len(names) == 0 {
		return nil
	}
	text := fmt.Sprintf("Namespace %s does not exist: custom resources are read there once it is created", names[0])
	if len(names) > 1 {
		const most = 5
		text = fmt.Sprintf("Namespaces %s do not exist: custom resources are read there once they are created", messages.List(names, most, ", "))
	}
	return &condition.Problem{Reason: v1alpha1.ReasonNamespaceNotFound, Message: text}
}

// operatorGroup returns the OperatorGroup of a namespace; nil if there is not exactly one, or if they are not watched.
func (r *StatusReconciler) operatorGroup(ctx context.Context, namespace string) (*operatorsv1.OperatorGroup, error) {
	if !r.operatorGroups.Load() {
		return nil, nil
	}
	group, problem, err := operatorgroup.Find(ctx, r.Client, namespace)
	if err != nil || problem != nil {
		return nil, err
	}
	if group.Spec.Selector != nil {
		err = r.watchNamespaces()
	}
	return group, err
}

// annotatedTargets returns the target namespaces in the annotation of a ClusterServiceVersion.
func annotatedTargets(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	for n := range strings.SplitSeq(csv.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey], ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return orAll(out)
}

func orAll(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	out := slices.Clone(namespaces)
	slices.Sort(out)
	return slices.Compact(out)
}

// candidates returns the existing service accounts that a Probe may read with, in order of preference. If there are
// none, the Problem states why.
func (r *StatusReconciler) candidates(ctx context.Context, probe *v1alpha1.Probe,
	csv *v1alpha1.ClusterServiceVersion) ([]types.NamespacedName, *condition.Problem, error) {
	var names []string
	switch {
	case probe.Spec.ServiceAccountName != "":
		names = []string{probe.Spec.ServiceAccountName}
	case csv != nil:
		names = csv.ServiceAccounts()
	default:
		return nil, &condition.Problem{Reason: v1alpha1.ReasonNoIdentity, Message: fmt.Sprintf(
			"There is no ClusterServiceVersion %s to take a service account from: set spec.serviceAccountName", probe.Name)}, nil
	}
	var out []types.NamespacedName
	for _, name := range names {
		account := &metav1.PartialObjectMetadata{}
		account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
		key := types.NamespacedName{Namespace: probe.Namespace, Name: name}
		if err := r.Client.Get(ctx, key, account); client.IgnoreNotFound(err) != nil {
			return nil, nil, fmt.Errorf("getting service account %s: %w", key, err)
		} else if err == nil {
			out = append(out, key)
		}
	}
	if len(out) > 0 {
		return out, nil, nil
	}
	if len(names) == 0 {
		return nil, &condition.Problem{Reason: v1alpha1.ReasonNoIdentity, Message: fmt.Sprintf(
			"ClusterServiceVersion %s names no service account: set spec.serviceAccountName", probe.Name)}, nil
	}
	return nil, &condition.Problem{Reason: v1alpha1.ReasonNoIdentity, Message: fmt.Sprintf(
		"No service account %s exists in namespace %s", strings.Join(names, " or "), probe.Namespace)}, nil
}

// choose returns the first candidate that may list and watch all targets, or the first of all if none may. It keeps a
// choice that works, so that it creates no SubjectAccessReviews while reads succeed.
func (r *StatusReconciler) choose(ctx context.Context, probe types.NamespacedName, candidates []types.NamespacedName,
	targets []watch.Target) (types.NamespacedName, error) {
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	for _, candidate := range candidates {
		if r.readsAll(probe, candidate, targets) {
			return candidate, nil
		}
	}
	for _, candidate := range candidates {
		allowed, err := r.mayReadAll(ctx, candidate, targets)
		if err != nil {
			return types.NamespacedName{}, err
		}
		if allowed {
			return candidate, nil
		}
	}
	return candidates[0], nil
}

func (r *StatusReconciler) readsAll(probe, account types.NamespacedName, targets []watch.Target) bool {
	for _, t := range targets {
		t.Identity = account
		if !r.readings.has(probe, t) {
			return false
		}
	}
	return true
}

func (r *StatusReconciler) mayReadAll(ctx context.Context, account types.NamespacedName, targets []watch.Target) (bool, error) {
	for _, t := range targets {
		for _, verb := range []string{"list", "watch"} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User:   serviceaccount.MakeUsername(account.Namespace, account.Name),
				Groups: append(serviceaccount.MakeGroupNames(account.Namespace), user.AllAuthenticated),
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: t.Namespace, Verb: verb,
					Group: t.Resource.Group, Version: t.Resource.Version, Resource: t.Resource.Resource,
				},
			}}
			if err := r.Client.Create(ctx, review); err != nil {
				return false, fmt.Errorf("asking whether service account %s may %s %s: %w", account, verb, t.Resource.GroupResource(), err)
			}
			if !review.Status.Allowed {
				return false, nil
			}
		}
	}
	return true, nil
}

// readProblem returns the Problem with what was read of a target, or nil.
func readProblem(t watch.Target, s watch.Snapshot) *condition.Problem {
	switch {
	case s.Err == nil && !s.Stale:
		return nil
	case s.Err == nil:
		return &condition.Problem{Reason: v1alpha1.ReasonStale, Message: fmt.Sprintf(
			"The API server has not sent anything about %s to service account %s for some time, not even a bookmark: it is asked again", targetName(t), t.Identity)}
	case apierrors.IsForbidden(s.Err):
		return forbidden(t)
	case errors.Is(s.Err, watch.ErrTooManyTypes):
		return &condition.Problem{Reason: v1alpha1.ReasonTooManyConditions, Message: fmt.Sprintf(
			"The expressions of all Probes that read %s with service account %s would name more than %d conditions: name fewer, or use another account",
			targetName(t), t.Identity, watch.MaxTypes)}
	}
	reason := v1alpha1.ReasonReadFailed
	if s.Stale {
		reason = v1alpha1.ReasonStale
	}
	return &condition.Problem{Reason: reason, Message: fmt.Sprintf(
		"Service account %s fails to read %s: %s", t.Identity, targetName(t), apierror.Message(s.Err, maxQuoted))}
}

func forbidden(t watch.Target) *condition.Problem {
	return &condition.Problem{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf(
		"Service account %s may not list and watch %s: grant it that", t.Identity, targetName(t))}
}

// targetName names the resource and namespace of a target, for messages.
func targetName(t watch.Target) string {
	if t.Namespace == "" {
		return t.Resource.GroupResource().String() + " in all namespaces"
	}
	return t.Resource.GroupResource().String() + " in namespace " + t.Namespace
}

// maxQuoted limits how much of an error a message quotes, in bytes.
const maxQuoted = 512
