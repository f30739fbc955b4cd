package platformoperator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/drift"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/status/condition"
	platformoperatorstatus "github.com/operator-status/operator-status/internal/status/platformoperator"
)

// FieldOwner is the field manager of everything that is applied for a PlatformOperator.
const FieldOwner = "operator-status-platform"

// annotationComposed on an object holds the hash of its applied content, so a field that was dropped is noticed.
const annotationComposed = "operatorstatus.io/composed"

// composer composes the objects of one PlatformOperator.
type composer struct {
	*Reconciler
	op *v1alpha1.PlatformOperator
}

// apply makes an object as desired. It returns an error if a retry may succeed, and sets a Problem if a user must act.
func (c composer) apply(ctx context.Context, d platformoperatorstatus.Desired) (platformoperatorstatus.Object, error) {
	out := platformoperatorstatus.Object{Desired: d}
	as, err := c.actor(d.Entry)
	if err != nil {
		return out, err
	}
	if err = c.place(d.Object); err == nil {
		if out.Problem = c.refuses(as, d.Object); out.Problem != nil {
			return out, nil
		}
		out.Unwatched = !c.watch(ctx, as, d.Object.GroupVersionKind())
		out.Live, err = c.made(ctx, as, d.Object)
	}
	if problem := problemOf(d.Object, as, err); problem != nil {
		out.Problem = problem
		return out, nil
	}
	return out, err
}

// place sets the operator's namespace on a namespaced object that has none, and clears that of a cluster-scoped one.
func (c composer) place(o *unstructured.Unstructured) error {
	kind := o.GroupVersionKind()
	mapping, err := c.Client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	switch namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace; {
	case !namespaced:
		o.SetNamespace("")
	case o.GetNamespace() == "":
		o.SetNamespace(c.op.GetNamespaceToInstallIn())
	}
	return nil
}

// made returns the live object, applied unless it is as desired. It returns a conflict if that has another owner.
func (c composer) made(ctx context.Context, as actor, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := drift.SetAppliedHash(desired, annotationComposed); err != nil {
		return nil, err
	}
	live, err := c.live(ctx, as, desired)
	switch {
	case err != nil:
		return nil, err
	case live == nil:
		log.FromContext(ctx).Info("Creating object of PlatformOperator", "object", platformoperatorstatus.Title(desired))
	case !platformoperatorstatus.Controls(c.op, live) && !platformoperatorstatus.Consents(c.op, live):
		return nil, &platformoperatorstatus.Conflict{Live: live}
	case drift.Within(fields(desired), fields(live)) && platformoperatorstatus.Controls(c.op, live):
		return live, nil
	}
	var contested error
	if live != nil && platformoperatorstatus.Controls(c.op, live) {
		may, err := c.contests.write(desired, c.Now())
		if !may {
			return live, err
		}
		contested = err
	}
	out := desired.DeepCopy()
	if !as.IsManager() {
		platformoperatorstatus.Unblock(out)
	}
	if err := as.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(out), client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
		return live, err
	}
	if live != nil && live.GetResourceVersion() == out.GetResourceVersion() { // the API server stores it in another form, such as 1 for 1000m
		c.contests.end(desired)
		return out, nil
	}
	return out, contested
}

// live returns the existing object, or nil. The manager prefers the watch cache. A service account always reads from
// the API server, which checks its permissions.
func (c composer) live(ctx context.Context, as actor, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if as.IsManager() {
		if out := c.Watches.Get(ctx, desired); out != nil {
			return out, nil
		}
	}
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(desired.GroupVersionKind())
	if err := as.reader.Get(ctx, client.ObjectKeyFromObject(desired), out); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return out, nil
}

// fields returns the content of an object without its status, and of its metadata only labels and annotations.
func fields(o *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for name, value := range o.Object {
		if name != "status" && name != "metadata" {
			out[name] = value
		}
	}
	out["labels"], _, _ = unstructured.NestedMap(o.Object, "metadata", "labels")
	out["annotations"], _, _ = unstructured.NestedMap(o.Object, "metadata", "annotations")
	return out
}

// prune deletes the objects that the PlatformOperator no longer composes, and returns those that still exist.
func (c composer) prune(ctx context.Context, desired []platformoperatorstatus.Desired) ([]platformoperatorstatus.Object, error) {
	var out []platformoperatorstatus.Object
	for _, r := range c.op.Status.Resources {
		wanted := slices.ContainsFunc(desired, func(d platformoperatorstatus.Desired) bool {
			return platformoperatorstatus.RefersTo(r.Reference, d.Object)
		})
		if wanted || r.Reason == v1alpha1.ReasonKindNotFound { // never created, or deleted with its kind
			continue
		}
		left, err := c.remove(ctx, r)
		if err != nil {
			return nil, err
		}
		if left != nil {
			out = append(out, *left)
		}
	}
	return out, nil
}

// remove deletes an object that the PlatformOperator controls. It returns the object while it still exists, with a
// Problem if it may not be deleted, or nil if it is not found or not controlled.
func (c composer) remove(ctx context.Context, r v1alpha1.ResourceStatus) (*platformoperatorstatus.Object, error) {
	out, as, err := c.recorded(ctx, r)
	if err != nil || out == nil {
		return nil, err
	}
	out.Leaving = true
	if out.Problem != nil || out.Live.GetDeletionTimestamp() != nil {
		return out, nil
	}
	log.FromContext(ctx).Info("Deleting object that the PlatformOperator no longer contains", "object", platformoperatorstatus.Title(out.Live), "as", as.String())
	uid := out.Live.GetUID()
	if err := as.writer.Delete(ctx, out.Live, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		if out.Problem = problemOf(out.Live, as, err); out.Problem == nil {
			return nil, fmt.Errorf("deleting %s, which is no longer desired: %w", platformoperatorstatus.Title(out.Live), err)
		}
	}
	return out, nil
}

