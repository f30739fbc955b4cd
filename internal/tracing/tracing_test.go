package tracing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// at returns a time, in seconds from the beginning of an update.
func at(second int64) metav1.Time { return metav1.Unix(1000+second, 0) }

// sub returns a Subscription that is being updated since second 0.
func sub(installed, current string, conditions ...v1alpha1.SubscriptionCondition) *v1alpha1.Subscription {
	out := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "foo", UID: "uid"}}
	out.Spec = &olm.SubscriptionSpec{Package: "foo", Channel: "stable"}
	out.Status.InstalledCSV, out.Status.CurrentCSV = installed, current
	out.Status.InstallPlanRef = &corev1.ObjectReference{Name: "install-" + current}
	out.Status.Conditions = append(conditions, condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionFalse, 0))
	out.Status.LastUpdated = at(70)
	return out
}

// upToDate returns a Subscription whose newest version runs since second 60.
func upToDate(csv string) *v1alpha1.Subscription {
	out := sub(csv, csv)
	out.Status.SetCondition(condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionTrue, 60))
	return out
}

func condition(t v1alpha1.SubscriptionConditionType, status corev1.ConditionStatus, second int64) v1alpha1.SubscriptionCondition {
	when := at(second)
	out := v1alpha1.SubscriptionCondition{Type: t, Status: status, LastTransitionTime: &when}
	if status == corev1.ConditionTrue {
		out.Reason, out.Message = "Because", "It is so"
	}
	return out
}

func problem(t v1alpha1.SubscriptionConditionType, second int64) v1alpha1.SubscriptionCondition {
	return condition(t, corev1.ConditionTrue, second)
}

var available = problem(v1alpha1.SubscriptionInstalledCSVReplacementAvailable, 0)

// plan returns an InstallPlan that began at second 30 and ended at second 40.
func plan(phase olm.InstallPlanPhase, csv string) *olm.InstallPlan {
	begin, end := at(30), at(40)
	out := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "install-" + csv}}
	out.Spec.ClusterServiceVersionNames = []string{"other.v1", csv}
	out.Status = olm.InstallPlanStatus{Phase: phase, StartTime: &begin, Conditions: []olm.InstallPlanCondition{
		{Type: olm.InstallPlanInstalled, LastTransitionTime: &end},
	}}
	return out
}

// csv returns a ClusterServiceVersion with a history such as "40 Pending, 45 Succeeded".
func csv(name, replaces, phases string) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: name}}
	out.Spec.Replaces = replaces
	for p := range strings.SplitSeq(phases, ", ") {
		t := v1alpha1.ClusterServiceVersionTransition{Message: "it is so"}
		var second int64
		if _, err := fmt.Sscan(p, &second, &t.Phase, &t.Reason); err != nil && t.Phase == "" {
			panic(err)
		}
		when := at(second)
		t.LastTransitionTime = &when
		out.Status.LastTransitions = append(out.Status.LastTransitions, t)
	}
	return out
}

// byOLM returns a ClusterServiceVersion as OLM writes it.
func byOLM(c *v1alpha1.ClusterServiceVersion) *v1alpha1.ClusterServiceVersion {
	for _, t := range c.Status.LastTransitions {
		c.Status.Conditions = append(c.Status.Conditions, v1alpha1.ClusterServiceVersionCondition{
			Phase: t.Phase, Reason: t.Reason, LastTransitionTime: t.LastTransitionTime,
		})
	}
	c.Status.LastTransitions = nil
	return c
}

