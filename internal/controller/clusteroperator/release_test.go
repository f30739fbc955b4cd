package clusteroperator

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
)

// TestReached verifies, with messages of a real Cluster Version Operator, when it has come to the ClusterOperator.
func TestReached(t *testing.T) {
	const partial, completed = configv1.PartialUpdate, configv1.CompletedUpdate
	condition := func(t configv1.ClusterStatusConditionType, status configv1.ConditionStatus, message string) configv1.ClusterOperatorStatusCondition {
		return configv1.ClusterOperatorStatusCondition{Type: t, Status: status, Message: message}
	}
	progressing := func(message string) []configv1.ClusterOperatorStatusCondition {
		return []configv1.ClusterOperatorStatusCondition{condition(configv1.OperatorProgressing, configv1.ConditionTrue, message)}
	}
	several := []configv1.ClusterOperatorStatusCondition{
		condition(clusterVersionFailing, configv1.ConditionTrue, "Multiple errors are preventing progress:\n* Cluster operator etcd is degraded\n"+
			"* Cluster operator platform-operators is updating versions"),
		condition(configv1.OperatorProgressing, configv1.ConditionTrue, "Unable to apply 2.0.0: an unknown error has occurred: MultipleErrors"),
	}
	for name, tc := range map[string]struct {
		reason     string
		history    []configv1.UpdateHistory
		conditions []configv1.ClusterOperatorStatusCondition
		want       bool
	}{
		"NoHistory": {reason: "It has not begun."},
		"Completed": {"It has been here.", []configv1.UpdateHistory{{Version: "2.0.0", State: completed}}, progressing(""), true},
		"OfAnother": {"It has completed another release, and not begun this one.", []configv1.UpdateHistory{{Version: "1.0.0", State: completed}},
			progressing("Working towards 2.0.0: waiting on platform-operators"), false},
		"Begun": {"It is still on the way.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete)"), false},
		"WaitsForOthers": {"It waits for others before.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete), waiting on etcd, platform-operators-aggregated"), false},
		"Waits": {"It waits.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete), waiting on platform-operators"), true},
		"WaitsForSeveral": {"It waits for several.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete), waiting up to 40 minutes on etcd, platform-operators, network"), true},
		"WaitsForLong": {"It waits for too long.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Unable to apply 2.0.0: wait has exceeded 40 minutes for these operators: platform-operators"), true},
		"Several": {"Several errors keep it.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}}, several, true},
		"Past": {"What is not True is of the past.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			[]configv1.ClusterOperatorStatusCondition{condition(clusterVersionFailing, configv1.ConditionFalse, "platform-operators")}, false},
	} {
		status := &configv1.ClusterVersionStatus{History: tc.history, Conditions: tc.conditions}
		if got := reached(status, "2.0.0"); got != tc.want {
			t.Errorf("%s: %t. %s", name, got, tc.reason)
		}
	}
}
