package clusteroperator

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestUpgradeable verifies that updates of the cluster are held only for PlatformOperators that set holdClusterUpdates.
func TestUpgradeable(t *testing.T) {
	busy := withCondition("Upgradeable", "False/NotUpgradeable: Foo default/foo-example: Migrating is True")
	upgradeable := func(status configv1.ConditionStatus, reason string) configv1.ClusterOperatorStatus {
		out := *later.DeepCopy()
		out.Conditions = append(out.Conditions, configv1.ClusterOperatorStatusCondition{
			Type: "Upgradeable", Status: status, Reason: reason, Message: "So it is", LastTransitionTime: past,
		})
		return out
	}
	const no, yes = "False/PlatformOperatorsNotUpgradeable", "True/PlatformOperatorsUpgradeable"
	for name, tc := range map[string]struct {
		reason    string
		current   configv1.ClusterOperatorStatus
		operators []platformv1alpha1.PlatformOperator
		want      string // empty if Upgradeable is not set
		words     string
	}{
		"no hold": {
			reason:  "Upgradeable is not set if no PlatformOperator sets holdClusterUpdates.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", busy)},
		},
		"upgradeable": {
			reason:  "Upgradeable is True if a PlatformOperator sets holdClusterUpdates and is upgradeable.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds), healthy("bar", busy)},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"not upgradeable": {
			reason:  "The message contains the PlatformOperators that hold updates, and how a hold ends.",
			current: later,
			operators: []platformv1alpha1.PlatformOperator{
				healthy("foo", holds, busy), healthy("bar", busy), healthy("ape", holds, withCondition("Upgradeable", "False/")), healthy("zoo", holds),
			},
			want: no,
			words: "Minor updates of the cluster are held until each of these PlatformOperators is Upgradeable or no longer holds them " +
				"(spec.holdClusterUpdates): ape is not upgradeable; foo (NotUpgradeable), as its condition Upgradeable explains",
		},
		"unknown": {
			reason:  "A PlatformOperator whose Upgradeable is Unknown does not hold updates.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds, withCondition("Upgradeable", "Unknown/NoProbe"))},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"no status": {
			reason:  "A PlatformOperator without a status does not hold updates.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds, unread)},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"no longer set": {
			reason:  "The hold ends when the last PlatformOperator no longer sets holdClusterUpdates.",
			current: upgradeable("False", "PlatformOperatorsNotUpgradeable"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", busy)},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"deleted": {
			reason:  "The hold ends when the last PlatformOperator that sets holdClusterUpdates is deleted.",
			current: upgradeable("False", "PlatformOperatorsNotUpgradeable"),
			want:    yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"held by another writer": {
			reason:  "The condition of another writer is kept if no PlatformOperator sets holdClusterUpdates.",
			current: upgradeable("False", "AdminSaysNo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", busy)},
			want: "False/AdminSaysNo", words: "So it is",
		},
		"held by another writer, and upgradeable": {
			reason:  "PlatformOperators that are upgradeable do not end the hold of another writer.",
			current: upgradeable("False", "AdminSaysNo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds)},
			want: "False/AdminSaysNo", words: "So it is",
		},
		"allowed by another writer, and not upgradeable": {
			reason:  "Upgradeable=True of another writer does not end the hold of a PlatformOperator.",
			current: upgradeable("True", "AsExpected"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds, busy)},
			want: no, words: "Minor updates of the cluster are held until each of these PlatformOperators is Upgradeable or no longer holds them " +
				"(spec.holdClusterUpdates): foo (NotUpgradeable), as its condition Upgradeable explains",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := checked(t, Inputs{Current: tc.current, Operators: tc.operators, Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now})
			texts := ""
			if i := Find(&got, "Upgradeable"); i >= 0 {
				texts = string(got.Conditions[i].Status) + "/" + got.Conditions[i].Reason
			}
			if texts != tc.want || message(got, "Upgradeable") != tc.words {
				t.Errorf("%s\nwant %s: %s\ngot  %s: %s", tc.reason, tc.want, tc.words, texts, message(got, "Upgradeable"))
			}
		})
	}
}
