package probe

import (
	"context"
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/watch"
)

// targets returns the namespaces in which a Probe's custom resources are read; the empty one means all. With a CSV
// they are the current target namespaces of its OperatorGroup, or those of its annotation unless exactly one
// OperatorGroup exists. Without a CSV they are spec.namespaces.
func (r *StatusReconciler) targets(ctx context.Context, probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion) ([]string, error) {
	if csv == nil {
		return operand.OrAll(probe.Spec.Namespaces), nil
	}
	group, err := r.operatorGroup(ctx, csv.Namespace)
	switch {
	case err != nil:
		return nil, err
	case group == nil:
		return operand.AnnotatedNamespaces(csv), nil
	}
	return operatorgroup.Targets(ctx, r.Client, group)
}

// targets holds target namespaces: those that exist, or the empty one for all, and those that are missing.
type targets struct{ existing, missing []string }

// splitByExistence returns which target namespaces of a Probe exist. The Probe's own namespace always does.
func (r *StatusReconciler) splitByExistence(ctx context.Context, probe *v1alpha1.Probe, namespaces []string) (out targets, err error) {
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

// missingNamespaces returns the Problem that namespaces do not exist, or nil.
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

// operatorGroup returns the only OperatorGroup of a namespace. It is nil if the namespace has none or several, or
// while OperatorGroups are not watched.
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

// choose returns the first candidate that may list and watch all targets, or the first of all if none may. It keeps a
// choice that works, so it creates no SubjectAccessReviews while reads succeed.
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
			allowed, err := kube.Allowed(ctx, r.Client, account, authorizationv1.ResourceAttributes{
				Namespace: t.Namespace, Verb: verb, Group: t.Resource.Group, Version: t.Resource.Version, Resource: t.Resource.Resource,
			})
			if err != nil {
				return false, fmt.Errorf("checking whether service account %s may %s %s: %w", account, verb, t.Resource.GroupResource(), err)
			}
			if !allowed {
				return false, nil
			}
		}
	}
	return true, nil
}