func TestEnded(t *testing.T) {
	held, manual := v1alpha1.SubscriptionUpgradeHeld, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval
	planFailed, csvFailed := v1alpha1.SubscriptionInstallPlanFailed, v1alpha1.SubscriptionInstalledCSVFailed
	const complete, failed = olm.InstallPlanPhaseComplete, olm.InstallPlanPhaseFailed
	cases := map[string]struct {
		reason        string
		before, after *v1alpha1.Subscription
		plan          *olm.InstallPlan
		csv           *v1alpha1.ClusterServiceVersion
		want          []string // "<start>-<end> <name>[: <error>]"
	}{
		"HoldEnded": {
			reason: "A hold is a span, from its condition's transition to the next.",
			before: sub("foo.v1", "foo.v2", available, problem(held, 5)), after: sub("foo.v1", "foo.v2", available, condition(held, corev1.ConditionFalse, 25)),
			want: []string{"5-25 held"},
		},
		"StillHeld": {
			reason: "A hold continues if its reason changes.",
			before: sub("foo.v1", "foo.v2", available, problem(held, 5)), after: sub("foo.v1", "foo.v2", available, problem(held, 5)),
		},
		"Approved": {
			reason: "The wait for an approval is a span that ends with the update of the status if the condition was removed.",
			before: sub("foo.v1", "foo.v2", available, problem(manual, 5)), after: sub("foo.v1", "foo.v2", available),
			want: []string{"5-70 InstallPlan awaiting approval"},
		},
		"Updated": {
			reason: "The root span lasts from the time at which the newest version did not run to the time at which it ran.",
			before: sub("foo.v1", "foo.v2", available), after: upToDate("foo.v2"), plan: plan(complete, "foo.v2"),
			csv:  csv("foo.v2", "foo.v1", "40 Pending, 42 InstallReady, 45 Installing, 50 Succeeded"),
			want: []string{"30-40 InstallPlan installing", "40-50 ClusterServiceVersion foo.v2", "0-60 update foo.v1 -> foo.v2"},
		},
		"UpdatedByOLM": {
			reason: "OLM's history of phases is used for a version that OLM calls installed before it runs.",
			before: sub("foo.v2", "foo.v2", available), after: upToDate("foo.v2"), plan: plan(complete, "foo.v2"),
			csv:  byOLM(csv("foo.v2", "foo.v1", "40 Pending, 50 Succeeded")),
			want: []string{"30-40 InstallPlan installing", "40-50 ClusterServiceVersion foo.v2", "0-60 update foo.v1 -> foo.v2"},
		},
		"NoticedLate": {
			reason: "The root span starts with its earliest child, since conditions may be set seconds late beside OLM.",
			before: sub("foo.v2", "foo.v2", available), after: upToDate("foo.v2"),
			csv:  byOLM(csv("foo.v2", "foo.v1", "-2 Pending, 50 Succeeded")),
			want: []string{"-2-50 ClusterServiceVersion foo.v2", "-2-60 update foo.v1 -> foo.v2"},
		},
		"FirstInstall": {
			reason: "A first install has the name of an installation, even if the bundle replaces another one.",
			before: sub("", "foo.v2"), after: upToDate("foo.v2"), plan: plan(complete, "foo.v2"),
			csv:  csv("foo.v2", "foo.v1", "40 Pending, 50 Succeeded"),
			want: []string{"30-40 InstallPlan installing", "40-50 ClusterServiceVersion foo.v2", "0-60 install foo.v2"},
		},
		"Adopted": {
			reason: "The adoption of a running operator has no span.",
			before: sub("", "foo.v2"), after: upToDate("foo.v2"), csv: csv("foo.v2", "", "-50 Pending, -40 Succeeded"),
		},
		"Recovered": {
			reason: "The recovery of an operator has no span.",
			before: sub("foo.v2", "foo.v2", condition(csvFailed, corev1.ConditionTrue, 0)), after: upToDate("foo.v2"), plan: plan(complete, "foo.v2"),
			csv: csv("foo.v2", "foo.v1", "-50 Pending, -40 Succeeded, 0 Failed, 50 Succeeded"),
		},
		"Withdrawn": {
			reason: "An update that the catalog withdrew has a root span.",
			before: sub("foo.v1", "foo.v2", available, problem(held, 5)), after: upToDate("foo.v1"), plan: plan(complete, "foo.v1"),
			csv:  csv("foo.v1", "", "-50 Pending, -40 Succeeded"),
			want: []string{"5-70 held", "0-70 update foo.v1 -> foo.v2: foo.v2 was withdrawn before it was installed"},
		},
		"NextStep": {
			reason: "An intermediate version has spans in the trace of the whole update.",
			before: sub("foo.v2", "foo.v2", available), after: sub("foo.v2", "foo.v3", available), plan: plan(complete, "foo.v2"),
			csv:  csv("foo.v2", "foo.v1", "40 Pending, 50 Succeeded"),
			want: []string{"30-40 InstallPlan installing", "40-50 ClusterServiceVersion foo.v2"},
		},
		"PlanFailed": {
			reason: "The span of a failed InstallPlan has the message of the Subscription as its error.",
			before: sub("foo.v1", "foo.v2", available), after: sub("foo.v1", "foo.v2", available, problem(planFailed, 40)), plan: plan(failed, "foo.v2"),
			want: []string{"30-40 InstallPlan installing: It is so"},
		},
		"CSVFailed": {
			reason: "Each failed attempt to install a version is a span.",
			before: sub("foo.v1", "foo.v2", available), after: sub("foo.v1", "foo.v2", available, problem(csvFailed, 50)),
			csv:  csv("foo.v2", "foo.v1", "40 Pending, 45 Failed Timeout, 46 Failed Other, 47 Pending, 50 Failed Timeout"),
			want: []string{"47-50 ClusterServiceVersion foo.v2: Timeout: it is so"},
		},
		"RunningCSVFailed": {
			reason: "The failure of an installed version has no span.",
			before: sub("foo.v2", "foo.v2"), after: sub("foo.v2", "foo.v2", problem(csvFailed, 50)),
			csv: csv("foo.v2", "foo.v1", "-50 Pending, -40 Succeeded, 50 Failed Timeout"),
		},
		"RetriedAndInstalled": {
			reason: "The attempt that succeeds is a span of its own.",
			before: sub("foo.v1", "foo.v2", available), after: upToDate("foo.v2"), csv: csv("foo.v2", "foo.v1", "40 Pending, 45 Failed, 47 Pending, 50 Succeeded, 55 Failed, 57 Succeeded"),
			want: []string{"47-50 ClusterServiceVersion foo.v2", "0-60 update foo.v1 -> foo.v2"},
		},
		"PlanOfOthers": {
			reason: "The InstallPlan of another version has no span.",
			before: sub("foo.v1", "foo.v2", available), after: upToDate("foo.v2"), plan: plan(complete, "foo.v9"),
			csv:  csv("foo.v2", "foo.v1", "40 Pending, 50 Succeeded"),
			want: []string{"40-50 ClusterServiceVersion foo.v2", "0-60 update foo.v1 -> foo.v2"},
		},
		"Unknown": {
			reason: "Without the condition UpToDate no span is returned.",
			before: &v1alpha1.Subscription{}, after: &v1alpha1.Subscription{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, ended := Reads(tc.before, tc.after)
			var got []string
			spans := Ended(Inputs{Before: tc.before, After: tc.after, Plan: tc.plan, CSV: tc.csv})
			for _, s := range spans {
				got = append(got, describe(s))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if len(got) > 0 && !ended {
				t.Errorf("%s\nReads returns false", tc.reason)
			}
			for i, s := range spans {
				isRoot := i == len(spans)-1 && s.Parent == SpanID{}
				if s.Trace != spans[0].Trace || !isRoot && s.Parent != rootOf(s.Trace) || isRoot && s.ID != rootOf(s.Trace) {
					t.Errorf("%s is not part of the trace: %+v", s.Name, s)
				}
			}
		})
	}
}

func describe(s Span) string {
	out := fmt.Sprintf("%d-%d %s", s.Start.Unix()-1000, s.End.Unix()-1000, s.Name)
	if s.Error != "" {
		out += ": " + s.Error
	}
	return out
}

func TestIdentifiers(t *testing.T) {
	hold := func(change func(*v1alpha1.Subscription)) Span {
		before := sub("foo.v1", "foo.v2", available, problem(v1alpha1.SubscriptionUpgradeHeld, 5))
		after := sub("foo.v1", "foo.v2", available, condition(v1alpha1.SubscriptionUpgradeHeld, corev1.ConditionFalse, 25))
		change(before)
		change(after)
		return Ended(Inputs{Before: before, After: after})[0]
	}
	base := hold(func(*v1alpha1.Subscription) {})
	cases := map[string]struct {
		reason     string
		change     func(*v1alpha1.Subscription)
		sameTrace  bool
		sameSpan   bool
		attributes []Attribute // added
	}{
		"Same": {
			reason: "The identifiers are the same in every process.", sameTrace: true, sameSpan: true,
			change: func(*v1alpha1.Subscription) {},
		},
		"SecondHold": {
			reason: "A later hold is another span of the same trace.", sameTrace: true,
			change: func(s *v1alpha1.Subscription) {
				if s.Status.Conditions[1].Status == corev1.ConditionTrue {
					s.Status.Conditions[1] = problem(v1alpha1.SubscriptionUpgradeHeld, 10)
				}
			},
		},
		"NextVersion": {
			reason: "The hold of the next version is another span of the same trace.", sameTrace: true,
			change: func(s *v1alpha1.Subscription) { s.Status.CurrentCSV = "foo.v3" },
		},
		"LaterUpdate": {
			reason: "A later update is another trace, even to the same version.",
			change: func(s *v1alpha1.Subscription) {
				s.Status.SetCondition(condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionTrue, 1))
				s.Status.SetCondition(condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionFalse, 2))
			},
		},
		"OtherSubscription": {
			reason: "The update of a Subscription that was recreated is another trace.",
			change: func(s *v1alpha1.Subscription) { s.UID = "other" },
		},
		"Composed": {
			reason: "The PlatformOperator of a Subscription is an attribute.", sameTrace: true, sameSpan: true,
			change: func(s *v1alpha1.Subscription) {
				controller := true
				s.OwnerReferences = []metav1.OwnerReference{{Kind: "PlatformOperator", Name: "platform", UID: types.UID("po"), Controller: &controller}}
			},
			attributes: []Attribute{{KeyPlatformOperator, "platform"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := hold(tc.change)
			if same := got.Trace == base.Trace; same != tc.sameTrace {
				t.Errorf("%s\nsame trace: %v", tc.reason, same)
			}
			if same := got.ID == base.ID; same != tc.sameSpan {
				t.Errorf("%s\nsame span: %v", tc.reason, same)
			}
			for _, a := range tc.attributes {
				if !strings.Contains(fmt.Sprint(got.Attributes), fmt.Sprint(a)) {
					t.Errorf("%s\n%v lacks %v", tc.reason, got.Attributes, a)
				}
			}
		})
	}
}

