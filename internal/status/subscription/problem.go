package subscription

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

var broken, waits = TypesOf(Broken), TypesOf(Waits)

// ProblemOf returns the worst problem of a Subscription, from its condition, or nil. A wait is not a problem.
func ProblemOf(status *v1alpha1.SubscriptionStatus) *Problem {
	return first(status, slices.DeleteFunc(slices.Clone(broken), func(t v1alpha1.SubscriptionConditionType) bool {
		return IsInProgress(status, status.GetCondition(t))
	}))
}

// inProgressReasons are the reasons of InstallPlanPending for which IsInProgress is true. An older OLM sets none.
var inProgressReasons = []string{
	"", v1alpha1.ReasonInstallPlanNotYetReconciled, string(olm.InstallPlanPhasePlanning), string(olm.InstallPlanPhaseRequiresApproval),
	string(olm.InstallPlanPhaseInstalling), string(v1alpha1.SubscriptionInstallPlanPending),
}

// IsInProgress reports whether a condition is InstallPlanPending with a reason that means that the plan is being applied or only
// needs approval, or reports that an UpgradeHold keeps OLM from creating the plan, or that OLM cannot resolve during the update.
func IsInProgress(status *v1alpha1.SubscriptionStatus, c v1alpha1.SubscriptionCondition) bool {
	return c.Type == v1alpha1.SubscriptionInstallPlanPending && slices.Contains(inProgressReasons, c.Reason) ||
		csvchain.IsDenial(c) || csvchain.IsOfUpdate(status, c)
}

// WaitOf returns why a Subscription waits although nothing is wrong, or nil.
func WaitOf(status *v1alpha1.SubscriptionStatus) *Problem { return first(status, waits) }

// first returns the first of the conditions that is True. OLM sets no reason if the type is clear enough.
func first(status *v1alpha1.SubscriptionStatus, types []v1alpha1.SubscriptionConditionType) *Problem {
	for _, t := range types {
		if c := status.GetCondition(t); c.Status == corev1.ConditionTrue {
			return &Problem{Reason: cmp.Or(c.Reason, string(t)), Message: cmp.Or(c.Message, string(t)+" is True")}
		}
	}
	return nil
}

// UpToDateOf returns the condition UpToDate of a Subscription, or derives it from the field if it has not been written
// yet.
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

// newestUnknown are the conditions of a Subscription whose newest version cannot be known.
var newestUnknown = []v1alpha1.SubscriptionConditionType{
	v1alpha1.SubscriptionCatalogSourceInvalid, v1alpha1.SubscriptionPackageChannelInvalid,
}
