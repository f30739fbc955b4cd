package csv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apierror"
)

// replaced decides about a CSV that another one replaces: it stays until one of its successors has Succeeded.
func (r *Reconciler) replaced(_ context.Context, s *situation) (*Verdict, error) {
	successor := s.successor(s.csv.Name)
	if successor == nil {
		return nil, nil
	}
	if s.inCircle() {
		return fails(v1alpha1.ReasonReplacesCycle, fmt.Sprintf(
			"ClusterServiceVersions %s and %s replace each other, so that neither is the newest: mend spec.replaces of one", s.csv.Name, successor.Name)), nil
	}
	if heir := s.heir(); heir != nil {
		return &Verdict{Phase: olm.CSVPhaseDeleting, Reason: v1alpha1.CSVReasonReplaced, Message: fmt.Sprintf(
			"ClusterServiceVersion %s has taken over", heir.Name)}, nil
	}
	return &Verdict{Phase: olm.CSVPhaseReplacing, Reason: v1alpha1.CSVReasonBeingReplaced, Message: fmt.Sprintf(
		"ClusterServiceVersion %s is taking over", successor.Name)}, nil
}

// successor returns the CSV that replaces the named one; the first by name of several.
func (s *situation) successor(name string) (out *v1alpha1.ClusterServiceVersion) {
	for _, csv := range s.csvs {
		if csv.Spec.Replaces == name && csv.Name != name && csv.DeletionTimestamp.IsZero() && (out == nil || csv.Name < out.Name) {
			out = csv
		}
	}
	return out
}

// inCircle reports whether the chain of successors of the CSV leads back to it. Then none of them is the newest, and
// none may be deleted.
func (s *situation) inCircle() bool {
	seen := map[string]bool{}
	for next := s.successor(s.csv.Name); next != nil && !seen[next.Name]; next = s.successor(next.Name) {
		if next.Name == s.csv.Name {
			return true
		}
		seen[next.Name] = true
	}
	return false
}

// heir returns the newest CSV in the chain of successors that has Succeeded; nil if none has.
func (s *situation) heir() (out *v1alpha1.ClusterServiceVersion) {
	seen := map[string]bool{s.csv.Name: true}
	for next := s.successor(s.csv.Name); next != nil && !seen[next.Name]; next = s.successor(next.Name) {
		seen[next.Name] = true
		if next.Status.Phase == olm.CSVPhaseSucceeded {
			out = next
		}
	}
	return out
}

// retire hands over the objects that a replaced CSV owns and deletes it. The garbage collector then deletes those that
// were applied for it.
func (r *Reconciler) retire(ctx context.Context, s *situation) error {
	heir := s.heir()
	if heir == nil {
		return nil
	}
	if err := r.adopt(ctx, s.csv, heir); err != nil {
		return err
	}
	err := r.Client.Delete(ctx, s.csv, client.Preconditions{UID: &s.csv.UID})
	if err == nil {
		log.FromContext(ctx).Info("Deleted replaced ClusterServiceVersion", "by", heir.Name)
	}
	return client.IgnoreNotFound(err)
}

// adopt hands over the objects that the operator and its users made the old CSV own. In one write, the heir replaces it
// among the owners and becomes the controller, unless another owner is.
func (r *Reconciler) adopt(ctx context.Context, old, heir *v1alpha1.ClusterServiceVersion) error {
	kinds, err := r.listable()
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		err := r.Reader.List(ctx, list, client.InNamespace(old.Namespace))
		switch {
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err), apierrors.IsForbidden(err):
			continue // the kind was removed in the meantime, or its objects cannot have owners
		case apierrors.IsInternalError(err): // for example, a conversion webhook does not answer
			r.Recorder.Eventf(old, nil, corev1.EventTypeWarning, v1alpha1.EventNotHandedOver, v1alpha1.EventActionHandOver,
				"What ClusterServiceVersion %s owns of %s cannot be read, so that it is not handed over, and goes with it: %s", old.Name, kind.Kind,
				apierror.Message(err, maxQuoted))
			continue
		case err != nil:
			return fmt.Errorf("listing what ClusterServiceVersion %s owns: %s: %w", old.Name, kind.Kind, err)
		}
		for i := range list.Items {
			if err := r.adoptOne(ctx, &list.Items[i], old, heir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Reconciler) adoptOne(ctx context.Context, o *metav1.PartialObjectMetadata, old, heir *v1alpha1.ClusterServiceVersion) error {
	owners, changed := handedOver(o.OwnerReferences, old, heir)
	if !changed || madeByUs(o) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": o.ResourceVersion, "ownerReferences": owners,
	}})
	if err != nil {
		return err
	}
	err = r.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), FieldOwner)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("handing %s %s over to ClusterServiceVersion %s: %w", o.Kind, client.ObjectKeyFromObject(o), heir.Name, err)
	}
	return nil
}

// handedOver returns owner references with the heir in place of the old CSV, as the controller unless another owner is,
// and whether that is a change.
func handedOver(owners []metav1.OwnerReference, old, heir *v1alpha1.ClusterServiceVersion) ([]metav1.OwnerReference, bool) {
	i := slices.IndexFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == old.UID })
	if i < 0 {
		return owners, false
	}
	moved := owners[i]
	moved.Name, moved.UID = heir.Name, heir.UID
	out := slices.Delete(slices.Clone(owners), i, i+1)
	taken := slices.ContainsFunc(out, func(o metav1.OwnerReference) bool { return o.UID != heir.UID && o.Controller != nil && *o.Controller })
	if j := slices.IndexFunc(out, func(o metav1.OwnerReference) bool { return o.UID == heir.UID }); j >= 0 {
		if !taken {
			out[j].Controller = new(true)
		}
		return out, true
	}
	if !taken {
		moved.Controller = new(true)
	}
	return append(out, moved), true
}

// madeByUs reports whether an object was applied for a CSV. The heir has applied its own objects itself; the others are
// deleted with the old CSV.
func madeByUs(o client.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == string(FieldOwner) || m.Manager == "operator-status-installplan"
	}) || isOurKind(o)
}

// isOurKind reports whether objects of a kind belong to one CSV and are never handed over.
func isOurKind(o client.Object) bool {
	gvk := o.GetObjectKind().GroupVersionKind()
	return gvk.Group == v1alpha1.GroupVersion.Group && (gvk.Kind == "Probe" || gvk.Kind == "OperatorCondition")
}

// listable returns the namespaced kinds that can be listed and patched, each in the version that the API server
// prefers. Groups whose discovery fails are skipped, since a broken aggregated API must not block every update.
func (r *Reconciler) listable() ([]schema.GroupVersionKind, error) {
	lists, err := r.Discovery.ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("asking the API server for its kinds: %w", err)
	}
	var out []schema.GroupVersionKind
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") || !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "patch") {
				continue
			}
			if resource.Kind == "Event" || resource.Kind == "Endpoints" {
				continue // never owned by a CSV
			}
			out = append(out, gv.WithKind(resource.Kind))
		}
	}
	return out, nil
}
