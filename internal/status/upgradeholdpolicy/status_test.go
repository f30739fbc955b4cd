package upgradeholdpolicy

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

func TestCompute(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(hours int) *metav1.Time { return &metav1.Time{Time: now.Add(time.Duration(hours) * time.Hour)} }
	hold := func(name string, status metav1.ConditionStatus) *holdv1alpha1.UpgradeHold {
		out := &holdv1alpha1.UpgradeHold{}
		out.Spec.Operator = holdv1alpha1.OperatorReference{Namespace: "default", Name: name}
		meta.SetStatusCondition(&out.Status.Conditions, metav1.Condition{Type: holdv1alpha1.ConditionHeld, Status: status, Reason: "Because"})
		return out
	}
	window := func(schedule string) []holdv1alpha1.UpdateWindow {
		return []holdv1alpha1.UpdateWindow{{Schedule: schedule, Duration: metav1.Duration{Duration: time.Hour}}}
	}
	const matched = "True/OperatorsFound: Applies to default/bar, default/foo"
	some := []*holdv1alpha1.UpgradeHold{hold("foo", metav1.ConditionTrue), hold("bar", metav1.ConditionFalse)}
	cases := map[string]struct {
		reason        string
		terms         holdv1alpha1.HoldTerms
		holds         []*holdv1alpha1.UpgradeHold
		matched, held string
		summary       holdv1alpha1.UpgradeHoldPolicySummary
		changes       *metav1.Time
	}{
		"Held": {"Operators that are not held, since they were never installed, are counted.", holdv1alpha1.HoldTerms{Message: "audit"}, some,
			matched, "True/HeldByUser: Updates are held: audit", holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, nil},
		"None": {"A policy may select nothing.", holdv1alpha1.HoldTerms{}, nil, "False/NoOperatorFound: spec.match selects no operator",
			"True/HeldByUser: Updates are held", holdv1alpha1.UpgradeHoldPolicySummary{}, nil},
		"Until": {"It tells when it ends.", holdv1alpha1.HoldTerms{Until: at(2), Message: "audit"}, some, matched,
			"True/HeldByUser: Updates are held until 2026-11-28T14:00:00Z: audit", holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, at(2)},
		"Later": {"And when it begins.", holdv1alpha1.HoldTerms{From: at(1)}, some, matched, "False/NotStarted: It begins at 2026-11-28T13:00:00Z",
			holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, at(1)},
		"Closed": {"And when a window opens.", holdv1alpha1.HoldTerms{UpdateWindows: window("0 15 * * *")}, some, matched,
			"True/HeldByUser: Updates are held until 2026-11-28T15:00:00Z", holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, at(3)},
		"Open": {"And closes.", holdv1alpha1.HoldTerms{UpdateWindows: window("0 12 * * *")}, some, matched,
			"False/UpdateWindow: An update window is open until 2026-11-28T13:00:00Z", holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, at(1)},
		"Never": {"A window that never opens is told.", holdv1alpha1.HoldTerms{UpdateWindows: window("0 0 30 2 *")}, some, matched,
			`True/HeldByUser: Updates are held. updateWindows has "0 0 30 2 *", which never opens: no such time in the next years`,
			holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, nil},
		"Expired": {"It may be over.", holdv1alpha1.HoldTerms{Until: at(-1)}, some, matched, "False/Expired: spec.until has passed",
			holdv1alpha1.UpgradeHoldPolicySummary{Operators: 2, Held: 1}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			policy := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "freeze", Generation: 7}}
			policy.Spec.HoldTerms = tc.terms
			in := Inputs{Policy: policy, Holds: tc.holds, Now: metav1.NewTime(now)}
			got, changes := Compute(in)
			for kind, want := range map[string]string{holdv1alpha1.ConditionMatched: tc.matched, holdv1alpha1.ConditionHeld: tc.held} {
				c := meta.FindStatusCondition(got.Conditions, kind)
				text := string(c.Status) + "/" + c.Reason
				if c.Message != "" {
					text += ": " + c.Message
				}
				if text != want || c.ObservedGeneration != 7 {
					t.Errorf("%s\n%s of generation %d is %s, want %s", tc.reason, kind, c.ObservedGeneration, text, want)
				}
			}
			if got.Summary != tc.summary {
				t.Errorf("%s\nthe summary is %+v, want %+v", tc.reason, got.Summary, tc.summary)
			}
			if want := tc.changes; want == nil != changes.IsZero() || want != nil && !changes.Equal(want.Time) {
				t.Errorf("%s\nit changes at %s, want %s", tc.reason, changes, want)
			}
			policy.Status, in.Now = got, metav1.NewTime(now.Add(time.Minute))
			if again, _ := Compute(in); !again.Conditions[0].LastTransitionTime.Equal(&got.Conditions[0].LastTransitionTime) {
				t.Errorf("%s\nthe time of a condition changes without its status", tc.reason)
			}
		})
	}
}
