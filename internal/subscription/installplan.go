package subscription

import (
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// installPlanRef refers to the InstallPlan of the target, in the new form and the old. The reference to one that is gone
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

// installPlanFailed says whether the InstallPlan of the target failed.
func installPlanFailed(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstallPlanFailed, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonInstallPlanNotFailed, Message: "The InstallPlan has not failed",
	}
	switch plan := in.plan(out.CurrentCSV); {
	case plan != nil && plan.Status.Phase == olm.InstallPlanPhaseFailed:
		c.Status, c.Reason = corev1.ConditionTrue, v1alpha1.ReasonInstallPlanFailed
		c.Message = fmt.Sprintf("InstallPlan %s for %s failed%s. Once that is put right, delete the InstallPlan to have another made",
			nameOf(plan), out.CurrentCSV, quote(failure(plan)))
	case plan == nil && !arrived(out):
		unknown(out, c.Type)
		return
	}
	set(in, out, c)
}

// installPlanMissing says whether the InstallPlan that the status refers to is gone before its work was done.
func installPlanMissing(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstallPlanMissing, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonInstallPlanFound, Message: "The InstallPlan is there, or is needed no more",
	}
	if in.plan(out.CurrentCSV) == nil && !arrived(out) {
		if out.InstallPlanRef == nil || out.CurrentCSV == "" {
			unknown(out, c.Type)
			return
		}
		c.Status, c.Reason = corev1.ConditionTrue, v1alpha1.ReasonReferencedInstallPlanNotFound
		c.Message = fmt.Sprintf("InstallPlan %s/%s is gone before %s was installed: that waits for another",
			out.InstallPlanRef.Namespace, out.InstallPlanRef.Name, out.CurrentCSV)
	}
	set(in, out, c)
}

// installPlanAwaitingManualApproval says whether the InstallPlan of the target waits for a person.
func installPlanAwaitingManualApproval(in Inputs, out *v1alpha1.SubscriptionStatus) {
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, Status: corev1.ConditionFalse,
		Reason: v1alpha1.ReasonNotAwaitingApproval, Message: "No InstallPlan waits for a person to approve it",
	}
	switch plan := in.plan(out.CurrentCSV); {
	case plan != nil && plan.Spec.Approval == olm.ApprovalManual && !plan.Spec.Approved &&
		plan.Status.Phase == olm.InstallPlanPhaseRequiresApproval:
		c.Status, c.Reason = corev1.ConditionTrue, v1alpha1.ReasonRequiresApproval
		c.Message = fmt.Sprintf("InstallPlan %s for %s waits for a person to approve it: %s", nameOf(plan), out.CurrentCSV, HowToApprove(plan))
	case plan == nil && !arrived(out):
		unknown(out, c.Type)
		return
	}
	set(in, out, c)
}

// arrived is true where the target has been installed, so that it needs no InstallPlan any more.
func arrived(out *v1alpha1.SubscriptionStatus) bool {
	return out.CurrentCSV != "" && out.CurrentCSV == out.InstalledCSV
}

// failure is why an InstallPlan failed, in its own words.
func failure(plan *olm.InstallPlan) string {
	for _, c := range plan.Status.Conditions {
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	return plan.Status.Message
}
