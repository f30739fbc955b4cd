package probe

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/probepolicy"
	"github.com/operator-status/operator-status/internal/workloads"
)

// OperatorReconciler keeps the Probe of each operator without ClusterServiceVersion equal to the annotations of the
// CustomResourceDefinitions that it serves, and to the ProbePolicies that apply to it. It never changes or deletes a Probe of a user.
//
// A request is for an operator. An empty one is for none, and begins to look for them.
type OperatorReconciler struct {
	Client   client.Client
	Policies workloads.Policies

	// Reconsider is called with each operator for which annotations or ProbePolicies may determine something else now.
	Reconsider func(context.Context, holdv1alpha1.OperatorReference)

	looking atomic.Bool // whether the workloads and roles of the cluster are watched

	controller controller.TypedController[holdv1alpha1.OperatorReference]
}

// Reconcile creates, updates or deletes the Probe of one operator.
func (r *OperatorReconciler) Reconcile(ctx context.Context, of holdv1alpha1.OperatorReference) (reconcile.Result, error) {
	if of.Name == "" {
		return reconcile.Result{}, r.begin(ctx)
	}
	probes, err := r.Policies.Probes(ctx, of)
	if err != nil {
		return reconcile.Result{}, err
	}
	desired, err := r.Policies.Probe(ctx, of, probes)
	if err != nil {
		return reconcile.Result{}, err
	}
	actual := probepolicy.Own(of, probes)
	if actual != nil && desired != nil {
		desired.Spec.Isolation = actual.Spec.Isolation
	}
	if desired == nil {
		err = remove(ctx, r.Client, actual)
	} else {
		err = apply(ctx, r.Client, actual, desired)
	}
	r.Reconsider(ctx, of)
	return reconcile.Result{}, err
}

// begin watches workloads and roles once a CustomResourceDefinition exists that a policy names, or that is annotated and no
// ClusterServiceVersion owns.
func (r *OperatorReconciler) begin(ctx context.Context) error {
	if r.looking.Load() {
		return nil
	}
	declared, err := r.Policies.Declarations(ctx)
	if err != nil || !declared.Concern(time.Now()) {
		return err
	}
	return r.watch(ctx)
}

// SetupWithManager enqueues an operator when one of its Probes or workloads changes, or a role of its service accounts, and all when a
// ProbePolicy does, or a CustomResourceDefinition begins or ceases to exist or to be annotated.
func (r *OperatorReconciler) SetupWithManager(mgr manager.Manager) error {
	c, err := builder.TypedControllerManagedBy[holdv1alpha1.OperatorReference](mgr).
		Named("probe-operator").
		Watches(&holdv1alpha1.ProbePolicy{}, workloads.Enqueue(r.all)).
		Watches(&apiextensions.CustomResourceDefinition{}, workloads.Enqueue(r.declared), builder.WithPredicates(predicate.Funcs{UpdateFunc: reannotated})).
		Watches(&v1alpha1.Probe{}, workloads.Enqueue(workloads.OfProbe)).
		Build(r)
	if err != nil {
		return err
	}
	r.controller = c
	return nil
}

// WatchCSVs has all operators enqueued when a ClusterServiceVersion begins or ceases to exist that owns an annotated
// CustomResourceDefinition. Call it once the ClusterServiceVersions are indexed, before which annotations are not read.
func (r *OperatorReconciler) WatchCSVs(c cache.Cache) error {
	type queue = workqueue.TypedRateLimitingInterface[holdv1alpha1.OperatorReference]
	now := source.TypedFunc[holdv1alpha1.OperatorReference](func(ctx context.Context, q queue) error {
		for _, of := range r.all(ctx, nil) {
			q.Add(of)
		}
		return nil
	})
	return errors.Join(
		r.controller.Watch(now),
		r.controller.Watch(source.TypedKind[client.Object](c, &v1alpha1.ClusterServiceVersion{}, workloads.Enqueue(r.owned), kube.Existence)),
	)
}

// reannotated reports whether the annotations of a CustomResourceDefinition that declare something have changed, or what it was installed
// together with.
func reannotated(e event.UpdateEvent) bool {
	if workloads.Remarked(e) {
		return true
	}
	declare := []string{v1alpha1.AnnotationUpgradeable, v1alpha1.AnnotationImportant}
	before, after := e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()
	return slices.ContainsFunc(declare, func(name string) bool {
		was, before := before[name]
		is, after := after[name]
		return before != after || was != is
	})
}

