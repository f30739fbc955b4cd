package installplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/optin"
	installplanstatus "github.com/operator-status/operator-status/internal/status/installplan"
)

// FieldOwner is the field manager of the objects in bundles.
const FieldOwner = client.FieldOwner("operator-status-installplan")

// run applies an approved plan as its identity.
type run struct {
	*Reconciler
	plan    *olm.InstallPlan
	content *record.Content
	scope   Scope
	tasks   []task

	// configs holds spec.config of Subscriptions by name.
	configs map[string]*olm.SubscriptionConfig

	// confirm returns until when an object may be written, or zero for no limit, or an error if nothing may. It is
	// called again for each phase until a CSV has been written, and is nil from then on.
	confirm func(context.Context) (time.Time, error)

	as          client.Client // acts as the identity
	definitions apply.Definitions
	owners      map[string]metav1.OwnerReference // the CSVs that have been written, by name

	mu               sync.Mutex
	written          []installplanstatus.Object
	outsideNamespace map[string][]record.Reference // objects written outside the namespace, by CSV
}

// newRun prepares a plan to be applied. The error is a *noAccount if the service account does not exist.
func (r *Reconciler) newRun(plan *olm.InstallPlan, content *record.Content, scope Scope) (*run, error) {
	tasks, err := tasksOf(content, plan.Name, scope)
	if err != nil {
		return nil, &permanentError{v1alpha1.PlanReasonComponentFailed, err.Error()}
	}
	out := &run{
		Reconciler: r, plan: plan, content: content, scope: scope, tasks: tasks,
		as: r.Client, owners: map[string]metav1.OwnerReference{}, outsideNamespace: map[string][]record.Reference{},
	}
	if !content.Identity.IsManager() {
		if out.as, err = r.As(content.Identity.Account()); err != nil {
			return nil, &noAccount{err}
		}
	}
	var objects []*unstructured.Unstructured
	for _, t := range tasks {
		objects = append(objects, t.object)
	}
	out.definitions = apply.NewDefinitions(objects)
	return out, nil
}

// apply writes all objects, phase by phase. Writing an object again changes nothing, so an interrupted plan is resumed
// by applying it again.
func (r *run) apply(ctx context.Context) error {
	for tasks := r.tasks; len(tasks) > 0; {
		end := slices.IndexFunc(tasks, func(t task) bool { return t.phase != tasks[0].phase })
		if end < 0 {
			end = len(tasks)
		}
		if err := r.confirmed(ctx, tasks[:end]); err != nil {
			return err
		}
		tasks = tasks[end:]
	}
	return r.grant(ctx)
}

