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
		"Silent": {reason: "Who says nothing is well.", status: telling()},
		"Well": {
			reason: "Who says that nothing is wrong is, too.",
			status: telling("InstalledCSVFailed=False/CSVNotFailed: no", "ResolutionFailed=False/Resolved: no",
				"UpgradeHeld=False/NotHeld: no", "InstallPlanAwaitingManualApproval=False/NotAwaitingApproval: no",
				"BundleUnpackFailed=False", "UpToDate=True/NewestRuns: yes"),
		},
		"Unknown": {
			reason: "What nobody knows is no trouble.",
			status: telling("InstalledCSVFailed=Unknown/Who: knows", "UpgradeHeld=Unknown/Who: knows", "BundleUnpackFailed=Unknown"),
		},
		"Failed": {
			reason:  "What is wrong is told in the words of its condition.",
			status:  telling("InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
			trouble: &Problem{Reason: "CSVFailed", Message: "foo.v1 is Failed"},
		},
		"WithoutReason": {
			reason: "OLM leaves reasons out where the type says it all.", status: telling("ResolutionFailed=True: no operators found"),
			trouble: &Problem{Reason: "ResolutionFailed", Message: "no operators found"},
		},
		"UnpackFailed": {
			reason: "OLM's word for a bundle that it cannot unpack counts, since no condition of ours says it.", status: telling(unpack),
			trouble: &Problem{Reason: "BundleUnpackFailed", Message: "DeadlineExceeded"},
		},
		"UnpackAndResolution": {
			reason:  "It says more than that nothing can be resolved, which follows from it.",
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
		"Held":     {reason: "Who is held waits, and nothing is wrong.", status: telling(held), wait: isHeld},
		"Approval": {reason: "So does who waits for a person.", status: telling(approval), wait: awaits},
		"HeldAndApproval": {
			reason: "What the operator has against it comes before what a person may allow.", status: telling(approval, held), wait: isHeld,
		},
		"WaitWithoutReason": {
			reason: "A wait without a reason has the type's word.", status: telling("UpgradeHeld=True: it is so"),
			wait: &Problem{Reason: "UpgradeHeld", Message: "it is so"},
		},
		"HeldAndFailed": {
			reason: "Who waits may be in trouble all the same.", status: telling(held, "InstalledCSVFailed=True/CSVFailed: foo.v1 is Failed"),
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
		if waitConditions := slices.Contains(waitConditions, conditionType); (trouble == nil) != waitConditions || (wait != nil) != waitConditions {
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
			t.Errorf("of %v it tells %v; want %s", all, got, name)
		}
	}
	want := []string{
		"InstalledCSVFailed", "InstallPlanFailed", "CatalogSourceInvalid", "PackageChannelInvalid", "ResolutionFailed",
		"InstalledCSVMissing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("these are troubles, the worst first: -want +got\n%s", diff)
	}
}

func TestUpToDateOf(t *testing.T) {
	yes := "UpToDate=True/NewestRuns: foo.v1 is the newest that OLM knows of, and runs"
	no := "UpToDate=False/NewestNotKnown: OLM is unpacking what comes next"
	for name, tc := range map[string]struct {
		reason string
		status *v1alpha1.SubscriptionStatus
		want   v1alpha1.SubscriptionCondition
	}{
		"Field": {
			reason: "The field says it where operator-status runs the loops.", status: fielded(telling(), true, ""),
			want: telling("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
		"FieldDespiteMessage": {
			reason: "What the message is about then is something else.", status: fielded(telling(), true, "CatalogSource other is unwell"),
			want: telling("UpToDate=True/NewestRuns: foo.v1 is the newest, and runs").Conditions[0],
		},
		"FieldNot": {
			reason: "Where it is not, the message says why.", status: fielded(telling(), false, "Waiting for an InstallPlan for foo.v2"),
			want: telling("UpToDate=False/NewestDoesNotRun: Waiting for an InstallPlan for foo.v2").Conditions[0],
		},
		"Silent": {
			reason: "Who says nothing is not.", status: &v1alpha1.SubscriptionStatus{},
			want: telling("UpToDate=False/NewestDoesNotRun").Conditions[0],
		},
		"Condition":    {reason: "Beside OLM the condition says it.", status: telling(yes), want: telling(yes).Conditions[0]},
		"ConditionNot": {reason: "And why not.", status: telling(no), want: telling(no).Conditions[0]},
		"ConditionFirst": {
			reason: "It goes before the field, which OLM does not have: that is left from other times.",
			status: fielded(telling(no), true, ""), want: telling(no).Conditions[0],
		},
		"ConditionUnknown": {
			reason: "One that says nothing leaves it to the field.", status: fielded(telling("UpToDate=Unknown/Who: knows"), true, ""),
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
			t.Errorf("%s: there is nothing to say, but trouble %v, wait %v", name, trouble, wait)
		}
		if upToDate.Status != corev1.ConditionTrue && upToDate.Message == "" {
			t.Errorf("%s: it is not up to date, and nobody knows why", name)
		}
	}
}
