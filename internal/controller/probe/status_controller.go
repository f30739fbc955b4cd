package probe

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/probepolicy"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
	"github.com/operator-status/operator-status/internal/watch"
)

// StatusReconciler keeps the status of Probes up to date.
type StatusReconciler struct {
	Client client.Client
	Clock  func() time.Time

	Recorder events.EventRecorder

	// OptIns reads the operators' declarations.
	OptIns *optin.Store

	// Identity is the leader election identity of this process. The status of a Probe records it as the reader.
	Identity string

	// Schemas finds comparisons that no custom resource can satisfy.
	Schemas *operand.Schemas

	// Pods runs the readers of Probes with isolation Pod.
	Pods Pods

	// Operators finds the operators that Probes name.
	Operators Operators

	readings *readings

	written        kube.Written
	subscriptions  atomic.Bool // whether Subscriptions are watched
	operatorGroups atomic.Bool // whether OperatorGroups are watched
	blind          sync.Map    // by types.NamespacedName: the Unix time since which the Probe cannot read, as of its last Event
	// watchNamespaces starts the watch on namespaces, when the first Probe depends on them.
	watchNamespaces func() error
	// watchOperators starts the watch on the parts of operators, when the first Probe names one.
	watchOperators func() error
	// watchPods starts the watch on the Deployments of readers, when the first Probe has isolation Pod.
	watchPods func() error

	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewStatusReconciler returns a StatusReconciler that reads custom resources through reader.
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

// HideForeignNames makes the status count custom resources outside a Probe's namespace without naming them. Call it
// before the reconciler starts.
func (r *StatusReconciler) HideForeignNames() { r.readings.ownFirst = true }

// coalesce delays the reconcile after a change of counts only, to cover further changes.
const coalesce = 500 * time.Millisecond

// concurrency is how many Probes are reconciled at once. Those that change together should not wait for one another.
const concurrency = 4

// notify enqueues a Probe: at once if urgent, otherwise after coalesce.
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

// Reconcile updates the status of a Probe if it changed.
func (r *StatusReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	probe := &v1alpha1.Probe{}
	if err := r.Client.Get(ctx, request.NamespacedName, probe); err != nil {
		if apierrors.IsNotFound(err) {
			r.blind.Delete(request.NamespacedName)
			_, _, err = r.readings.keep(request.NamespacedName, nil)
		}
		return reconcile.Result{}, err
	}
	if r.written.Behind(probe) {
		return reconcile.Result{}, nil
	}
	var left *probestatus.Pod
	if !probe.IsIsolated() {
		var err error
		if left, err = r.removePod(ctx, probe); err != nil {
			return kube.Requeue(reconcile.Result{}, err)
		}
	}
	if probe.IsIsolated() || !isManaged(probe) {
		if _, _, err := r.readings.keep(request.NamespacedName, nil); err != nil || !isManaged(probe) {
			return reconcile.Result{}, err
		}
		return r.isolate(ctx, probe)
	}
	in, err := r.read(ctx, probe)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of Probe %s: %w", request, err)
	}
	if pending(in) {
		return reconcile.Result{}, nil
	}
	in.Pod = left
	status := probestatus.Compute(in)
	r.reportReadFailure(probe, status, in.Now.Time)
	result, err := r.write(ctx, probe, status, in.Now.Time)
	if left != nil {
		result.RequeueAfter = podRetry
	}
	return kube.Requeue(result, err)
}

// isManaged reports whether operator-status writes the status of a Probe. If spec.manager is Operator, the operator does.
func isManaged(probe *v1alpha1.Probe) bool {
	return probe.Spec != nil && probe.Spec.Manager != v1alpha1.ManagerOperator
}

// pending reports whether to keep the status for now: the spec is about to change, or the status was already computed
// for this spec and some custom resources are being read again. A hold is reported at once.
func pending(in probestatus.Inputs) bool {
	if in.Outdated {
		return true
	}
	if in.Probe.Status.ObservedGeneration != in.Probe.Generation || !probestatus.Known(&in.Probe.Status, v1alpha1.ConditionSynced) {
		return false
	}
	some := func(is func(probestatus.Read) bool) bool {
		return slices.ContainsFunc(in.Resources, func(r probestatus.Resource) bool { return slices.ContainsFunc(r.Read, is) })
	}
	if !meta.IsStatusConditionFalse(in.Probe.Status.Conditions, v1alpha1.ConditionUpgradeable) && some(func(s probestatus.Read) bool { return s.Blocking > 0 }) {
		return false
	}
	return some(func(s probestatus.Read) bool { return !s.Filled && s.Err == nil })
}

