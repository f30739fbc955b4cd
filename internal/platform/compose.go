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
	err := c.place(d.Object)
	if err == nil {
		c.Watches.Start(ctx, d.Object.GroupVersionKind())
		out.Live, err = c.made(ctx, d.Object)
	}
	if problem := problemOf(d.Object, err); problem != nil {
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
func (c composer) made(ctx context.Context, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := drift.Seal(desired, annotationComposed); err != nil {
		return nil, err
	}
	live, err := c.live(ctx, desired)
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
	if err := c.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(out), client.FieldOwner(FieldOwner), client.ForceOwnership); err != nil {
		return live, err
	}
	return out, nil
}

// live is the object as it is: by the watch, or else as the API server has it; nil where there is none.
func (c composer) live(ctx context.Context, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if out := c.Watches.Get(ctx, desired); out != nil {
		return out, nil
	}
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(desired.GroupVersionKind())
	if err := c.Reader.Get(ctx, client.ObjectKeyFromObject(desired), out); err != nil {
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
		live, err := c.remove(ctx, r.Reference)
		if err != nil {
			return nil, err
		}
		if live != nil {
			out = append(out, Object{Desired: Desired{Entry: r.Name, Object: live}, Live: live, Leaving: true})
		}
	}
	return out, nil
}

// remove deletes an object that the PlatformOperator controls. It returns what is still there of it; nil where nothing is, or it
// is not the PlatformOperator's.
func (c composer) remove(ctx context.Context, ref corev1.ObjectReference) (*unstructured.Unstructured, error) {
	live, err := c.own(ctx, ref)
	switch {
	case err != nil || live == nil:
		return nil, err
	case live.GetDeletionTimestamp() != nil:
		return live, nil
	}
	log.FromContext(ctx).Info("Deleting what a PlatformOperator does not consist of any more", "object", titleOf(live))
	uid := live.GetUID()
	if err := c.Client.Delete(ctx, live, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("deleting %s, which is not wanted any more: %w", titleOf(live), err)
	}
	return live, nil
}

// own is the object that a reference is to; nil where it is gone, or is not the PlatformOperator's.
func (c composer) own(ctx context.Context, ref corev1.ObjectReference) (*unstructured.Unstructured, error) {
	out := object(ref.APIVersion, ref.Kind, ref.Namespace, ref.Name)
	err := c.place(out)
	if err == nil {
		c.Watches.Start(ctx, out.GroupVersionKind()) // which tells when it is gone
		err = c.Reader.Get(ctx, client.ObjectKeyFromObject(out), out)
	}
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting %s: %w", titleOf(out), err)
	case !controls(c.op, out):
		return nil, nil
	}
	return out, nil
}

// release lets go of an object, which stays as it is.
func (c composer) release(ctx context.Context, ref corev1.ObjectReference) error {
	live, err := c.own(ctx, ref)
	if err != nil || live == nil {
		return err
	}
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
	if err := c.Client.Patch(ctx, live, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("letting go of %s: %w", titleOf(live), err)
	}
	return nil
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
func problemOf(o *unstructured.Unstructured, err error) *Problem {
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
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " cannot "): // as RBAC has it; quotas and webhooks refuse, too
		return &Problem{Reason: v1alpha1.ReasonForbidden, Message: fmt.Sprintf("%s: %s. To allow it, label a ClusterRole that does with %s=true",
			titleOf(o), apierror.Message(err, maxQuoted), labelAggregate)}
	case status != nil && status.ErrStatus.Code >= 400 && status.ErrStatus.Code < 500 && !passes(err):
		return &Problem{Reason: v1alpha1.ReasonApplyFailed, Message: fmt.Sprintf("%s: %s", titleOf(o), apierror.Message(err, maxQuoted))}
	}
	return nil
}

// labelAggregate on a ClusterRole has the manager be allowed what it allows: see config/rbac.
const labelAggregate = "operatorstatus.io/aggregate-to-compose"

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
