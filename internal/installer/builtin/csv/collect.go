package csv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// gone cleans up after a CSV that is not in the cache. It checks the API server first: an InstallPlan may just have
// created the CSV, and the cache may have its other objects before it.
func (r *Reconciler) gone(ctx context.Context, csv types.NamespacedName) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	if err := r.Reader.Get(ctx, csv, live); !apierrors.IsNotFound(err) {
		return err // it exists: its event will enqueue it
	}
	r.handovers.forget(csv)
	return r.collect(ctx, csv)
}

// collect deletes the objects outside its namespace that a deleted CSV left, which the garbage collector does not
// reach, but never a custom resource or its definition. The objects are recorded in the grant, so it does not matter
// whether the deletion was observed.
func (r *Reconciler) collect(ctx context.Context, csv types.NamespacedName) error {
	grant, err := r.Records.Grant(ctx, csv)
	if err != nil {
		return err
	}
	if grant != nil {
		as, missing, err := r.collector(grant)
		if err != nil {
			return err
		}
		if err := r.collectRecorded(ctx, as, missing, csv, grant.OutsideNamespace); err != nil {
			return err
		}
	}
	if err := r.removeConversion(ctx, csv); err != nil || grant == nil {
		return err
	}
	return r.Records.DropGrant(ctx, csv)
}

// collectRecorded deletes objects that are recorded for a CSV. missing is true if the account that it was installed as no
// longer exists.
func (r *Reconciler) collectRecorded(ctx context.Context, as client.Client, missing bool, csv types.NamespacedName, refs []record.Reference) error {
	for _, ref := range refs {
		if !ref.Created && (missing || ref.UID == "") { // the account, or a label, may have given an object of others to the CSV
			log.FromContext(ctx).Info("Kept object that may have existed before it was written for the ClusterServiceVersion", "kind", ref.Kind, "name", ref.Name)
			continue
		}
		if err := r.collectOne(ctx, as, csv, ref); err != nil {
			return err
		}
	}
	return nil
}

// collector returns a client that acts as the identity that the operator was installed as. If that service account is
// missing it is the manager, which deletes only objects that were created for the CSV.
func (r *Reconciler) collector(grant *record.Grant) (as client.Client, missing bool, err error) {
	if grant.Identity.IsManager() {
		return r.Client, false, nil
	}
	as, err = r.As(grant.Identity.Account())
	if apierrors.IsNotFound(err) {
		return r.Client, true, nil
	}
	return as, false, err
}

// collectOne deletes an object that was written for a CSV, if it has the recorded UID and still belongs to the CSV.
func (r *Reconciler) collectOne(ctx context.Context, as client.Client, csv types.NamespacedName, ref record.Reference) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kindOf(ref))
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, live)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting %s %s of deleted ClusterServiceVersion %s: %w", ref.Kind, ref.Name, csv, err)
	}
	if ref.UID != "" && live.UID != ref.UID || !slices.Contains(install.Owners(live), csv) {
		return nil
	}
	uid := live.GetUID()
	if err := as.Delete(ctx, live, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting %s %s of deleted ClusterServiceVersion %s: %w", ref.Kind, ref.Name, csv, err)
	}
	log.FromContext(ctx).Info("Deleted object of a deleted ClusterServiceVersion", "kind", ref.Kind, "name", ref.Name)
	return nil
}

// removeConversion removes the conversion webhook of a deleted operator from its CustomResourceDefinitions. The webhook is
// no longer served, so custom resources could not even be read.
func (r *Reconciler) removeConversion(ctx context.Context, csv types.NamespacedName) error {
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
			return fmt.Errorf("removing the conversion webhook of CustomResourceDefinition %s: %w", crd.Name, err)
		}
	}
	return nil
}

// annotationConvertedBy on a CustomResourceDefinition names the CSV whose webhook converts it.
const annotationConvertedBy = "operatorstatus.io/converted-by"
