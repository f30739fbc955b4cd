package csv

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operand"
)

// successor returns the CSV that replaces the named one; the first by name of several.
func (s *situation) successor(name string) *v1alpha1.ClusterServiceVersion {
	return successorOf(name, maps.Values(s.csvs))
}

func successorOf(name string, csvs iter.Seq[*v1alpha1.ClusterServiceVersion]) (out *v1alpha1.ClusterServiceVersion) {
	for csv := range csvs {
		if csv.Spec.Replaces == name && csv.Name != name && csv.DeletionTimestamp.IsZero() && (out == nil || csv.Name < out.Name) {
			out = csv
		}
	}
	return out
}

// inReplacementCycle reports whether the chain of successors of the CSV leads back to it. Then none of them is the newest, and
// none may be deleted.
func (s *situation) inReplacementCycle() bool {
	seen := map[string]bool{}
	for next := s.successor(s.csv.Name); next != nil && !seen[next.Name]; next = s.successor(next.Name) {
		if next.Name == s.csv.Name {
			return true
		}
		seen[next.Name] = true
	}
	return false
}

// newestSuccessor returns the newest CSV in the chain of successors that has ever Succeeded, or nil. One that is being
// replaced in turn, or that fails now, has still replaced those before it: none of them is begun anew.
func (s *situation) newestSuccessor() (out *v1alpha1.ClusterServiceVersion) {
	seen := map[string]bool{s.csv.Name: true}
	for next := s.successor(s.csv.Name); next != nil && !seen[next.Name]; next = s.successor(next.Name) {
		seen[next.Name] = true
		if csvchain.Ran(next) {
			out = next
		}
	}
	return out
}

// retire hands over the objects that a replaced CSV owns and deletes it. The garbage collector then deletes those
// that were applied for it. While an object cannot be handed over, the CSV stays, without the Deployments and
// webhooks that would work against its successor.
func (r *Reconciler) retire(ctx context.Context, s *situation, verdict *Verdict) (reconcile.Result, error) {
	successor := s.newestSuccessor()
	obstacle, err := r.deletionObstacle(ctx, s, successor)
	if err != nil {
		return reconcile.Result{}, err
	}
	if obstacle == nil {
		return reconcile.Result{}, r.deleteReplaced(ctx, s, verdict, successor)
	}
	log.FromContext(ctx).V(1).Info("Keeping the replaced ClusterServiceVersion", "obstacle", obstacle.message, "requeueAfter", obstacle.again)
	if verdict.Again = obstacle.again; obstacle.message != "" {
		verdict.Message += "; deletion is blocked: " + obstacle.message
		if err := r.report(ctx, s, verdict); err != nil {
			return reconcile.Result{}, err
		}
		if err := r.disarm(ctx, s); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{RequeueAfter: verdict.Again}, nil
}

// deletionObstacle hands over the objects of a replaced CSV, and returns the obstacle to deleting it, or nil.
func (r *Reconciler) deletionObstacle(ctx context.Context, s *situation, successor *v1alpha1.ClusterServiceVersion) (*obstacle, error) {
	if before := s.predecessorObstacle(); before != nil {
		return before, nil
	}
	return r.handovers.attempt(client.ObjectKeyFromObject(s.csv), r.Now(), func(again bool) (*obstacle, error) {
		found, err := r.handOver(ctx, s.csv, successor)
		if found != nil && again { // most failures pass
			r.Recorder.Eventf(s.csv, nil, corev1.EventTypeWarning, v1alpha1.EventNotHandedOver, v1alpha1.EventActionHandOver,
				"The ClusterServiceVersion is kept until its objects are handed over to %s: %s", successor.Name, found.message)
		}
		return found, err
	})
}

// predecessorObstacle returns an obstacle if the CSV that this one replaced still exists, or nil. Without this one, that CSV
// would have no successor, and would compete with the newest one as an operator of its own.
func (s *situation) predecessorObstacle() *obstacle {
	before := s.csvs[s.csv.Spec.Replaces]
	if before == nil || before.Name == s.csv.Name {
		return nil
	}
	return &obstacle{message: fmt.Sprintf("ClusterServiceVersion %s, which it replaced, still exists", before.Name)} // whose deletion is an event
}

func (r *Reconciler) deleteReplaced(ctx context.Context, s *situation, verdict *Verdict, successor *v1alpha1.ClusterServiceVersion) error {
	if err := r.report(ctx, s, verdict); err != nil {
		return err
	}
	err := r.Client.Delete(ctx, s.csv, client.Preconditions{UID: &s.csv.UID})
	if err == nil {
		log.FromContext(ctx).Info("Deleted replaced ClusterServiceVersion", "by", successor.Name)
	}
	return client.IgnoreNotFound(err)
}

// handOver hands over the objects that the operator and its users made the old CSV own. It returns the first obstacle.
func (r *Reconciler) handOver(ctx context.Context, old, successor *v1alpha1.ClusterServiceVersion) (*obstacle, error) {
	kinds, err := r.listable(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		err := r.adopt(ctx, kind, old, successor)
		if apierrors.IsConflict(err) {
			return nil, err
		}
		if err != nil {
			return &obstacle{message: kind.Kind + ": " + kube.ErrorMessage(err, maxQuoted)}, nil
		}
	}
	return nil, nil
}

// adopt hands over the objects of a kind. In one write each, the successor replaces the old CSV among the owners and
// becomes the controller, unless another owner is.
func (r *Reconciler) adopt(ctx context.Context, kind schema.GroupVersionKind, old, successor *v1alpha1.ClusterServiceVersion) error {
	ctx, cancel := context.WithTimeout(ctx, adoptTimeout)
	defer cancel()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	err := r.Reader.List(ctx, list, client.InNamespace(old.Namespace))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err), apierrors.IsForbidden(err):
		return nil // the kind was removed in the meantime, or its objects cannot have owners
	case err != nil:
		return fmt.Errorf("listing its objects: %w", err)
	}
	for i := range list.Items {
		if err := r.adoptOne(ctx, &list.Items[i], old, successor); err != nil {
			return err
		}
	}
	return nil
}

