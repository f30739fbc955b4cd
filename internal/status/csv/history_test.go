package csv

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// TestLastTransitions verifies that the last 20 changes of phase or reason are kept, and no others.
func TestLastTransitions(t *testing.T) {
	csv := etcd("1.0.0")
	for i := range 25 {
		phase := []olm.ClusterServiceVersionPhase{olm.CSVPhasePending, olm.CSVPhaseFailed}[i%2]
		for range 2 { // the second time only the message changes
			csv.Status = Compute(Inputs{CSV: csv, Decision: Decision{phase, v1alpha1.CSVReasonComponentUnhealthy, fmt.Sprint(i)}, Now: metav1.Unix(int64(i), 0)})
			if i < 24 {
				csv.Status = Compute(Inputs{CSV: csv, Decision: Decision{phase, v1alpha1.CSVReasonComponentUnhealthy, "again"}, Now: metav1.Unix(int64(i), 500)})
			}
		}
	}
	got := csv.Status.LastTransitions
	if len(got) != MaxTransitions {
		t.Fatalf("%d transitions are remembered", len(got))
	}
	for i, c := range got {
		n := i + 5
		if c.Message != fmt.Sprint(n) || c.LastTransitionTime.Unix() != int64(n) {
			t.Errorf("transition %d is %+v", n, c)
		}
	}
	csv.Status = Compute(Inputs{CSV: csv, Decision: Decision{csv.Status.Phase, v1alpha1.CSVReasonNeedsReinstall, "Other reason"}, Now: now})
	if last := csv.Status.LastTransitions[MaxTransitions-1]; last.Reason != v1alpha1.CSVReasonNeedsReinstall {
		t.Errorf("a changed reason is not recorded as a transition: the last is %+v", last)
	}
	if got := csv.Status.LastTransitionTime.Unix(); got != 24 {
		t.Errorf("lastTransitionTime is %d, want that of the phase, which changed at 24", got)
	}
}

// TestRanIsKept verifies that it stays known that an operator has run: however often its phase changes, and if OLM installed it.
func TestRanIsKept(t *testing.T) {
	ran := etcd("1.0.0")
	ran.Status = Compute(Inputs{CSV: ran, Decision: Decision{Phase: olm.CSVPhaseSucceeded}, Now: now})
	ofOLM := etcd("1.0.0")
	ofOLM.Status.Phase = olm.CSVPhaseSucceeded
	for _, phase := range []olm.ClusterServiceVersionPhase{olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded} {
		ofOLM.Status.Conditions = append(ofOLM.Status.Conditions, v1alpha1.ClusterServiceVersionCondition{Phase: phase, LastTransitionTime: &now})
	}
	for name, csv := range map[string]*v1alpha1.ClusterServiceVersion{"Loops": ran, "OLM": ofOLM} {
		t.Run(name, func(t *testing.T) {
			for i := range 2 * MaxTransitions {
				phase := []olm.ClusterServiceVersionPhase{olm.CSVPhasePending, olm.CSVPhaseFailed}[i%2]
				csv.Status = Compute(Inputs{CSV: csv, Decision: Decision{Phase: phase}, Now: now})
				if !csvchain.Ran(csv) || len(csv.Status.LastTransitions) > MaxTransitions {
					t.Fatalf("after %d changes, the transitions are %+v", i+1, csv.Status.LastTransitions)
				}
			}
		})
	}
}

// TestTimes verifies that each timestamp changes with the fields that it belongs to, and with nothing else.
func TestTimes(t *testing.T) {
	csv := withHistory(etcd("1.0.0"), installing)
	got := Compute(Inputs{CSV: csv, Decision: Decision{olm.CSVPhaseInstalling, installing.Reason, "Another"}, Now: now})
	want := map[string][2]int64{ // by condition: lastUpdateTime, lastTransitionTime
		"Available":   {2000, 1000}, // its message changed
		"Progressing": {1000, 1000},
	}
	for _, c := range got.Conditions {
		if times := [2]int64{c.LastUpdateTime.Unix(), c.LastTransitionTime.Unix()}; times != want[c.Type] {
			t.Errorf("%s has %v, want %v", c.Type, times, want[c.Type])
		}
	}
	if got.LastUpdateTime.Unix() != 2000 || got.LastTransitionTime.Unix() != 1000 {
		t.Errorf("lastUpdateTime is %v and lastTransitionTime %v", got.LastUpdateTime, got.LastTransitionTime)
	}
}

