package subscription

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Effect is the effect of a True condition of a Subscription on its operator.
type Effect string

const (
	// Broken means that a user has to end it.
	Broken Effect = "Broken"

	// Waits means that an update waits for an operator or a user, and nothing is wrong.
	Waits Effect = "Waits"

	// Passes means that it ends by itself.
	Passes Effect = "Passes"

	// Informs means that it neither stops nor delays anything by itself.
	Informs Effect = "Informs"
)

// Condition is a type of the conditions of a Subscription.
type Condition struct {
	Type v1alpha1.SubscriptionConditionType

	// Own is true if OLM does not have the type: beside OLM, operator-status writes only these.
	Own bool

	Effect Effect

	// Rank orders the types by importance, the most important first: problems that keep an operator from running come
	// before those that keep it from being updated. It is 0 if Effect is Informs.
	Rank int
}

// Conditions are all types of conditions of a Subscription, in the order in which operator-status appends its own to those
// of OLM. All that is known of a type is here: the status, the command line, PlatformOperators, and the health checks for
// GitOps tools use it.
var Conditions = []Condition{
	{Type: v1alpha1.SubscriptionUpToDate, Own: true, Effect: Informs},
	{Type: v1alpha1.SubscriptionUpgradeHeld, Own: true, Effect: Waits, Rank: 7},
	{Type: v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, Own: true, Effect: Waits, Rank: 8},
	{Type: v1alpha1.SubscriptionInstalledCSVReplacementAvailable, Own: true, Effect: Informs},
	{Type: v1alpha1.SubscriptionInstalledCSVFailed, Own: true, Effect: Broken, Rank: 1},
	{Type: v1alpha1.SubscriptionInstalledCSVMissing, Own: true, Effect: Broken, Rank: 10},
	{Type: v1alpha1.SubscriptionCatalogSourceInvalid, Own: true, Effect: Broken, Rank: 4},
	{Type: v1alpha1.SubscriptionPackageChannelInvalid, Own: true, Effect: Broken, Rank: 5},
	{Type: v1alpha1.SubscriptionCatalogSourcesUnhealthy, Effect: Informs},
	{Type: v1alpha1.SubscriptionResolutionFailed, Effect: Broken, Rank: 6},
	{Type: v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking), Effect: Informs},
	{Type: v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed), Effect: Broken, Rank: 3},
	{Type: v1alpha1.SubscriptionInstallPlanFailed, Effect: Broken, Rank: 2},
	{Type: v1alpha1.SubscriptionInstallPlanPending, Effect: Broken, Rank: 11}, // not with a reason for which IsInProgress is true
	{Type: v1alpha1.SubscriptionInstallPlanMissing, Effect: Passes, Rank: 9},  // another is created
	{Type: v1alpha1.SubscriptionPackageDeprecated, Effect: Informs},
	{Type: v1alpha1.SubscriptionChannelDeprecated, Effect: Informs},
	{Type: v1alpha1.SubscriptionBundleDeprecated, Effect: Informs},
	{Type: v1alpha1.SubscriptionDeprecated, Effect: Informs},
}

// OwnTypes returns the types that OLM does not have.
func OwnTypes() []v1alpha1.SubscriptionConditionType {
	return typesOf(Conditions, func(c Condition) bool { return c.Own })
}

// TypesOf returns the types with one of those effects, the most important first.
func TypesOf(effects ...Effect) []v1alpha1.SubscriptionConditionType {
	ranked := slices.SortedFunc(slices.Values(Conditions), func(a, b Condition) int { return cmp.Compare(a.Rank, b.Rank) })
	return typesOf(ranked, func(c Condition) bool { return slices.Contains(effects, c.Effect) })
}

func typesOf(of []Condition, which func(Condition) bool) []v1alpha1.SubscriptionConditionType {
	var out []v1alpha1.SubscriptionConditionType
	for _, c := range of {
		if which(c) {
			out = append(out, c.Type)
		}
	}
	return out
}