// confirmed writes tasks that do not depend on each other. Until a CSV has been written it does so only right after the
// gate has confirmed the plan. The phases before have definitions of kinds that an operator that is not installed yet
// brings.
func (r *run) confirmed(ctx context.Context, tasks []task) error {
	if r.confirm == nil {
		return r.phase(ctx, tasks)
	}
	until, err := r.confirm(ctx)
	if err != nil {
		return err
	}
	inTime := ctx
	if !until.IsZero() {
		var cancel context.CancelFunc
		inTime, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	if err := r.phase(inTime, tasks); err != nil {
		return err
	}
	if slices.ContainsFunc(tasks, func(t task) bool { return t.object.GetKind() == v1alpha1.ClusterServiceVersionKind }) {
		r.confirm = nil
	}
	return nil
}

// phase writes tasks that do not depend on each other. Custom resources of kinds that the plan defines could not be
// dry-run before; now they can.
func (r *run) phase(ctx context.Context, tasks []task) error {
	var definedByPlan []task
	for _, t := range tasks {
		if _, ok := r.definitions.Namespaced(t.object.GroupVersionKind().GroupKind()); ok {
			definedByPlan = append(definedByPlan, t)
		}
	}
	all := func(task) phase { return phase{} }
	if err := apply.InPhases(definedByPlan, all, func(t task) error { return explain(t, r.dryRunDefined(ctx, t)) }); err != nil {
		return err
	}
	return apply.InPhases(tasks, all, func(t task) error {
		if err := r.write(ctx, t); err != nil {
			return explain(t, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.written = append(r.written, installplanstatus.Object{Bundle: t.bundle.Name, Kind: t.object.GetKind(), Name: t.object.GetName()})
		return nil
	})
}

// servedWithin is how long to wait for the API server to serve a newly defined kind.
const servedWithin = 15 * time.Second

// dryRunDefined dry-runs a custom resource of a kind that the plan defines, once it is served.
func (r *run) dryRunDefined(ctx context.Context, t task) error {
	kind := t.object.GroupVersionKind()
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, servedWithin, true, func(context.Context) (bool, error) {
		_, err := r.as.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the API server does not serve %s yet: %w", kind, err)
	}
	object, err := r.place(t)
	if err != nil {
		return err
	}
	return apply.Writer{Client: r.as, Owner: FieldOwner}.DryRun(ctx, object)
}

// write writes the object of a task, provided that the OperatorGroup still determines the identity that the plan was
// approved with.
func (r *run) write(ctx context.Context, t task) error {
	if err := r.checkIdentity(ctx); err != nil {
		return err
	}
	object, err := r.place(t)
	if err != nil {
		return err
	}
	creates, err := r.creates(ctx, object)
	if err != nil {
		return err
	}
	switch {
	case t.declared: // the manager keeps it, whatever the account may do
		return client.IgnoreAlreadyExists(r.Client.Create(ctx, object, client.FieldOwner(annotations.FieldOwner)))
	case t.isNew():
		return client.IgnoreAlreadyExists(r.as.Create(ctx, object, FieldOwner))
	case t.right:
		if err := (apply.Writer{Client: r.as, Owner: install.FieldOwner}).Apply(ctx, object); err != nil {
			return err
		}
		r.remember(t, object, creates)
		return nil
	}
	if err := (apply.Writer{Client: r.as, Owner: FieldOwner}).Apply(ctx, object); err != nil {
		return err
	}
	if object.GetKind() == v1alpha1.ClusterServiceVersionKind { // alone in its phase
		r.owners[t.bundle.Name] = ownerReference(object)
	}
	r.remember(t, object, creates)
	return nil
}

// isOutsideNamespace reports whether an object outside the plan's namespace has to be deleted with its CSV.
func (r *run) isOutsideNamespace(object *unstructured.Unstructured) bool {
	return object.GetNamespace() != r.plan.Namespace && object.GetLabels()[install.LabelOwnerKind] == v1alpha1.ClusterServiceVersionKind
}

// creates reports whether an object that has to be deleted with its CSV does not exist yet.
func (r *run) creates(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	if !r.isOutsideNamespace(object) {
		return false, nil
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(object), live)
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// remember records an object that has to be deleted with its CSV, and whether it was created for it.
func (r *run) remember(t task, object *unstructured.Unstructured, created bool) {
	if !r.isOutsideNamespace(object) {
		return
	}
	gvk := object.GroupVersionKind()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outsideNamespace[t.bundle.Name] = append(r.outsideNamespace[t.bundle.Name], record.Reference{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), Created: created,
	})
}

// identityChanged means that the OperatorGroup has changed the identity.
type identityChanged struct{ from, to apply.Identity }

func (e *identityChanged) Error() string {
	return fmt.Sprintf("the plan started as %s, but the OperatorGroup now specifies %s", e.from, e.to)
}

// checkIdentity compares the identity that the plan was approved with to the one that the OperatorGroup determines now.
func (r *run) checkIdentity(ctx context.Context) error {
	group, problem, err := operatorgroup.Find(ctx, r.Client, r.plan.Namespace)
	switch {
	case err != nil:
		return err
	case problem != nil:
		return errors.New(problem.Message)
	}
	now := apply.Identity{}
	if group.Spec.ServiceAccountName != "" {
		now = apply.Identity{Namespace: group.Namespace, Name: group.Spec.ServiceAccountName}
	}
	if now != r.content.Identity {
		return &identityChanged{r.content.Identity, now}
	}
	return nil
}

// grant stores the declaration and the grant of each CSV of the plan. It is the last step of a plan: the CSV
// controller installs none of them before.
func (r *run) grant(ctx context.Context) error {
	for i := range r.content.Bundles {
		b := &r.content.Bundles[i]
		csv, err := csvOf(b, r.plan.Name, r.scope)
		if err != nil {
			return err
		}
		var declared []v1alpha1.ProbeResource
		if probe := annotations.BundleProbe(csv.typed, b.Objects); probe != nil {
			declared = probe.Spec.ProbeResources
		}
		if err := r.OptIns.Put(ctx, optin.New(csv.typed, declared)); err != nil {
			return err
		}
		grant := &record.Grant{Plan: r.plan.Name, Catalog: b.Catalog, Identity: r.content.Identity, Grant: install.GrantOf(&csv.typed.Spec)}
		for _, ref := range r.outsideNamespace[b.Name] {
			grant.Remember(ref)
		}
		if err := r.inherit(ctx, grant, b, csv.typed); err != nil {
			return err
		}
		slices.SortFunc(grant.OutsideNamespace, func(a, b record.Reference) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
		if err := r.Records.KeepGrant(ctx, client.ObjectKeyFromObject(csv.typed), grant); err != nil {
			return err
		}
	}
	return nil
}

// inherit takes over which objects were created for the CSV that is replaced, or by an earlier attempt.
func (r *run) inherit(ctx context.Context, grant *record.Grant, b *record.Bundle, csv *v1alpha1.ClusterServiceVersion) error {
	for _, name := range []string{b.Replaces, csv.Name} {
		if name == "" {
			continue
		}
		before, err := r.Records.Grant(ctx, types.NamespacedName{Namespace: csv.Namespace, Name: name})
		if err != nil {
			return err
		}
		if before != nil {
			grant.Inherit(before)
		}
	}
	return nil
}

// annotationInstalledAlongside is the prefix of annotations on a CustomResourceDefinition that name the CSVs that it
// was installed with, as in OLM. A hash of the CSV is appended.
const annotationInstalledAlongside = "operatorframework.io/installed-alongside-"

// place returns the object to write for a task: in the plan's namespace if its kind is namespaced, and owned by its
// CSV. Cluster-scoped objects are owned by label, since the garbage collector deletes those whose owner is namespaced.
func (r *run) place(t task) (*unstructured.Unstructured, error) {
	owner, owned := r.owners[t.bundle.Name]
	if t.right {
		return r.right(t, owner)
	}
	object := t.object.DeepCopy()
	if object.GetKind() == kindCRD {
		install.Annotate(object, annotationInstalledAlongside+install.Hash(r.plan.Namespace+"/"+t.bundle.Name), r.plan.Namespace+"/"+t.bundle.Name)
		return object, nil // not owned, to outlive the operator: its custom resources are the user's
	}
	namespaced, err := r.namespaced(object.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	object.SetNamespace("")
	if namespaced {
		object.SetNamespace(r.plan.Namespace)
	}
	switch object.GetKind() {
	case v1alpha1.ClusterServiceVersionKind, v1alpha1.SubscriptionKind:
		return object, nil
	case "Probe":
		if owned {
			owner.Controller = new(true)
			object.SetOwnerReferences([]metav1.OwnerReference{owner})
		}
		return object, nil
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[install.LabelOwner], labels[install.LabelOwnerNamespace], labels[install.LabelOwnerKind] = t.bundle.Name, r.plan.Namespace,
		v1alpha1.ClusterServiceVersionKind
	if !namespaced {
		labels[install.LabelManaged] = "true" // selects it into the cache
		install.Annotate(object, install.AnnotationBundled, r.plan.Name)
	} else if owned {
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
	}
	object.SetLabels(labels)
	return object, nil
}

// right renders an object that grants the operator permissions, exactly as the CSV controller keeps it.
func (r *run) right(t task, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	csv := t.csv.DeepCopy()
	csv.UID = cmp.Or(owner.UID, placeholder)
	for _, o := range install.Permissions(installOf(csv, r.scope)) {
		if o.GetObjectKind().GroupVersionKind() == t.object.GroupVersionKind() && o.GetNamespace() == t.object.GetNamespace() && o.GetName() == t.object.GetName() {
			return install.WithAppliedHash(o.Object)
		}
	}
	return nil, fmt.Errorf("%s is no longer rendered", t.title()) // unexpected: it was rendered from the same content
}

func (r *run) namespaced(kind schema.GroupVersionKind) (bool, error) {
	if namespaced, ok := r.definitions.Namespaced(kind.GroupKind()); ok {
		return namespaced, nil
	}
	mapping, err := r.as.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

// permanentError is an error of the API server, or a finding of preflight, that a retry does not fix.
type permanentError struct {
	reason  string
	message string
}

func (r *permanentError) Error() string { return r.message }

// taskError is an error of a task that may be transient.
type taskError struct {
	task  string
	cause error
}

func (f *taskError) Error() string { return f.task + ": " + kube.ErrorMessage(f.cause, maxQuoted) }

func (f *taskError) Unwrap() error { return f.cause }

// noAccount is the error if the service account that a plan has to be applied as does not exist.
type noAccount struct{ error }

// explain adds the task to an error, and turns an error that a retry does not fix into a *permanentError.
func explain(t task, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*permanentError](err); ok {
		return &permanentError{refused.reason, fmt.Sprintf("%s: %s", t.title(), refused.message)}
	}
	if changed, ok := errors.AsType[*identityChanged](err); ok {
		return changed
	}
	if meta.IsNoMatchError(err) {
		return notServed(t)
	}
	if kube.Transient(err) {
		return &taskError{t.title(), err}
	}
	return &permanentError{v1alpha1.PlanReasonComponentFailed, fmt.Sprintf("%s: %s", t.title(), kube.ErrorMessage(err, maxQuoted))}
}

// notServed returns the error for an object whose kind the API server does not serve. Scripts for OLM look for its message.
func notServed(t task) error {
	return &permanentError{v1alpha1.PlanReasonKindNotServed, fmt.Sprintf(
		"api-server resource not found installing %s %s of %s: GroupVersionKind %s not found on the cluster. This API may have been deprecated and removed",
		t.object.GetKind(), t.object.GetName(), t.bundle.Name, t.object.GroupVersionKind())}
}

// maxQuoted limits how much of an error a message quotes, in bytes.
const maxQuoted = 1024

// configs returns spec.config of Subscriptions, which may have been deleted since, by name.
func (r *Reconciler) configs(ctx context.Context, subs []v1alpha1.Subscription) (map[string]*olm.SubscriptionConfig, error) {
	out := map[string]*olm.SubscriptionConfig{}
	for i := range subs {
		config, err := operatorgroup.Config(ctx, r.Reader, &subs[i])
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		out[subs[i].Name] = config
	}
	return out, nil
}