// recorded returns an object that the status lists, and the actor that reads and deletes it. The object has a Problem
// if it cannot be read. It is nil if it is not found or the PlatformOperator does not control it.
func (c composer) recorded(ctx context.Context, r v1alpha1.ResourceStatus) (*platformoperatorstatus.Object, actor, error) {
	as, err := c.actor(r.Name)
	if err != nil {
		return nil, as, err
	}
	ref := r.Reference
	out := &platformoperatorstatus.Object{Desired: platformoperatorstatus.Desired{Entry: r.Name,
		Object: platformoperatorstatus.NewObject(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name)}}
	if as.missing && ref.UID == "" {
		return nil, as, nil // it was never created
	}
	live, err := c.own(ctx, as, ref)
	switch problem := problemOf(out.Object, as, err); {
	case problem != nil && ref.UID == "": // an actor that may not read it has not created it
		return nil, as, nil
	case problem != nil:
		out.Problem = problem
		return out, as, nil
	case err != nil:
		return nil, as, fmt.Errorf("getting %s: %w", platformoperatorstatus.Title(out.Object), err)
	case live == nil || !as.mayTouch(ref.UID, live):
		return nil, as, nil
	}
	out.Object, out.Live, out.Unwatched = live, live, !c.Watches.Watches(live.GroupVersionKind())
	return out, as, nil
}

// own returns the object of a reference if the PlatformOperator controls it, or nil.
func (c composer) own(ctx context.Context, as actor, ref corev1.ObjectReference) (*unstructured.Unstructured, error) {
	out := platformoperatorstatus.NewObject(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name)
	err := c.place(out)
	if err == nil {
		c.watch(ctx, as, out.GroupVersionKind()) // reports when it is deleted
		err = as.reader.Get(ctx, client.ObjectKeyFromObject(out), out)
	}
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !platformoperatorstatus.Controls(c.op, out):
		return nil, nil
	}
	return out, nil
}

// release removes the PlatformOperator's owner reference, label and annotation from an object, and leaves it otherwise
// as is. It returns the object, with a Problem, only if it may not be released.
func (c composer) release(ctx context.Context, r v1alpha1.ResourceStatus) (*platformoperatorstatus.Object, error) {
	out, as, err := c.recorded(ctx, r)
	if err != nil || out == nil || out.Problem != nil {
		return out, err
	}
	live := out.Live
	before := live.DeepCopy()
	var owners []metav1.OwnerReference
	for _, o := range live.GetOwnerReferences() {
		if o.UID != c.op.UID {
			owners = append(owners, o)
		}
	}
	live.SetOwnerReferences(owners)
	labels, annotations := live.GetLabels(), live.GetAnnotations()
	delete(labels, v1alpha1.LabelPlatformOperator)
	delete(annotations, annotationComposed)
	live.SetLabels(labels)
	live.SetAnnotations(annotations)
	err = as.writer.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if client.IgnoreNotFound(err) == nil {
		return nil, nil
	}
	if out.Problem = problemOf(before, as, err); out.Problem == nil {
		return nil, fmt.Errorf("releasing %s: %w", platformoperatorstatus.Title(before), err)
	}
	out.Object, out.Live = before, before
	return out, nil
}

// problemOf returns an error as a Problem that a user must fix, or nil if err is nil or may pass on retry.
func problemOf(o *unstructured.Unstructured, as actor, err error) *condition.Problem {
	if err == nil {
		return nil
	}
	if taken, ok := errors.AsType[*platformoperatorstatus.Conflict](err); ok {
		return &condition.Problem{Reason: v1alpha1.ReasonConflict, Message: taken.Message(adopterOf(o))}
	}
	if contested, ok := errors.AsType[*contestError](err); ok {
		return &condition.Problem{Reason: v1alpha1.ReasonApplyFailed, Message: contested.Error()}
	}
	status, _ := errors.AsType[*apierrors.StatusError](err)
	switch {
	case meta.IsNoMatchError(err):
		return &condition.Problem{Reason: v1alpha1.ReasonKindNotFound,
			Message: fmt.Sprintf("%s: the cluster does not serve the kind %s", platformoperatorstatus.Title(o), o.GroupVersionKind())}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &condition.Problem{Reason: v1alpha1.ReasonApplyFailed, Message: fmt.Sprintf("%s: its namespace is being deleted", platformoperatorstatus.Title(o))}
	case lacksPermission(err):
		return &condition.Problem{Reason: v1alpha1.ReasonForbidden,
			Message: fmt.Sprintf("%s: %s. %s", platformoperatorstatus.Title(o), kube.ErrorMessage(err, maxQuoted), as.permits())}
	case status != nil && status.ErrStatus.Code >= 400 && status.ErrStatus.Code <= 500 && !isTransient(err):
		// 500 is the answer to a field that the schema lacks, and if a webhook cannot be called.
		return &condition.Problem{Reason: v1alpha1.ReasonApplyFailed,
			Message: fmt.Sprintf("%s: %s", platformoperatorstatus.Title(o), kube.ErrorMessage(err, maxQuoted))}
	}
	return nil
}

// lacksPermission reports whether RBAC denies a request. Quotas, admission policies and webhooks answer Forbidden, too.
func lacksPermission(err error) bool {
	return apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), " cannot ") || strings.Contains(err.Error(), "attempting to grant RBAC permissions"))
}

// isTransient reports whether a client error may pass on retry.
func isTransient(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) ||
		apierrors.IsUnauthorized(err)
}

func adopterOf(o *unstructured.Unstructured) string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.Name
	}
	return ""
}

// maxQuoted limits how much of an error a message quotes, in bytes.
const maxQuoted = 1024
