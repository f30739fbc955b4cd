// Package clusteroperator reports on the PlatformOperators in the ClusterOperator that the Cluster Version Operator reads.
package clusteroperator

import (
	"context"
	"fmt"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	clusteroperatorstatus "github.com/operator-status/operator-status/internal/status/clusteroperator"
)

const (
	// FieldOwner is the field manager of the ClusterOperator's status.
	FieldOwner = "operator-status"

	// pace is the shortest interval between two writes of the ClusterOperator.
	pace = time.Second
)

// singleton is the ClusterOperator that summarizes the PlatformOperators.
var singleton = types.NamespacedName{Name: platformv1alpha1.ClusterOperatorName}

// Reconciler writes a summary of the PlatformOperators into the status of the ClusterOperator. It never creates the
// ClusterOperator: the Cluster Version Operator does.
type Reconciler struct {
	Client client.Client

	// Live reads from the API server.
	Live client.Reader

	// Cluster returns the state that the ClusterVersion reports: see ReadCluster.
	Cluster func(context.Context) (clusteroperatorstatus.Cluster, error)

	// DegradedInertia is how long a PlatformOperator must have been failing before the ClusterOperator is Degraded.
	DegradedInertia time.Duration

	Now func() time.Time

	clusterOperators client.Reader
	wrote            time.Time                       // losing it costs at most one write
	described        clusteroperatorstatus.Described // as does losing this
}

// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators;clusterversions,verbs=get;list;watch
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators/status,resourceNames=platform-operators,verbs=patch
// +kubebuilder:rbac:groups=platform.openshift.io,resources=platformoperators,verbs=get;list;watch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=get;list;watch

// Reconcile writes the status of the ClusterOperator if it changed. It requeues if the last write was just before.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	now := r.Now()
	if rest := pace - now.Sub(r.wrote); rest > 0 && rest <= pace {
		return reconcile.Result{RequeueAfter: rest}, nil
	}
	co := &configv1.ClusterOperator{}
	if err := r.clusterOperators.Get(ctx, singleton, co); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	in, err := r.inputs(ctx, co, now)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the inputs of ClusterOperator %s: %w", co.Name, err)
	}
	status, lasts := clusteroperatorstatus.Compute(in)
	if !equality.Semantic.DeepEqual(status.Versions, co.Status.Versions) {
		// The cache may be behind the writes of the Cluster Version Operator, which proceeds once it reads the version.
		if in.Operators, err = operators(ctx, r.Live); err != nil {
			return reconcile.Result{}, err
		}
		status, lasts = clusteroperatorstatus.Compute(in)
	}
	return kube.Requeue(reconcile.Result{RequeueAfter: lasts}, r.write(ctx, co, status, in, now))
}

// inputs reads everything that the status depends on.
func (r *Reconciler) inputs(ctx context.Context, co *configv1.ClusterOperator, now time.Time) (clusteroperatorstatus.Inputs, error) {
	all, err := operators(ctx, r.Client)
	if err != nil {
		return clusteroperatorstatus.Inputs{}, err
	}
	cluster, err := r.Cluster(ctx)
	return clusteroperatorstatus.Inputs{
		Current: co.Status, Created: co.CreationTimestamp, Operators: all, Cluster: cluster,
		DegradedInertia: r.DegradedInertia, Described: r.described, Now: metav1.NewTime(now),
	}, err
}

func operators(ctx context.Context, from client.Reader) ([]platformv1alpha1.PlatformOperator, error) {
	list := &platformv1alpha1.PlatformOperatorList{}
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the PlatformOperators: %w", err)
	}
	return list.Items, nil
}

// write writes a status that changed.
func (r *Reconciler) write(ctx context.Context, co *configv1.ClusterOperator, status configv1.ClusterOperatorStatus, in clusteroperatorstatus.Inputs,
	now time.Time) error {
	if equality.Semantic.DeepEqual(status, co.Status) {
		return nil
	}
	out := co.DeepCopy()
	out.Status = status
	if err := kube.PatchStatus(ctx, r.Client, co, out, client.FieldOwner(FieldOwner)); err != nil {
		return err
	}
	r.wrote = now
	if degradedMessage(&status) != degradedMessage(&co.Status) {
		r.described = clusteroperatorstatus.Described{Failing: clusteroperatorstatus.Failing(in), At: now}
	}
	logTransitions(ctx, co.Status, status)
	return nil
}

func degradedMessage(status *configv1.ClusterOperatorStatus) string {
	if i := clusteroperatorstatus.Find(status, configv1.OperatorDegraded); i >= 0 {
		return status.Conditions[i].Message
	}
	return ""
}

// logTransitions logs each condition whose status changed.
func logTransitions(ctx context.Context, before, after configv1.ClusterOperatorStatus) {
	for _, c := range after.Conditions {
		if i := clusteroperatorstatus.Find(&before, c.Type); i < 0 || before.Conditions[i].Status != c.Status {
			log.FromContext(ctx).Info(string(c.Type)+" changed", "status", c.Status, "reason", c.Reason, "message", c.Message)
		}
	}
}

// SetupWithManager enqueues the ClusterOperator when it changes, or a PlatformOperator does in a way that matters to
// it. The CRDs of both kinds must be installed. WatchClusterVersion adds the watch of the ClusterVersion once that kind
// is installed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) (controller.Controller, error) {
	own, err := onlyNamed(mgr, singleton.Name)
	if err != nil {
		return nil, err
	}
	r.clusterOperators = own
	return ctrl.NewControllerManagedBy(mgr).
		Named("clusteroperator").
		WatchesRawSource(source.Kind(own, &configv1.ClusterOperator{}, &handler.TypedEnqueueRequestForObject[*configv1.ClusterOperator]{})).
		Watches(&platformv1alpha1.PlatformOperator{}, handler.EnqueueRequestsFromMapFunc(toSingleton[client.Object]),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: isRelevant})).
		Build(r)
}

// onlyNamed returns a cache of the objects of one name. A cluster has about thirty ClusterOperators, each written
// often, and the manager's cache cannot be restricted by a kind that may not be installed.
func onlyNamed(mgr ctrl.Manager, name string) (cache.Cache, error) {
	out, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:           mgr.GetHTTPClient(),
		Scheme:               mgr.GetScheme(),
		Mapper:               mgr.GetRESTMapper(),
		DefaultFieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name),
		DefaultTransform:     cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("creating the cache of objects named %s: %w", name, err)
	}
	return out, mgr.Add(out)
}

// isRelevant is a predicate that drops updates of a PlatformOperator that Status does not read.
func isRelevant(e event.UpdateEvent) bool {
	before, is := e.ObjectOld.(*platformv1alpha1.PlatformOperator)
	after, are := e.ObjectNew.(*platformv1alpha1.PlatformOperator)
	return !is || !are || !clusteroperatorstatus.Same(before, after)
}

func toSingleton[O any](context.Context, O) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: singleton}}
}
