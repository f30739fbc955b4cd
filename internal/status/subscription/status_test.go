package subscription

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/golden"
	"github.com/operator-status/operator-status/internal/test/healthrows"
)

const generation = 3

var (
	past = metav1.Unix(1000, 0)
	now  = metav1.Unix(2000, 12345) // more precise than the API server
)

// source returns a CatalogSource of the global namespace that has been read.
func source(name string) CatalogSource {
	return CatalogSource{Read: true, CatalogSource: olm.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "global", Name: name, UID: types.UID("uid-" + name)},
		Status:     olm.CatalogSourceStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionTrue}}},
	}}
}

func unhealthy(c CatalogSource, reason, message string) CatalogSource {
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionHealthy, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
	return c
}

func unread(c CatalogSource) CatalogSource {
	c.Read = false
	return c
}

func csv(name string, phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
	return &v1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Status:     v1alpha1.ClusterServiceVersionStatus{Phase: phase},
	}
}

func withReason(csv *v1alpha1.ClusterServiceVersion, reason olm.ConditionReason, message string) *v1alpha1.ClusterServiceVersion {
	csv.Status.Reason, csv.Status.Message = reason, message
	return csv
}

func plan(phase olm.InstallPlanPhase, csvs ...string) *olm.InstallPlan {
	return &olm.InstallPlan{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-1", UID: "uid-plan"},
		Spec:       olm.InstallPlanSpec{ClusterServiceVersionNames: csvs, Approval: olm.ApprovalAutomatic, Generation: 2},
		Status:     olm.InstallPlanStatus{Phase: phase},
	}
}

func manual(p *olm.InstallPlan) *olm.InstallPlan {
	p.Spec.Approval = olm.ApprovalManual
	return p
}

func approved(p *olm.InstallPlan) *olm.InstallPlan {
	p.Spec.Approved = true
	return p
}

func planRef() *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "operators.coreos.com/v1alpha1", Kind: "InstallPlan", Namespace: "default", Name: "install-1", UID: "uid-plan",
	}
}

// running returns the Inputs of a Subscription that is up to date with foo.v1.
func running() Inputs {
	v1 := csv("foo.v1", olm.CSVPhaseSucceeded)
	return Inputs{
		Subscription: &v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo", Generation: generation},
			Spec:       &olm.SubscriptionSpec{CatalogSource: "operators", CatalogSourceNamespace: "global", Package: "foo", Channel: "stable"},
			Status:     v1alpha1.SubscriptionStatus{CurrentCSV: "foo.v1", InstalledCSV: "foo.v1"},
		},
		CatalogSources:  []CatalogSource{source("operators")},
		GlobalNamespace: "global",
		Resolution:      &Resolution{Newest: "foo.v1"},
		Installed:       v1,
		Current:         v1,
		Now:             now,
	}
}

// fresh returns the Inputs of a new Subscription with nothing installed.
func fresh() Inputs {
	in := running()
	in.Subscription.Status = v1alpha1.SubscriptionStatus{}
	in.Resolution = &Resolution{Next: "foo.v1", Newest: "foo.v1"}
	in.Installed, in.Current = nil, nil
	return in
}

// updating returns the Inputs of a Subscription that has foo.v1 installed, and an InstallPlan for foo.v2.
func updating(p *olm.InstallPlan) Inputs {
	in := running()
	in.Subscription.Status.CurrentCSV = "foo.v2"
	in.Resolution = &Resolution{Next: "foo.v2", Newest: "foo.v2"}
	in.Current, in.Plan = nil, p
	return in
}

func with(in Inputs, changes ...func(*Inputs)) Inputs {
	for _, change := range changes {
		change(&in)
	}
	return in
}

func problem(reason string) func(*Inputs) {
	return func(in *Inputs) {
		in.Resolution = &Resolution{Problem: &Problem{Reason: reason, Message: reason + " it is"}}
	}
}

