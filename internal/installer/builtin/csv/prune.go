package csv

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// grantedKinds returns the kinds that grant an operator permissions or make the API server call it. They are pruned
// only if the grant of the operator is known.
func grantedKinds() []client.ObjectList {
	return append(webhookKinds(),
		&rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.ClusterRoleList{})
}

// prune deletes objects that were rendered for a CSV and no longer are, such as its roles in a former target namespace
// or a Deployment that was removed.
func (r *Reconciler) prune(ctx context.Context, s *situation, rendered install.Rendered) error {
	kinds := []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}}
	switch {
	case s.grant != nil:
		kinds = append(kinds, grantedKinds()...)
	case r.Trust.All:
		kinds = append(kinds, webhookKinds()...)
	}
	desired := map[record.Reference]bool{}
	for _, o := range rendered.Objects {
		desired[referenceTo(r.Client.Scheme(), o.Object)] = true
	}
	for _, list := range kinds {
		if err := r.Client.List(ctx, list, client.MatchingLabels(install.OwnerLabels(s.csv)), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the objects of ClusterServiceVersion %s: %w", s.csv.Name, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if !install.IsRendered(o) || desired[referenceTo(r.Client.Scheme(), o)] || o.GetDeletionTimestamp() != nil || !r.isOurs(s, o) {
				return nil
			}
			return r.deletePruned(ctx, s, o.DeepCopyObject().(client.Object))
		}); err != nil {
			return err
		}
	}
	return nil
}

// isOurs reports whether an object with the labels of a CSV really is one of its objects: any user with `patch` on an
// object can label it. In any case the garbage collector deletes the objects that the CSV owns; others are recorded.
func (r *Reconciler) isOurs(s *situation, o client.Object) bool {
	if s.grant == nil && o.GetNamespace() == "" {
		return r.Trust.All // a webhook of a CSV that was applied by hand
	}
	if o.GetNamespace() == s.csv.Namespace {
		return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == s.csv.UID })
	}
	return s.grant != nil && s.grant.Wrote(referenceTo(r.Client.Scheme(), o), o.GetUID())
}

func (r *Reconciler) deletePruned(ctx context.Context, s *situation, o client.Object) error {
	as, err := s.installer()
	if err != nil {
		return err
	}
	uid := o.GetUID()
	if err := as.Delete(ctx, o, client.Preconditions{UID: &uid}, client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s, which is no longer part of ClusterServiceVersion %s: %w", client.ObjectKeyFromObject(o), s.csv.Name, err)
	}
	log.FromContext(ctx).Info("Deleted object that the ClusterServiceVersion no longer contains", "object", client.ObjectKeyFromObject(o))
	return nil
}

// remember records the objects of a CSV outside its namespace in its grant: before they are applied, and again with
// their UIDs after. Only recorded objects are deleted with the CSV.
func (r *Reconciler) remember(ctx context.Context, s *situation, rendered install.Rendered) error {
	if s.grant == nil {
		return nil
	}
	grant := *s.grant
	grant.OutsideNamespace = slices.Clone(s.grant.OutsideNamespace)
	for _, o := range rendered.Objects {
		if o.GetNamespace() == s.csv.Namespace || !install.IsOwned(o.Object) {
			continue
		}
		ref := referenceTo(r.Client.Scheme(), o.Object)
		actual, err := r.actual(ctx, o.Object)
		switch {
		case err != nil:
			return err
		case actual == nil:
			ref.Created = true
		case slices.Contains(install.Owners(actual), client.ObjectKeyFromObject(s.csv)):
			ref.UID = actual.GetUID()
		}
		grant.Remember(ref)
	}
	if slices.Equal(grant.OutsideNamespace, s.grant.OutsideNamespace) {
		return nil
	}
	if err := r.Records.KeepGrant(ctx, client.ObjectKeyFromObject(s.csv), &grant); err != nil {
		return err
	}
	s.grant = &grant
	return nil
}

func referenceTo(scheme *runtime.Scheme, o client.Object) record.Reference {
	gvk := o.GetObjectKind().GroupVersionKind()
	if gvk.Empty() { // typed objects from a cache have none
		if found, err := apiutil.GVKForObject(o, scheme); err == nil {
			gvk = found
		}
	}
	return record.Reference{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}

func kindOf(ref record.Reference) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: ref.Group, Version: ref.Version, Kind: ref.Kind}
}