// TestDetails verifies the attributes and events of all spans of an update.
func TestDetails(t *testing.T) {
	before := sub("foo.v1", "foo.v2", available, problem(v1alpha1.SubscriptionUpgradeHeld, 5))
	after := upToDate("foo.v2")
	running := csv("foo.v2", "foo.v1", "40 Pending NotMet, 50 Succeeded")
	spans := Ended(Inputs{Before: before, After: after, Plan: plan(olm.InstallPlanPhaseComplete, "foo.v2"), CSV: running})
	common := []Attribute{{KeyNamespace, "apps"}, {KeySubscription, "foo"}, {KeyPackage, "foo"}, {KeyChannel, "stable"}}
	want := map[string][]Attribute{
		"held":                         {{KeyCSV, "foo.v2"}, {KeyReason, "Because"}, {KeyMessage, "It is so"}, {KeyInstallPlan, "install-foo.v2"}},
		"InstallPlan installing":       {{KeyInstallPlan, "install-foo.v2"}},
		"ClusterServiceVersion foo.v2": {{KeyCSV, "foo.v2"}, {KeyReplaces, "foo.v1"}},
		"update foo.v1 -> foo.v2":      {{KeyCSV, "foo.v2"}, {KeyReplaces, "foo.v1"}},
	}
	for _, s := range spans {
		if diff := cmp.Diff(append(slices.Clip(common), want[s.Name]...), s.Attributes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Name, diff)
		}
		delete(want, s.Name)
		if s.Name != "ClusterServiceVersion foo.v2" {
			continue
		}
		events := []Event{{"Pending", at(40).Time, attributes(KeyReason, "NotMet")}, {"Succeeded", at(50).Time, nil}}
		if diff := cmp.Diff(events, s.Events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
	if len(want) > 0 {
		t.Errorf("no span %v", want)
	}
	if s := Ended(Inputs{Before: before, After: before}); s != nil {
		t.Errorf("a span ended without a change: %v", s)
	}
}
