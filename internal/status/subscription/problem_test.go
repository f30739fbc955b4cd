package subscription

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// statusWith returns the status of a Subscription to foo.v1 with conditions, each as "Type=Status/Reason: message".
func statusWith(conditions ...string) *v1alpha1.SubscriptionStatus {
	out := &v1alpha1.SubscriptionStatus{InstalledCSV: "foo.v1"}
	for _, c := range conditions {
		c, message, _ := strings.Cut(c, ": ")
		c, reason, _ := strings.Cut(c, "/")
		t, status, _ := strings.Cut(c, "=")
		out.Conditions = append(out.Conditions, v1alpha1.SubscriptionCondition{
			Type: v1alpha1.SubscriptionConditionType(t), Status: corev1.ConditionStatus(status), Reason: reason, Message: message,
		})
	}
	return out
}

// withUpToDate sets the field UpToDate, and the message.
func withUpToDate(status *v1alpha1.SubscriptionStatus, upToDate bool, message string) *v1alpha1.SubscriptionStatus {
	status.UpToDate, status.Message = upToDate, message
	return status
}

// TestTroubleAndWait verifies ProblemOf and WaitOf for Subscriptions with either, both or neither.
func TestTroubleAndWait(t *testing.T) {
	const (
		held     = "UpgradeHeld=True/ProbeNotUpgradeable: foo.v1 is busy"
		approval = "InstallPlanAwaitingManualApproval=True/RequiresApproval: approve it"
		unpack   = "BundleUnpackFailed=True/BundleUnpackFailed: DeadlineExceeded"
	)
	isHeld, awaits := &Problem{Reason: "ProbeNotUpgradeable", Message: "foo.v1 is busy"}, &Problem{Reason: "RequiresApproval", Message: "approve it"}
	for name, tc := range map[string]struct {
		reason  string
		status  *v1alpha1.SubscriptionStatus
		trouble *Problem
		wait    *Problem
	}{
		"Silent": {reason: "A Subscription without conditions has no problem.", status: statusWith()},
		"Well": {
			reason: "A Subscription whose conditions report no problem has none.",
			status: statusWith("InstalledCSVFailed=False/CSVNotFailed: no", "ResolutionFailed=False/Resolved: no",
				"UpgradeHeld=False/NotHeld: no", "InstallPlanAwaitingManualApproval=False/NotAwaitingApproval: no",
				"BundleUnpackFailed=False", "UpToDate=True/NewestRuns: yes"),
		},
		"Unknown": {
			reason: "A condition that is Unknown is not a problem.",
			status: statusWith("InstalledCSVFailed=Unknown/Who: knows", "UpgradeHeld=Unknown/Who: knows", "BundleUnpackFailed=Unknown"),
		},
		"Failed": {
			reason:  "A problem has the reason and message of its condition.",
			status:  statusWith("InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"WithoutReason": {
			reason: "The condition type is the reason if OLM omits the reason.", status: statusWith("ResolutionFailed=True: no operators found"),
			trouble: &Problem{Reason: "ResolutionFailed", Message: "no operators found"},
		},
		"UnpackFailed": {
			reason: "OLM's condition BundleUnpackFailed is a problem, since no condition of ours reports it.", status: statusWith(unpack),
			trouble: &Problem{Reason: "BundleUnpackFailed", Message: "DeadlineExceeded"},
		},
		"UnpackAndResolution": {
			reason:  "BundleUnpackFailed takes precedence over ResolutionFailed, which follows from it.",
			status:  statusWith("ResolutionFailed=True/ErrorPreventedResolution: bundle unpacking failed", unpack),
			trouble: &Problem{Reason: "BundleUnpackFailed", Message: "DeadlineExceeded"},
		},
		"UnpackAndFailed": {
			reason:  "The failure of the operator takes precedence over an update that cannot be unpacked.",
			status:  statusWith(unpack, "InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"Worst": {
			reason: "The worst problem is returned, whatever the order of the conditions.",
			status: statusWith("ResolutionFailed=True/PackageNotFound: no package", "CatalogSourceInvalid=True/CatalogSourceNotFound: no catalog",
				"InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed", "InstallPlanFailed=True/InstallPlanFailed: refused"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"NoTrouble": {
			reason: "An available update, an unhealthy other catalog and steps in progress are not problems.",
			status: statusWith("InstalledCSVReplacementAvailable=True/ReplacementAvailable: foo.v2",
				"CatalogSourcesUnhealthy=True/Unhealthy: other", "BundleUnpacking=True/JobNotStarted: soon",
				"InstallPlanPending=True/Installing: soon", "Deprecated=True/Deprecated: old",
				"UpToDate=True/NewestRuns: yes", "Zebra=True/Striped: it is"),
		},
		"PlanForbidden": {
			reason:  "A plan that lacks a permission is a problem, since a user has to grant it.",
			status:  statusWith("InstallPlanPending=True/Forbidden: may not create Roles"),
			trouble: &Problem{Reason: "Forbidden", Message: "may not create Roles"},
		},
		"Held":     {reason: "A held update is a wait, not a problem.", status: statusWith(held), wait: isHeld},
		"Approval": {reason: "A missing approval is a wait, not a problem.", status: statusWith(approval), wait: awaits},
		"HeldAndApproval": {
			reason: "A hold takes precedence over a missing approval.", status: statusWith(approval, held), wait: isHeld,
		},
		"WaitWithoutReason": {
			reason: "The condition type is the reason of a wait without a reason.", status: statusWith("UpgradeHeld=True: it is so"),
			wait: &Problem{Reason: "UpgradeHeld", Message: "it is so"},
		},
		"HeldAndFailed": {
			reason: "A Subscription may have both a problem and a wait.", status: statusWith(held, "InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"}, wait: isHeld,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.status.DeepCopy()
			got := []*Problem{ProblemOf(tc.status), WaitOf(tc.status)}
			if diff := cmp.Diff([]*Problem{tc.trouble, tc.wait}, got); diff != "" {
				t.Errorf("%s\ntrouble, wait: -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.status); diff != "" {
				t.Errorf("the status was changed:\n%s", diff)
			}
		})
	}
}

// TestTroubleOrWait verifies that each of the worst conditions is either trouble or a wait, alone and before those that
// follow it. InstallPlanMissing is neither, because the plan is created again.
func TestTroubleOrWait(t *testing.T) {
	var got []string
	for _, conditionType := range worst {
		name := string(conditionType)
		if conditionType == v1alpha1.SubscriptionInstallPlanMissing {
			continue
		}
		alone := statusWith(name + "=True/It: says so")
		trouble, wait := ProblemOf(alone), WaitOf(alone)
		if waits := slices.Contains(TypesOf(Waits), conditionType); (trouble == nil) != waits || (wait != nil) != waits {
			t.Errorf("%s: trouble %v, wait %v", name, trouble, wait)
		}
		if trouble == nil {
			continue
		}
		got = append(got, name)
		var all []string
		for _, later := range slices.Backward(worst[slices.Index(worst, conditionType):]) {
			all = append(all, string(later)+"=True/"+string(later)+": says so")
		}
		if got := ProblemOf(statusWith(all...)); got == nil || got.Reason != name {
			t.Errorf("of %v the problem is %v; want %s", all, got, name)
		}
	}
	want := []string{
		"InstalledCSVFailed", "InstallPlanFailed", "BundleUnpackFailed", "CatalogSourceInvalid", "PackageChannelInvalid", "ResolutionFailed",
		"InstalledCSVMissing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("these are troubles, the worst first: -want +got\n%s", diff)
	}
}

func TestUpToDateOf(t *testing.T) {
	yes := "UpToDate=True/NewestRuns: foo.v1 is the newest that OLM knows of, and runs"
	no := "UpToDate=False/NewestNotKnown: OLM is unpacking the next bundle"
	for name, tc := range map[string]struct {
		reason string
		status *v1alpha1.SubscriptionStatus
		want   v1alpha1.SubscriptionCondition
	}{
		"Field": {
			reason: "Without the condition, upToDate is reported from the field.", status: withUpToDate(statusWith(), true, ""),
			want: statusWith("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
		"FieldDespiteMessage": {
			reason: "The message is ignored if the field is true.", status: withUpToDate(statusWith(), true, "CatalogSource other is unwell"),
			want: statusWith("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
		"FieldNot": {
			reason: "The message is the cause if the field is false.", status: withUpToDate(statusWith(), false, "Waiting for an InstallPlan for foo.v2"),
			want: statusWith("UpToDate=False/NewestDoesNotRun: Waiting for an InstallPlan for foo.v2").Conditions[0],
		},
		"Silent": {
			reason: "A Subscription without a status is not up to date.", status: &v1alpha1.SubscriptionStatus{},
			want: statusWith("UpToDate=False/NewestDoesNotRun").Conditions[0],
		},
		"Condition":    {reason: "With OLM, upToDate is reported from the condition.", status: statusWith(yes), want: statusWith(yes).Conditions[0]},
		"ConditionNot": {reason: "The reason and message of the condition are reported if it is False.", status: statusWith(no), want: statusWith(no).Conditions[0]},
		"ConditionFirst": {
			reason: "The condition takes precedence over the field, which may be left from before OLM.",
			status: withUpToDate(statusWith(no), true, ""), want: statusWith(no).Conditions[0],
		},
		"ConditionUnknown": {
			reason: "The field is used if the condition is Unknown.", status: withUpToDate(statusWith("UpToDate=Unknown/Who: knows"), true, ""),
			want: statusWith("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.status.DeepCopy()
			if diff := cmp.Diff(tc.want, UpToDateOf(tc.status)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.status); diff != "" {
				t.Errorf("the status was changed:\n%s", diff)
			}
		})
	}
}

// TestTroubleAfterStatus verifies that ProblemOf, WaitOf and UpToDateOf agree with every status that Compute returns.
func TestTroubleAfterStatus(t *testing.T) {
	for name, tc := range rows() {
		status := Compute(tc.in)
		trouble, wait, upToDate := ProblemOf(&status), WaitOf(&status), UpToDateOf(&status)
		if (upToDate.Status == corev1.ConditionTrue) != tc.upToDate {
			t.Errorf("%s: up to date is %v", name, upToDate)
		}
		for _, p := range []*Problem{trouble, wait} {
			if p != nil && (p.Reason == "" || p.Message == "") {
				t.Errorf("%s: trouble %v, wait %v", name, trouble, wait)
			}
		}
		if status.Message == "" && (trouble != nil || wait != nil) {
			t.Errorf("%s: the message is empty, but trouble %v, wait %v", name, trouble, wait)
		}
		if upToDate.Status != corev1.ConditionTrue && upToDate.Message == "" {
			t.Errorf("%s: it is not up to date, but the condition has no message", name)
		}
	}
}
