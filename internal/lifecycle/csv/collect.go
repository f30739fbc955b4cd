package csv

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
)

// beyond are the kinds of which a ClusterServiceVersion may have objects outside its namespace. The garbage collector
// does not take those: they carry the owner as labels.
func beyond() []client.ObjectList {
	return []client.ObjectList{
		&rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.RoleList{},
		&admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{},
	}
}

// gone collects what a ClusterServiceVersion has left that is not in the cache. Whether it is gone is asked live: an
// InstallPlan applies it with all that comes with it, and of that the cache may hear before.
func (r *Reconciler) gone(ctx context.Context, csv types.NamespacedName) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	if err := r.Reader.Get(ctx, csv, live); !apierrors.IsNotFound(err) {
		return err // it is there: the cache is about to tell
	}
	r.Vouchers.Forget(csv)
	return r.collect(ctx, csv)
}

// collect deletes what a ClusterServiceVersion that is gone has left outside its namespace, and never a custom resource
// or its definition. It needs no memory of it, so it does not matter whether we saw it go.
func (r *Reconciler) collect(ctx context.Context, csv types.NamespacedName) error {
	labels := client.MatchingLabels{
		install.LabelOwner: csv.Name, install.LabelOwnerNamespace: csv.Namespace, install.LabelOwnerKind: v1alpha1.ClusterServiceVersionKind,
	}
	for _, list := range beyond() {
		if err := r.Client.List(ctx, list, labels); err != nil {
			return fmt.Errorf("listing what ClusterServiceVersion %s left: %w", csv, err)
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			o := item.(client.Object)
			if _, ours := o.GetAnnotations()[install.AnnotationApplied]; !ours {
				return nil
			}
			uid := o.GetUID()
			if err := r.Client.Delete(ctx, o, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting %s, which ClusterServiceVersion %s left: %w", o.GetName(), csv, err)
			}
			log.FromContext(ctx).Info("Deleted what a ClusterServiceVersion left", "name", o.GetName())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return r.unconvert(ctx, csv)
}

// unconvert takes the conversion webhook of an operator that is gone from its CustomResourceDefinitions: nothing
// answers it any more, and custom resources could not even be read.
func (r *Reconciler) unconvert(ctx context.Context, csv types.NamespacedName) error {
	list := &apiextensions.CustomResourceDefinitionList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	for i := range list.Items {
		crd := &list.Items[i]
		if crd.Annotations[annotationConvertedBy] != csv.String() || crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
			continue
		}
		patch, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{annotationConvertedBy: nil}},
			"spec":     map[string]any{"conversion": map[string]any{"strategy": apiextensions.NoneConverter, "webhook": nil}},
		})
		if err != nil {
			return err
		}
		if err := r.Client.Patch(ctx, crd.DeepCopy(), client.RawPatch(types.MergePatchType, patch), FieldOwner); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("ending the conversion of CustomResourceDefinition %s: %w", crd.Name, err)
		}
	}
	return nil
}

// annotationConvertedBy on a CustomResourceDefinition names the ClusterServiceVersion whose webhook converts it.
const annotationConvertedBy = "operatorstatus.io/converted-by"
