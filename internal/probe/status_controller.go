package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/watch"
)

// StatusReconciler keeps the status of Probes true.
type StatusReconciler struct {
	Client client.Client
	Clock  func() time.Time

	readings *readings
	judged   sync.Map // the Probes whose status says what is known now

	subscriptions atomic.Bool // whether they are watched
	queue         workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewStatusReconciler makes a StatusReconciler that reads custom resources through reader.
func NewStatusReconciler(c client.Client, reader Reader) *StatusReconciler {
	r := &StatusReconciler{Client: c, Clock: time.Now}
	r.readings = &readings{
		reader:  reader,
		notify:  r.notify,
		byProbe: map[types.NamespacedName]map[reading]*watch.Subscription{},
	}
	return r
}

// coalesce is how long changes that only move counts wait for company.
const coalesce = 500 * time.Millisecond

// concurrency is how many Probes are looked at at once, so that many that change together do not wait for one another.
const concurrency = 4

// notify has a Probe looked at: at once where the answer may have changed.
func (r *StatusReconciler) notify(probe types.NamespacedName, urgent bool) {
	request := reconcile.Request{NamespacedName: probe}
	if urgent {
		r.queue.Add(request)
	} else {
		r.queue.AddAfter(request, coalesce)
	}
}

// +kubebuilder:rbac:groups=operators.coreos.com,resources=probes,verbs=get;list;watch
// +kubebuilder:rbac:groups=operators.coreos.com,resources=probes/status,verbs=update
// +kubebuilder:rbac:groups=operators.coreos.com,resources=clusterserviceversions;operatorconditions;subscriptions,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;impersonate
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Reconcile reads what a Probe's status depends on and writes it when it changed.
func (r *StatusReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	probe := &v1alpha1.Probe{}
	if err := r.Client.Get(ctx, request.NamespacedName, probe); err != nil {
		if apierrors.IsNotFound(err) {
			r.judged.Delete(request.NamespacedName)
			_, err = r.readings.keep(request.NamespacedName, nil)
		}
		return reconcile.Result{}, err
	}
	if !ours(probe) {
		_, err := r.readings.keep(request.NamespacedName, nil)
		return reconcile.Result{}, err
	}
	in, err := r.read(ctx, probe)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading what Probe %s depends on: %w", request, err)
	}
	if pending(in) {
		r.judged.Delete(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	result, err := r.write(ctx, probe, Status(in), in.Now.Time)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		// What the Probe is now is on its way to the cache, and brings it back here.
		r.judged.Delete(request.NamespacedName)
		return result, nil
	case err == nil:
		r.judged.Store(request.NamespacedName, probe.Generation)
	}
	return result, err
}

// Judged is true where the status of a Probe says what is known now, and false while what it says is from before this
// process began, or from before its resources had to be read anew. A gate waits for it.
func (r *StatusReconciler) Judged(probe *v1alpha1.Probe) bool {
	if !ours(probe) {
		return true
	}
	generation, ok := r.judged.Load(client.ObjectKeyFromObject(probe))
	return ok && generation == probe.Generation
}

// ours is true where operator-status writes the status, and false where the operator does.
func ours(probe *v1alpha1.Probe) bool {
	return probe.Spec != nil && probe.Spec.Manager != v1alpha1.ManagerOperator
}

// pending is true where the spec is about to change, or the status was computed for this spec before and some of it is
// being read again: then what the status says stands until that is done.
func pending(in Inputs) bool {
	if in.Outdated {
		return true
	}
	if in.Probe.Status.ObservedGeneration != in.Probe.Generation || !said(&in.Probe.Status, v1alpha1.ConditionSynced) {
		return false
	}
	return slices.ContainsFunc(in.Resources, func(r Resource) bool {
		return slices.ContainsFunc(r.Read, func(s Read) bool { return !s.Filled && s.Err == nil })
	})
}

// read gathers everything that the status depends on.
func (r *StatusReconciler) read(ctx context.Context, probe *v1alpha1.Probe) (Inputs, error) {
	in := Inputs{Probe: probe, Now: metav1.NewTime(r.Clock())}
	key := client.ObjectKeyFromObject(probe)
	csv, err := csvOf(ctx, r.Client, key)
	if err != nil {
		return in, err
	}
	if in.Problems, in.Outdated, err = r.annotations(ctx, probe, csv); err != nil {
		return in, err
	}
	if in.GateConflict, err = r.gateConflict(ctx, key); err != nil {
		return in, err
	}
	if in.Held, err = r.held(ctx, key); err != nil {
		return in, err
	}
	plan, err := r.plan(ctx, probe, csv)
	if err != nil {
		return in, err
	}
	subs, err := r.readings.keep(key, plan.wanted())
	if err != nil {
		return in, err
	}
	in.Resources = plan.resources(subs)
	return in, nil
}

// annotations tells the problems with the annotations that a Probe's spec is kept equal to, and whether the spec is not
// equal to them yet.
func (r *StatusReconciler) annotations(ctx context.Context, probe *v1alpha1.Probe, csv *v1alpha1.ClusterServiceVersion) (problems []Problem, outdated bool, err error) {
	if csv == nil || probe.Spec.Manager != v1alpha1.ManagerCRDAnnotations {
		return nil, false, nil
	}
	others, err := siblings(ctx, r.Client, csv.Namespace)
	if err != nil || beingReplaced(csv, others) {
		return nil, false, err
	}
	crds, err := ownedCRDObjects(ctx, r.Client, csv)
	if err != nil {
		return nil, false, err
	}
	desired, problems := FromAnnotations(csv, crds)
	return problems, desired != nil && !equality.Semantic.DeepEqual(desired.Spec, probe.Spec), nil
}

// gateConflict says whether the operator sets Upgradeable in its OperatorCondition itself.
func (r *StatusReconciler) gateConflict(ctx context.Context, key types.NamespacedName) (string, error) {
	if served, err := serves(ctx, r.Client, operatorConditionCRD, operatorsv2.GroupVersion.Version); err != nil || !served {
		return "", err
	}
	condition := &operatorsv2.OperatorCondition{}
	if err := r.Client.Get(ctx, key, condition); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	c := meta.FindStatusCondition(condition.Spec.Conditions, operatorsv2.Upgradeable)
	if c == nil || v1alpha1.IsGateReason(c.Reason) {
		return "", nil
	}
	return fmt.Sprintf("The operator sets Upgradeable=%s (%s) in OperatorCondition %s itself: that stays, and this Probe has no effect there",
		c.Status, c.Reason, condition.Name), nil
}

const operatorConditionCRD = "operatorconditions.operators.coreos.com"

// write writes a status that changed. While something cannot be read it has the Probe looked at again, the later the
// longer that has lasted.
func (r *StatusReconciler) write(ctx context.Context, probe *v1alpha1.Probe, status v1alpha1.ProbeStatus, now time.Time) (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: retryAfter(status, now)}
	if equality.Semantic.DeepEqual(status, probe.Status) {
		return result, nil
	}
	logTransition(ctx, probe, status)
	out := probe.DeepCopy()
	out.Status = status
	return result, r.Client.Status().Update(ctx, out, client.FieldOwner(FieldOwner))
}

