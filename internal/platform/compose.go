package platform

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
	"github.com/operator-status/operator-status/internal/apierror"
	"github.com/operator-status/operator-status/internal/drift"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// FieldOwner is how the API server knows what was applied for a PlatformOperator.
const FieldOwner = "operator-status-platform"

// annotationComposed on an object holds the hash of what was applied, so that what is desired no more is noticed.
const annotationComposed = "operatorstatus.io/composed"

// Object is an object that a PlatformOperator consists of, as it is.
type Object struct {
	Desired

	// Live is nil where the object is not there, or is somebody else's.
	Live *unstructured.Unstructured

	// Problem keeps the object from being as it should; nil where nothing does.
	Problem *Problem

	// Leaving is true for what is desired no more, and is not gone yet.
	Leaving bool

	// Unwatched is true where no event tells that it changes.
	Unwatched bool
}

// Problem is what is wrong: a reason and a sentence.
type Problem = condition.Problem

// composer makes the objects of one PlatformOperator.
type composer struct {
	*Reconciler
	op *v1alpha1.PlatformOperator
}

// apply has an object be as desired. What may pass by itself is an error; what somebody has to mend is the object's Problem.
func (c composer) apply(ctx context.Context, d Desired) (Object, error) {
	out := Object{Desired: d}
	as, err := c.actor(d.Entry)
	if err != nil {
		return out, err
	}
	if err = c.place(d.Object); err == nil {
		if out.Problem = as.refuses(d.Object); out.Problem != nil {
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

// place puts an object that names no namespace into the operator's, where its kind is namespaced.
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

// made is the object, which is applied where it is not as desired.
func (c composer) made(ctx context.Context, as actor, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := drift.Seal(desired, annotationComposed); err != nil {
		return nil, err
	}
	live, err := c.live(ctx, as, desired)
	switch {
	case err != nil:
		return nil, err
	case live == nil:
		log.FromContext(ctx).Info("Creating what a PlatformOperator consists of", "object", titleOf(desired))
	case !controls(c.op, live) && !consents(c.op, live):
		return nil, &conflict{live}
	case drift.Within(fields(desired), fields(live)) && controls(c.op, live):
		return live, nil
	}
	out := desired.DeepCopy()
	if !as.IsManager() {
		unblock(out)
	}
	if err := as.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(out), client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
		return live, err
	}
	return out, nil
}

// live is the object as it is; nil where there is none. The manager reads it from the watch, if it is there, and a service account
// always from the API server, which checks its rights.
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

// fields are what an object says beside its owners and its status.
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

// prune deletes what the PlatformOperator composed once and does not any more, and returns what is not gone yet.
func (c composer) prune(ctx context.Context, desired []Desired) ([]Object, error) {
	var out []Object
	for _, r := range c.op.Status.Resources {
		wanted := slices.ContainsFunc(desired, func(d Desired) bool { return isTo(r.Reference, d.Object) })
		if wanted || r.Reason == v1alpha1.ReasonKindNotFound { // which was never made, or went with its kind
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

// remove deletes an object that the PlatformOperator controls. It returns what is still there of it, with a Problem where it may not
// be deleted; nil where nothing is, or it is not the PlatformOperator's.
func (c composer) remove(ctx context.Context, r v1alpha1.ResourceStatus) (*Object, error) {
	out, as, err := c.recorded(ctx, r)
	if err != nil || out == nil {
		return nil, err
	}
	out.Leaving = true
	if out.Problem != nil || out.Live.GetDeletionTimestamp() != nil {
		return out, nil
	}
	log.FromContext(ctx).Info("Deleting what a PlatformOperator does not consist of any more", "object", titleOf(out.Live), "as", as.String())
	uid := out.Live.GetUID()
	if err := as.writer.Delete(ctx, out.Live, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		if out.Problem = problemOf(out.Live, as, err); out.Problem == nil {
			return nil, fmt.Errorf("deleting %s, which is not wanted any more: %w", titleOf(out.Live), err)
		}
	}
	return out, nil
}

// recorded returns an object that the status lists, and who reads and deletes it. It has a Problem where it cannot be read, and is nil
// where it is gone, or is not the PlatformOperator's.
func (c composer) recorded(ctx context.Context, r v1alpha1.ResourceStatus) (*Object, actor, error) {
	as, err := c.actor(r.Name)
	if err != nil {
		return nil, as, err
	}
	ref := r.Reference
	out := &Object{Desired: Desired{Entry: r.Name, Object: object(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name)}}
	if as.missing && ref.UID == "" {
		return nil, as, nil // it was never written
	}
	live, err := c.own(ctx, as, ref)
	switch problem := problemOf(out.Object, as, err); {
	case problem != nil && ref.UID == "": // who may not read it has not written it
		return nil, as, nil
	case problem != nil:
		out.Problem = problem
		return out, as, nil
	case err != nil:
		return nil, as, fmt.Errorf("getting %s: %w", titleOf(out.Object), err)
	case live == nil || !as.mayTouch(ref.UID, live):
		return nil, as, nil
	}
	out.Object, out.Live, out.Unwatched = live, live, !c.Watches.Watches(live.GroupVersionKind())
	return out, as, nil
}

// own is the object that a reference is to; nil where it is gone, or is not the PlatformOperator's.
func (c composer) own(ctx context.Context, as actor, ref corev1.ObjectReference) (*unstructured.Unstructured, error) {
	out := object(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name)
	err := c.place(out)
	if err == nil {
		c.watch(ctx, as, out.GroupVersionKind()) // which tells when it is gone
		err = as.reader.Get(ctx, client.ObjectKeyFromObject(out), out)
	}
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !controls(c.op, out):
		return nil, nil
	}
	return out, nil
}

// release lets go of an object, which stays as it is. It returns one that it may not let go of, with the Problem.
func (c composer) release(ctx context.Context, r v1alpha1.ResourceStatus) (*Object, error) {
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
		return nil, fmt.Errorf("letting go of %s: %w", titleOf(before), err)
	}
	out.Object, out.Live = before, before
	return out, nil
}

// conflict is what is said of an object that somebody else has made.
type conflict struct{ live *unstructured.Unstructured }

func (c *conflict) Error() string { return titleOf(c.live) + " belongs to somebody else" }

// words say whose an object is, and how it can be had.
func (c *conflict) words(adopter string) string {
	if ref := metav1.GetControllerOf(c.live); ref != nil {
		return fmt.Sprintf("%s belongs to %s %s, and is left alone", titleOf(c.live), ref.Kind, ref.Name)
	}
	namespace := ""
	if c.live.GetNamespace() != "" {
		namespace = " -n " + c.live.GetNamespace()
	}
	return fmt.Sprintf("%s is there already and is left alone. To hand it over: kubectl annotate%s %s %s %s=%s", titleOf(c.live), namespace,
		resourceName(c.live), c.live.GetName(), v1alpha1.AnnotationAdopt, adopter)
}

// resourceName is how kubectl knows a kind.
func resourceName(o *unstructured.Unstructured) string {
	kind := o.GroupVersionKind()
	if kind.Group == "" {
		return strings.ToLower(kind.Kind)
	}
	return strings.ToLower(kind.Kind) + "." + kind.Group
}

// problemOf is an error as somebody has to mend it; nil where there is none, or it may pass by itself.
func problemOf(o *unstructured.Unstructured, as actor, err error) *Problem {
	if err == nil {
		return nil
	}
	if taken, ok := errors.AsType[*conflict](err); ok {
		return &Problem{Reason: v1alpha1.ReasonConflict, Message: taken.words(adopterOf(o))}
	}
	status, _ := errors.AsType[*apierrors.StatusError](err)
	switch {
	case meta.IsNoMatchError(err):
		return &Problem{Reason: v1alpha1.ReasonKindNotFound, Message: fmt.Sprintf("%s: the cluster does not know the kind %s", titleOf(o), o.GroupVersionKind())}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &Problem{Reason: v1alpha1.ReasonApplyFailed, Message: fmt.Sprintf("%s: its namespace is being deleted", titleOf(o))}
	case lacksRight(err):
		return &Problem{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf("%s: %s. %s", titleOf(o), apierror.Message(err, maxQuoted), as.permits())}
	case status != nil && status.ErrStatus.Code >= 400 && status.ErrStatus.Code < 500 && !passes(err):
		return &Problem{Reason: v1alpha1.ReasonApplyFailed, Message: fmt.Sprintf("%s: %s", titleOf(o), apierror.Message(err, maxQuoted))}
	}
	return nil
}

// labelAggregate on a ClusterRole has the manager be allowed what it allows: see config/rbac.
const labelAggregate = "operatorstatus.io/aggregate-to-compose"

// lacksRight reports whether RBAC refuses a request. Quotas, policies and webhooks refuse, too.
func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), " cannot ") || strings.Contains(err.Error(), "attempting to grant RBAC permissions"))
}

// passes is true for a refusal that the next try need not meet.
func passes(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) ||
		apierrors.IsUnauthorized(err)
}

func adopterOf(o *unstructured.Unstructured) string {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.Name
	}
	return ""
}

// maxQuoted bounds how much of an error a message quotes, in bytes.
const maxQuoted = 1024
