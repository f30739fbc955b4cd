package subscription

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// waits are the conditions of one that goes on by itself, or when a person says so: nothing is wrong with it.
var waits = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionUpgradeHeld,
	v1alpha1.SubscriptionInstallPlanAwaitingManualApproval,
}

// troubles are the conditions that something is wrong with, the worst first: OLM's own that no other tells of, too. An InstallPlan
// that is missing is made again.
var troubles = slices.Insert(slices.DeleteFunc(slices.Clone(worst), func(t v1alpha1.SubscriptionConditionType) bool {
	return slices.Contains(waits, t) || t == v1alpha1.SubscriptionInstallPlanMissing
}), 2, v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed))

// TroubleOf is the worst that is wrong with a Subscription, in the words of its condition; nil where nothing is, though it may
// wait for something.
func TroubleOf(status *v1alpha1.SubscriptionStatus) *Problem {
	if out := first(status, troubles); out != nil {
		return out
	}
	if out := first(status, []v1alpha1.SubscriptionConditionType{v1alpha1.SubscriptionInstallPlanPending}); out != nil && !goesOn[out.Reason] {
		return out
	}
	return nil
}

// goesOn are the reasons of InstallPlanPending of a plan that nothing keeps from being applied but an approval.
var goesOn = map[string]bool{
	v1alpha1.ReasonInstallPlanNotYetReconciled:      true,
	string(olm.InstallPlanPhasePlanning):            true,
	string(olm.InstallPlanPhaseRequiresApproval):    true,
	string(olm.InstallPlanPhaseInstalling):          true,
	string(v1alpha1.SubscriptionInstallPlanPending): true, // an older OLM gives no reason
}

// WaitOf is what a Subscription waits for that nothing is wrong with; nil where it waits for nobody.
func WaitOf(status *v1alpha1.SubscriptionStatus) *Problem { return first(status, waits) }

// first is the first of the conditions that is True. OLM leaves reasons out, where the type says it all.
func first(status *v1alpha1.SubscriptionStatus, types []v1alpha1.SubscriptionConditionType) *Problem {
	for _, t := range types {
		if c := status.GetCondition(t); c.Status == corev1.ConditionTrue {
			return &Problem{Reason: cmp.Or(c.Reason, string(t)), Message: cmp.Or(c.Message, string(t)+" is True")}
		}
	}
	return nil
}

// UpToDateOf is what a Subscription says of being up to date: in the condition, or, where that has not been written yet, in the field.
func UpToDateOf(status *v1alpha1.SubscriptionStatus) v1alpha1.SubscriptionCondition {
	if c := status.GetCondition(v1alpha1.SubscriptionUpToDate); c.Status != corev1.ConditionUnknown {
		return c
	}
	c := v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionUpToDate, Status: corev1.ConditionTrue,
		Reason: v1alpha1.ReasonNewestRuns, Message: status.InstalledCSV + " is the newest, and runs",
	}
	if !status.UpToDate {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, v1alpha1.ReasonNewestDoesNotRun, status.Message
	}
	if !status.UpToDate && first(status, newestUnknown) != nil {
		c.Reason = v1alpha1.ReasonNewestNotKnown
	}
	return c
}

// newestUnknown are the conditions of one of which nobody can tell what the newest is.
var newestUnknown = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionCatalogSourceInvalid, v1alpha1.SubscriptionPackageChannelInvalid,
}