// retryAfter is how long to wait before asking for a right or an account again: as long as the problem has lasted, but
// no less than a second and no more than half a minute.
func retryAfter(status v1alpha1.ProbeStatus, now time.Time) time.Duration {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced)
	if c == nil || c.Reason != v1alpha1.ReasonForbidden {
		return 0
	}
	return min(max(now.Sub(c.LastTransitionTime.Time), time.Second), 30*time.Second)
}

// logTransition logs when the answer changes.
func logTransition(ctx context.Context, probe *v1alpha1.Probe, status v1alpha1.ProbeStatus) {
	before := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionUpgradeable)
	if before == nil || before.Status != after.Status {
		log.FromContext(ctx).Info("Upgradeable changed", "status", after.Status, "reason", after.Reason, "message", after.Message)
	}
}

// SetupWithManager has a Probe looked at when it, a CustomResourceDefinition it names, or a service account in its
// namespace changes, and when its custom resources say something new. What is only there beside an OLM is watched from
// when it comes: see Watch in the returned controller.
func (r *StatusReconciler) SetupWithManager(mgr ctrl.Manager) (controller.Controller, error) {
	account := &metav1.PartialObjectMetadata{}
	account.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceAccount"))
	return ctrl.NewControllerManagedBy(mgr).
		Named("probe-status").
		For(&v1alpha1.Probe{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Watches(&apiextensions.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.namingCRD)).
		WatchesMetadata(account, handler.EnqueueRequestsFromMapFunc(r.ofNamespace)).
		WatchesRawSource(source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue = q
			return nil
		})).
		Build(r)
}

// namingCRD are the Probes that name a CustomResourceDefinition, or its group.
func (r *StatusReconciler) namingCRD(ctx context.Context, o client.Object) []reconcile.Request {
	names := []string{o.GetName()}
	if crd, ok := o.(*apiextensions.CustomResourceDefinition); ok {
		names = append(names, crd.Spec.Group)
	}
	var out []reconcile.Request
	for _, name := range names {
		out = append(out, probeRequests(ctx, r.Client, client.MatchingFields{IndexNamedCRD: name})...)
	}
	return out
}

func (r *StatusReconciler) ofNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return probeRequests(ctx, r.Client, client.InNamespace(o.GetNamespace()))
}

func probeRequests(ctx context.Context, c client.Reader, options ...client.ListOption) []reconcile.Request {
	list := &v1alpha1.ProbeList{}
	if err := c.List(ctx, list, options...); err != nil {
		log.FromContext(ctx).Error(err, "Listing the Probes that an event is about")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return out
}
