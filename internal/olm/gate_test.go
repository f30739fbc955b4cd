package olm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func saying(status metav1.ConditionStatus) *v1alpha1.Probe {
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Name: "foo.v1"},
		Status: v1alpha1.ProbeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionUpgradeable, Status: status, Message: "Waiting for Foo a/b: Migrating is True"},
		}},
	}
}

func entry(status metav1.ConditionStatus, reason, message string, seconds int64) metav1.Condition {
	return metav1.Condition{Type: "Upgradeable", Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Unix(seconds, 0)}
}

func TestGate(t *testing.T) {
	other := metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Theirs"}
	no := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable, "Probe foo.v1: Waiting for Foo a/b: Migrating is True", 2000)
	yes := entry(metav1.ConditionTrue, v1alpha1.ReasonProbeUpgradeable, "Probe foo.v1 says that the operator may be updated", 2000)
	gone := entry(metav1.ConditionTrue, v1alpha1.ReasonProbeGone, "There is no Probe any more that could hold the update", 2000)
	theirs := entry(metav1.ConditionTrue, "TheirReason", "theirs", 1000)
	earlier := func(c metav1.Condition) metav1.Condition { c.LastTransitionTime = metav1.Unix(1000, 0); return c }
	cases := map[string]struct {
		reason     string
		conditions []metav1.Condition
		probe      *v1alpha1.Probe
		want       []metav1.Condition
		transition bool
	}{
		"Held":        {"A Probe that says no is told to OLM, beside what else is there.", []metav1.Condition{other}, saying(metav1.ConditionFalse), []metav1.Condition{other, no}, true},
		"Released":    {"And that it says yes again.", []metav1.Condition{earlier(no), other}, saying(metav1.ConditionTrue), []metav1.Condition{yes, other}, true},
		"StillHeld":   {"The same answer is no transition.", []metav1.Condition{earlier(no)}, saying(metav1.ConditionFalse), []metav1.Condition{earlier(no)}, false},
		"First":       {"The first answer is told, whatever it is.", nil, saying(metav1.ConditionTrue), []metav1.Condition{yes}, true},
		"Unknown":     {"A Probe that does not know changes nothing.", []metav1.Condition{earlier(no)}, saying(metav1.ConditionUnknown), []metav1.Condition{earlier(no)}, false},
		"NoStatus":    {"Nor does one that has not spoken.", nil, &v1alpha1.Probe{}, nil, false},
		"Gone":        {"When the Probe goes ours turns True, and stays.", []metav1.Condition{earlier(no)}, nil, []metav1.Condition{gone}, true},
		"GoneAllowed": {"If it was True already, there is nothing to write.", []metav1.Condition{earlier(yes)}, nil, []metav1.Condition{earlier(gone)}, false},
		"NeverThere":  {"Without a Probe there is nothing to say.", []metav1.Condition{other}, nil, []metav1.Condition{other}, false},
		"Theirs":      {"The operator's own word stays.", []metav1.Condition{theirs}, saying(metav1.ConditionFalse), []metav1.Condition{theirs}, false},
		"TheirsAlone": {"Also when the Probe is gone.", []metav1.Condition{theirs}, nil, []metav1.Condition{theirs}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Gate(tc.conditions, tc.probe, metav1.Unix(2000, 0))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if transition(tc.conditions, got) != tc.transition {
				t.Errorf("%s\ntransition is %t", tc.reason, !tc.transition)
			}
		})
	}
}