// adoptTimeout is how long handing over the objects of one kind may take. An attempt that is cut short is continued by
// the next one.
const adoptTimeout = 5 * time.Second

func (r *Reconciler) adoptOne(ctx context.Context, o *metav1.PartialObjectMetadata, old, successor *v1alpha1.ClusterServiceVersion) error {
	owners, changed := transferOwnership(o.OwnerReferences, old, successor)
	if !changed || isAppliedObject(o) {
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
		return fmt.Errorf("handing %s %s over to ClusterServiceVersion %s: %w", o.Kind, client.ObjectKeyFromObject(o), successor.Name, err)
	}
	return nil
}

// disarm deletes the Deployments of an old CSV that cannot be deleted yet, which would work against its successor,
// and its webhooks, which are not served without them.
func (r *Reconciler) disarm(ctx context.Context, s *situation) error {
	key := client.ObjectKeyFromObject(s.csv)
	grant, err := r.Records.Grant(ctx, key)
	if err != nil {
		return err
	}
	as := r.Client
	if grant != nil {
		var missing bool
		if as, missing, err = r.collector(grant); err != nil {
			return err
		}
		webhooks := slices.DeleteFunc(slices.Clone(grant.OutsideNamespace), func(ref record.Reference) bool { return ref.Group != admissionregistrationv1.GroupName })
		if err := r.collectRecorded(ctx, as, missing, key, webhooks); err != nil {
			return err
		}
	}
	list := &appsv1.DeploymentList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.csv.Namespace), client.MatchingLabels(install.OwnerLabels(s.csv))); err != nil {
		return fmt.Errorf("listing the Deployments of ClusterServiceVersion %s: %w", s.csv.Name, err)
	}
	for i := range list.Items {
		d := &list.Items[i]
		if !isOnlyOwner(s.csv, d) || d.DeletionTimestamp != nil {
			continue
		}
		err := as.Delete(ctx, d, client.Preconditions{UID: &d.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting Deployment %s of replaced ClusterServiceVersion %s: %w", d.Name, s.csv.Name, err)
		}
		log.FromContext(ctx).Info("Deleted Deployment of a replaced ClusterServiceVersion", "deployment", d.Name)
	}
	return nil
}

