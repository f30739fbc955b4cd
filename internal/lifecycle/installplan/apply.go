package installplan

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
	"github.com/operator-status/operator-status/internal/lifecycle/waves"
	"github.com/operator-status/operator-status/internal/probe"
	"github.com/operator-status/operator-status/internal/refusal"
)

// FieldOwner is who the API server says applied a plan's steps.
const FieldOwner = client.FieldOwner("operator-status-installplan")

// rejection is an answer of the API server, or a finding of ours, that trying again does not change.
type rejection struct {
	reason  string
	message string
}

func (r *rejection) Error() string { return r.message }

// run applies the steps of a plan with the client of whom it runs as.
type run struct {
	as       client.Client
	reader   client.Reader // ours, for what the other may not read
	vouchers *Vouchers
	plan     *olm.InstallPlan
	owners   map[string]metav1.OwnerReference // the ClusterServiceVersions of the plan that are there

	mu   sync.Mutex
	crds map[string]*apiextensionsv1.CustomResourceDefinition // those that ask for a Probe, by name: their metadata
}

// all applies the steps, in waves. Done before, a step is done again at no cost: so a plan that was cut off resumes.
func (r *run) all(ctx context.Context) error {
	r.owners = map[string]metav1.OwnerReference{}
	if err := waves.Each(r.plan.Status.Plan, waveOf, func(step *olm.Step) error {
		object, err := Object(step)
		if err != nil {
			return &rejection{v1alpha1.PlanReasonComponentFailed, err.Error()}
		}
		if err := r.step(ctx, step, object); err != nil {
			return explain(step, err)
		}
		step.Status = olm.StepStatusPresent
		return nil
	}); err != nil {
		return err
	}
	return r.probes(ctx)
}

func (r *run) step(ctx context.Context, step *olm.Step, object *unstructured.Unstructured) error {
	switch step.Resource.Kind {
	case kindCRD:
		r.note(object)
		why, err := unsafe(ctx, r.reader, object)
		if err != nil {
			return err
		}
		if why != "" {
			return &rejection{v1alpha1.PlanReasonCRDUpdateUnsafe, why}
		}
	case v1alpha1.SubscriptionKind:
		object.SetNamespace(r.plan.Namespace)
		return client.IgnoreAlreadyExists(r.as.Create(ctx, object, FieldOwner))
	}
	if err := r.place(step, object); err != nil {
		return err
	}
	if step.Resource.Kind == v1alpha1.ClusterServiceVersionKind {
		if _, err := r.vouchers.note(client.ObjectKeyFromObject(object), r.plan, step, object); err != nil {
			return &rejection{v1alpha1.PlanReasonComponentFailed, err.Error()}
		}
	}
	err := r.as.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), FieldOwner, client.ForceOwnership)
	if err == nil && step.Resource.Kind == v1alpha1.ClusterServiceVersionKind { // which is a wave of its own
		r.owners[step.Resolving] = metav1.OwnerReference{
			APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(),
		}
	}
	return err
}

// place puts an object into the plan's namespace and has its ClusterServiceVersion own it: what is cluster-scoped by
// label, since the garbage collector takes what refers to an owner that it cannot find in the cluster's scope.
func (r *run) place(step *olm.Step, object *unstructured.Unstructured) error {
	if step.Resource.Kind == kindCRD {
		return nil // outlives the operator: its custom resources are the user's
	}
	namespaced, err := r.namespaced(object.GroupVersionKind())
	if err != nil {
		return err
	}
	if namespaced {
		object.SetNamespace(r.plan.Namespace)
	} else {
		object.SetNamespace("")
	}
	if step.Resource.Kind == v1alpha1.ClusterServiceVersionKind {
		return nil
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[install.LabelOwner], labels[install.LabelOwnerNamespace], labels[install.LabelOwnerKind] = step.Resolving, r.plan.Namespace, v1alpha1.ClusterServiceVersionKind
	object.SetLabels(labels)
	if owner, ok := r.owners[step.Resolving]; ok && namespaced {
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
	} else if !namespaced {
		labels[install.LabelManaged] = "true" // by these two it is found again when its owner has gone
		object.SetLabels(labels)
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[install.AnnotationApplied] = r.plan.Name
		object.SetAnnotations(annotations)
	}
	return nil
}

func (r *run) namespaced(kind schema.GroupVersionKind) (bool, error) {
	mapping, err := r.as.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// note takes down a CustomResourceDefinition that asks for a Probe.
func (r *run) note(crd *unstructured.Unstructured) {
	annotations := crd.GetAnnotations()
	if annotations[v1alpha1.AnnotationUpgradeable] == "" && annotations[v1alpha1.AnnotationImportant] == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crds == nil {
		r.crds = map[string]*apiextensionsv1.CustomResourceDefinition{}
	}
	r.crds[crd.GetName()] = &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd.GetName(), Annotations: annotations},
	}
}

// probes makes the Probes that the plan's CustomResourceDefinitions ask for, where there is none yet: so that an update
// of the new operator can be held from the moment it is there.
func (r *run) probes(ctx context.Context) error {
	if len(r.crds) == 0 {
		return nil
	}
	for name := range r.owners {
		if err := r.probe(ctx, name); err != nil {
			return fmt.Errorf("making Probe %s: %w", name, err)
		}
	}
	return nil
}

func (r *run) probe(ctx context.Context, name string) error {
	csv := &v1alpha1.ClusterServiceVersion{}
	if err := r.reader.Get(ctx, types.NamespacedName{Namespace: r.plan.Namespace, Name: name}, csv); err != nil {
		return fmt.Errorf("getting its ClusterServiceVersion: %w", err)
	}
	var owned []*apiextensionsv1.CustomResourceDefinition
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if crd, ok := r.crds[d.Name]; ok {
			owned = append(owned, crd)
		}
	}
	desired, _ := probe.FromAnnotations(csv, owned)
	if desired == nil {
		return nil
	}
	err := r.as.Create(ctx, desired, client.FieldOwner(probe.FieldOwner))
	if apierrors.IsForbidden(err) {
		return nil // the plan runs as an account that need not be able to: the Probe's own loop makes it
	}
	return client.IgnoreAlreadyExists(err)
}

// explain names the step, and tells what a retry may mend from what it cannot.
func explain(step *olm.Step, err error) error {
	if r, ok := errors.AsType[*rejection](err); ok {
		return &rejection{r.reason, fmt.Sprintf("%s: %s", title(step), r.message)}
	}
	if transient(err) {
		return &passing{title(step), err}
	}
	return &rejection{v1alpha1.PlanReasonComponentFailed, fmt.Sprintf("%s: %s", title(step), refusal.Words(err, maxQuoted))}
}

// passing is an error of a step that may pass by itself.
type passing struct {
	step  string
	cause error
}

func (p *passing) Error() string { return p.step + ": " + refusal.Words(p.cause, maxQuoted) }

func (p *passing) Unwrap() error { return p.cause }

// transient is true for errors that may pass by themselves: the API server is busy, away or behind, or the kind of a
// custom resource is not served yet.
func transient(err error) bool {
	if meta.IsNoMatchError(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return !ok || status.ErrStatus.Code >= 500
}

// maxQuoted bounds how much of an error a message quotes, in bytes.
const maxQuoted = 1024
