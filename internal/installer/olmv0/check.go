package olmv0

import (
	"fmt"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// Check returns the operators. The blockers of an operator include those of a future update: of the operator
// to a newer version, or of an OpenShift cluster to its next minor version.
func Check(c Cluster) []operator.Operator {
	spaces, next := byNamespace(c), nextMinor(c.ClusterVersions)
	out := Operators(c)
	for i := range out {
		op := &out[i]
		n := spaces[op.Namespace]
		for _, kind := range n.unreadOf(ClusterServiceVersions, InstallPlans, Probes, OperatorConditions) {
			if !slices.Contains(op.Unread, kind) {
				op.Unread = append(op.Unread, kind)
			}
		}
		csv := n.CSVs[op.Installed]
		if csv == nil {
			continue
		}
		op.Blockers, op.WouldHold = append(op.Blockers, op.WouldHold...), nil
		if b := maxOpenShiftBlocker(csv, next); b != nil {
			op.Blockers = append(op.Blockers, *b)
		}
	}
	return out
}

// wouldHold returns the blockers of an operator that would hold its next update, and do not hold one already.
func (n *namespace) wouldHold(csv *v1alpha1.ClusterServiceVersion, op *operator.Operator) []operator.Blocker {
	if csv == nil || op.Upgradeable != metav1.ConditionFalse {
		return nil
	}
	decision := n.nextUpdate(csv)
	if !decision.Held {
		return nil
	}
	var out []operator.Blocker
	for _, h := range decision.Holds {
		b := installer.HeldBy(h, n.Probes[h.By.Name])
		if !slices.ContainsFunc(op.Blockers, func(o operator.Blocker) bool { return o.Impact == operator.Held && o.By == b.By }) {
			out = append(out, b)
		}
	}
	return out
}

// nextMinor returns the next minor version of an OpenShift cluster, or nil for any other.
func nextMinor(versions []configv1.ClusterVersion) *semver.Version {
	for i := range versions {
		if current, err := semver.ParseTolerant(versions[i].Status.Desired.Version); err == nil {
			current = minorOf(current)
			current.Minor++
			return &current
		}
	}
	return nil
}

// minorOf returns the minor version of OpenShift that a version is of. 4.23 and 5.0 are the same release.
func minorOf(v semver.Version) semver.Version {
	if v.Major == 4 && v.Minor == 23 {
		return semver.Version{Major: 5}
	}
	return semver.Version{Major: v.Major, Minor: v.Minor}
}

// Of OLM: the type of the property with the last minor version of OpenShift that a bundle supports, and the reason for which OLM
// then reports that the cluster is not Upgradeable.
const (
	propertyMaxOpenShiftVersion = "olm.maxOpenShiftVersion"
	reasonIncompatibleOperators = "IncompatibleOperatorsInstalled"
)

// maxOpenShiftBlocker returns the blocker of an operator that does not support the next minor version of OpenShift, or nil. Like
// OLM, it assumes that an operator with an invalid property supports no version.
func maxOpenShiftBlocker(csv *v1alpha1.ClusterServiceVersion, next *semver.Version) *operator.Blocker {
	if next == nil {
		return nil
	}
	limit, err := maxOpenShift(csv)
	if err == nil && (limit == nil || minorOf(*limit).GTE(*next)) {
		return nil
	}
	cause := fmt.Sprintf("The maximum OpenShift version of %s is invalid: %v", csv.Name, err)
	if err == nil {
		cause = fmt.Sprintf("%s supports OpenShift up to %d.%d", csv.Name, limit.Major, limit.Minor)
	}
	return &operator.Blocker{
		Impact: operator.Held, By: "ClusterServiceVersion " + csv.Namespace + "/" + csv.Name, Reason: reasonIncompatibleOperators,
		Cause: fmt.Sprintf("%s. OLM reports that the cluster is not upgradeable to %d.%d", cause, next.Major, next.Minor),
		Steps: []operator.Step{{To: "To check for a newer version", Command: operator.Command("kubectl operator-status get -n %s -o wide", csv.Namespace)}},
	}
}

// maxOpenShift returns the last minor version of OpenShift that an operator supports, or nil without a limit.
func maxOpenShift(csv *v1alpha1.ClusterServiceVersion) (*semver.Version, error) {
	properties, err := csvchain.PropertiesOf(csv)
	if err != nil {
		return nil, err
	}
	var out *semver.Version
	for _, p := range properties {
		if p.Type != propertyMaxOpenShiftVersion {
			continue
		}
		if out != nil {
			return nil, fmt.Errorf("it has more than one property %s", propertyMaxOpenShiftVersion)
		}
		version, err := semver.ParseTolerant(strings.Trim(string(p.Value), `"`))
		if err != nil || version.NE(semver.Version{Major: version.Major, Minor: version.Minor}) {
			return nil, fmt.Errorf("property %s is %s, not <major>.<minor>", propertyMaxOpenShiftVersion, p.Value)
		}
		out = &version
	}
	return out, nil
}