// isOwner reports whether a CSV is an owner of an object.
func isOwner(csv *v1alpha1.ClusterServiceVersion, o client.Object) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == csv.UID })
}

// isOnlyOwner reports whether the garbage collector deletes an object with a CSV.
func isOnlyOwner(csv *v1alpha1.ClusterServiceVersion, o client.Object) bool {
	owners := o.GetOwnerReferences()
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool { return ref.UID != csv.UID })
}

// transferOwnership returns owner references with the successor in place of the old CSV, as the controller unless another
// owner is, and whether they changed.
func transferOwnership(owners []metav1.OwnerReference, old, successor *v1alpha1.ClusterServiceVersion) ([]metav1.OwnerReference, bool) {
	i := slices.IndexFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == old.UID })
	if i < 0 {
		return owners, false
	}
	moved := owners[i]
	moved.Name, moved.UID = successor.Name, successor.UID
	out := slices.Delete(slices.Clone(owners), i, i+1)
	taken := slices.ContainsFunc(out, func(o metav1.OwnerReference) bool {
		return o.UID != successor.UID && o.Controller != nil && *o.Controller
	})
	if j := slices.IndexFunc(out, func(o metav1.OwnerReference) bool { return o.UID == successor.UID }); j >= 0 {
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

// isAppliedObject reports whether an object was applied for a CSV. The successor has applied its own objects itself; the
// others are deleted with the old CSV. An object that we only handed over, in an earlier update, is not ours.
func isAppliedObject(o client.Object) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return (m.Manager == string(FieldOwner) || m.Manager == "operator-status-installplan") && !onlyOwners(m)
	}) || isOurKind(o)
}

// onlyOwners reports whether a manager has set only the owner references of an object.
func onlyOwners(m metav1.ManagedFieldsEntry) bool {
	var fields map[string]map[string]any
	if m.FieldsV1 == nil || json.Unmarshal(m.FieldsV1.GetRawBytes(), &fields) != nil {
		return false
	}
	metadata := fields["f:metadata"]
	return len(fields) == 1 && len(metadata) == 1 && metadata["f:ownerReferences"] != nil
}

// isOurKind reports whether objects of a kind belong to one CSV and are never handed over.
func isOurKind(o client.Object) bool {
	gvk := o.GetObjectKind().GroupVersionKind()
	return gvk.Group == v1alpha1.GroupVersion.Group && (gvk.Kind == "Probe" || gvk.Kind == "OperatorCondition")
}

// listable returns the namespaced kinds that can be listed and patched, each in the version that it is stored in, or
// else the one that the API server prefers: to read another one, the API server may have to ask a webhook. Groups whose
// discovery fails are skipped, since a broken aggregated API must not block every update.
func (r *Reconciler) listable(ctx context.Context) ([]schema.GroupVersionKind, error) {
	lists, err := r.Discovery.ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("discovering the kinds of the cluster: %w", err)
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
			stored, err := r.stored(ctx, gv.WithResource(resource.Name))
			if err != nil {
				return nil, err
			}
			out = append(out, stored.GroupVersion().WithKind(resource.Kind))
		}
	}
	return out, nil
}

// stored returns the resource in the version that can be read without a conversion, if its CustomResourceDefinition has one.
func (r *Reconciler) stored(ctx context.Context, resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	crd := &apiextensions.CustomResourceDefinition{}
	err := r.Client.Get(ctx, types.NamespacedName{Name: resource.GroupResource().String()}, crd, client.UnsafeDisableDeepCopy)
	if err != nil {
		return resource, client.IgnoreNotFound(err)
	}
	resource.Version = cmp.Or(operand.ServedVersion(crd), resource.Version)
	return resource, nil
}
