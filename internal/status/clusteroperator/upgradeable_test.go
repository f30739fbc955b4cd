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
		"nobody asks": {
			reason:  "Holding updates of the cluster is for those that ask for it.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", busy)},
		},
		"asks, and is upgradeable": {
			reason:  "The answer is there as soon as one asks.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds), healthy("bar", busy)},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"asks, and is not": {
			reason:  "The message is all that the admin is shown: who, why, and what ends it.",
			current: later,
			operators: []platformv1alpha1.PlatformOperator{
				healthy("foo", holds, busy), healthy("bar", busy), healthy("ape", holds, withCondition("Upgradeable", "False/")), healthy("zoo", holds),
			},
			want: no,
			words: "Minor updates of the cluster are held until each of these PlatformOperators is Upgradeable or no longer holds them " +
				"(spec.holdClusterUpdates): ape is not upgradeable; foo (NotUpgradeable), as its condition Upgradeable explains",
		},
		"asks, and nobody knows": {
			reason:  "What is not known does not block.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds, withCondition("Upgradeable", "Unknown/NoProbe"))},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"asks, and has no status": {
			reason:  "Nor does what has not been reconciled yet.",
			current: later, operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds, unread)},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"asks no more": {
			reason:  "The hold ends when no PlatformOperator asks for it.",
			current: upgradeable("False", "PlatformOperatorsNotUpgradeable"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", busy)},
			want: yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"the last that asked is gone": {
			reason:  "So it does when the last one that asked is deleted.",
			current: upgradeable("False", "PlatformOperatorsNotUpgradeable"),
			want:    yes, words: "No PlatformOperator holds minor updates of the cluster",
		},
		"somebody else holds": {
			reason:  "The condition of another writer is kept while no PlatformOperator asks to hold updates.",
			current: upgradeable("False", "AdminSaysNo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", busy)},
			want: "False/AdminSaysNo", words: "So it is",
		},
		"somebody else holds, and ours does not": {
			reason:  "PlatformOperators that are upgradeable do not end the hold of another writer.",
			current: upgradeable("False", "AdminSaysNo"), operators: []platformv1alpha1.PlatformOperator{healthy("foo", holds)},
			want: "False/AdminSaysNo", words: "So it is",
		},
		"somebody else allows, and ours does not": {
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
