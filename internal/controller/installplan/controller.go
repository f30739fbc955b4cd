// Package installplan contains the InstallPlan controller. It resolves the CSVs that a plan names into steps, waits
// until the plan is approved and no running operator holds its update, and applies it.
package installplan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/apierror"
	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/catalog"
	"github.com/operator-status/operator-status/internal/catalog/store"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/record"
	"github.com/operator-status/operator-status/internal/resolve"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Catalogs provides bundles. *catalog.Store implements it.
type Catalogs interface {
	// Visible returns the catalogs that a namespace can see, in order of preference.
	Visible(namespace string) []catalog.Catalog

	// VisibleBy returns the catalogs that the operators of an OperatorGroup may come from.
	VisibleBy(group *operatorsv1.OperatorGroup, namespace string) []catalog.Catalog

	// Manifests reads a bundle.
	Manifests(ctx context.Context, catalog types.NamespacedName, bundle *catalog.Bundle) (*store.Manifests, error)
}

// Reconciler reconciles InstallPlans.
type Reconciler struct {
	// Client reads from the cache, which omits the manifests of plans.
	Client client.Client

	// Reader reads from the API server.
	Reader client.Reader

	// As returns a client that impersonates a service account.
	As func(types.NamespacedName) (client.Client, error)

	Catalogs Catalogs

	// Records stores the content of plans that are being applied.
	Records *record.Store

	// Trust determines the identity that plans are applied as.
	Trust apply.Trust

	// Rights enqueues plans that wait for a permission when permissions change.
	Rights *apply.Rights

	// ProbeReader returns the identity of the process that reads custom resources, or gate.NoReader if none does.
	ProbeReader func(context.Context) (string, error)

	Recorder events.EventRecorder
	Now      func() time.Time

	readings   *readings
	queue      workqueue.TypedRateLimitingInterface[reconcile.Request]
	controller controller.Controller
	swept      atomic.Bool
}

// A plan may contain any kind and grant an operator any permission, so installing operators requires all of them, as
// with OLM.
// +kubebuilder:rbac:groups=*,resources=*,verbs=*
// +kubebuilder:rbac:urls=*,verbs=*

// Reconcile advances one InstallPlan as far as possible.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if !r.swept.Swap(true) { // cleans up after the previous process
		if err := r.sweep(ctx); err != nil {
			return reconcile.Result{}, err
		}
	}
	cached := &olm.InstallPlan{}
	if err := r.Client.Get(ctx, request.NamespacedName, cached); apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.sweep(ctx)
	} else if err != nil {
		return reconcile.Result{}, err
	}
	if settled(cached) {
		return reconcile.Result{}, nil
	}
	plan := &olm.InstallPlan{}
	if err := r.Reader.Get(ctx, request.NamespacedName, plan); err != nil || settled(plan) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	result, err := r.advance(ctx, plan)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: soon}, nil // another client has updated the plan
	}
	return result, err
}

// soon is how long the cache may take to catch up.
const soon = 100 * time.Millisecond

// settled reports whether a plan is finished or being deleted.
func settled(plan *olm.InstallPlan) bool {
	return plan.Status.Phase == olm.InstallPlanPhaseComplete || plan.Status.Phase == olm.InstallPlanPhaseFailed ||
		!plan.DeletionTimestamp.IsZero()
}

// advance takes the next steps of a plan: it resolves the plan, evaluates the gate, dry-runs the plan, and applies it.
// Each step is recorded before the next, so that an interrupted plan is resumed.
func (r *Reconciler) advance(ctx context.Context, plan *olm.InstallPlan) (reconcile.Result, error) {
	if plan.Status.Phase == olm.InstallPlanPhaseInstalling {
		resumed, result, err := r.resume(ctx, plan)
		if resumed || err != nil {
			return result, err
		}
		if begun, err := r.begun(ctx, plan); begun || err != nil {
			return reconcile.Result{}, errors.Join(err, r.contentGone(ctx, plan))
		}
	}
	before := plan.Status.DeepCopy()
	p, err := r.propose(ctx, plan)
	if errors.Is(err, errReading) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, errors.Join(err, r.write(ctx, plan, before))
	}
	if p == nil {
		return reconcile.Result{RequeueAfter: retryBundles}, r.write(ctx, plan, before)
	}
	defer p.end()
	again, err := r.approve(ctx, plan, p)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.write(ctx, plan, before); err != nil || plan.Status.Phase != olm.InstallPlanPhaseInstalling {
		return reconcile.Result{RequeueAfter: again}, err
	}
	return r.begin(ctx, plan, p)
}