// read gathers everything that the status depends on.
func (r *StatusReconciler) read(ctx context.Context, probe *v1alpha1.Probe) (probestatus.Inputs, error) {
	in, plan, err := r.prepare(ctx, probe)
	if err != nil {
		return in, err
	}
	key, wanted := client.ObjectKeyFromObject(probe), plan.wanted()
	if problem := r.readings.exceedsBudget(key, len(wanted)); problem != nil {
		plan, wanted = plan.unread(*problem), nil
	}
	subs, refused, err := r.readings.keep(key, wanted)
	if err != nil {
		return in, err
	}
	in.Resources = plan.resources(subs, refused)
	return in, nil
}

// prepare gathers everything that the status depends on, except the custom resources, and how to read those.
func (r *StatusReconciler) prepare(ctx context.Context, probe *v1alpha1.Probe) (probestatus.Inputs, plan, error) {
	in := probestatus.Inputs{Probe: probe, Reader: r.Identity, HideForeign: r.readings.ownFirst, Now: metav1.NewTime(r.Clock())}
	csv, owner, err := r.owner(ctx, &in)
	if err != nil {
		return in, nil, err
	}
	named, err := r.targets(ctx, probe, csv)
	if err != nil {
		return in, nil, err
	}
	in.Targets = operatorgroup.Hash(named)
	targets, err := r.splitByExistence(ctx, probe, named)
	if err != nil {
		return in, nil, err
	}
	if problem := missingNamespaces(targets.missing); problem != nil {
		in.Problems = append(in.Problems, *problem)
	}
	plan, err := r.plan(ctx, probe, owner, targets)
	return in, plan, err
}

// owner reads the operator that a Probe is about, and its own reports. The ClusterServiceVersion is nil if the Probe names another
// operator, or if it does not exist.
func (r *StatusReconciler) owner(ctx context.Context, in *probestatus.Inputs) (*v1alpha1.ClusterServiceVersion, operand.Owner, error) {
	if of, ok := holdv1alpha1.ProbedOperator(in.Probe); ok {
		owner, err := r.named(ctx, of, in)
		return nil, owner, err
	}
	key := client.ObjectKeyFromObject(in.Probe)
	csv, err := csvOf(ctx, r.Client, key)
	if err != nil {
		return nil, operand.Owner{}, err
	}
	if csv == nil {
		if in.OperatorNotFound, err = operatorNotFound(ctx, r.Client, key); err != nil {
			return nil, operand.Owner{}, err
		}
	}
	if err = r.annotations(ctx, csv, in); err != nil {
		return nil, operand.Owner{}, err
	}
	if in.GateConflict, err = r.gateConflict(ctx, key); err != nil {
		return nil, operand.Owner{}, err
	}
	in.Held, err = r.held(ctx, key)
	return csv, operand.OwnerByCSV(in.Probe, csv), err
}

// named reads the operator that a Probe names.
func (r *StatusReconciler) named(ctx context.Context, of holdv1alpha1.OperatorReference, in *probestatus.Inputs) (operand.Owner, error) {
	out := operand.Owner{Description: of.String()}
	if err := r.watchOperators(); err != nil {
		return out, fmt.Errorf("watching workloads: %w", err)
	}
	installed, err := r.Operators.Find(ctx, of)
	switch {
	case err != nil:
		return out, fmt.Errorf("reading %s: %w", of, err)
	case installed == nil:
		in.OperatorNotFound = fmt.Sprintf("No version of the operator of %s has run, which this Probe names", of)
	default:
		out.Exists, out.Accounts = true, installed.Accounts
		in.Version = installed.Version
	}
	return out, r.reannotated(ctx, in)
}

// reannotated reads the state of the annotations behind the Probe of an operator without ClusterServiceVersion: the problems with them,
// and whether they have changed while it does not allow updates.
func (r *StatusReconciler) reannotated(ctx context.Context, in *probestatus.Inputs) error {
	if !in.Probe.IsGenerated() {
		return nil
	}
	var crds []*apiextensions.CustomResourceDefinition
	for _, name := range in.Probe.AnnotatedCRDs() {
		crd, absent, err := operand.FindCRD(ctx, r.Client, name)
		if err != nil {
			return err
		}
		if absent == nil {
			crds = append(crds, crd)
		}
	}
	_, in.Problems = annotations.Resources(crds)
	found := annotations.Differences(in.Probe.Spec.ProbeResources, crds)
	if len(found) > 0 && !probepolicy.Allows(in.Probe) {
		in.AnnotationsDiffer = fmt.Sprintf("Annotations have changed: %s. The Probe keeps the former ones, too, while it does not allow updates. "+
			"To use only the current ones: kubectl delete probes.operators.coreos.com -n %s %s",
			messages.List(found, mostDifferences, "; "), in.Probe.Namespace, in.Probe.Name)
	}
	return nil
}