// conditions returns those of a Subscription that is up to date, except UpToDate, with changes, as "Status/Reason" by
// type; an empty one is absent.
func conditions(changes ...string) map[string]string {
	return builder.Changed(map[string]string{
		"CatalogSourceInvalid":              "False/CatalogSourceValid",
		"CatalogSourcesUnhealthy":           "False/AllCatalogSourcesHealthy",
		"InstallPlanAwaitingManualApproval": "False/NotAwaitingApproval",
		"InstalledCSVFailed":                "False/CSVNotFailed",
		"InstalledCSVMissing":               "False/CSVPresent",
		"InstalledCSVReplacementAvailable":  "False/NoReplacementAvailable",
		"PackageChannelInvalid":             "False/PackageChannelValid",
		"UpgradeHeld":                       "False/NotHeld",
	}, changes...)
}

const replacement = "InstalledCSVReplacementAvailable=True/ReplacementAvailable"

// nothingInstalled are the changes to conditions while nothing is installed, and planless those without an InstallPlan.
var (
	nothingInstalled = []string{"InstalledCSVFailed=", "InstalledCSVMissing=", "InstalledCSVReplacementAvailable="}
	planless         = []string{"InstallPlanAwaitingManualApproval="}
)

type row struct {
	reason             string
	in                 Inputs
	current, installed string
	state              string // "State/Reason"
	upToDate           bool
	message            string
	conditions         map[string]string

	// why is the reason of UpToDate, or empty for NewestDoesNotRun.
	why string
}

func TestCompute(t *testing.T) {
	statuses := golden.Open(t)
	seen := map[string]bool{}
	for name, tc := range rows() {
		t.Run(name, func(t *testing.T) {
			got := Compute(tc.in)
			statuses.Check(t, name, got)
			conditions := map[string]string{}
			for _, c := range got.Conditions {
				if c.Type != v1alpha1.SubscriptionUpToDate {
					conditions[string(c.Type)] = fmt.Sprintf("%s/%s", c.Status, c.Reason)
				}
				seen[fmt.Sprintf("%s=%s", c.Type, c.Status)] = true
				if c.Message == "" && !IsInProgress(&got, c) {
					t.Errorf("%s has no message", c.Type)
				}
			}
			if diff := gocmp.Diff(tc.conditions, conditions); diff != "" {
				t.Errorf("%s\nconditions: -want +got\n%s", tc.reason, diff)
			}
			checkUpToDate(t, got, tc)
			want := []any{tc.current, tc.installed, tc.state, tc.upToDate, tc.message, int64(generation)}
			summary := []any{
				got.CurrentCSV, got.InstalledCSV, strings.TrimSuffix(fmt.Sprintf("%s/%s", got.State, got.Reason), "/"),
				got.UpToDate, got.Message, got.ObservedGeneration,
			}
			if diff := gocmp.Diff(want, summary); diff != "" {
				t.Errorf("%s\ncurrentCSV, installedCSV, state, UpToDate, message, observedGeneration: -want +got\n%s", tc.reason, diff)
			}
			checkStable(t, tc.in, got)
			checkInvariants(t, got)
			sub := tc.in.Subscription.DeepCopy()
			sub.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.SubscriptionKind))
			sub.Status = got
			healthrows.Write(t, sub, healthOf(&got))
		})
	}
	always := slices.Collect(maps.Keys(conditions()))
	for _, c := range append(always, "UpToDate") {
		for _, status := range []string{"True", "False"} {
			if !seen[c+"="+status] {
				t.Errorf("no case shows %s=%s", c, status)
			}
		}
	}
}

// healthOf returns the health that a Subscription's status reports.
func healthOf(status *v1alpha1.SubscriptionStatus) healthrows.Health {
	switch {
	case ProblemOf(status) != nil:
		return healthrows.Trouble
	case status.State == olm.SubscriptionStateAtLatest &&
		(isTrue(status, v1alpha1.SubscriptionCatalogSourcesUnhealthy) || isTrue(status, v1alpha1.SubscriptionInstallPlanPending)):
		return healthrows.Beside
	case status.UpToDate, status.State == olm.SubscriptionStateAtLatest && WaitOf(status) == nil:
		return healthrows.Well
	case WaitOf(status) != nil && status.InstalledCSV != "":
		return healthrows.Waiting
	}
	return healthrows.Progress
}

