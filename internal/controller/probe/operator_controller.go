package probe

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
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
	"github.com/operator-status/operator-status/internal/probepolicy"
	"github.com/operator-status/operator-status/internal/workloads"
)

// OperatorReconciler keeps the Probe of each operator without ClusterServiceVersion equal to the ProbePolicies that apply to it. It never
// changes or deletes a Probe of a user. A request is for an operator. An empty one is for none, and begins to look for them.
type OperatorReconciler struct {
	Client   client.Client
	Policies workloads.Policies

	// looking is whether the workloads and roles of the cluster are watched, and look starts to.
	looking atomic.Bool
	look    func() error
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
		return reconcile.Result{}, remove(ctx, r.Client, actual)
	}
	return reconcile.Result{}, apply(ctx, r.Client, actual, desired)
}

// begin watches workloads and roles once a policy names a CustomResourceDefinition that exists.
func (r *OperatorReconciler) begin(ctx context.Context) error {
	policies, err := annotations.Policies(ctx, r.Client)
	if err != nil {
		return err
	}
	definitions, err := r.Policies.Definitions(ctx, policies)
	if err != nil || len(definitions) == 0 {
		return err
	}
	return r.look()
}

// SetupWithManager enqueues an operator when one of its Probes or workloads changes, or a role of its service accounts, and all when a
// ProbePolicy does, or a CustomResourceDefinition begins or ceases to exist.
func (r *OperatorReconciler) SetupWithManager(mgr manager.Manager) error {
	exists := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	c, err := builder.TypedControllerManagedBy[holdv1alpha1.OperatorReference](mgr).
		Named("probe-operator").
		Watches(&holdv1alpha1.ProbePolicy{}, workloads.Enqueue(r.all)).
		Watches(&apiextensions.CustomResourceDefinition{}, workloads.Enqueue(r.named), builder.WithPredicates(exists)).
		Watches(&v1alpha1.Probe{}, workloads.Enqueue(workloads.OfProbe)).
		Build(r)
	if err != nil {
		return err
	}
	r.look = sync.OnceValue(func() error { return r.watch(c) })
	return nil
}

// watch watches workloads and roles. Existing roles enqueue nothing, since existing workloads do.
func (r *OperatorReconciler) watch(c controller.TypedController[holdv1alpha1.OperatorReference]) error {
	later := predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		r.Policies.Cache.RolesChanged()
		return !e.IsInInitialList
	}}
	for _, kind := range workloads.RoleKinds() {
		if err := c.Watch(source.TypedKind(r.Policies.Cache.Cache, kind, workloads.Enqueue(r.bound), predicate.Predicate(later))); err != nil {
			return err
		}
	}
	for _, kind := range workloads.Kinds() {
		if err := c.Watch(source.TypedKind(r.Policies.Cache.Cache, kind, workloads.Enqueue(ofWorkload), workloads.Moves)); err != nil {
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

// named is like all for a CustomResourceDefinition that a policy names.
func (r *OperatorReconciler) named(ctx context.Context, crd client.Object) []holdv1alpha1.OperatorReference {
	policies, err := annotations.Policies(ctx, r.Client)
	if err != nil {
		return r.failed(ctx, err)
	}
	if _, ok := slices.BinarySearch(probepolicy.DefinitionsIn(policies), crd.GetName()); !ok {
		return nil
	}
	return r.all(ctx, crd)
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
