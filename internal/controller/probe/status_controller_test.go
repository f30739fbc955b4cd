package probe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
	probestatus "github.com/operator-status/operator-status/internal/status/probe"
)

func TestRetryAfter(t *testing.T) {
	now := time.Unix(10000, 0)
	status := func(reason string, age time.Duration) v1alpha1.ProbeStatus {
		return v1alpha1.ProbeStatus{Conditions: []metav1.Condition{{
			Type: v1alpha1.ConditionSynced, Status: "False", Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}}
	}
	cases := map[string]struct {
		reason string
		status v1alpha1.ProbeStatus
		want   time.Duration
	}{
		"Synced":        {"A Probe that is Synced is not retried.", status(v1alpha1.ReasonSynced, time.Hour), 0},
		"JustForbidden": {"A missing permission is retried soon at first.", status(v1alpha1.ReasonForbidden, 0), time.Second},
		"ForAWhile":     {"A missing permission is retried less often the longer it lasts.", status(v1alpha1.ReasonForbidden, 8*time.Second), 8 * time.Second},
		"ForLong":       {"A missing permission is retried at least twice a minute.", status(v1alpha1.ReasonForbidden, time.Hour), 30 * time.Second},
		"ClockBack":     {"A transition time in the future does not cause a hot loop.", status(v1alpha1.ReasonForbidden, -time.Hour), time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := retryAfter(tc.status, now); got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestMissingNamespaces(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		names  []string
		want   *condition.Problem
	}{
		"None": {reason: "No problem is reported if all namespaces exist."},
		"One": {
			reason: "The message contains the namespace and states when it is read.", names: []string{"a"},
			want: &condition.Problem{Reason: v1alpha1.ReasonNamespaceNotFound,
				Message: "Namespace a does not exist: custom resources are read there once it is created"},
		},
		"Many": {
			reason: "The message contains the first namespaces and the number of the others.", names: []string{"a", "b", "c", "d", "e", "f", "g"},
			want: &condition.Problem{Reason: v1alpha1.ReasonNamespaceNotFound,
				Message: "Namespaces a, b, c, d, e, and 2 more do not exist: custom resources are read there once they are created"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, missingNamespaces(tc.names)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestBlind verifies that a missing permission or account causes one Event once it has lasted.
func TestBlind(t *testing.T) {
	start := metav1.Unix(1000, 0)
	got := func(status metav1.ConditionStatus, reason string, since metav1.Time) v1alpha1.ProbeStatus {
		return v1alpha1.ProbeStatus{Conditions: []metav1.Condition{{Type: "Synced", Status: status, Reason: reason, Message: "grant it", LastTransitionTime: since}}}
	}
	recorder := events.NewFakeRecorder(9)
	r := &StatusReconciler{Recorder: recorder}
	for _, step := range []struct {
		reason string
		after  time.Duration
		status v1alpha1.ProbeStatus
		events int
		again  time.Duration
	}{
		{"No Event is sent when a permission was just found missing.", 0, got("False", "Forbidden", start), 0, time.Second},
		{"No Event is sent before the permission has been missing for ten minutes.", 9 * time.Minute, got("False", "Forbidden", start), 0, 30 * time.Second},
		{"An Event is sent after the permission has been missing for ten minutes.", 10 * time.Minute, got("False", "Forbidden", start), 1, 30 * time.Second},
		{"The Event is sent once.", 11 * time.Minute, got("False", "Forbidden", start), 0, 30 * time.Second},
		{"No Event is sent for a Probe that is Synced.", 12 * time.Minute, got("True", "Synced", start), 0, 0},
		{"No Event is sent for a problem other than a missing permission.", 30 * time.Minute, got("False", "InvalidExpression", start), 0, 0},
		{"An Event is sent after the account has been missing for ten minutes.", 30 * time.Minute, got("False", "NoIdentity", metav1.Unix(1000+60*19, 0)), 1, 0},
		{"No Event is sent if the account was just found missing again.", 31 * time.Minute, got("False", "NoIdentity", metav1.Unix(1000+60*30, 0)), 0, 9 * time.Minute},
	} {
		now := start.Add(step.after)
		r.reportReadFailure(&v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Name: "foo.v1"}}, step.status, now)
		got := len(recorder.Events)
		for range got {
			<-recorder.Events
		}
		if again := retryAfter(step.status, now); got != step.events || again != step.again {
			t.Errorf("%s %d events, again in %s; want %d, %s", step.reason, got, again, step.events, step.again)
		}
	}
}

// TestPending verifies that the status waits for custom resources that are being read, unless those that have been read hold the update.
func TestPending(t *testing.T) {
	reading, idle := probestatus.Read{}, probestatus.Read{Snapshot: observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 1}}}
	busy := idle
	busy.Blocking = 1
	for name, tc := range map[string]struct {
		reason      string
		upgradeable metav1.ConditionStatus
		read        []probestatus.Read
		want        bool
	}{
		"Reading": {"It stays as it is until all have been read.", metav1.ConditionTrue, []probestatus.Read{idle, reading}, true},
		"Read":    {"Then it is computed.", metav1.ConditionTrue, []probestatus.Read{idle, idle}, false},
		"Busy":    {"An update must not begin meanwhile.", metav1.ConditionTrue, []probestatus.Read{busy, reading}, false},
		"Held":    {"One that is held already waits.", metav1.ConditionFalse, []probestatus.Read{busy, reading}, true},
	} {
		t.Run(name, func(t *testing.T) {
			probe := &v1alpha1.Probe{}
			probe.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionUpgradeable, Status: tc.upgradeable}, {Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue},
			}
			if got := pending(probestatus.Inputs{Probe: probe, Resources: []probestatus.Resource{{Read: tc.read}}}); got != tc.want {
				t.Errorf("%s\ngot %t", tc.reason, got)
			}
		})
	}
}

// TestPodPlanVersion verifies that the pod of a Probe knows the running version, with which settle and yieldAfter begin again.
func TestPodPlanVersion(t *testing.T) {
	in := probestatus.Inputs{Probe: &v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{}}, Version: "2"}
	if got, err := parsePodPlan(podPlanOf(in, nil).String()); err != nil || got.Version != "2" {
		t.Errorf("the version is %q, error: %v", got.Version, err)
	}
}
