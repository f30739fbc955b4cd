package cli

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/operator"
)

func TestStatus(t *testing.T) {
	held := []operator.Blocker{{Impact: operator.Held}, {Impact: operator.Waiting}}
	for name, tc := range map[string]struct {
		reason string
		op     operator.Operator
		want   status
	}{
		"broken": {"A user has to act, whatever runs.",
			operator.Operator{State: operator.Running, Blockers: []operator.Blocker{{Impact: operator.Broken}}}, "Broken"},
		"held":          {"The worst blocker counts.", operator.Operator{State: operator.Running, Update: "foo.v2.0.0", Blockers: held}, "Held"},
		"next held":     {"Nothing waits.", operator.Operator{State: operator.Running, UpToDate: metav1.ConditionTrue, WouldHold: held}, "UpToDate"},
		"unread":        {"What cannot be read may block.", operator.Operator{State: operator.Running, Unread: []string{"Probes"}}, "Unknown"},
		"held, unread":  {"A known blocker is one.", operator.Operator{Unread: []string{"Probes"}, Blockers: held}, "Held"},
		"installing":    {"It does not run yet.", operator.Operator{State: operator.Installing, Update: "foo.v1.0.0"}, "Installing"},
		"not installed": {"Nothing runs, nothing blocks.", operator.Operator{State: operator.NotInstalled}, "NotInstalled"},
		"updating":      {"The next version is known.", operator.Operator{State: operator.Running, Update: "foo.v2.0.0"}, "Updating"},
		"outdated":      {"Only that there is a next version is known.", operator.Operator{State: operator.Running, UpToDate: metav1.ConditionFalse}, "Outdated"},
		"running":       {"Its installer knows of no versions.", operator.Operator{State: operator.Running, UpToDate: metav1.ConditionUnknown}, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := statusOf(tc.op); got != tc.want {
				t.Errorf("%s It is %s, want %s.", tc.reason, got, tc.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, version, update, want string
	}{
		"convention":    {"ClusterServiceVersions are named after their version.", "1.0.0", "foo.v1.1.0-rc.1", "1.0.0 → 1.1.0-rc.1"},
		"first":         {"Nothing runs.", "", "foo.v1.1.0", "→ 1.1.0"},
		"other name":    {"The name is all that is known.", "1.0.0", "foo-latest", "1.0.0 → foo-latest"},
		"no update":     {"Nothing is to be installed.", "1.0.0", "", "1.0.0"},
		"nothing known": {"As kubectl writes it.", "", "", "<none>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versions(operator.Operator{Version: tc.version, Update: tc.update}); got != tc.want {
				t.Errorf("%s It is %q, want %q.", tc.reason, got, tc.want)
			}
		})
	}
}