// retryBundles is how often resolving a plan is retried if no event may trigger it: the image of a bundle may have been
// replaced under the same name.
const retryBundles = 15 * time.Minute

// proposal is what a plan would install, read at one moment.
type proposal struct {
	scope         Scope
	choices       []resolve.Choice
	identity      apply.Identity
	subscriptions []v1alpha1.Subscription

	// content is nil until it is read, and so is release, which must be called when the content is no longer used.
	content *record.Content
	release func()
}

// end releases the content. It may be called on a nil proposal.
func (p *proposal) end() {
	if p != nil && p.release != nil {
		p.release()
	}
}

// propose resolves a plan. If that is not possible, it returns nil and sets the reason in the status. It reads the
// OperatorGroup, which determines what the plan may do, from the API server.
func (r *Reconciler) propose(ctx context.Context, plan *olm.InstallPlan) (*proposal, error) {
	now := metav1.NewTime(r.Now())
	p, problem, err := r.resolve(ctx, plan)
	if problem == nil && err == nil && (len(plan.Status.Plan) == 0 || !plan.Spec.Approved && anotherImage(plan, p.choices)) {
		var steps []*olm.Step
		if steps, problem, err = r.steps(ctx, plan, p); problem == nil && err == nil {
			resolved(&plan.Status, steps, now)
			plan.Status.CatalogSources = sources(steps)
			plan.Status.BundleLookups = lookups(p, now)
			plan.Status.AttenuatedServiceAccountRef = reference(p.identity)
		}
	}
	if problem != nil || err != nil {
		p.end()
	}
	switch {
	case err == nil && problem == nil:
		return p, nil
	case problem == nil:
		return nil, err
	case len(plan.Status.Plan) > 0 && r.unreadYet(plan.Namespace):
		return nil, err // keep the previous resolution until the catalogs have been read
	}
	unresolved(&plan.Status, problem, now)
	return nil, err // err, if any, may be transient
}

// steps returns the steps of a proposal for the status.
func (r *Reconciler) steps(ctx context.Context, plan *olm.InstallPlan, p *proposal) ([]*olm.Step, *condition.Problem, error) {
	if p.content == nil {
		var problem *condition.Problem
		var err error
		if p.content, problem, err = r.content(ctx, plan, p); problem != nil || err != nil {
			return nil, problem, err
		}
	}
	tasks, err := tasksOf(p.content, plan.Name, p.scope)
	if err != nil {
		return nil, &condition.Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: err.Error()}, nil
	}
	steps, problem := stepsOf(tasks)
	return steps, problem, nil
}

