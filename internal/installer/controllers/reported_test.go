package controllers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

func TestReported(t *testing.T) {
	hold := func(of holdv1alpha1.Installer, status metav1.ConditionStatus) installer.Object {
		out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "hold"}}
		out.Spec.Operator = holdv1alpha1.OperatorReference{Installer: of, Namespace: "foo", Name: "release"}
		out.Status.Conditions = []metav1.Condition{{Type: holdv1alpha1.ConditionHeld, Status: status}}
		out.Status.Holds = []holdv1alpha1.HoldCause{{Reason: "Because", By: "Probe foo/release"}}
		return out
	}
	probe := func(of holdv1alpha1.Installer, conditions ...metav1.Condition) installer.Object {
		out := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "release"}, Spec: &v1alpha1.ProbeSpec{}}
		if of != "" {
			out.Spec.Operator = &v1alpha1.ProbedOperator{Installer: string(of), Name: "release"}
		}
		out.Status.Conditions = conditions
		return out
	}
	important := metav1.Condition{Type: v1alpha1.ConditionImportant, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConditionsTrue}
	forbidden := metav1.Condition{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonForbidden}
	stale := func(status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionSynced, Status: status, Reason: v1alpha1.ReasonStale}
	}
	for name, tc := range map[string]struct {
		reason  string
		objects []installer.Object
		want    []string
	}{
		"Held":       {"It is reported while its update is held.", []installer.Object{hold("Helm", "True")}, []string{"Held by Probe foo/release (Because)"}},
		"HeldNoMore": {"A hold that has ended reports nothing.", []installer.Object{hold("Helm", "False")}, nil},
		"OLM":        {"OLM's operators are reported with their Subscription.", []installer.Object{hold("OLM", "True"), probe("", important)}, nil},
		"Quiet":      {"A Probe without problems and notices reports nothing.", []installer.Object{probe("Helm")}, nil},
		"Notice":     {"An important condition is a notice.", []installer.Object{probe("Helm", important)}, []string{"Notice by Probe foo/release (ConditionsTrue)"}},
		"Unreliable": {"A Probe that may not read is broken, whether it holds or not.", []installer.Object{probe("Workload", forbidden)},
			[]string{"Broken by Probe foo/release (Forbidden)"}},
		"StaysStale": {"So is one whose reads have been outdated for minutes.", []installer.Object{probe("Workload", stale(metav1.ConditionFalse))},
			[]string{"Broken by Probe foo/release (Stale)"}},
		"Stale": {"An overloaded API server recovers.", []installer.Object{probe("Workload", stale(metav1.ConditionUnknown))}, nil},
		"All": {"All of one operator is reported together, what is broken first.", []installer.Object{hold("Helm", "True"), probe("Helm", important, forbidden)},
			[]string{"Broken by Probe foo/release (Forbidden)", "Held by Probe foo/release (Because)", "Notice by Probe foo/release (ConditionsTrue)"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			found := Reported{}.Operators(installer.Cluster{Objects: tc.objects})
			for _, op := range found {
				for _, all := range [][]operator.Blocker{op.Blockers, op.Notices} {
					for _, b := range all {
						got = append(got, string(b.Impact)+" by "+b.By+" ("+b.Reason+")")
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || len(found) > 1 {
				t.Errorf("%s\n%d operators, -want +got\n%s", tc.reason, len(found), diff)
			}
		})
	}
}
