package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/events"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

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
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/watch"
)

// StatusReconciler keeps the status of Probes true.
type StatusReconciler struct {
	Client client.Client
	Clock  func() time.Time

	Recorder events.EventRecorder

	// Identity is that of this process among those that may read: its leader election identity.
	Identity string

	readings *readings

	written        apply.Written
	subscriptions  atomic.Bool // whether they are watched
	operatorGroups atomic.Bool // likewise
	blind          sync.Map    // of types.NamespacedName: since when the last Event about it says that it cannot be read
	// watchNamespaces has the namespaces watched, from when the first Probe depends on them.
	watchNamespaces func() error

	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewStatusReconciler makes a StatusReconciler that reads custom resources through reader.
func NewStatusReconciler(c client.Client, reader Reader, recorder events.EventRecorder, identity string) *StatusReconciler {
	r := &StatusReconciler{Client: c, Clock: time.Now, Recorder: recorder, Identity: identity}
	r.readings = &readings{
		reader:  reader,
		notify:  r.notify,
		budget:  watches,
		byProbe: map[types.NamespacedName]map[reading]*watch.Subscription{},
	}
	return r
}

// HideForeignNames has custom resources outside a Probe's namespace counted and not named. It is to be called before the
// reconciler runs.
func (r *StatusReconciler) HideForeignNames() { r.readings.ownFirst = true }

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
// +kubebuilder:rbac:groups=operators.coreos.com,resources=clusterserviceversions;operatorconditions;operatorgroups;subscriptions,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Reconcile reads what a Probe's status depends on and writes it when it changed.
func (r *StatusReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	probe := &v1alpha1.Probe{}
	if err := r.Client.Get(ctx, request.NamespacedName, probe); err != nil {
		if apierrors.IsNotFound(err) {
			r.blind.Delete(request.NamespacedName)
			_, _, err = r.readings.keep(request.NamespacedName, nil)
		}
		return reconcile.Result{}, err
	}
	if !ours(probe) {
		_, _, err := r.readings.keep(request.NamespacedName, nil)
		return reconcile.Result{}, err
	}
	if r.written.Behind(probe) {
		return reconcile.Result{}, nil
	}
	in, err := r.read(ctx, probe)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading what Probe %s depends on: %w", request, err)
	}
	if pending(in) {
		return reconcile.Result{}, nil
	}
	status := Status(in)
	r.reportBlind(probe, status, in.Now.Time)
	result, err := r.write(ctx, probe, status, in.Now.Time)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result, nil // what the Probe is now is on its way to the cache, and brings it back here
	}
	return result, err
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
	in := Inputs{Probe: probe, Reader: r.Identity, HideForeign: r.readings.ownFirst, Now: metav1.NewTime(r.Clock())}
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
	named, err := r.targets(ctx, probe, csv)
	if err != nil {
		return in, err
	}
	in.Targets = operatorgroup.Hash(named)
	targets, err := r.sortOut(ctx, probe, named)
	if err != nil {
		return in, err
	}
	if problem := missingNamespaces(targets.missing); problem != nil {
		in.Problems = append(in.Problems, *problem)
	}
	plan, err := r.plan(ctx, probe, csv, targets)
	if err != nil {
		return in, err
	}
	wanted := plan.wanted()
	if problem := r.readings.overdraws(key, len(wanted)); problem != nil {
		plan, wanted = plan.unread(*problem), nil
	}
	subs, refused, err := r.readings.keep(key, wanted)
	if err != nil {
		return in, err
	}
	in.Resources = plan.resources(subs, refused)
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
	if err := r.Client.Status().Update(ctx, out, client.FieldOwner(FieldOwner)); err != nil {
		return result, err
	}
	r.written.Note(out)
	return result, nil
}

// blindFor is how long custom resources may be unreadable for want of a right or an account before an Event says so.
const blindFor = 10 * time.Minute

// reportBlind emits an Event about a Probe that has been blind for long, once each time.
func (r *StatusReconciler) reportBlind(probe *v1alpha1.Probe, status v1alpha1.ProbeStatus, now time.Time) {
	c := blindness(status)
	if c == nil || now.Sub(c.LastTransitionTime.Time) < blindFor {
		return
	}
	since, loaded := r.blind.Swap(client.ObjectKeyFromObject(probe), c.LastTransitionTime.Unix())
	if !loaded || since != c.LastTransitionTime.Unix() {
		r.Recorder.Eventf(probe, nil, corev1.EventTypeWarning, v1alpha1.EventProbeBlind, v1alpha1.EventActionRead, "%s", c.Message)
	}
}

// blindness is the condition of a Probe that cannot read for want of a right or an account; nil where it lacks neither.
func blindness(status v1alpha1.ProbeStatus) *metav1.Condition {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonForbidden && c.Reason != v1alpha1.ReasonNoIdentity {
		return nil
	}
	return c
}

// retryAfter is how long to wait before asking for a right again: as long as the problem has lasted, but no less than a
// second and no more than half a minute. An account that is created enqueues the Probe; then only the Event is waited for.
func retryAfter(status v1alpha1.ProbeStatus, now time.Time) time.Duration {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced); c != nil &&
		(c.Reason == v1alpha1.ReasonTooManyWatches || c.Reason == v1alpha1.ReasonTooManyConditions) {
		return time.Minute // another Probe may have left some, which is no event here
	}
	c := blindness(status)
	if c == nil {
		return 0
	}
	lasted := now.Sub(c.LastTransitionTime.Time)
	if c.Reason == v1alpha1.ReasonNoIdentity {
		return max(0, blindFor-lasted)
	}
	return min(max(lasted, time.Second), 30*time.Second)
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
	c, err := ctrl.NewControllerManagedBy(mgr).
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
	if err != nil {
		return nil, err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	r.watchNamespaces = sync.OnceValue(func() error {
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), namespace, handler.EnqueueRequestsFromMapFunc(r.targeting)))
	})
	return c, nil
}

// WatchOperatorGroups enqueues the Probes of a namespace when its OperatorGroup changes, once that kind is installed.
func (r *StatusReconciler) WatchOperatorGroups(mgr ctrl.Manager, c controller.Controller) error {
	err := c.Watch(source.Kind[client.Object](mgr.GetCache(), &operatorsv1.OperatorGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace)))
	r.operatorGroups.Store(err == nil)
	return err
}

// targeting are the Probes that name a namespace, or whose OperatorGroup does or selects namespaces by label.
func (r *StatusReconciler) targeting(ctx context.Context, namespace client.Object) []reconcile.Request {
	out := probeRequests(ctx, r.Client, client.MatchingFields{IndexNamespace: namespace.GetName()})
	if !r.operatorGroups.Load() {
		return out
	}
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Listing the OperatorGroups that a namespace may be in")
		return out
	}
	for i := range list.Items {
		spec := list.Items[i].Spec
		if spec.Selector != nil || slices.Contains(spec.TargetNamespaces, namespace.GetName()) {
			out = append(out, r.ofNamespace(ctx, &list.Items[i])...)
		}
	}
	return out
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