// watch watches roles and workloads. Existing roles enqueue nothing, since existing workloads do. Those are watched once all roles are: a
// role that appears between the reconciliation of its operator and the watch of roles would count as an existing one.
func (r *OperatorReconciler) watch(ctx context.Context) error {
	later := predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		r.Policies.Cache.RolesChanged()
		return !e.IsInInitialList
	}}
	var roles []source.TypedSyncingSource[holdv1alpha1.OperatorReference]
	for _, kind := range workloads.RoleKinds() {
		s := source.TypedKind(r.Policies.Cache.Cache, kind, workloads.Enqueue(r.bound), predicate.Predicate(later))
		if err := r.controller.Watch(s); err != nil {
			return err
		}
		roles = append(roles, s)
	}
	for _, s := range roles {
		if err := s.WaitForSync(ctx); err != nil {
			return err
		}
	}
	for _, kind := range workloads.Kinds() {
		if err := r.controller.Watch(source.TypedKind(r.Policies.Cache.Cache, kind, workloads.Enqueue(ofWorkload), workloads.Moves)); err != nil {
			return err
		}
	}
	r.looking.Store(true)
	return nil
}

// all begins to look for operators, and returns those that are known.
func (r *OperatorReconciler) all(ctx context.Context, _ client.Object) []holdv1alpha1.OperatorReference {
	out := []holdv1alpha1.OperatorReference{{}}
	list := &v1alpha1.ProbeList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return r.failed(ctx, err)
	}
	for i := range list.Items {
		out = append(out, workloads.OfProbe(ctx, &list.Items[i])...)
	}
	if !r.looking.Load() {
		return out
	}
	found, err := r.Policies.Cache.In(ctx, metav1.NamespaceAll)
	if err != nil {
		return r.failed(ctx, err)
	}
	return append(out, ownersOf(found)...)
}

// declared is like all for a CustomResourceDefinition that a policy names, or that is or was annotated.
func (r *OperatorReconciler) declared(ctx context.Context, crd client.Object) []holdv1alpha1.OperatorReference {
	if annotations.IsAnnotated(crd) {
		return r.all(ctx, crd)
	}
	policies, err := annotations.Policies(ctx, r.Client)
	if err != nil {
		return r.failed(ctx, err)
	}
	if _, ok := slices.BinarySearch(probepolicy.DefinitionsIn(policies), crd.GetName()); !ok {
		return nil
	}
	return r.all(ctx, crd)
}

// owned is like all for a ClusterServiceVersion that owns an annotated CustomResourceDefinition.
func (r *OperatorReconciler) owned(ctx context.Context, o client.Object) []holdv1alpha1.OperatorReference {
	csv := o.(*v1alpha1.ClusterServiceVersion)
	if csv.IsCopied() {
		return nil
	}
	crds, err := annotations.CRDs(ctx, r.Client, csv)
	if err != nil {
		return r.failed(ctx, err)
	}
	if !slices.ContainsFunc(crds, func(crd *apiextensions.CustomResourceDefinition) bool { return annotations.IsAnnotated(crd) }) {
		return nil
	}
	return r.all(ctx, o)
}

// bound returns the operators whose service accounts have a role.
func (r *OperatorReconciler) bound(ctx context.Context, role client.Object) []holdv1alpha1.OperatorReference {
	r.Policies.Cache.RolesChanged()
	accounts, err := r.Policies.Cache.Bound(ctx, role)
	if err != nil {
		return r.failed(ctx, err)
	}
	var out []holdv1alpha1.OperatorReference
	for _, account := range accounts {
		found, err := r.Policies.Cache.RunAs(ctx, account)
		if err != nil {
			return r.failed(ctx, err)
		}
		out = append(out, ownersOf(found)...)
	}
	return out
}

// failed logs an error and returns no operators. It is one of the cache, which only a shutdown causes.
func (r *OperatorReconciler) failed(ctx context.Context, err error) []holdv1alpha1.OperatorReference {
	log.FromContext(ctx).Error(err, "Failed to list the operators to enqueue")
	return nil
}

// ownersOf returns the operators that workloads may belong to.
func ownersOf(found []installer.Workload) []holdv1alpha1.OperatorReference {
	var out []holdv1alpha1.OperatorReference
	for _, w := range found {
		if !w.OfCSV {
			out = append(out, controllers.Owner(w))
		}
	}
	return out
}

func ofWorkload(_ context.Context, o client.Object) []holdv1alpha1.OperatorReference {
	if w, ok := installer.WorkloadOf(o); ok {
		return ownersOf([]installer.Workload{w})
	}
	return nil
}