// TestTakenOver verifies that a status written by OLM is converted, and that conditions of others stay.
func TestTakenOver(t *testing.T) {
	csv := etcd("1.0.0")
	csv.Status = v1alpha1.ClusterServiceVersionStatus{
		Phase: succeeded.Phase, Reason: succeeded.Reason, Message: succeeded.Message, LastUpdateTime: &past, LastTransitionTime: &past,
		Conditions: []v1alpha1.ClusterServiceVersionCondition{
			{Phase: olm.CSVPhasePending, Reason: olm.CSVReasonRequirementsUnknown}, {Type: "Zebra", Status: "True"}, {Phase: succeeded.Phase},
		},
		Cleanup: olm.CleanupStatus{PendingDeletion: []olm.ResourceList{{Kind: "Foo"}}},
	}
	in := Inputs{CSV: csv, Decision: succeeded, Now: now}
	got := Compute(in)
	if diff := cmp.Diff([]string{"Available=True/: ", "Progressing=False/: Deployed version v1.0.0", "Zebra=True/: "}, formatConditions(got)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(got.LastTransitions) != 3 || !got.LastTransitionTime.Equal(&past) || len(got.Cleanup.PendingDeletion) != 1 {
		t.Errorf("got %+v", got)
	}
	checkStable(t, in, got)

	csv.Status.LastTransitionTime = nil
	if got := Compute(in); got.LastTransitionTime == nil {
		t.Error("lastTransitionTime is not set, although the status had none")
	}
	csv.Status = got
	csv.Status.LastUpdateTime = nil
	if got := Compute(in); got.LastUpdateTime == nil {
		t.Error("lastUpdateTime is not set again after it was removed")
	}
}

func TestRequirementsAndCertificates(t *testing.T) {
	made, rotate := metav1.NewTime(past.Add(time.Millisecond)), metav1.NewTime(now.Add(time.Millisecond))
	in := Inputs{
		CSV: etcd("1.0.0"), Decision: succeeded, Now: now, CertsLastUpdated: &made, CertsRotateAt: &rotate,
		Requirements: []olm.RequirementStatus{{Kind: "B", Name: "b"}, {Kind: "B", Name: "a"}, {Kind: "A", Name: "z"}},
	}
	got := Compute(in)
	if diff := cmp.Diff([]olm.RequirementStatus{{Kind: "A", Name: "z"}, {Kind: "B", Name: "a"}, {Kind: "B", Name: "b"}}, got.RequirementStatus); diff != "" {
		t.Errorf("requirements are sorted: -want +got\n%s", diff)
	}
	if !got.CertsLastUpdated.Equal(&past) || got.CertsRotateAt.Unix() != 2000 {
		t.Errorf("certificates last from %v to %v", got.CertsLastUpdated, got.CertsRotateAt)
	}
	checkStable(t, in, got)

	in.CSV.Status, in.Requirements, in.CertsLastUpdated, in.CertsRotateAt = got, nil, nil, nil
	got = Compute(in)
	if len(got.RequirementStatus) != 3 || got.CertsLastUpdated != nil || got.CertsRotateAt != nil {
		t.Errorf("requirements that were not checked should be kept, and the times of certificates that do not exist removed: %+v", got)
	}
	in.Requirements = []olm.RequirementStatus{}
	if got = Compute(in); len(got.RequirementStatus) != 0 {
		t.Errorf("requirements that no longer exist are still listed: %v", got.RequirementStatus)
	}
}
