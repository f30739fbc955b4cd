package subscription

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestSameExceptMessages(t *testing.T) {
	status := func(change func(*v1alpha1.SubscriptionStatus)) v1alpha1.SubscriptionStatus {
		out := v1alpha1.SubscriptionStatus{
			Message: "Waiting: 0 of 1", CurrentCSV: "foo.v1", LastUpdated: metav1.Unix(1000, 0),
			Conditions: []v1alpha1.SubscriptionCondition{{Type: v1alpha1.SubscriptionUpgradeHeld, Status: "False", Message: "0 of 1"}},
		}
		change(&out)
		return out
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*v1alpha1.SubscriptionStatus)
		want   bool
	}{
		"Words": {
			reason: "A change of messages and update times is a change of messages only.", want: true,
			change: func(s *v1alpha1.SubscriptionStatus) {
				s.Message, s.Conditions[0].Message, s.LastUpdated = "Waiting: 1 of 1", "1 of 1", metav1.Unix(1001, 0)
			},
		},
		"UpToDate":  {reason: "A change of upToDate is not a change of messages only.", change: func(s *v1alpha1.SubscriptionStatus) { s.UpToDate = true }},
		"Current":   {reason: "A change of currentCSV is not a change of messages only.", change: func(s *v1alpha1.SubscriptionStatus) { s.CurrentCSV = "foo.v2" }},
		"Condition": {reason: "A change of a condition's status is not a change of messages only.", change: func(s *v1alpha1.SubscriptionStatus) { s.Conditions[0].Status = "True" }},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameExceptMessages(status(func(*v1alpha1.SubscriptionStatus) {}), status(tc.change)); got != tc.want {
				t.Errorf("%s\nthe same except for messages: %v", tc.reason, got)
			}
		})
	}
}