// mostDifferences limits the differences in a message.
const mostDifferences = 5

// annotations reads the state of the annotations and policies behind a Probe's spec: the problems with them, whether the spec is
// outdated, and whether the annotations of the CustomResourceDefinitions differ from the operator's declaration.
func (r *StatusReconciler) annotations(ctx context.Context, csv *v1alpha1.ClusterServiceVersion, in *probestatus.Inputs) error {
	if csv == nil || !in.Probe.IsGenerated() {
		return nil
	}
	others, err := siblings(ctx, r.Client, csv.Namespace)
	if err != nil || csvchain.BeingReplaced(csv, others) {
		return err
	}
	crds, err := annotations.CRDs(ctx, r.Client, csv)
	if err != nil {
		return err
	}
	record, err := r.OptIns.Get(ctx, client.ObjectKeyFromObject(csv))
	if err != nil {
		return err
	}
	policies, err := annotations.Policies(ctx, r.Client)
	if err != nil {
		return err
	}
	var annotated []v1alpha1.ProbeResource
	if record != nil {
		annotated, in.AnnotationsDiffer = record.Resources, r.differences(csv, record, crds)
	} else if now, problems := annotations.Probe(csv, crds); now != nil {
		annotated, in.Problems = now.Spec.ProbeResources, problems
	}
	desired, err := annotations.Declare(ctx, r.Client, csv, annotated, policies)
	if err != nil {
		return err
	}
	in.Outdated = (desired.OptedIn || record != nil) && !equality.Semantic.DeepEqual(desired.Own, in.Probe.Spec.ProbeResources)
	return nil
}

// differences returns how the annotations of CustomResourceDefinitions differ from their operator's declaration, or empty.
func (r *StatusReconciler) differences(csv *v1alpha1.ClusterServiceVersion, record *optin.OptIn, crds []*apiextensions.CustomResourceDefinition) string {
	found := annotations.Differences(record.Resources, crds)
	if len(found) == 0 {
		return ""
	}
	return fmt.Sprintf("Annotations have changed since %s was installed: %s. Its Probe keeps the annotations from the installation. "+
		"To use the current ones: kubectl delete configmap -n %s %s",
		csv.Name, messages.List(found, mostDifferences, "; "), r.OptIns.Namespace, optin.Name(record.Of))
}

// gateConflict returns a message if the operator sets Upgradeable in its OperatorCondition itself, otherwise "".
func (r *StatusReconciler) gateConflict(ctx context.Context, key types.NamespacedName) (string, error) {
	if served, err := operand.IsServed(ctx, r.Client, operatorConditionCRD, operatorsv2.GroupVersion.Version); err != nil || !served {
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
	return fmt.Sprintf("The operator sets Upgradeable=%s (%s) in OperatorCondition %s itself, which overrides this Probe",
		c.Status, c.Reason, condition.Name), nil
}

const operatorConditionCRD = "operatorconditions.operators.coreos.com"

// write updates the status if it changed. While custom resources cannot be read it requeues the Probe, after a delay
// that grows with the time this has lasted.
func (r *StatusReconciler) write(ctx context.Context, probe *v1alpha1.Probe, status v1alpha1.ProbeStatus, now time.Time) (reconcile.Result, error) {
	result := reconcile.Result{RequeueAfter: kube.Sooner(retryAfter(status, now), probestatus.AllowsIn(probe.Spec, status, now))}
	if equality.Semantic.DeepEqual(status, probe.Status) {
		return result, nil
	}
	logTransition(ctx, probe, status)
	r.reportDifferences(probe, status)
	r.reportYield(probe, status)
	out := probe.DeepCopy()
	out.Status = status
	if err := kube.UpdateStatus(ctx, r.Client, out, client.FieldOwner(FieldOwner)); err != nil {
		return result, err
	}
	r.written.Note(out)
	return result, nil
}

// reportDifferences emits an Event when AnnotationsDiffer becomes True or its message changes.
func (r *StatusReconciler) reportDifferences(probe *v1alpha1.Probe, status v1alpha1.ProbeStatus) {
	before := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionAnnotationsDiffer)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAnnotationsDiffer)
	if after != nil && (before == nil || before.Message != after.Message) {
		r.Recorder.Eventf(probe, nil, corev1.EventTypeWarning, v1alpha1.EventAnnotationsDiffer, v1alpha1.EventActionRead, "%s", after.Message)
	}
}

