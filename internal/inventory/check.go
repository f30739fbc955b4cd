package inventory

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/blang/semver/v4"
	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Check returns the operators as Operators does. Their blockers are also those of an update that there is not yet: of the
// operator to a newer version, or of an OpenShift cluster to its next minor version.
func Check(c Cluster) []Operator {
	spaces, next := byNamespace(c), nextMinor(c.ClusterVersions)
	out := Operators(c)
	for i := range out {
		op := &out[i]
		n := spaces[op.Namespace]
		csv := n.CSVs[op.CSV]
		if csv == nil {
			continue
		}
		if b := n.wouldHold(csv, op); b != nil {
			op.Blockers = append(op.Blockers, *b)
		}
		if b := keepsCluster(csv, next); b != nil {
			op.Blockers = append(op.Blockers, *b)
		}
	}
	return out
}

// wouldHold returns the blocker of an operator that would hold its next update; nil if it would not, or holds one already.
func (n *namespace) wouldHold(csv *v1alpha1.ClusterServiceVersion, op *Operator) *Blocker {
	decision := n.nextUpdate(csv)
	if op.Upgradeable != metav1.ConditionFalse || !decision.Held {
		return nil
	}
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: op.Namespace, Name: op.Name}}
	out := held(sub, v1alpha1.SubscriptionCondition{Status: corev1.ConditionTrue, Reason: decision.Reason, Message: decision.Message}, n, csv)
	out.Steps = slices.DeleteFunc(out.Steps, func(s Step) bool { return s.To == toUpdateAnyway }) // there is no version to name
	if slices.ContainsFunc(op.Blockers, func(b Blocker) bool { return b.Impact == Held && b.By == out.By }) {
		return nil
	}
	return &out
}

// nextMinor returns the next minor version of an OpenShift cluster; nil if the cluster is none.
func nextMinor(versions []configv1.ClusterVersion) *semver.Version {
	for i := range versions {
		current, err := semver.ParseTolerant(versions[i].Status.Desired.Version)
		if err != nil {
			continue
		}
		return &semver.Version{Major: current.Major, Minor: current.Minor + 1}
	}
	return nil
}

// Of OLM: the annotation of a ClusterServiceVersion with its properties, the type of the one with the last minor version
// of OpenShift that it supports, and the reason for which OLM then reports that the cluster is not Upgradeable.
const (
	annotationProperties        = "olm.properties"
	propertyMaxOpenShiftVersion = "olm.maxOpenShiftVersion"
	reasonIncompatibleOperators = "IncompatibleOperatorsInstalled"
)

// keepsCluster returns the blocker of an operator that does not support the next minor version of OpenShift; nil if it
// does. OLM treats a version that cannot be read as none that is supported.
func keepsCluster(csv *v1alpha1.ClusterServiceVersion, next *semver.Version) *Blocker {
	limit := maxOpenShift(csv)
	if next == nil || limit == "" {
		return nil
	}
	if version, err := semver.ParseTolerant(limit); err == nil && version.GTE(*next) {
		return nil
	}
	return &Blocker{
		Impact: Held, By: "ClusterServiceVersion " + csv.Namespace + "/" + csv.Name, Reason: reasonIncompatibleOperators,
		Cause: fmt.Sprintf("%s supports OpenShift up to %s: OLM reports that the cluster is not upgradeable to %d.%d", csv.Name, limit, next.Major, next.Minor),
		Steps: []Step{{"To see whether there is a newer version of it", fmt.Sprintf("kubectl operator-status get -n %s -o wide", csv.Namespace)}},
	}
}

// maxOpenShift returns the last version of OpenShift that an operator supports, as it is written; empty if it has none.
func maxOpenShift(csv *v1alpha1.ClusterServiceVersion) string {
	var properties []struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal([]byte(csv.Annotations[annotationProperties]), &properties) != nil {
		return ""
	}
	for _, p := range properties {
		if p.Type != propertyMaxOpenShiftVersion {
			continue
		}
		var text string
		if json.Unmarshal(p.Value, &text) != nil {
			text = string(p.Value) // a number, such as 4.8
		}
		return text
	}
	return ""
}
