package csv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestPhaseEvents(t *testing.T) {
	status := func(phase olm.ClusterServiceVersionPhase, reason olm.ConditionReason, message string) v1alpha1.ClusterServiceVersionStatus {
		return v1alpha1.ClusterServiceVersionStatus{Phase: phase, Reason: reason, Message: message}
	}
	const unmet, waiting, done = v1alpha1.CSVReasonRequirementsNotMet, v1alpha1.CSVReasonInstallWaiting, v1alpha1.CSVReasonInstallSuccessful
	met := "Normal AllRequirementsMet all requirements found, attempting install"
	cases := map[string]struct {
		reason        string
		before, after v1alpha1.ClusterServiceVersionStatus
		want          []string
	}{
		"New": {"The first phase.", status("", "", ""), status(olm.CSVPhasePending, unmet, "Foo is not there"),
			[]string{"Normal RequirementsNotMet Foo is not there"}},
		"OtherWords": {"Another message alone is no change.", status(olm.CSVPhasePending, unmet, "Foo is not there"),
			status(olm.CSVPhasePending, unmet, "Bar is not there"), nil},
		"OtherReason": {"Another reason is.", status(olm.CSVPhasePending, v1alpha1.CSVReasonInstallPlanIncomplete, "a"), status(olm.CSVPhasePending, unmet, "b"),
			[]string{"Normal RequirementsNotMet b"}},
		"Met": {"That what it waited for is there goes before.", status(olm.CSVPhasePending, unmet, "a"), status(olm.CSVPhaseInstalling, waiting, "b"),
			[]string{met, "Normal InstallWaiting b"}},
		"AtOnce": {"Also where it runs already.", status("", "", ""), status(olm.CSVPhaseSucceeded, done, "b"), []string{met, "Normal InstallSucceeded b"}},
		"Succeeded": {"They were met before.", status(olm.CSVPhaseInstalling, waiting, "a"), status(olm.CSVPhaseSucceeded, done, "b"),
			[]string{"Normal InstallSucceeded b"}},
		"Failed": {"A failure is a warning.", status(olm.CSVPhasePending, unmet, "a"), status(olm.CSVPhaseFailed, v1alpha1.CSVReasonOwnerConflict, "b"),
			[]string{"Warning OwnerConflict b"}},
		"Replaced": {"So it goes on.", status(olm.CSVPhaseSucceeded, done, "a"), status(olm.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced, "b"),
			[]string{"Normal BeingReplaced b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range phaseEvents(&tc.before, &tc.after) {
				got = append(got, e.kind+" "+e.reason+" "+e.message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
