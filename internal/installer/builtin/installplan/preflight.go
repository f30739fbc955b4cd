package installplan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// preflight checks whether the plan's operators could run, and dry-runs, as the identity of the plan, everything that
// the plan writes and that the CSV controller writes after it. Nothing is persisted. Objects that depend on something
// in the plan itself are checked as far as possible: see phase.
func (r *run) preflight(ctx context.Context) error {
	if err := r.requirements(ctx); err != nil {
		return err
	}
	tasks := r.tasks
	for i := range r.content.Bundles {
		parts, err := r.parts(i)
		if err != nil {
			return err
		}
		tasks = append(slices.Clip(tasks), parts...)
	}
	tasks = mainFirst(tasks)
	return apply.InPhases(tasks, func(task) phase { return phase{} }, func(t task) error { return explain(t, r.check(ctx, t)) })
}

// mainFirst returns tasks with the CSVs first. The first of several errors is reported, and the one about the CSV,
// which all other objects are for, is the most useful. Scripts for OLM also look for it.
func mainFirst(tasks []task) []task {
	out := slices.Clone(tasks)
	slices.SortStableFunc(out, func(x, y task) int { return cmp.Compare(minor(x), minor(y)) })
	return out
}

func minor(t task) int {
	if t.object.GetKind() == v1alpha1.ClusterServiceVersionKind {
		return 0
	}
	return 1
}

// placeholder replaces UIDs that are not known yet.
const placeholder = types.UID("00000000-0000-0000-0000-000000000000")

// parts returns tasks for the objects that the CSV controller installs for a bundle, except the permissions, which
// are tasks of the plan.
func (r *run) parts(bundle int) ([]task, error) {
	b := &r.content.Bundles[bundle]
	csv, err := csvOf(b, r.plan.Name, r.scope)
	if err != nil {
		return nil, &permanentError{v1alpha1.PlanReasonComponentFailed, err.Error()}
	}
	csv.typed.UID = placeholder
	in := installOf(csv.typed, r.scope)
	in.Config = r.configs[b.Subscription]
	if in.Certificates, err = install.Certify(csv.typed, nil, r.Now()); err != nil {
		return nil, err
	}
	rendered, err := install.Render(in)
	if invalid, ok := errors.AsType[*install.Error](err); ok {
		return nil, &permanentError{string(invalid.Reason), fmt.Sprintf("ClusterServiceVersion %s: %s", b.Name, invalid.Message)}
	} else if err != nil {
		return nil, err
	}
	var out []task
	oneOfAlike := false
	for _, o := range rendered.Objects {
		if o.Right || o.Alike && oneOfAlike {
			continue
		}
		object, err := install.WithAppliedHash(o.Object)
		if err != nil {
			return nil, err
		}
		out = append(out, task{bundle: b, csv: csv.typed, object: object, rendered: true})
		oneOfAlike = oneOfAlike || o.Alike && r.content.Identity.IsManager() // another account may have rights to some of the APIs
	}
	return out, nil
}

// check dry-runs the object of a task.
func (r *run) check(ctx context.Context, t task) error {
	if why, ok := r.definitions.Validate(t.object); ok {
		if why != "" {
			return &permanentError{v1alpha1.PlanReasonComponentFailed, why}
		}
		return nil // dry-run later, when its kind is served
	}
	object := t.object
	if !t.rendered {
		var err error
		if object, err = r.place(t); err != nil {
			return err
		}
	}
	if object.GetKind() == kindCRD {
		why, err := r.checkCRD(ctx, object)
		if apierrors.IsForbidden(err) {
			// If the identity may neither read nor write the definition, report the write, since that permission has to
			// be granted first.
			if writing := r.dryRun(ctx, t, object); apierrors.IsForbidden(writing) {
				return writing
			}
		}
		if err != nil {
			return err
		}
		if why != "" {
			return &permanentError{v1alpha1.PlanReasonCRDUpdateUnsafe, why}
		}
	}
	err := r.dryRun(ctx, t, object)
	if dependent(object, err) {
		return nil
	}
	return err
}

// checkCRD returns why a CustomResourceDefinition must not replace the existing one, or "".
func (r *run) checkCRD(ctx context.Context, object *unstructured.Unstructured) (string, error) {
	return apply.CheckCRD(ctx, r.as, object, func(o types.NamespacedName) bool { return !r.HideForeignNames || o.Namespace == r.plan.Namespace })
}

func (r *run) dryRun(ctx context.Context, t task, object *unstructured.Unstructured) error {
	writer := apply.Writer{Client: r.as, Owner: FieldOwner}
	switch {
	case t.isNew():
		if t.declared {
			return nil
		}
		return client.IgnoreAlreadyExists(r.as.Create(ctx, object.DeepCopy(), FieldOwner, client.DryRunAll))
	case t.right || t.rendered:
		writer.Owner = install.FieldOwner
	}
	if replaces, err := r.replacesDeployment(ctx, object); err != nil || replaces {
		if err != nil {
			return err
		}
		return writer.DryRunCreate(ctx, object)
	}
	return writer.DryRun(ctx, object)
}

// replacesDeployment reports whether a Deployment exists that cannot become the desired one, since its selector is
// immutable. It will be deleted and created again.
func (r *run) replacesDeployment(ctx context.Context, desired *unstructured.Unstructured) (bool, error) {
	if desired.GroupVersionKind() != appsv1.SchemeGroupVersion.WithKind("Deployment") {
		return false, nil
	}
	live := desired.DeepCopy()
	if err := r.as.Get(ctx, client.ObjectKeyFromObject(desired), live); err != nil {
		if apierrors.IsForbidden(err) {
			return false, nil // the dry run decides
		}
		return false, client.IgnoreNotFound(err)
	}
	was, _, _ := unstructured.NestedMap(live.Object, "spec", "selector")
	is, _, _ := unstructured.NestedMap(desired.Object, "spec", "selector")
	return !equality.Semantic.DeepEqual(was, is), nil
}

// dependent reports whether an error only means that an object of the plan itself does not exist yet: the role of a
// binding, or a namespace that an OperatorGroup names.
func dependent(o *unstructured.Unstructured, err error) bool {
	if !apierrors.IsNotFound(err) {
		return false
	}
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	details := status.Status().Details
	binds := o.GroupVersionKind().Group == rbacv1.GroupName
	return details.Kind == "namespaces" || binds && (details.Kind == "roles" || details.Kind == "clusterroles")
}
