// Package installplan is the loop of InstallPlans: it resolves what they name into steps, waits until they are approved
// and no running operator holds its update, and applies them.
package installplan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/catalog"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
	"github.com/operator-status/operator-status/internal/refusal"
	"github.com/operator-status/operator-status/internal/subscription"
)

// Catalogs offer bundles: a *catalog.Store.
type Catalogs interface {
	// Visible are the catalogs that a namespace can see, in order of preference.
	Visible(namespace string) []catalog.Catalog

	// Objects are those of a bundle.
	Objects(ctx context.Context, catalog types.NamespacedName, bundle *catalog.Bundle) ([]*unstructured.Unstructured, error)
}

// Reconciler moves InstallPlans along.
type Reconciler struct {
	// Client reads from the cache, in which plans have no manifests.
	Client client.Client

	// Reader reads live.
	Reader client.Reader

	// As is a client that acts as a service account.
	As func(types.NamespacedName) (client.Client, error)

	Catalogs Catalogs

	// Vouchers are told of what is installed.
	Vouchers *Vouchers

	// GlobalNamespace holds the catalogs that every namespace can see, and that are trusted with the cluster.
	GlobalNamespace string

	// Judged is false while a Probe's status may be from before this process began.
	Judged func(*v1alpha1.Probe) bool

	Recorder events.EventRecorder
	Now      func() time.Time
}

// A plan may hold any kind, and grant an operator any right: so installing operators takes them all, as with OLM.
// +kubebuilder:rbac:groups=*,resources=*,verbs=*
// +kubebuilder:rbac:urls=*,verbs=*

// Reconcile moves one InstallPlan as far as it goes.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	cached := &olm.InstallPlan{}
	if err := r.Client.Get(ctx, request.NamespacedName, cached); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if settled(cached) {
		return reconcile.Result{}, nil
	}
	plan := &olm.InstallPlan{}
	if err := r.Reader.Get(ctx, request.NamespacedName, plan); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.advance(ctx, plan)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Millisecond}, nil // someone wrote to it meanwhile: look again
	}
	return result, err
}

// settled is true for a plan in which nothing happens any more.
func settled(plan *olm.InstallPlan) bool {
	return plan.Status.Phase == olm.InstallPlanPhaseComplete || plan.Status.Phase == olm.InstallPlanPhaseFailed ||
		!plan.DeletionTimestamp.IsZero()
}

