package installplan

import (
	"context"
	"errors"
	"fmt"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/status/condition"
	installplanstatus "github.com/operator-status/operator-status/internal/status/installplan"
)

// attempt is one reconcile of a plan.
type attempt struct {
	r *Reconciler
	facts

	proposal   proposal
	resolution *installplanstatus.Resolution // nil if the status has it
	run        *run                          // nil until the content is prepared to be applied
	decided    time.Time                     // when the decision was true, or zero if the plan did not begin then
	asked      bool                          // whether it had anything to decide
	transient  error                         // with a problem: another attempt may not have it
}

// act returns the method of an action that does not end a reconcile, or nil.
func (a *attempt) act(do action) func(context.Context) error {
	switch do {
	case readStored:
		return a.readStored
	case resume:
		return a.resume
	case resolvePlan:
		return a.resolve
	case evaluate, evaluateKept:
		return a.evaluate
	case approve:
		return a.approve
	case readBundles:
		return a.readBundles
	case dryRun:
		return a.dryRun
	case storeContent:
		return a.store
	case applyContent:
		return a.apply
	case begin, rest, reportProblem, waitForRelease, recreate, retry, fail, finish:
	}
	return nil
}

// end returns the method of an action that ends a reconcile, or nil.
func (a *attempt) end(do action) func(context.Context) (reconcile.Result, error) {
	switch do {
	case rest:
		return a.rest
	case reportProblem:
		return a.reportProblem
	case waitForRelease:
		return a.wait
	case recreate:
		return a.recreate
	case retry:
		return a.retry
	case fail:
		return a.fail
	case finish:
		return a.finish
	case begin, readStored, resume, resolvePlan, evaluate, evaluateKept, approve, readBundles, dryRun, storeContent, applyContent:
	}
	return nil
}

// debug logs a message together with the facts that are set.
func (a *attempt) debug(ctx context.Context, message string, keysAndValues ...any) {
	if logger := log.FromContext(ctx).V(1); logger.Enabled() {
		logger.Info(message, append(keysAndValues, a.logValues()...)...)
	}
}

func (a *attempt) key() types.NamespacedName { return client.ObjectKeyFromObject(a.plan) }

// release releases the content.
func (a *attempt) release() {
	if a.proposal.release != nil {
		a.proposal.release()
	}
}

// write updates the status if it changed.
func (a *attempt) write(ctx context.Context, after action) error {
	in := installplanstatus.Inputs{
		Plan: a.plan, Problem: a.problem, Resolution: a.resolution, Gate: a.gate, Result: a.result(after), Now: metav1.NewTime(a.r.Now()),
	}
	if a.run != nil {
		in.Written = a.run.written
	}
	status := installplanstatus.Compute(in)
	a.resolution = nil
	if equality.Semantic.DeepEqual(status, a.plan.Status) {
		log.FromContext(ctx).V(2).Info("Skipping the status update, since nothing changed", "action", after)
		return nil
	}
	a.plan.Status = status
	return kube.UpdateStatus(ctx, a.r.Client, a.plan, FieldOwner)
}

// readStored reads the stored content of a plan that is being applied. If that is missing, it finds out whether any
// CSV of the plan has been written.
func (a *attempt) readStored(ctx context.Context) error {
	source := types.NamespacedName{Namespace: a.plan.Spec.CatalogSourceNamespace, Name: a.plan.Spec.CatalogSource}
	release, err := a.r.readings.reserve(ctx, a.r.Trust.Trusts(source), resumedSize)
	if err != nil {
		return err
	}
	content, err := a.r.Records.Content(ctx, a.key(), a.plan.UID)
	if content != nil && err == nil {
		a.stored, a.proposal.content, a.proposal.release = kept, content, release
		a.begun, err = a.r.hasBegun(ctx, a.plan.Namespace, a.plan.Name, a.plan.Spec.ClusterServiceVersionNames)
		return err
	}
	release()
	if err != nil {
		return err
	}
	csvs, err := operatorgroup.CSVs(ctx, a.r.Client, a.plan.Namespace)
	for _, name := range a.plan.Spec.ClusterServiceVersionNames {
		if csv := csvs[name]; csv != nil && csv.Annotations[v1alpha1.AnnotationInstallPlan] == a.plan.Name {
			a.stored = lost
		}
	}
	return err
}

func (a *attempt) resume(ctx context.Context) error {
	scope, problem, err := a.r.scope(ctx, a.plan.Namespace)
	if err == nil && problem != nil {
		err = errors.New(problem.Message)
	}
	if err == nil {
		a.run, err = a.r.newRun(a.plan, a.proposal.content, scope)
	}
	a.err = err
	return nil
}

// resolve resolves the plan's bundles. It reads the OperatorGroup, which determines the plan's targets and identity,
// from the API server.
func (a *attempt) resolve(ctx context.Context) error {
	problem, err := a.r.resolve(ctx, a.plan, &a.proposal)
	if problem == nil && err == nil && (len(a.plan.Status.Plan) == 0 || !a.plan.Spec.Approved && anotherImage(a.plan, a.proposal.choices)) {
		var steps []*olm.Step
		if steps, problem, err = a.r.steps(ctx, a.plan, &a.proposal); problem == nil && err == nil {
			a.resolution = a.proposal.resolution(steps)
		}
	}
	if problem == nil {
		return err
	}
	a.problem, a.transient, a.unread = problem, err, a.r.unreadYet(a.plan.Namespace)
	return nil
}