// checkUpToDate verifies that the condition agrees with the field, and has the reason.
func checkUpToDate(t *testing.T, status v1alpha1.SubscriptionStatus, tc row) {
	t.Helper()
	want := []any{corev1.ConditionFalse, cmp.Or(tc.why, v1alpha1.ReasonNewestDoesNotRun), tc.message}
	if tc.upToDate {
		want = []any{corev1.ConditionTrue, v1alpha1.ReasonNewestRuns, tc.installed + " is the newest, and runs"}
	}
	c := status.GetCondition(v1alpha1.SubscriptionUpToDate)
	if diff := gocmp.Diff(want, []any{c.Status, c.Reason, c.Message}); diff != "" {
		t.Errorf("%s\nUpToDate: -want +got\n%s", tc.reason, diff)
	}
}

// checkStable verifies that the status computed later from the same inputs, as the API server stores them, is the same.
func checkStable(t *testing.T, in Inputs, status v1alpha1.SubscriptionStatus) {
	t.Helper()
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var kept v1alpha1.SubscriptionStatus
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(kept, status); diff != "" {
		t.Errorf("the status differs after a round trip through JSON: -stored +computed\n%s", diff)
	}
	in.Subscription = in.Subscription.DeepCopy()
	in.Subscription.Status = kept
	in.Now = metav1.NewTime(in.Now.Add(time.Hour))
	if diff := gocmp.Diff(kept, Compute(in)); diff != "" {
		t.Errorf("the second result differs, so it would be written again: -first +second\n%s", diff)
	}
}

// alarms are condition types of OLM that report a problem or progress.
var alarms = map[v1alpha1.SubscriptionConditionType]bool{
	v1alpha1.SubscriptionResolutionFailed: true, v1alpha1.SubscriptionInstallPlanPending: true,
	v1alpha1.SubscriptionInstallPlanFailed: true, v1alpha1.SubscriptionInstallPlanMissing: true,
}

// checkInvariants verifies the invariants of every status.
func checkInvariants(t *testing.T, status v1alpha1.SubscriptionStatus) {
	t.Helper()
	if !slices.IsSortedFunc(status.Conditions, func(a, b v1alpha1.SubscriptionCondition) int { return strings.Compare(string(a.Type), string(b.Type)) }) {
		t.Errorf("conditions are not sorted: %v", status.Conditions)
	}
	well := status.UpToDate
	for _, c := range status.Conditions {
		_, ours := conditions()[string(c.Type)]
		ours = ours || alarms[c.Type]
		well = well && (!ours || c.Status == corev1.ConditionFalse)
		if alarms[c.Type] && c.Status != corev1.ConditionTrue {
			t.Errorf("%s is %s, but as in OLM it must exist only while it is True", c.Type, c.Status)
		}
		if ours && (c.LastTransitionTime == nil || c.LastHeartbeatTime != nil) {
			t.Errorf("%s has lastTransitionTime %v and lastHeartbeatTime %v", c.Type, c.LastTransitionTime, c.LastHeartbeatTime)
		}
	}
	if well != (status.Message == "") {
		t.Errorf("the message must be empty exactly if the Subscription has no problem: UpToDate is %t, message is %q, conditions are %v", status.UpToDate, status.Message, status.Conditions)
	}
	if diff := gocmp.Diff(v1alpha1.NewInstallPlanReference(status.InstallPlanRef), status.Install); diff != "" {
		t.Errorf("installPlanRef and installplan differ: %s", diff)
	}
	if status.UpToDate && (status.CurrentCSV == "" || status.CurrentCSV != status.InstalledCSV) {
		t.Errorf("UpToDate with %q of %q", status.InstalledCSV, status.CurrentCSV)
	}
}