func sources(steps []*olm.Step) []string {
	out := []string{} // the field is required
	for _, s := range steps {
		out = append(out, s.Resource.CatalogSource)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lookups returns the bundles of a plan with the digests of their images and their signers.
func lookups(p *proposal, now metav1.Time) []olm.BundleLookup {
	var out []olm.BundleLookup
	for _, c := range p.choices {
		lookup := olm.BundleLookup{
			Path: c.Bundle.Image, Identifier: c.Bundle.Name, Replaces: c.Replaces,
			CatalogSourceRef: &corev1.ObjectReference{Namespace: c.Catalog.Namespace, Name: c.Catalog.Name},
		}
		b := p.content.Bundle(c.Bundle.Name)
		if b.Digest != "" && !strings.Contains(lookup.Path, "@") {
			lookup.Path += "@" + b.Digest
		}
		if b.SignedBy != "" {
			lookup.Conditions = []olm.BundleLookupCondition{{
				Type: v1alpha1.ConditionSignatureVerified, Status: corev1.ConditionTrue, Reason: v1alpha1.ReasonSignatureVerified,
				Message: "Signed by " + b.SignedBy, LastTransitionTime: &now,
			}}
		}
		out = append(out, lookup)
	}
	return out
}

// anotherImage reports whether the catalog now has other images for the bundles of a plan than its status shows.
func anotherImage(plan *olm.InstallPlan, choices []resolve.Choice) bool {
	return !slices.EqualFunc(plan.Status.BundleLookups, choices, func(shown olm.BundleLookup, c resolve.Choice) bool {
		image, _, _ := strings.Cut(shown.Path, "@")
		sameImage := shown.Path == c.Bundle.Image || image == c.Bundle.Image
		return sameImage && shown.Identifier == c.Bundle.Name && shown.Replaces == c.Replaces
	})
}

func reference(i apply.Identity) *corev1.ObjectReference {
	if i.IsManager() {
		return nil
	}
	return &corev1.ObjectReference{Kind: "ServiceAccount", Namespace: i.Namespace, Name: i.Name}
}

// approve decides whether a plan proceeds, and returns when to requeue if no event does. A user's approval does not
// override an operator that holds its update. For that there is an override, which names the allowed version.
func (r *Reconciler) approve(ctx context.Context, plan *olm.InstallPlan, p *proposal) (time.Duration, error) {
	now := metav1.NewTime(r.Now())
	decision, err := r.decide(ctx, plan.Namespace, p.choices)
	if err != nil {
		return 0, err
	}
	held(&plan.Status, decision, now)
	switch {
	case decision.Held:
		return r.untilRead(decision), nil
	case plan.Spec.Approval != olm.ApprovalAutomatic && !plan.Spec.Approved:
		awaiting(&plan.Status, fmt.Sprintf(
			"Waiting for a user to approve: kubectl patch installplan -n %s %s --type merge -p '{\"spec\":{\"approved\":true}}'", plan.Namespace, plan.Name))
		return 0, nil
	}
	if decision.Overridden {
		r.Recorder.Eventf(plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", decision.Message)
	}
	if !plan.Spec.Approved {
		if err := r.setApproved(ctx, plan); err != nil {
			return 0, err
		}
		log.FromContext(ctx).Info("Approved InstallPlan", "installs", plan.Spec.ClusterServiceVersionNames)
	}
	installing(&plan.Status, now)
	return 0, nil
}

// untilRead returns when to evaluate the gate again if it waits for a Probe to be read, which may cause no event.
// Everything else that ends a hold does.
func (r *Reconciler) untilRead(d gate.Decision) time.Duration {
	if d.Reason == v1alpha1.ReasonProbeNotRead {
		return time.Second
	}
	return 0
}

// setApproved approves a plan with the resourceVersion that was evaluated, so that a plan that changed is evaluated
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

// begin dry-runs an approved plan, evaluates the gate a last time, and applies the plan.
func (r *Reconciler) begin(ctx context.Context, plan *olm.InstallPlan, p *proposal) (reconcile.Result, error) {
	before := plan.Status.DeepCopy()
	steps, problem, err := r.steps(ctx, plan, p)
	switch {
	case errors.Is(err, errReading):
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, err
	case problem != nil:
		unresolved(&plan.Status, problem, metav1.NewTime(r.Now()))
		return reconcile.Result{RequeueAfter: retryBundles}, r.write(ctx, plan, before)
	case !sameSteps(steps, plan.Status.Plan):
		if plan.Spec.Approval != olm.ApprovalAutomatic {
			return reconcile.Result{}, r.remake(ctx, plan, v1alpha1.PlanReasonContentChanged,
				"What the plan installs has changed since it was shown for approval")
		}
		resolved(&plan.Status, steps, metav1.NewTime(r.Now()))
		installing(&plan.Status, metav1.NewTime(r.Now()))
	}
	run, err := r.newRun(plan, p.content, p.scope)
	if err != nil {
		return r.conclude(ctx, plan, before, err)
	}
	run.configs = configs(p.subscriptions)
	if err := run.preflight(ctx); err != nil {
		return r.conclude(ctx, plan, before, err)
	}
	decision, err := r.decide(ctx, plan.Namespace, p.choices)
	if err != nil {
		return reconcile.Result{}, err
	}
	if decision.Held {
		held(&plan.Status, decision, metav1.NewTime(r.Now()))
		return reconcile.Result{RequeueAfter: r.untilRead(decision)}, r.write(ctx, plan, before)
	}
	if err := r.Records.KeepContent(ctx, client.ObjectKeyFromObject(plan), plan.UID, p.content); err != nil {
		return reconcile.Result{}, err
	}
	return r.conclude(ctx, plan, before, run.apply(ctx))
}

func configs(subs []v1alpha1.Subscription) map[string]*olm.SubscriptionConfig {
	out := map[string]*olm.SubscriptionConfig{}
	for i := range subs {
		if subs[i].Spec != nil {
			out[subs[i].Name] = subs[i].Spec.Config
		}
	}
	return out
}

// resume continues a plan that is being applied, from its stored content. It reports whether there is any.
func (r *Reconciler) resume(ctx context.Context, plan *olm.InstallPlan) (bool, reconcile.Result, error) {
	source := types.NamespacedName{Namespace: plan.Spec.CatalogSourceNamespace, Name: plan.Spec.CatalogSource}
	release, err := r.readings.reserve(ctx, r.Trust.Trusts(source), resumedSize)
	if err != nil {
		return false, reconcile.Result{}, err
	}
	defer release()
	content, err := r.Records.Content(ctx, client.ObjectKeyFromObject(plan), plan.UID)
	if err != nil || content == nil {
		return false, reconcile.Result{}, err
	}
	result, err := r.goOn(ctx, plan, content)
	return true, result, err
}

// goOn applies the rest of a plan.
func (r *Reconciler) goOn(ctx context.Context, plan *olm.InstallPlan, content *record.Content) (reconcile.Result, error) {
	before := plan.Status.DeepCopy()
	scope, problem, err := r.scope(ctx, plan.Namespace)
	if err == nil && problem != nil {
		err = errors.New(problem.Message)
	}
	if err != nil {
		return r.conclude(ctx, plan, before, err)
	}
	run, err := r.newRun(plan, content, scope)
	if err == nil {
		err = run.apply(ctx)
	}
	return r.conclude(ctx, plan, before, err)
}

// conclude reports the result of applying a plan, and when to try again.
func (r *Reconciler) conclude(ctx context.Context, plan *olm.InstallPlan, before *olm.InstallPlanStatus, err error) (reconcile.Result, error) {
	now := metav1.NewTime(r.Now())
	var refused *refusal
	var changed *identityChanged
	switch {
	case err == nil:
		complete(&plan.Status, now)
		log.FromContext(ctx).Info("Applied InstallPlan", "installs", plan.Spec.ClusterServiceVersionNames)
		if err := r.write(ctx, plan, before); err != nil {
			return reconcile.Result{}, err
		}
		return reconcile.Result{}, r.Records.DropContent(ctx, plan.UID)
	case errors.As(err, &changed):
		return reconcile.Result{}, r.remake(ctx, plan, v1alpha1.PlanReasonIdentityChanged, changed.Error())
	case errors.As(err, &refused):
		failed(&plan.Status, refused.reason, refused.message+written(plan), now)
		return reconcile.Result{}, r.write(ctx, plan, before)
	}
	reason := reasonOf(err)
	retrying(&plan.Status, reason, messageOf(err), now)
	if writeErr := r.write(ctx, plan, before); writeErr != nil || reason == v1alpha1.PlanReasonRetrying {
		return reconcile.Result{}, errors.Join(err, writeErr)
	}
	if err := r.Rights.Watch(r.controller, r.waitingForRights); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: backOff(&plan.Status, now.Time)}, nil
}

// Limits of the backoff for errors that a user has to fix, which grows with the time since they began.
const (
	backOffLeast = time.Second
	backOffMost  = 10 * time.Minute
)

// backOff returns when to retry what lacks a permission, a service account or a quota. The former two enqueue the plan
// when they change; a quota does not.
func backOff(status *olm.InstallPlanStatus, now time.Time) time.Duration {
	c := status.GetCondition(olm.InstallPlanInstalled)
	if c.LastTransitionTime == nil {
		return backOffLeast
	}
	return min(max(now.Sub(c.LastTransitionTime.Time), backOffLeast), backOffMost)
}

// reasonOf returns the reason why a plan is retried.
func reasonOf(err error) string {
	if _, ok := errors.AsType[*noAccount](err); ok {
		return v1alpha1.PlanReasonServiceAccountMissing
	}
	if apierror.Denied(err) {
		return v1alpha1.PlanReasonForbidden
	}
	return v1alpha1.PlanReasonRetrying
}

func messageOf(err error) string {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.Error()
	}
	return apierror.Message(err, maxQuoted)
}

// written names the objects that a failed plan has written.
func written(plan *olm.InstallPlan) string {
	var out []string
	for _, s := range plan.Status.Plan {
		if s.Status == olm.StepStatusPresent {
			out = append(out, s.Resource.Kind+" "+s.Resource.Name)
		}
	}
	if len(out) == 0 {
		return ". Nothing has been written"
	}
	return ". Written so far: " + messages.List(out, maxListed, ", ")
}

// maxListed limits how many objects a message names.
const maxListed = 5

// begun reports whether any CSV of a plan has been written.
func (r *Reconciler) begun(ctx context.Context, plan *olm.InstallPlan) (bool, error) {
	csvs, err := operatorgroup.CSVs(ctx, r.Client, plan.Namespace)
	if err != nil {
		return false, err
	}
	for _, name := range plan.Spec.ClusterServiceVersionNames {
		if csv := csvs[name]; csv != nil && csv.Annotations[v1alpha1.AnnotationInstallPlan] == plan.Name {
			return true, nil
		}
	}
	return false, nil
}

// contentGone fails a plan that was interrupted and whose stored content is lost, so that its remaining steps are
// unknown.
func (r *Reconciler) contentGone(ctx context.Context, plan *olm.InstallPlan) error {
	before := plan.Status.DeepCopy()
	failed(&plan.Status, v1alpha1.PlanReasonContentGone, "What the plan installs was kept in Secrets of the manager's namespace, which have been deleted. "+
		"Not known to be written: "+messages.List(missing(plan.Status.Plan), maxListed, ", "), metav1.NewTime(r.Now()))
	return r.write(ctx, plan, before)
}

// remake replaces a plan that must not continue. A plan of a Subscription is deleted, so that the Subscription creates
// another; a plan that a user created fails.
func (r *Reconciler) remake(ctx context.Context, plan *olm.InstallPlan, reason, message string) error {
	ofSubscription := slices.ContainsFunc(plan.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == v1alpha1.SubscriptionKind })
	if !ofSubscription {
		before := plan.Status.DeepCopy()
		failed(&plan.Status, reason, message, metav1.NewTime(r.Now()))
		return r.write(ctx, plan, before)
	}
	r.Recorder.Eventf(plan, nil, corev1.EventTypeNormal, reason, v1alpha1.EventActionRemake, "%s: it is made again", message)
	log.FromContext(ctx).Info("Deleted InstallPlan to create it again", "reason", reason, "message", message)
	if err := r.Client.Delete(ctx, plan, client.Preconditions{UID: &plan.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting InstallPlan %s: %w", client.ObjectKeyFromObject(plan), err)
	}
	return r.Records.DropContent(ctx, plan.UID)
}

// sweep deletes the stored content of plans that are Complete or no longer exist.
func (r *Reconciler) sweep(ctx context.Context) error {
	list := &olm.InstallPlanList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the InstallPlans: %w", err)
	}
	needed := map[types.UID]bool{}
	for i := range list.Items {
		needed[list.Items[i].UID] = list.Items[i].Status.Phase != olm.InstallPlanPhaseComplete
	}
	return r.Records.SweepContents(ctx, func(plan types.UID) bool { return needed[plan] })
}

// write updates the status if it changed.
func (r *Reconciler) write(ctx context.Context, plan *olm.InstallPlan, before *olm.InstallPlanStatus) error {
	if equality.Semantic.DeepEqual(&plan.Status, before) {
		return nil
	}
	if plan.Status.CatalogSources == nil {
		plan.Status.CatalogSources = []string{} // the field is required
	}
	return r.Client.Status().Update(ctx, plan, FieldOwner)
}
