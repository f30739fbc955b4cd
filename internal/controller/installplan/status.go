package installplan

import (
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Each function below sets a status to one state of a plan, expressed in OLM's phases.

// unresolved sets why the plan cannot be resolved. The plan stays in Planning and is retried when a catalog changes.
func unresolved(status *olm.InstallPlanStatus, p *condition.Problem, now metav1.Time) {
	status.Phase, status.Message = olm.InstallPlanPhasePlanning, p.Message
	set(status, olm.InstallPlanResolved, corev1.ConditionFalse, p.Reason, p.Message, now)
}

// resolved sets the steps of the plan, which now waits for approval.
func resolved(status *olm.InstallPlanStatus, steps []*olm.Step, now metav1.Time) {
	status.Phase, status.Message, status.Plan = olm.InstallPlanPhaseRequiresApproval, "", steps
	set(status, olm.InstallPlanResolved, corev1.ConditionTrue, v1alpha1.ReasonResolved, "", now)
}

// awaiting sets that a user has to approve the plan.
func awaiting(status *olm.InstallPlanStatus, message string) {
	status.Phase, status.Message = olm.InstallPlanPhaseRequiresApproval, message
}

// held sets the gate's decision. Without a hold an existing condition becomes False.
func held(status *olm.InstallPlanStatus, d gate.Decision, now metav1.Time) {
	switch {
	case d.Held:
		status.Phase, status.Message = olm.InstallPlanPhaseRequiresApproval, d.Message
		set(status, v1alpha1.ConditionUpgradeHeld, corev1.ConditionTrue, d.Reason, d.Message, now)
	case d.Overridden:
		set(status, v1alpha1.ConditionUpgradeHeld, corev1.ConditionFalse, d.Reason, d.Message, now)
	case status.GetCondition(v1alpha1.ConditionUpgradeHeld).Status != corev1.ConditionUnknown:
		set(status, v1alpha1.ConditionUpgradeHeld, corev1.ConditionFalse, v1alpha1.ReasonNotHeld, "", now)
	}
}

// installing sets that the plan is approved and being applied. The message of a plan that is being retried stays until
// the next attempt has a result, since each status update is an event that enqueues the plan.
func installing(status *olm.InstallPlanStatus, now metav1.Time) {
	if status.Phase != olm.InstallPlanPhaseInstalling {
		status.Message = ""
	}
	status.Phase = olm.InstallPlanPhaseInstalling
	if status.StartTime == nil {
		status.StartTime = &now
	}
}

// retrying sets a transient error.
func retrying(status *olm.InstallPlanStatus, reason, message string, now metav1.Time) {
	status.Message = message
	set(status, olm.InstallPlanInstalled, corev1.ConditionFalse, reason, message, now)
}

// failed sets a permanent error.
func failed(status *olm.InstallPlanStatus, reason, message string, now metav1.Time) {
	message += ". Mend the cause, then delete this InstallPlan to have it made again"
	status.Phase, status.Message = olm.InstallPlanPhaseFailed, message
	set(status, olm.InstallPlanInstalled, corev1.ConditionFalse, reason, message, now)
}

// complete sets that all steps have been applied. As in OLM the condition has no reason then.
func complete(status *olm.InstallPlanStatus, now metav1.Time) {
	status.Phase, status.Message = olm.InstallPlanPhaseComplete, ""
	set(status, olm.InstallPlanInstalled, corev1.ConditionTrue, "", "", now)
}

// set sets a condition. Its times change only if the condition does.
func set(status *olm.InstallPlanStatus, kind olm.InstallPlanConditionType, value corev1.ConditionStatus, reason, message string, now metav1.Time) {
	before := status.GetCondition(kind)
	after := olm.InstallPlanCondition{
		Type: kind, Status: value, Message: message,
		Reason:         olm.InstallPlanConditionReason(reason),
		LastUpdateTime: &now, LastTransitionTime: &now,
	}
	if before.Status == after.Status && before.Reason == after.Reason && before.Message == after.Message {
		return
	}
	status.SetCondition(after)
}