// reportYield emits an Event when a Probe begins to allow an update that custom resources hold.
func (r *StatusReconciler) reportYield(probe *v1alpha1.Probe, status v1alpha1.ProbeStatus) {
	before := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionUpgradeable)
	if after != nil && after.Reason == v1alpha1.ReasonYielded && (before == nil || before.Reason != after.Reason) {
		r.Recorder.Eventf(probe, nil, corev1.EventTypeWarning, v1alpha1.EventProbeYielded, v1alpha1.EventActionRelease, "%s", after.Message)
	}
}

// readFailureDelay is how long a missing permission or service account may prevent reading before an Event reports it.
const readFailureDelay = 10 * time.Minute

// reportReadFailure emits one Event each time a Probe has been unable to read for readFailureDelay.
func (r *StatusReconciler) reportReadFailure(probe *v1alpha1.Probe, status v1alpha1.ProbeStatus, now time.Time) {
	c := readFailure(status)
	if c == nil || now.Sub(c.LastTransitionTime.Time) < readFailureDelay {
		return
	}
	since, loaded := r.blind.Swap(client.ObjectKeyFromObject(probe), c.LastTransitionTime.Unix())
	if !loaded || since != c.LastTransitionTime.Unix() {
		r.Recorder.Eventf(probe, nil, corev1.EventTypeWarning, v1alpha1.EventProbeBlind, v1alpha1.EventActionRead, "%s", c.Message)
	}
}

// readFailure returns the condition Synced of a Probe that lacks a permission or service account, otherwise nil.
func readFailure(status v1alpha1.ProbeStatus) *metav1.Condition {
	c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonForbidden && c.Reason != v1alpha1.ReasonNoIdentity {
		return nil
	}
	return c
}

// retryAfter returns the delay before requeueing a Probe that cannot read. Zero means never. For a missing permission
// it is as long as the problem has lasted, between a second and half a minute. A new service account enqueues the
// Probe, so a missing one only requeues it for the Event.
func retryAfter(status v1alpha1.ProbeStatus, now time.Time) time.Duration {
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionSynced); c != nil &&
		(c.Reason == v1alpha1.ReasonTooManyWatches || c.Reason == v1alpha1.ReasonTooManyConditions) {
		return time.Minute // another Probe may have freed some, which enqueues nothing
	}
	c := readFailure(status)
	if c == nil {
		return probestatus.FailsIn(status, now)
	}
	lasted := now.Sub(c.LastTransitionTime.Time)
	if c.Reason == v1alpha1.ReasonNoIdentity {
		return max(0, readFailureDelay-lasted)
	}
	return min(max(lasted, time.Second), 30*time.Second)
}

// logTransition logs a change of the status of Upgradeable.
func logTransition(ctx context.Context, probe *v1alpha1.Probe, status v1alpha1.ProbeStatus) {
	before := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionUpgradeable)
	after := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionUpgradeable)
	if before == nil || before.Status != after.Status {
		log.FromContext(ctx).Info("Upgradeable changed", "status", after.Status, "reason", after.Reason, "message", after.Message)
	}
}

// SetupWithManager enqueues a Probe when it, a CustomResourceDefinition that it names, or a service account in its
// namespace changes, and when the conditions of its custom resources change the status. Kinds that only exist with OLM
// are watched through the returned controller once they are installed.
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
	r.watchPods = sync.OnceValue(func() error { return r.Pods.watch(mgr, c) })
	r.watchOperators = sync.OnceValue(func() error { return r.watchParts(c) })
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	r.watchNamespaces = sync.OnceValue(func() error {
		return c.Watch(source.Kind[client.Object](mgr.GetCache(), namespace, handler.EnqueueRequestsFromMapFunc(r.targeting)))
	})
	return c, nil
}

// WatchOperatorGroups enqueues the Probes of a namespace when its OperatorGroup changes. Call it once that kind is
// installed.
func (r *StatusReconciler) WatchOperatorGroups(mgr ctrl.Manager, c controller.Controller) error {
	err := c.Watch(source.Kind[client.Object](mgr.GetCache(), &operatorsv1.OperatorGroup{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace)))
	r.operatorGroups.Store(err == nil)
	return err
}

// targeting returns requests for the Probes that name a namespace, and for those whose OperatorGroup names it or
// selects namespaces by label.
func (r *StatusReconciler) targeting(ctx context.Context, namespace client.Object) []reconcile.Request {
	out := probeRequests(ctx, r.Client, client.MatchingFields{IndexNamespace: namespace.GetName()})
	if !r.operatorGroups.Load() {
		return out
	}
	list := &operatorsv1.OperatorGroupList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the OperatorGroups that may select a namespace")
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

// namingCRD returns requests for the Probes that name a CustomResourceDefinition or its group.
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
	return kube.EnqueueListed[*v1alpha1.Probe](ctx, c, &v1alpha1.ProbeList{}, nil, options...)
}
