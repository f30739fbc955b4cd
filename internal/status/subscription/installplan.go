package subscription

import (
	"cmp"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// installPlanRef refers to the InstallPlan of the target, in the new field and the old. A reference to a deleted plan
// stays, since InstallPlanMissing is about it.
func installPlanRef(in Inputs, out *v1alpha1.SubscriptionStatus) {
	plan := in.plan(out.CurrentCSV)
	if plan == nil {
		return
	}
	out.InstallPlanRef = reference(plan)
	out.Install = v1alpha1.NewInstallPlanReference(out.InstallPlanRef)
	out.InstallPlanGeneration = plan.Spec.Generation
}

// installPlanPending sets InstallPlanPending if the InstallPlan of the target has not been applied yet. The reason is
// its phase, or the problem that prevents it from being applied.
func installPlanPending(in Inputs, out *v1alpha1.SubscriptionStatus) {
	remove(out, v1alpha1.SubscriptionInstallPlanPending)
	plan := in.plan(out.CurrentCSV)
	if plan == nil || plan.Status.Phase == olm.InstallPlanPhaseComplete || plan.Status.Phase == olm.InstallPlanPhaseFailed {
		return
	}
	reason := cmp.Or(string(plan.Status.Phase), v1alpha1.ReasonInstallPlanNotYetReconciled)
	if c := plan.Status.GetCondition(olm.InstallPlanInstalled); c.Status == corev1.ConditionFalse && plan.Status.Phase == olm.InstallPlanPhaseInstalling {
		reason = cmp.Or(string(c.Reason), reason)
	}
	message := "" // like OLM, which sets none if the reason is the phase of the plan
	if reason != string(plan.Status.Phase) {
		message = fmt.Sprintf("InstallPlan %s will install %s%s", nameOf(plan), out.CurrentCSV, messages.Quote(plan.Status.Message))
	}
	setTrue(in, out, v1alpha1.SubscriptionInstallPlanPending, reason, message)
}

// installPlanFailed sets InstallPlanFailed if the InstallPlan of the target failed.
func installPlanFailed(in Inputs, out *v1alpha1.SubscriptionStatus) {
	remove(out, v1alpha1.SubscriptionInstallPlanFailed)
	plan := in.plan(out.CurrentCSV)
	if plan == nil || plan.Status.Phase != olm.InstallPlanPhaseFailed {
		return
	}
	setTrue(in, out, v1alpha1.SubscriptionInstallPlanFailed,
		cmp.Or(string(plan.Status.GetCondition(olm.InstallPlanInstalled).Reason), v1alpha1.ReasonInstallPlanFailed),
		fmt.Sprintf("InstallPlan %s for %s failed%s", nameOf(plan), out.CurrentCSV, messages.Quote(failure(plan))))
}

// installPlanMissing sets InstallPlanMissing if the InstallPlan in the status was deleted before the target was
// installed.
func installPlanMissing(in Inputs, out *v1alpha1.SubscriptionStatus) {
	remove(out, v1alpha1.SubscriptionInstallPlanMissing)
	if in.plan(out.CurrentCSV) != nil || targetInstalled(out) || out.InstallPlanRef == nil || out.CurrentCSV == "" {
		return
	}
	setTrue(in, out, v1alpha1.SubscriptionInstallPlanMissing, v1alpha1.ReasonReferencedInstallPlanNotFound,
		fmt.Sprintf("InstallPlan %s/%s was deleted before %s was installed; waiting for a new InstallPlan",
			out.InstallPlanRef.Namespace, out.InstallPlanRef.Name, out.CurrentCSV))
}

// installPlanAwaitingManualApproval sets whether the InstallPlan of the target waits for a user.
func installPlanAwaitingManualApproval(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonNotAwaitingApproval, Message: "No InstallPlan is waiting for approval",
	}
	switch plan := in.plan(out.CurrentCSV); {
	case plan != nil && plan.Spec.Approval == olm.ApprovalManual && !plan.Spec.Approved &&
		plan.Status.Phase == olm.InstallPlanPhaseRequiresApproval:
		c.Status, c.Reason = corev1.ConditionTrue, v1alpha1.ReasonRequiresApproval
		c.Message = fmt.Sprintf("InstallPlan %s for %s is waiting for a user to approve it: %s", nameOf(plan), out.CurrentCSV, HowToApprove(plan))
	case plan == nil && !targetInstalled(out):
		remove(out, c.Type)
		return
	}
	set(in, out, c)
}

// targetInstalled reports whether the target is installed, so it no longer needs an InstallPlan.
func targetInstalled(out *v1alpha1.SubscriptionStatus) bool {
	return out.CurrentCSV != "" && out.CurrentCSV == out.InstalledCSV
}

// failure returns why an InstallPlan failed, from its status.
func failure(plan *olm.InstallPlan) string {
	for _, c := range plan.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	return plan.Status.Message
}
