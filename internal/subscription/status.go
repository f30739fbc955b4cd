// Package subscription says what a Subscription's status is: whether its operator is installed, up to date and healthy,
// what it waits for, and whether an update is held.
package subscription

import (
	"cmp"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Inputs is everything that a Subscription's status depends on, read at one moment.
type Inputs struct {
	Subscription *v1alpha1.Subscription

	// CatalogSources are all that the Subscription can see: those of its namespace and of GlobalNamespace.
	CatalogSources []CatalogSource

	// GlobalNamespace is the one whose CatalogSources every namespace can see. It may be empty.
	GlobalNamespace string

	// Resolution is nil until the Subscription has been resolved.
	Resolution *Resolution

	// Plan is the InstallPlan for Resolution.Next, else for status.currentCSV. It is nil where there is none or it is
	// gone.
	Plan *olm.InstallPlan

	// Installed is the ClusterServiceVersion of status.installedCSV; nil where it is gone.
	Installed *v1alpha1.ClusterServiceVersion

	// Current is the ClusterServiceVersion of status.currentCSV. Where there is none it is one that was there before
	// the Subscription, and is adopted. It is nil where there is none yet.
	Current *v1alpha1.ClusterServiceVersion

	// Gate is the decision about the update; the zero value where nothing holds it.
	Gate gate.Decision

	Now metav1.Time
}

// CatalogSource is a catalog as the Subscription sees it.
type CatalogSource struct {
	olm.CatalogSource

	// Read is true where its content is known, though it may be that of a while ago.
	Read bool
}

// Resolution is what the resolver found for a Subscription.
type Resolution struct {
	// Problem keeps the Subscription from being resolved; nil where there is none.
	Problem *Problem

	// Next is the name of the ClusterServiceVersion that should come next; empty where there is nothing newer.
	Next string

	// Newest is the name of the newest in the package and channel; empty where that is not known.
	Newest string

	// Note is what an admin should know although there is no Problem, such as that the newest cannot be reached.
	Note string

	// Deprecations are what the catalog says of what is deprecated.
	Deprecations Deprecations
}

// Deprecations are what a catalog says of what is deprecated; empty where that is nothing.
type Deprecations struct {
	Package, Channel, Bundle string
}

// Problem is what is wrong: a reason and a sentence.
type Problem = condition.Problem

// Status says what a Subscription's status is, given in. It reads nothing else and changes nothing. Where nothing
// changed it is the status that the Subscription has.
func Status(in Inputs) v1alpha1.SubscriptionStatus {
	in.Now = in.Now.Rfc3339Copy() // as the API server keeps it
	in.CatalogSources = sorted(in.CatalogSources)
	out := in.Subscription.Status.DeepCopy()
	out.ObservedGeneration = in.Subscription.Generation
	for _, concern := range []func(Inputs, *v1alpha1.SubscriptionStatus){
		leftByOLM,
		catalogHealth,
		catalogSourcesUnhealthy,
		catalogSourceInvalid,
		packageChannelInvalid,
		resolutionFailed,
		deprecated,
		csvNames,
		installPlanRef,
		installPlanPending,
		installPlanFailed,
		installPlanMissing,
		installPlanAwaitingManualApproval,
		installedCSVMissing,
		installedCSVFailed,
		replacementAvailable,
		upgradeHeld,
		state, // these sum up what those before them found
		upToDate,
		message,
		upToDateCondition,
	} {
		concern(in, out)
	}
	slices.SortStableFunc(out.Conditions, func(a, b v1alpha1.SubscriptionCondition) int { return cmp.Compare(a.Type, b.Type) })
	if equality.Semantic.DeepEqual(*out, in.Subscription.Status) && !out.LastUpdated.IsZero() {
		return *in.Subscription.Status.DeepCopy()
	}
	out.LastUpdated = in.Now
	return *out
}

// leftByOLM takes away what was only true while an OLM ran the loops.
func leftByOLM(_ Inputs, out *v1alpha1.SubscriptionStatus) {
	unknown(out, v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking))
	unknown(out, v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed))
}

// set sets a condition, whose time moves only with its status.
func set(in Inputs, out *v1alpha1.SubscriptionStatus, c v1alpha1.SubscriptionCondition) {
	c.LastTransitionTime = in.Now.DeepCopy()
	before := in.Subscription.Status.GetCondition(c.Type)
	if before.Status == c.Status && before.LastTransitionTime != nil {
		c.LastTransitionTime = before.LastTransitionTime
	}
	c.LastHeartbeatTime = before.LastHeartbeatTime
	unknown(out, c.Type)
	out.Conditions = append(out.Conditions, c)
}

// alarm sets a condition of OLM's own types, which scripts written for OLM take for true where they are there at all: as with OLM
// they are absent while all is well.
func alarm(in Inputs, out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType, reason, message string) {
	set(in, out, v1alpha1.SubscriptionCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message})
}

// unknown takes a condition away: one that is absent reads Unknown.
func unknown(out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType) {
	out.Conditions = slices.DeleteFunc(out.Conditions, func(c v1alpha1.SubscriptionCondition) bool { return c.Type == t })
}

func isTrue(out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType) bool {
	return out.GetCondition(t).Status == corev1.ConditionTrue
}

func isFalse(out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType) bool {
	return out.GetCondition(t).Status == corev1.ConditionFalse
}

// spec is what to subscribe to.
func (in Inputs) spec() olm.SubscriptionSpec {
	if in.Subscription.Spec == nil {
		return olm.SubscriptionSpec{}
	}
	return *in.Subscription.Spec
}

// resolved is what the resolver found, or nothing.
func (in Inputs) resolved() Resolution {
	if in.Resolution == nil {
		return Resolution{}
	}
	return *in.Resolution
}

// plan is the InstallPlan that is to install that ClusterServiceVersion; nil where there is none.
func (in Inputs) plan(csv string) *olm.InstallPlan {
	if in.Plan == nil || csv == "" || !slices.Contains(in.Plan.Spec.ClusterServiceVersionNames, csv) {
		return nil
	}
	return in.Plan
}

// csv is the ClusterServiceVersion of that name; nil where there is none. A copy from another namespace is none.
func (in Inputs) csv(name string) *v1alpha1.ClusterServiceVersion {
	for _, c := range []*v1alpha1.ClusterServiceVersion{in.Current, in.Installed} {
		if c != nil && c.Name == name && name != "" && !c.IsCopied() {
			return c
		}
	}
	return nil
}
