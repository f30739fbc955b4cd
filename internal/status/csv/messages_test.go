package csv

import (
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestSameExceptMessages(t *testing.T) {
	at := metav1.Unix(1000, 0)
	status := func(change func(*v1alpha1.ClusterServiceVersionStatus)) v1alpha1.ClusterServiceVersionStatus {
		out := v1alpha1.ClusterServiceVersionStatus{
			Phase: olm.CSVPhaseInstalling, Message: "0 of 1", LastUpdateTime: &at,
			Conditions: []v1alpha1.ClusterServiceVersionCondition{{Type: "Available", Status: "False", Message: "0 of 1", LastUpdateTime: &at}},
		}
		change(&out)
		return out
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*v1alpha1.ClusterServiceVersionStatus)
		want   bool
	}{
		"Words": {
			reason: "A change of messages and update times is a change of messages only.", want: true,
			change: func(s *v1alpha1.ClusterServiceVersionStatus) {
				later := metav1.Unix(1001, 0)
				s.Message, s.LastUpdateTime, s.Conditions[0].Message, s.Conditions[0].LastUpdateTime = "1 of 1", &later, "1 of 1", &later
			},
		},
		"Phase": {reason: "A changed phase is not a change of messages only.",
			change: func(s *v1alpha1.ClusterServiceVersionStatus) { s.Phase = olm.CSVPhaseSucceeded }},
		"Reason":    {reason: "A changed reason is not a change of messages only.", change: func(s *v1alpha1.ClusterServiceVersionStatus) { s.Reason = "Other" }},
		"Condition": {reason: "A changed status of a condition is not a change of messages only.", change: func(s *v1alpha1.ClusterServiceVersionStatus) { s.Conditions[0].Status = "True" }},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameExceptMessages(status(func(*v1alpha1.ClusterServiceVersionStatus) {}), status(tc.change)); got != tc.want {
				t.Errorf("%s\nthe same except for messages: %v", tc.reason, got)
			}
		})
	}
}
