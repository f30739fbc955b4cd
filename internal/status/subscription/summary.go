package subscription

import (
	"cmp"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
)

// state sets OLM's fields state and reason, for the consoles and scripts that read no others.
func state(in Inputs, out *v1alpha1.SubscriptionStatus) {
	var reason olm.ConditionReason
	if isTrue(out, v1alpha1.SubscriptionCatalogSourceInvalid) {
		reason = olm.SubscriptionReasonInvalidCatalog
	}
	out.State = olm.SubscriptionStateNone
	switch {
	case !targetInstalled(out) && isTrue(out, v1alpha1.SubscriptionInstallPlanFailed), failed(in.csv(out.CurrentCSV)):
		out.State = olm.SubscriptionStateFailed
	case out.CurrentCSV != "" && !targetInstalled(out), in.csv(out.InstalledCSV) != nil && !succeeded(in.csv(out.InstalledCSV)):
		out.State = olm.SubscriptionStateUpgradePending
	case isTrue(out, v1alpha1.SubscriptionInstalledCSVReplacementAvailable):
		out.State = olm.SubscriptionStateUpgradeAvailable
	case in.csv(out.InstalledCSV) != nil:
		out.State, reason = olm.SubscriptionStateAtLatest, olm.SubscriptionReasonUpgradeSucceeded
	}
	out.Reason = reason
}

// upToDate sets UpToDate if the newest version of the package and channel is known, completely installed and running. A
// catalog must have been read for that. If it cannot be read now, its last content counts.
func upToDate(in Inputs, out *v1alpha1.SubscriptionStatus) {
	out.UpToDate = targetInstalled(out) && in.resolved().Newest == out.InstalledCSV && succeeded(in.csv(out.InstalledCSV)) &&
		in.resolved().Problem == nil && isComplete(in.plan(out.InstalledCSV)) &&
		isFalse(out, v1alpha1.SubscriptionCatalogSourceInvalid) &&
		isFalse(out, v1alpha1.SubscriptionInstalledCSVReplacementAvailable) &&
		isFalse(out, v1alpha1.SubscriptionUpgradeHeld)
}

// isComplete reports whether an InstallPlan has been applied completely. A deleted one has.
func isComplete(plan *olm.InstallPlan) bool {
	return plan == nil || plan.Status.Phase == olm.InstallPlanPhaseComplete
}

// upToDateCondition sets the condition UpToDate, which also exists with a real OLM, whose status has no such field.
func upToDateCondition(in Inputs, out *v1alpha1.SubscriptionStatus) {
	remove(out, v1alpha1.SubscriptionUpToDate)
	c := UpToDateOf(out)
	if !out.UpToDate && in.resolved().Newest == "" {
		c.Reason = v1alpha1.ReasonNewestNotKnown
	}
	if beyond := in.resolved().Beyond; out.UpToDate && beyond != "" {
		c.Reason = v1alpha1.ReasonNewestAllowedRuns
		c.Message = fmt.Sprintf("%s runs, and annotation %s does not allow the newer %s", out.InstalledCSV, v1alpha1.AnnotationVersion, beyond)
	}
	set(in, out, c)
}

// worst are the conditions whose message the status shows, before anything that is in progress. About a pending
// InstallPlan, progressMessage reports more than its condition.
var worst = slices.DeleteFunc(TypesOf(Broken, Waits, Passes), func(t v1alpha1.SubscriptionConditionType) bool {
	return t == v1alpha1.SubscriptionInstallPlanPending
})

// message sets the most important message, or empty if all is well.
func message(in Inputs, out *v1alpha1.SubscriptionStatus) {
	for _, t := range worst {
		if c := out.GetCondition(t); c.Status == corev1.ConditionTrue {
			out.Message = c.Message
			return
		}
	}
	if out.Message = progressMessage(in, out); out.Message != "" {
		return
	}
	if c := out.GetCondition(v1alpha1.SubscriptionCatalogSourcesUnhealthy); c.Status != corev1.ConditionFalse {
		out.Message = cmp.Or(in.unhealthySummary(), c.Message)
	}
}

// progressMessage returns a message about the next step of an operator that is not up to date, or empty.
func progressMessage(in Inputs, out *v1alpha1.SubscriptionStatus) string {
	r, spec := in.resolved(), in.spec()
	target, plan := in.csv(out.CurrentCSV), in.plan(out.CurrentCSV)
	switch {
	case out.UpToDate:
		return ""
	case plan != nil && !isComplete(plan):
		return fmt.Sprintf("Waiting for InstallPlan %s, which installs %s%s", nameOf(plan), out.CurrentCSV, messages.Quote(plan.Status.Message))
	case target != nil && !succeeded(target):
		return fmt.Sprintf("Waiting for %s, which is %s", title(target), phaseMessage(target))
	case in.Resolution == nil || !isFalse(out, v1alpha1.SubscriptionCatalogSourceInvalid):
		return fmt.Sprintf("Waiting for CatalogSource %s/%s to be read", spec.CatalogSourceNamespace, spec.CatalogSource)
	case r.Next != "" && r.Next != out.InstalledCSV:
		return "Waiting for an InstallPlan for " + r.Next
	case !targetInstalled(out):
		return "Waiting for an InstallPlan for package " + spec.Package
	case r.Note != "":
		return r.Note
	case r.Newest == "":
		return "Waiting for the newest version of package " + spec.Package + " to be determined"
	default:
		return fmt.Sprintf("Package %s offers %s, but no bundle in the channel replaces %s", spec.Package, r.Newest, out.InstalledCSV)
	}
}
