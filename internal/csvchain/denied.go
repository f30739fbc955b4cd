package csvchain

import (
	"regexp"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// NamesLike returns a regular expression for the names of an operator's ClusterServiceVersions: that of the running one, with
// any version. It is for all names if that of the running one has no version.
func NamesLike(csv *v1alpha1.ClusterServiceVersion) string {
	before := unversioned(csv)
	if before == "" {
		return ".*"
	}
	return "^" + regexp.QuoteMeta(before) + "v?[0-9]"
}

// unversioned returns the name of a ClusterServiceVersion without its version, or "" if that is not the end of it.
func unversioned(csv *v1alpha1.ClusterServiceVersion) string {
	before, found := strings.CutSuffix(csv.Name, csv.Spec.Version.String())
	if !found {
		before, _, found = strings.Cut(csv.Name, ".v")
		before += "."
	}
	if !found {
		return ""
	}
	return strings.TrimSuffix(before, "v")
}

// VersionNamed returns the version with which the name of a ClusterServiceVersion ends, or "" if that does not begin as the name of the
// running one. OLM knows the version itself only of those that it has installed.
func VersionNamed(name string, running *v1alpha1.ClusterServiceVersion) string {
	before := unversioned(running)
	if version, found := strings.CutPrefix(name, before); found && before != "" {
		return strings.TrimPrefix(version, "v")
	}
	return ""
}

// unpackFailed is the condition of a Subscription in which OLM reports that it could not create an InstallPlan, with reasonPlanDenied.
const (
	unpackFailed     = v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed)
	reasonPlanDenied = "EnsureInstallPlanFailed"
)

// denial matches the message of the policy that enforces UpgradeHolds, with the versions that it denied, and those that the same
// InstallPlan would have installed. See config/policy/upgradehold.yaml.
var denial = regexp.MustCompile(`hold-installplans' denied request: The update to ([^ ]+(?:, [^ ]+)*?)(?:, in one InstallPlan with ([^ ]+(?:, [^ ]+)*),)? is held: `)

// IsDenial reports whether a condition of a Subscription reports that OLM could not create an InstallPlan because of an UpgradeHold.
func IsDenial(c v1alpha1.SubscriptionCondition) bool { return deniedIn(c) != nil }

// DeniedVersions returns the ClusterServiceVersions of the InstallPlan that OLM could not create last because of an UpgradeHold, or
// nil. OLM has no other record of them, and keeps this one until its next resolution.
func DeniedVersions(sub *v1alpha1.Subscription) []string {
	return deniedIn(sub.Status.GetCondition(unpackFailed))
}

// deniedIn returns the versions that a condition names if it is a denial, or nil.
func deniedIn(c v1alpha1.SubscriptionCondition) []string {
	if c.Type != unpackFailed || c.Reason != reasonPlanDenied || c.Status != corev1.ConditionTrue {
		return nil
	}
	match := denial.FindStringSubmatch(c.Message)
	if match == nil {
		return nil
	}
	out := strings.Split(match[1], ", ")
	if match[2] != "" {
		out = append(out, strings.Split(match[2], ", ")...)
	}
	return out
}

// DeniedUpdate returns the one of DeniedVersions that would replace a running ClusterServiceVersion, or "".
func DeniedUpdate(sub *v1alpha1.Subscription, running *v1alpha1.ClusterServiceVersion, csvs map[string]*v1alpha1.ClusterServiceVersion) string {
	denied := DeniedVersions(sub)
	if denied == nil {
		return ""
	}
	like := regexp.MustCompile(NamesLike(running))
	for _, name := range denied {
		if name != running.Name && csvs[name] == nil && like.MatchString(name) && validation.IsDNS1123Subdomain(name) == nil {
			return name
		}
	}
	return ""
}
