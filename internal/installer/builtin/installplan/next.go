package installplan

import (
	"errors"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/kube"
	"github.com/operator-status/operator-status/internal/status/condition"
	installplanstatus "github.com/operator-status/operator-status/internal/status/installplan"
)

// action is the next step for a plan.
type action string

const (
	begin action = "Begin" // a reconcile

	// Actions that do not end a reconcile.
	readStored   action = "ReadStored"   // reads the stored content of a plan that is Installing
	evaluateKept action = "EvaluateKept" // evaluates the gate for stored content of which no CSV has been written
	resume       action = "Resume"       // prepares the rest of the stored content to be applied
	resolvePlan  action = "Resolve"      // resolves the plan's bundles
	evaluate     action = "Evaluate"     // evaluates the gate
	approve      action = "Approve"      // approves the plan, and records that it is Installing
	readBundles  action = "ReadBundles"  // reads its bundles, unless resolving did
	dryRun       action = "DryRun"       // dry-runs it
	storeContent action = "StoreContent" // stores its content: from now on it is resumed, and not resolved
	applyContent action = "Apply"        // evaluates the gate a last time, and applies it

	// Actions that end a reconcile.
	rest           action = "Rest"     // keeps the status
	reportProblem  action = "Report"   // reports why the plan cannot be resolved
	waitForRelease action = "Wait"     // reports that the gate holds it, or that a user has to approve it
	recreate       action = "Remake"   // deletes it, so its Subscription creates another
	retry          action = "Retry"    // reports an error that may pass
	fail           action = "Fail"     // reports an error that does not
	finish         action = "Complete" // reports that it has been applied
)

// facts is the state of a plan after an action.
type facts struct {
	plan    *olm.InstallPlan
	stored  stored
	begun   bool               // whether a CSV of the plan has been written
	problem *condition.Problem // why it cannot be resolved
	unread  bool               // whether a catalog that may solve the problem has not been read since this process started
	gate    *gate.Decision     // nil until it was evaluated
	changed bool               // whether the content differs from the steps in the status
	err     error              // of the dry run or of applying
}

// stored is the state of the stored content of a plan that is Installing.
type stored string

const (
	notStored stored = "" // and nothing has been written
	kept      stored = "Kept"
	lost      stored = "Lost" // although something has been written
)

// next returns the action that follows another. Each action is recorded before the next one that depends on it, so an
// interrupted plan is resumed. It panics for an action that ends a reconcile, since no action follows.
func next(after action, f facts) action {
	switch after {
	case begin:
		if f.plan.Status.Phase == olm.InstallPlanPhaseInstalling {
			return readStored
		}
		return resolvePlan
	case readStored:
		switch f.stored {
		case notStored:
			return resolvePlan
		case lost:
			return fail
		case kept:
			if f.begun {
				return resume
			}
			return evaluateKept
		}
	case evaluateKept:
		if f.gate.Held {
			return waitForRelease
		}
		return resume
	case resume:
		return f.onSuccess(applyContent)
	case resolvePlan:
		switch {
		case f.problem == nil:
			return evaluate
		case f.unread && len(f.plan.Status.Plan) > 0:
			return rest
		}
		return reportProblem
	case evaluate:
		if f.gate.Held || !installplanstatus.Approved(f.plan) {
			return waitForRelease
		}
		return approve
	case approve:
		return readBundles
	case readBundles:
		switch {
		case f.problem != nil:
			return reportProblem
		case f.changed && f.plan.Spec.Approval != olm.ApprovalAutomatic:
			return replace(f.plan)
		}
		return dryRun
	case dryRun:
		return f.onSuccess(storeContent)
	case storeContent:
		return applyContent
	case applyContent:
		return f.onSuccess(finish)
	case rest, reportProblem, waitForRelease, recreate, retry, fail, finish:
	}
	panic(fmt.Sprintf("no action follows %s", after))
}

// onSuccess returns the given action after one that succeeded, and the action for the error after one that failed.
func (f facts) onSuccess(do action) action {
	switch {
	case isA[*heldError](f.err):
		return waitForRelease
	case isA[*identityChanged](f.err):
		return replace(f.plan)
	case isA[*permanentError](f.err):
		return fail
	case f.err != nil:
		return retry
	}
	return do
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// replace returns the action for a plan that must not continue. A plan of a Subscription is replaced; a plan that a
// user created fails.
func replace(plan *olm.InstallPlan) action {
	if slices.ContainsFunc(plan.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == v1alpha1.SubscriptionKind }) {
		return recreate
	}
	return fail
}

// logValues returns the facts that are set, as keys and values of a log line.
func (f facts) logValues() []any {
	var out []any
	if f.plan.Status.Phase != "" {
		out = append(out, "phase", f.plan.Status.Phase)
	}
	if f.stored != notStored {
		out = append(out, "storedContent", f.stored)
	}
	if f.begun {
		out = append(out, "begun", true)
	}
	if f.unread {
		out = append(out, "catalogUnread", true)
	}
	if f.changed {
		out = append(out, "contentChanged", true)
	}
	if f.gate != nil && !installplanstatus.Approved(f.plan) {
		out = append(out, "approved", false)
	}
	if f.problem != nil {
		out = append(out, "problem", f.problem.Reason, "message", f.problem.Message)
	}
	if f.gate != nil && f.gate.Held {
		out = append(out, "held", f.gate.Reason, "message", f.gate.Message)
	}
	if f.err != nil {
		out = append(out, "error", f.err.Error())
	}
	return out
}

// result returns the result of installing a plan that an action reports, or nil.
func (f facts) result(of action) *installplanstatus.Result {
	switch of {
	case retry:
		return &installplanstatus.Result{Phase: olm.InstallPlanPhaseInstalling, Problem: condition.Problem{Reason: reasonOf(f.err), Message: messageOf(f.err)}}
	case fail:
		return &installplanstatus.Result{Phase: olm.InstallPlanPhaseFailed, Problem: f.cause()}
	case finish:
		return &installplanstatus.Result{Phase: olm.InstallPlanPhaseComplete}
	default:
		return nil
	}
}

// cause returns why a plan fails or is recreated.
func (f facts) cause() condition.Problem {
	if changed, ok := errors.AsType[*identityChanged](f.err); ok {
		return condition.Problem{Reason: v1alpha1.PlanReasonIdentityChanged, Message: changed.Error()}
	}
	if refused, ok := errors.AsType[*permanentError](f.err); ok {
		return condition.Problem{Reason: refused.reason, Message: refused.message}
	}
	if f.stored == lost {
		return condition.Problem{Reason: v1alpha1.PlanReasonContentGone,
			Message: "The plan's content was stored in Secrets in the manager's namespace, which have been deleted"}
	}
	return condition.Problem{Reason: v1alpha1.PlanReasonContentChanged, Message: "The plan's content changed after it was submitted for approval"}
}

// reasonOf returns the reason why a plan is retried.
func reasonOf(err error) string {
	switch {
	case isA[*noAccount](err):
		return v1alpha1.PlanReasonServiceAccountMissing
	case isA[*unmetError](err):
		return v1alpha1.PlanReasonRequirementsNotMet
	case kube.Denied(err):
		return v1alpha1.PlanReasonForbidden
	}
	return v1alpha1.PlanReasonRetrying
}

func messageOf(err error) string {
	if f, ok := errors.AsType[*taskError](err); ok {
		return f.Error()
	}
	return kube.ErrorMessage(err, maxQuoted)
}
