package operatorgroup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// roles applies the ClusterRoles of an OperatorGroup, by which users administer, edit or view the APIs of its
// operators.
func (r *Reconciler) roles(ctx context.Context, group *operatorsv1.OperatorGroup, csvs map[string]*v1alpha1.ClusterServiceVersion) error {
	for _, desired := range install.GroupRoles(group, csvs) {
		actual := &rbacv1.ClusterRole{}
		if err := r.Client.Get(ctx, client.ObjectKeyFromObject(desired), actual); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting ClusterRole %s: %w", desired.Name, err)
		} else if err == nil && asDesired(desired, actual) {
			continue
		}
		if err := r.apply(ctx, desired); err != nil {
			return fmt.Errorf("applying ClusterRole %s: %w", desired.Name, err)
		}
	}
	return nil
}

func asDesired(desired, actual *rbacv1.ClusterRole) bool {
	labels := maps.Clone(actual.Labels)
	maps.Copy(labels, desired.Labels)
	return maps.Equal(labels, actual.Labels) && equality.Semantic.DeepEqual(desired.AggregationRule, actual.AggregationRule)
}

// apply applies a ClusterRole without its rules, which the API server aggregates.
func (r *Reconciler) apply(ctx context.Context, role *rbacv1.ClusterRole) error {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(role)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(raw, "rules")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	return r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: raw}), FieldOwner, client.ForceOwnership)
}

// collect deletes the ClusterRoles of a deleted OperatorGroup. The garbage collector cannot: a cluster-scoped object cannot
// have a namespaced owner. Any user with `patch` on a ClusterRole can label it as one of these, so their names count, too.
func (r *Reconciler) collect(ctx context.Context, group types.NamespacedName) error {
	deleted := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name}}
	list := &rbacv1.ClusterRoleList{}
	if err := r.Client.List(ctx, list, client.MatchingLabels(install.GroupLabels(deleted))); err != nil {
		return fmt.Errorf("listing the ClusterRoles of deleted OperatorGroup %s: %w", group, err)
	}
	names := install.GroupRoleNames(deleted)
	for i := range list.Items {
		role := &list.Items[i]
		if !slices.Contains(names, role.Name) {
			continue
		}
		if err := r.Client.Delete(ctx, role, client.Preconditions{UID: &role.UID}); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			return fmt.Errorf("deleting ClusterRole %s: %w", role.Name, err)
		}
	}
	return nil
}
