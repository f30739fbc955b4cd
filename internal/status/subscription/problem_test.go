package subscription

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// telling returns the status of a Subscription to foo.v1 with conditions, each as "Type=Status/Reason: message".
func telling(conditions ...string) *v1alpha1.SubscriptionStatus {
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

// fielded sets the field UpToDate, and the message.
func fielded(status *v1alpha1.SubscriptionStatus, upToDate bool, message string) *v1alpha1.SubscriptionStatus {
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
		"Silent": {reason: "Without conditions there is no problem.", status: telling()},
		"Well": {
			reason: "Nor is there one if the conditions report that nothing is wrong.",
			status: telling("InstalledCSVFailed=False/CSVNotFailed: no", "ResolutionFailed=False/Resolved: no",
				"UpgradeHeld=False/NotHeld: no", "InstallPlanAwaitingManualApproval=False/NotAwaitingApproval: no",
				"BundleUnpackFailed=False", "UpToDate=True/NewestRuns: yes"),
		},
		"Unknown": {
			reason: "Unknown is not a problem.",
			status: telling("InstalledCSVFailed=Unknown/Who: knows", "UpgradeHeld=Unknown/Who: knows", "BundleUnpackFailed=Unknown"),
		},
		"Failed": {
			reason:  "A problem has the reason and message of its condition.",
			status:  telling("InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"WithoutReason": {
			reason: "OLM omits some reasons: then the type is the reason.", status: telling("ResolutionFailed=True: no operators found"),
			trouble: &Problem{Reason: "ResolutionFailed", Message: "no operators found"},
		},
		"UnpackFailed": {
			reason: "OLM's condition for a bundle that it cannot unpack counts, since no condition of ours reports it.", status: telling(unpack),
			trouble: &Problem{Reason: "BundleUnpackFailed", Message: "DeadlineExceeded"},
		},
		"UnpackAndResolution": {
			reason:  "It is more specific than ResolutionFailed, which follows from it.",
			status:  telling("ResolutionFailed=True/ErrorPreventedResolution: bundle unpacking failed", unpack),
			trouble: &Problem{Reason: "BundleUnpackFailed", Message: "DeadlineExceeded"},
		},
		"UnpackAndFailed": {
			reason:  "That the operator does not run is worse than that its update cannot be had.",
			status:  telling(unpack, "InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"Worst": {
			reason: "The worst comes first, whatever the order that they come in.",
			status: telling("ResolutionFailed=True/PackageNotFound: no package", "CatalogSourceInvalid=True/CatalogSourceNotFound: no catalog",
				"InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed", "InstallPlanFailed=True/InstallPlanFailed: refused"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"NoTrouble": {
			reason: "That there is something newer, or that another catalog is unwell, is none, nor what OLM is about to do.",
			status: telling("InstalledCSVReplacementAvailable=True/ReplacementAvailable: foo.v2",
				"CatalogSourcesUnhealthy=True/Unhealthy: other", "BundleUnpacking=True/JobNotStarted: soon",
				"InstallPlanPending=True/Installing: soon", "Deprecated=True/Deprecated: old",
				"UpToDate=True/NewestRuns: yes", "Zebra=True/Striped: it is"),
		},
		"PlanForbidden": {
			reason:  "A plan that somebody has to give a right for goes on only then.",
			status:  telling("InstallPlanPending=True/Forbidden: may not create Roles"),
			trouble: &Problem{Reason: "Forbidden", Message: "may not create Roles"},
		},
		"Held":     {reason: "A held update is a wait, not a problem.", status: telling(held), wait: isHeld},
		"Approval": {reason: "So is a missing approval.", status: telling(approval), wait: awaits},
		"HeldAndApproval": {
			reason: "What the operator has against it comes before what a person may allow.", status: telling(approval, held), wait: isHeld,
		},
		"WaitWithoutReason": {
			reason: "A wait without a reason has the type as its reason.", status: telling("UpgradeHeld=True: it is so"),
			wait: &Problem{Reason: "UpgradeHeld", Message: "it is so"},
		},
		"HeldAndFailed": {
			reason: "There may be a problem as well as a wait.", status: telling(held, "InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
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
		alone := telling(name + "=True/It: says so")
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
		if got := ProblemOf(telling(all...)); got == nil || got.Reason != name {
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
			reason: "The field reports it if operator-status runs the loops.", status: fielded(telling(), true, ""),
			want: telling("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
		"FieldDespiteMessage": {
			reason: "The message is then about something else.", status: fielded(telling(), true, "CatalogSource other is unwell"),
			want: telling("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
		"FieldNot": {
			reason: "If the field is false, the message states why.", status: fielded(telling(), false, "Waiting for an InstallPlan for foo.v2"),
			want: telling("UpToDate=False/NewestDoesNotRun: Waiting for an InstallPlan for foo.v2").Conditions[0],
		},
		"Silent": {
			reason: "A Subscription without a status is not up to date.", status: &v1alpha1.SubscriptionStatus{},
			want: telling("UpToDate=False/NewestDoesNotRun").Conditions[0],
		},
		"Condition":    {reason: "With OLM, the condition reports it.", status: telling(yes), want: telling(yes).Conditions[0]},
		"ConditionNot": {reason: "The condition also has the reason why it is not.", status: telling(no), want: telling(no).Conditions[0]},
		"ConditionFirst": {
			reason: "It takes precedence over the field, which OLM does not have, and which is left from before.",
			status: fielded(telling(no), true, ""), want: telling(no).Conditions[0],
		},
		"ConditionUnknown": {
			reason: "If the condition is Unknown, the field decides.", status: fielded(telling("UpToDate=Unknown/Who: knows"), true, ""),
			want: telling("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
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
