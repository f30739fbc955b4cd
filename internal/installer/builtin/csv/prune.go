package csv

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// prunedKinds returns the kinds that may have objects of an operator: in the namespace of its CSV, and outside it those of
// which it has a record. Only an InstallPlan grants roles.
func (s *situation) prunedKinds() []client.ObjectList {
	out := []client.ObjectList{&appsv1.DeploymentList{}, &corev1.ServiceList{}, &corev1.SecretList{}}
	if s.record != nil {
		out = append(out, &admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{})
	}
	if s.grant() != nil {
		out = append(out, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.ClusterRoleList{})
	}
	return out
}

// prune deletes objects that were rendered for a CSV and no longer are, such as its roles in a former target namespace
// or a Deployment that was removed. Those in a target namespace that is being deleted go with it: the operator may still have to
// clean up there.
func (r *Reconciler) prune(ctx context.Context, s *situation, rendered install.Rendered) error {
	desired := map[record.Reference]bool{}
	for _, o := range rendered.Objects {
		desired[referenceTo(r.Client.Scheme(), o.Object)] = true
	}
	for _, list := range s.prunedKinds() {
		if err := r.Client.List(ctx, list, client.MatchingLabels(install.OwnerLabels(s.csv)), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing the objects of ClusterServiceVersion %s: %w", s.csv.Name, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if !install.IsRendered(o) && o.GetLabels()[install.LabelWebhook] == "" || desired[referenceTo(r.Client.Scheme(), o)] || o.GetDeletionTimestamp() != nil ||
				slices.Contains(s.absent, o.GetNamespace()) || !r.isOurs(s, o) {
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
	if o.GetNamespace() == s.csv.Namespace {
		return isOwner(s.csv, o)
	}
	return s.record != nil && s.record.Wrote(referenceTo(r.Client.Scheme(), o), o.GetUID())
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

// remember records the objects of a CSV outside its namespace: before they are applied, and again with their UIDs after.
// Only recorded objects are deleted with the CSV.
func (r *Reconciler) remember(ctx context.Context, s *situation, rendered install.Rendered) error {
	outside, err := r.outsideNamespace(ctx, s, rendered)
	if err != nil || len(outside) == 0 {
		return err
	}
	identity := s.recorded().Identity
	if s.grant() == nil {
		if identity, err = r.identity(s); err != nil {
			return err
		}
	}
	return r.keep(ctx, s, identity, outside)
}

// recorded returns the record of a CSV, or an empty one.
func (s *situation) recorded() record.Grant { return ptr.Deref(s.record, record.Grant{}) }

// keep adds references to the record of a CSV.
func (r *Reconciler) keep(ctx context.Context, s *situation, identity apply.Identity, refs []record.Reference) error {
	before := s.recorded()
	after := before
	after.Identity, after.OutsideNamespace = identity, slices.Clone(before.OutsideNamespace)
	for _, ref := range refs {
		after.Remember(ref)
	}
	if after.Identity == before.Identity && slices.Equal(after.OutsideNamespace, before.OutsideNamespace) {
		return nil
	}
	keep := r.Records.KeepGrant
	if s.grant() == nil {
		keep = r.Records.KeepUnplanned
	}
	if err := keep(ctx, client.ObjectKeyFromObject(s.csv), &after); err != nil {
		return err
	}
	s.record = &after
	return nil
}

// outsideNamespace returns references to the rendered objects outside the namespace of the CSV that it owns, with the UIDs of
// those that have been written for it.
func (r *Reconciler) outsideNamespace(ctx context.Context, s *situation, rendered install.Rendered) (out []record.Reference, err error) {
	for _, o := range rendered.Objects {
		if o.GetNamespace() == s.csv.Namespace || !install.IsOwned(o.Object) {
			continue
		}
		ref := referenceTo(r.Client.Scheme(), o.Object)
		actual, err := r.actual(ctx, o.Object)
		switch {
		case err != nil:
			return nil, err
		case actual == nil:
			ref.Created = true
		case slices.Contains(install.Owners(actual), client.ObjectKeyFromObject(s.csv)):
			ref.UID = actual.GetUID()
		}
		out = append(out, ref)
	}
	return out, nil
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