// evaluate evaluates the gate. A user's approval does not override an operator that holds its update. Only the
// override does, which names the allowed version.
func (a *attempt) evaluate(ctx context.Context) error {
	decision, err := a.r.decide(ctx, a.plan.Namespace, &a.proposal, installplanstatus.Approved(a.plan))
	if err != nil {
		return err
	}
	if a.gate == nil || decision.Held { // the decision that the plan was approved with stays
		a.gate = &decision.Decision
	}
	a.decided, a.asked = decision.at, decision.asked
	return nil
}

// approve approves a plan with the resourceVersion that was evaluated, so a plan that changed is evaluated again.
func (a *attempt) approve(ctx context.Context) error {
	if a.gate.Overridden {
		a.r.Recorder.Eventf(a.plan, nil, corev1.EventTypeWarning, v1alpha1.EventUpgradeOverridden, v1alpha1.EventActionApprove, "%s", a.gate.Message)
	}
	if !a.plan.Spec.Approved {
		out := a.plan.DeepCopy()
		out.Spec.Approved = true
		if err := a.r.Client.Update(ctx, out, FieldOwner); err != nil {
			return err
		}
		a.plan.ResourceVersion, a.plan.Generation, a.plan.Spec = out.ResourceVersion, out.Generation, out.Spec
		log.FromContext(ctx).Info("Approved InstallPlan", "installs", a.plan.Spec.ClusterServiceVersionNames)
	}
	return a.write(ctx, approve)
}

func (a *attempt) readBundles(ctx context.Context) error {
	steps, problem, err := a.r.steps(ctx, a.plan, &a.proposal)
	if err != nil {
		return err
	}
	a.problem, a.changed = problem, problem == nil && !sameSteps(steps, a.plan.Status.Plan)
	if a.changed && a.plan.Spec.Approval == olm.ApprovalAutomatic {
		a.resolution = a.proposal.resolution(steps)
	}
	return nil
}

func (a *attempt) dryRun(ctx context.Context) error {
	if a.run, a.err = a.r.newRun(a.plan, a.proposal.content, a.proposal.scope); a.err != nil {
		return nil
	}
	var err error
	if a.run.configs, err = a.r.configs(ctx, a.proposal.subscriptions); err != nil {
		return err
	}
	a.err = a.run.preflight(ctx)
	return nil
}

func (a *attempt) store(ctx context.Context) error {
	return a.r.Records.KeepContent(ctx, a.key(), a.plan.UID, a.proposal.content)
}

func (a *attempt) apply(ctx context.Context) error {
	if !a.begun {
		a.run.confirm = a.confirm
	}
	a.err = a.run.apply(ctx)
	return nil
}

// retryBundles is how often resolving a plan is retried if no event may trigger it: the image of a bundle may have been
// replaced under the same name.
const retryBundles = 15 * time.Minute

func (a *attempt) rest(context.Context) (reconcile.Result, error) {
	if a.transient != nil {
		return reconcile.Result{}, a.transient
	}
	return reconcile.Result{RequeueAfter: retryBundles}, nil
}

func (a *attempt) reportProblem(ctx context.Context) (reconcile.Result, error) {
	if err := a.write(ctx, reportProblem); err != nil {
		return reconcile.Result{}, errors.Join(a.transient, err)
	}
	return a.rest(ctx)
}

// wait requeues the plan if its hold may end without an event.
func (a *attempt) wait(ctx context.Context) (reconcile.Result, error) {
	if a.resolution != nil {
		a.preview(ctx)
	}
	err := a.write(ctx, waitForRelease)
	if err != nil || !a.gate.NeedsPolling() {
		return reconcile.Result{}, err
	}
	since := a.plan.Status.GetCondition(v1alpha1.ConditionUpgradeHeld).LastTransitionTime
	return reconcile.Result{RequeueAfter: condition.BackOff(since, a.r.Now())}, nil
}

func (a *attempt) recreate(ctx context.Context) (reconcile.Result, error) {
	why := a.cause()
	a.r.Recorder.Eventf(a.plan, nil, corev1.EventTypeNormal, why.Reason, v1alpha1.EventActionRemake, "%s; recreating the InstallPlan", why.Message)
	log.FromContext(ctx).Info("Deleted InstallPlan to create it again", "reason", why.Reason, "message", why.Message)
	if err := a.r.Client.Delete(ctx, a.plan, client.Preconditions{UID: &a.plan.UID}); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("deleting InstallPlan %s: %w", a.key(), err)
	}
	return reconcile.Result{}, a.r.Records.DropContent(ctx, a.plan.UID)
}

func (a *attempt) retry(ctx context.Context) (reconcile.Result, error) {
	if err := a.write(ctx, retry); err != nil || reasonOf(a.err) == v1alpha1.PlanReasonRetrying {
		return reconcile.Result{}, errors.Join(a.err, err)
	}
	if err := a.r.Rights.Watch(a.r.controller, a.r.waitingForRights); err != nil {
		return reconcile.Result{}, err
	}
	since := a.plan.Status.GetCondition(olm.InstallPlanInstalled).LastTransitionTime
	return reconcile.Result{RequeueAfter: condition.BackOff(since, a.r.Now())}, nil
}

func (a *attempt) fail(ctx context.Context) (reconcile.Result, error) {
	return reconcile.Result{}, a.write(ctx, fail)
}

func (a *attempt) finish(ctx context.Context) (reconcile.Result, error) {
	log.FromContext(ctx).Info("Applied InstallPlan", "installs", a.plan.Spec.ClusterServiceVersionNames)
	if err := a.write(ctx, finish); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, a.r.Records.DropContent(ctx, a.plan.UID)
}
