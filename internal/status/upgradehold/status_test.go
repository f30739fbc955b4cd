package upgradehold

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/operator"
)

var (
	now = metav1.Unix(1000, 0)

	byProbe = gate.Hold{
		Reason: "ProbeNotUpgradeable", By: operator.Ref{Kind: "Probe", Namespace: "foo", Name: "foo.v1"}, Since: metav1.Unix(900, 0),
		Cause: "Probe foo/foo.v1 reports Upgradeable=False: busy",
		Override: gate.Override{
			Object: operator.Ref{Kind: "Subscription", Namespace: "foo", Name: "foo"}, Resource: "subscription.operators.coreos.com", Target: gate.AnyVersion,
		},
	}
	byUser = gate.Hold{
		Reason: holdv1alpha1.ReasonHeldByUser, By: operator.Ref{Kind: holdv1alpha1.UpgradeHoldKind, Name: "audit"}, Since: metav1.Unix(800, 0),
		Cause: "UpgradeHold audit holds the updates",
	}
	denied = &holdv1alpha1.DeniedUpdates{InstallPlans: &holdv1alpha1.DeniedInstallPlans{Namespace: "foo", Pattern: ".*"}}
)

func hold(name string, change ...func(*holdv1alpha1.UpgradeHold)) *holdv1alpha1.UpgradeHold {
	out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 3}}
	out.Spec.Operator = holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerOLM, Namespace: "foo", Name: "foo"}
	for _, c := range change {
		c(out)
	}
	return out
}

func reported(h *holdv1alpha1.UpgradeHold) {
	h.Labels = map[string]string{holdv1alpha1.LabelReported: "true"}
}

func until(seconds int64) func(*holdv1alpha1.UpgradeHold) {
	return func(h *holdv1alpha1.UpgradeHold) { h.Spec.Until = new(metav1.Unix(seconds, 0)) }
}

func from(seconds int64) func(*holdv1alpha1.UpgradeHold) {
	return func(h *holdv1alpha1.UpgradeHold) { h.Spec.From = new(metav1.Unix(seconds, 0)) }
}

// open adds an update window that is open in the first hour of a day.
func open(h *holdv1alpha1.UpgradeHold) {
	h.Spec.UpdateWindows = []holdv1alpha1.UpdateWindow{{Schedule: "0 0 * * *", Duration: metav1.Duration{Duration: time.Hour}}}
}

// indexOf returns the index of an UpgradeHold that denies InstallPlans.
func indexOf(name string) []Part {
	return slices.Collect(maps.Values(Index([]holdv1alpha1.UpgradeHold{denying(name, "busy", *denied)})))
}

