// Package subscription computes the status of a Subscription: whether its operator is installed, up to date and
// healthy, and whether an update waits or is held.
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

// Inputs holds everything that a Subscription's status depends on, as read at one moment.
type Inputs struct {
	Subscription *v1alpha1.Subscription

	// CatalogSources are all that the Subscription can see: those of its namespace and of GlobalNamespace.
	CatalogSources []CatalogSource

	// GlobalNamespace is the namespace whose CatalogSources are visible in every namespace. It may be empty.
	GlobalNamespace string

	// Resolution is nil until the Subscription has been resolved.
	Resolution *Resolution

	// Plan is the InstallPlan for Resolution.Next, else for status.currentCSV, or nil if not found.
	Plan *olm.InstallPlan

	// Installed is the ClusterServiceVersion of status.installedCSV, or nil.
	Installed *v1alpha1.ClusterServiceVersion

	// Current is the ClusterServiceVersion of status.currentCSV. If that is empty, it is the adopted one, which existed
	// before the Subscription. It may be nil.
	Current *v1alpha1.ClusterServiceVersion

	// Gate is the decision about the update, or the zero value if nothing holds it.
	Gate gate.Decision

	Now metav1.Time
}

// CatalogSource is a catalog as the Subscription sees it.
type CatalogSource struct {
	olm.CatalogSource

	// Read is true if its content is known, even if that was read a while ago.
	Read bool
}

// Resolution is the result of the resolver for a Subscription.
type Resolution struct {
	// Problem prevents the resolution. It may be nil.
	Problem *Problem

	// Next is the name of the ClusterServiceVersion to install next, or empty.
	Next string

	// Newest is the name of the newest ClusterServiceVersion in the package and channel that the user allows, or empty if unknown.
	Newest string

	// Beyond is the newest one that is available if the user does not allow its version, or empty.
	Beyond string

	// Note is a message for the admin without a Problem, such as that the newest cannot be reached.
	Note string

	// Deprecations are the catalog's deprecation messages.
	Deprecations Deprecations
}

// Deprecations are the deprecation messages of a catalog, or empty.
type Deprecations struct {
	Package, Channel, Bundle string
}

// Problem is the reason and message of a condition that reports a problem.
type Problem = condition.Problem

// Compute returns the status of a Subscription. It is pure: it depends only on in, and changes nothing. If nothing
// changed it returns a copy of the current status.
func Compute(in Inputs) v1alpha1.SubscriptionStatus {
	in.Now = in.Now.Rfc3339Copy() // the precision of the API server
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
		state, // from here on: summaries of the conditions above
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

// leftByOLM removes conditions that are only true while OLM runs the controllers.
func leftByOLM(_ Inputs, out *v1alpha1.SubscriptionStatus) {
	remove(out, v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking))
	remove(out, v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed))
}

// set replaces a condition. Its transition time changes only with its status.
func set(in Inputs, out *v1alpha1.SubscriptionStatus, c v1alpha1.SubscriptionCondition) {
	c.LastTransitionTime = in.Now.DeepCopy()
	before := in.Subscription.Status.GetCondition(c.Type)
	if before.Status == c.Status && before.LastTransitionTime != nil {
		c.LastTransitionTime = before.LastTransitionTime
	}
	c.LastHeartbeatTime = before.LastHeartbeatTime
	remove(out, c.Type)
	out.Conditions = append(out.Conditions, c)
}

// setTrue sets a condition of OLM's own types to True. Scripts written for OLM take its presence for True, so like in OLM
// it is absent otherwise.
func setTrue(in Inputs, out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType, reason, message string) {
	set(in, out, v1alpha1.SubscriptionCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message})
}

// remove removes a condition: an absent one reads as Unknown.
func remove(out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType) {
	out.Conditions = slices.DeleteFunc(out.Conditions, func(c v1alpha1.SubscriptionCondition) bool { return c.Type == t })
}

func isTrue(out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType) bool {
	return out.GetCondition(t).Status == corev1.ConditionTrue
}

func isFalse(out *v1alpha1.SubscriptionStatus, t v1alpha1.SubscriptionConditionType) bool {
	return out.GetCondition(t).Status == corev1.ConditionFalse
}

// spec returns the spec of the Subscription, or the zero value.
func (in Inputs) spec() olm.SubscriptionSpec {
	if in.Subscription.Spec == nil {
		return olm.SubscriptionSpec{}
	}
	return *in.Subscription.Spec
}

// resolved returns the result of the resolver, or the zero value.
func (in Inputs) resolved() Resolution {
	if in.Resolution == nil {
		return Resolution{}
	}
	return *in.Resolution
}

// plan returns the InstallPlan if it installs that ClusterServiceVersion, otherwise nil.
func (in Inputs) plan(csv string) *olm.InstallPlan {
	if in.Plan == nil || csv == "" || !slices.Contains(in.Plan.Spec.ClusterServiceVersionNames, csv) {
		return nil
	}
	return in.Plan
}

// csv returns the ClusterServiceVersion of that name, or nil. Copies from other namespaces do not count.
func (in Inputs) csv(name string) *v1alpha1.ClusterServiceVersion {
	for _, c := range []*v1alpha1.ClusterServiceVersion{in.Current, in.Installed} {
		if c != nil && c.Name == name && name != "" && !c.IsCopied() {
			return c
		}
	}
	return nil
}
