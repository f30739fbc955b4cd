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
		"NoHistory": {reason: "Without a history the release is not reached."},
		"Completed": {"A completed release is reached.", []configv1.UpdateHistory{{Version: "2.0.0", State: completed}}, progressing(""), true},
		"OfAnother": {"A release is not reached if the history only has another one.", []configv1.UpdateHistory{{Version: "1.0.0", State: completed}},
			progressing("Working towards 2.0.0: waiting on platform-operators"), false},
		"Begun": {"A release is not reached while the CVO applies earlier manifests.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete)"), false},
		"WaitsForOthers": {"A release is not reached while the CVO waits for other ClusterOperators.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete), waiting on etcd, platform-operators-aggregated"), false},
		"Waits": {"A release is reached if the CVO waits for the ClusterOperator.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete), waiting on platform-operators"), true},
		"WaitsForSeveral": {"A release is reached if the CVO waits for several ClusterOperators, including this one.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Working towards 2.0.0: 3 of 9 done (33% complete), waiting up to 40 minutes on etcd, platform-operators, network"), true},
		"WaitsForLong": {"A release is reached if the CVO has waited too long for the ClusterOperator.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			progressing("Unable to apply 2.0.0: wait has exceeded 40 minutes for these operators: platform-operators"), true},
		"Several": {"A release is reached if one of several errors is about the ClusterOperator.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}}, several, true},
		"Past": {"A condition that is not True is ignored.", []configv1.UpdateHistory{{Version: "2.0.0", State: partial}},
			[]configv1.ClusterOperatorStatusCondition{condition(clusterVersionFailing, configv1.ConditionFalse, "platform-operators")}, false},
	} {
		status := &configv1.ClusterVersionStatus{History: tc.history, Conditions: tc.conditions}
		if got := reached(status, "2.0.0"); got != tc.want {
			t.Errorf("%s: %t. %s", name, got, tc.reason)
		}
	}
}