// advance goes through the states: resolve, wait for approval, install. What is decided is written before it is acted
// upon, so that a plan that is cut off goes on where it was.
func (r *Reconciler) advance(ctx context.Context, plan *olm.InstallPlan) (reconcile.Result, error) {
	if settled(plan) {
		return reconcile.Result{}, nil
	}
	before := plan.Status.DeepCopy()
	var group *operatorsv1.OperatorGroup
	var err error
	if len(plan.Status.Plan) == 0 {
		group, err = r.resolve(ctx, plan)
		if err != nil {
			return reconcile.Result{}, errors.Join(err, r.write(ctx, plan, before))
		}
		if plan.Status.Phase == olm.InstallPlanPhasePlanning {
			return reconcile.Result{RequeueAfter: lookAgainAtBundles}, r.write(ctx, plan, before)
		}
	}
	var result reconcile.Result
	if plan.Status.Phase != olm.InstallPlanPhaseInstalling {
		if result, err = r.approve(ctx, plan); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.write(ctx, plan, before); err != nil || plan.Status.Phase != olm.InstallPlanPhaseInstalling {
		return result, err
	}
	return reconcile.Result{}, r.install(ctx, plan, group)
}

// lookAgainAtBundles is how often to look whether a plan can be resolved by now, though nothing told of it: the image of a
// bundle may have been mended in its place.
const lookAgainAtBundles = 15 * time.Minute

// resolve finds the steps of a plan, and says so where there are none to be had. The OperatorGroup is read live, since it
// says what the plan may do.
func (r *Reconciler) resolve(ctx context.Context, plan *olm.InstallPlan) (*operatorsv1.OperatorGroup, error) {
	now := metav1.NewTime(r.Now())
	group, problem, err := surroundings.Group(ctx, r.Reader, plan.Namespace)
	if err != nil {
		return nil, err
	}
	var steps []*olm.Step
	if problem == nil {
		var targets []string
		if targets, err = surroundings.Targets(ctx, r.Client, group); err != nil {
			return nil, err
		}
		steps, problem, err = r.steps(ctx, plan, Scope{group, targets})
	}
	if problem != nil {
		unresolved(&plan.Status, problem, now)
		return nil, err // so that what may pass is tried again
	}
	if err != nil {
		return nil, err
	}
	resolved(&plan.Status, steps, now)
	plan.Status.CatalogSources = sources(steps)
	if group.Spec.ServiceAccountName != "" {
		plan.Status.AttenuatedServiceAccountRef = &corev1.ObjectReference{Kind: "ServiceAccount", Namespace: plan.Namespace, Name: group.Spec.ServiceAccountName}
	}
	return group, nil
}

func sources(steps []*olm.Step) []string {
	out := []string{} // the field is required
	for _, s := range steps {
		out = append(out, s.Resource.CatalogSource)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// approve decides whether a plan goes on. A person's approval does not overrule an operator that holds its update: for
// that there is an override, which names what it allows.
func (r *Reconciler) approve(ctx context.Context, plan *olm.InstallPlan) (reconcile.Result, error) {
	now := metav1.NewTime(r.Now())
	hold, err := r.hold(ctx, plan)
	if err != nil {
		return reconcile.Result{}, err
	}
	held(&plan.Status, hold, now)
	switch {
	case hold.Holds():
		return reconcile.Result{RequeueAfter: r.lookAgain(hold)}, nil
	case plan.Spec.Approval != olm.ApprovalAutomatic && !plan.Spec.Approved:
		awaiting(&plan.Status, fmt.Sprintf(
			"Waiting for a person to approve: kubectl patch installplan -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'", plan.Namespace, plan.Name))
		return reconcile.Result{}, nil
	}
	if hold != nil {
		r.Recorder.Eventf(plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", hold.Message)
	}
	if !plan.Spec.Approved {
		if err := r.setApproved(ctx, plan); err != nil {
			return reconcile.Result{}, err
		}
	}
	log.FromContext(ctx).Info("Approved an InstallPlan", "installs", plan.Spec.ClusterServiceVersionNames)
	installing(&plan.Status, now)
	return reconcile.Result{}, nil
}

// lookAgain is when to ask again whether a Probe has been read, which changes nothing that we would be told of. What
// else ends a hold, we are.
func (r *Reconciler) lookAgain(hold *subscription.Hold) time.Duration {
	if hold.Reason == v1alpha1.ReasonProbeNotRead {
		return time.Second
	}
	return 0
}

// setApproved approves the plan as it was judged: with its resourceVersion, so that what changed meanwhile is judged
// again.
func (r *Reconciler) setApproved(ctx context.Context, plan *olm.InstallPlan) error {
	out := plan.DeepCopy()
	out.Spec.Approved = true
	if err := r.Client.Update(ctx, out, FieldOwner); err != nil {
		return err
	}
	plan.ResourceVersion, plan.Generation, plan.Spec = out.ResourceVersion, out.Generation, out.Spec
	return nil
}

// write writes a status that changed.
func (r *Reconciler) write(ctx context.Context, plan *olm.InstallPlan, before *olm.InstallPlanStatus) error {
	if plan.Status.CatalogSources == nil {
		plan.Status.CatalogSources = []string{} // the field is required
	}
	if equality.Semantic.DeepEqual(before, &plan.Status) {
		return nil
	}
	out := plan.DeepCopy()
	if err := r.Client.Status().Update(ctx, out, FieldOwner); err != nil {
		return err
	}
	plan.ResourceVersion = out.ResourceVersion
	return nil
}

// install applies the steps and writes how that went.
func (r *Reconciler) install(ctx context.Context, plan *olm.InstallPlan, group *operatorsv1.OperatorGroup) error {
	before := plan.Status.DeepCopy()
	err := r.apply(ctx, plan, group)
	now := metav1.NewTime(r.Now())
	var rejected *rejection
	switch {
	case err == nil:
		complete(&plan.Status, now)
		log.FromContext(ctx).Info("Applied an InstallPlan", "installs", plan.Spec.ClusterServiceVersionNames)
	case errors.As(err, &rejected):
		failed(&plan.Status, rejected.reason, rejected.message, now)
		err = nil
	default:
		retrying(&plan.Status, reasonOf(err), messageOf(err), now)
	}
	return errors.Join(err, r.write(ctx, plan, before))
}

// reasonOf says why a plan is tried again.
func reasonOf(err error) string {
	if _, ok := errors.AsType[*noAccount](err); ok {
		return v1alpha1.PlanReasonServiceAccountMissing
	}
	return v1alpha1.PlanReasonRetrying
}

func messageOf(err error) string {
	if p, ok := errors.AsType[*passing](err); ok {
		return p.Error()
	}
	return refusal.Words(err, maxQuoted)
}

// noAccount says that the service account is not there, as which a plan is to run.
type noAccount struct{ error }

// apply runs the steps as whom the OperatorGroup says.
func (r *Reconciler) apply(ctx context.Context, plan *olm.InstallPlan, group *operatorsv1.OperatorGroup) error {
	if group == nil {
		var problem *resolve.Problem
		var err error
		if group, problem, err = surroundings.Group(ctx, r.Reader, plan.Namespace); err != nil {
			return err
		} else if problem != nil {
			return errors.New(problem.Message)
		}
	}
	as := r.Client
	if name := group.Spec.ServiceAccountName; name != "" {
		var err error
		if as, err = r.As(types.NamespacedName{Namespace: plan.Namespace, Name: name}); err != nil {
			return &noAccount{err}
		}
	}
	return (&run{as: as, reader: r.Reader, vouchers: r.Vouchers, plan: plan}).all(ctx)
}