func TestCompute(t *testing.T) {
	large := other()
	large.Workloads[0].Except = []string{strings.Repeat("i", 1<<20)}
	withLarge := Index([]holdv1alpha1.UpgradeHold{byHand(denying("audit", "busy", large))})
	cases := map[string]struct {
		reason         string
		in             Inputs
		held, enforced string
		holds          int
		message        string
	}{
		"Reported": {
			"The hold of a Probe is reported, with how to override it.",
			Inputs{Hold: hold("olm.foo.foo", reported), Installed: true, Holds: []gate.Hold{byProbe, byUser}, Denied: denied, Bound: true, Index: indexOf("olm.foo.foo")},
			"True/ProbeNotUpgradeable", "True/PolicyBound", 1, "Probe foo/foo.v1 reports Upgradeable=False: busy. To update anyway: kubectl annotate subscription.operators.coreos.com -n foo foo operatorstatus.io/allow-upgrade=<version>",
		},
		"ByUser": {
			"The hold of a user is that user's alone, and has no override.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser, byProbe}, Denied: denied, Bound: true, Index: indexOf("audit")},
			"True/HeldByUser", "True/PolicyBound", 1, "UpgradeHold audit holds the updates",
		},
		"NotIndexed": {
			"A policy denies what it finds in the index.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser}, Denied: new(workload(nil)), Bound: true},
			"True/HeldByUser", "False/NotIndexed", 1, "UpgradeHold audit holds the updates",
		},
		"TooLarge": {
			"It cannot find one that the index has no room for.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser}, Denied: &large, Bound: true, Index: slices.Collect(maps.Values(withLarge))},
			"True/HeldByUser", "False/NotIndexed", 1, "UpgradeHold audit holds the updates",
		},
		"Indexed": {
			"It finds it there.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser}, Denied: new(workload(nil)), Bound: true, Index: slices.Collect(maps.Values(Index([]holdv1alpha1.UpgradeHold{byHand(denying("audit", "busy", workload(nil)))})))},
			"True/HeldByUser", "True/PolicyBound", 1, "UpgradeHold audit holds the updates",
		},
		"Unrecorded": {
			"Where Helm keeps no record that is known, nothing can deny the next one.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser}, Denied: new(revisions("", "foo", "pending-upgrade")), Bound: true, Unrecorded: true},
			"True/HeldByUser", "False/RecordNotFound", 1, "UpgradeHold audit holds the updates",
		},
		"NotBound": {
			"Without a policy, it is only reported.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser}, Denied: denied},
			"True/HeldByUser", "False/PolicyNotBound", 1, "UpgradeHold audit holds the updates",
		},
		"Loops": {
			"The built-in loops need no policy.",
			Inputs{Hold: hold("audit"), Installed: true, Holds: []gate.Hold{byUser}},
			"True/HeldByUser", "True/LoopsWait", 1, "UpgradeHold audit holds the updates",
		},
		"Expired": {
			"A hold that has ended denies nothing.",
			Inputs{Hold: hold("audit", until(1000)), Installed: true, Holds: []gate.Hold{byProbe}, Denied: denied, Bound: true},
			"False/Expired", "False/NotHeld", 0, "",
		},
		"NotStarted": {
			"A hold that has not begun denies nothing.",
			Inputs{Hold: hold("audit", from(2000), until(3000)), Installed: true, Denied: denied, Bound: true},
			"False/NotStarted", "False/NotHeld", 0, "",
		},
		"UpdateWindow": {
			"A hold denies nothing while one of its update windows is open.",
			Inputs{Hold: hold("audit", until(90_000), open), Installed: true, Denied: denied, Bound: true},
			"False/UpdateWindow", "False/NotHeld", 0, "",
		},
		"NotInstalled": {
			"A first installation is never held.",
			Inputs{Hold: hold("audit", until(2000)), Denied: denied, Bound: true}, "False/OperatorNotFound", "False/NotHeld", 0, "",
		},
		"Reserved": {
			"Updates of operator-status itself are never held.",
			Inputs{Hold: hold("audit"), Installed: true, Reserved: true, Holds: []gate.Hold{byUser}, Denied: denied, Bound: true}, "False/Reserved", "False/NotHeld", 0, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.in.Now = now
			got := Compute(tc.in)
			condition := func(kind string) string {
				c := meta.FindStatusCondition(got.Conditions, kind)
				if c == nil || c.ObservedGeneration != 3 || !c.LastTransitionTime.Equal(&now) {
					t.Fatalf("%s\ncondition %s is %+v", tc.reason, kind, c)
				}
				return string(c.Status) + "/" + c.Reason
			}
			want := []any{tc.held, tc.enforced, tc.holds, tc.message, tc.holds > 0 && tc.in.Denied != nil}
			if diff := cmp.Diff(want, []any{condition("Held"), condition("Enforced"), len(got.Holds), got.Message, got.Denied != nil}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			tc.in.Hold.Status, tc.in.Now = got, metav1.NewTime(now.Add(time.Hour))
			if diff := cmp.Diff(got, Compute(tc.in)); diff != "" && tc.in.Hold.Spec.Until == nil {
				t.Errorf("%s\nan hour later, it changes:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCauses verifies the report of each cause.
func TestCauses(t *testing.T) {
	ends := byUser
	ends.Until = new(metav1.Unix(2000, 0))
	cases := map[string]struct {
		reason string
		hold   *holdv1alpha1.UpgradeHold
		holds  []gate.Hold
		want   holdv1alpha1.HoldCause
	}{
		"Overridable": {
			"An administrator overrides the hold of a Probe with a command.", hold("olm.foo.foo", reported), []gate.Hold{byProbe},
			holdv1alpha1.HoldCause{
				Reason: "ProbeNotUpgradeable", By: "Probe foo/foo.v1", Since: new(metav1.Unix(900, 0)), Message: byProbe.Cause,
				Override: "kubectl annotate subscription.operators.coreos.com -n foo foo operatorstatus.io/allow-upgrade=<version>",
			},
		},
		"Ends": {
			"A hold of a user may end by itself.", hold("audit"), []gate.Hold{ends},
			holdv1alpha1.HoldCause{
				Reason: holdv1alpha1.ReasonHeldByUser, By: "UpgradeHold audit", Since: new(metav1.Unix(800, 0)), Until: new(metav1.Unix(2000, 0)),
				Message: byUser.Cause,
			},
		},
		"NotKnown": {
			"The time at which a hold began may not be known.", hold("olm.foo.foo", reported), []gate.Hold{{Reason: "ProbeNotRead"}},
			holdv1alpha1.HoldCause{Reason: "ProbeNotRead", By: operator.Ref{}.String()},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Compute(Inputs{Hold: tc.hold, Installed: true, Holds: tc.holds, Now: now})
			if diff := cmp.Diff([]holdv1alpha1.HoldCause{tc.want}, got.Holds); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLimits verifies that the API server accepts and prints the message of any operator.
func TestLimits(t *testing.T) {
	long := byProbe
	long.Cause = strings.Repeat("ä", 10_000)
	in := Inputs{Hold: hold("olm.foo.foo", reported), Installed: true, Denied: denied, Bound: true, Now: now}
	for range 30 {
		in.Holds = append(in.Holds, long)
	}
	got := Compute(in)
	if len(got.Message) > longestDenial || !strings.HasSuffix(got.Message, gate.AnyVersion) || len(got.Holds) != mostHolds ||
		len(got.Holds[0].Message) > longestCause {
		t.Errorf("the message has %d bytes and ends with %q; %d holds, the first with %d bytes",
			len(got.Message), got.Message[max(len(got.Message)-50, 0):], len(got.Holds), len(got.Holds[0].Message))
	}
}
