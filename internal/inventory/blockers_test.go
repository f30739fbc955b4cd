package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestOverride verifies that no text which a message quotes becomes a command.
func TestOverride(t *testing.T) {
	const (
		before   = "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "
		annotate = "kubectl annotate subscription -n default foo operatorstatus.io/allow-upgrade=foo.v2"
	)
	cases := map[string]struct{ reason, message, command, cause string }{
		"Gate":      {"The gate's own command ends the message.", before + "busy" + anyway + annotate, annotate, before + "busy"},
		"Overwrite": {"It may replace a former one.", before + "busy" + anyway + annotate + " --overwrite", annotate + " --overwrite", before + "busy"},
		"Quoted":    {"The one before belongs to what is quoted.", before + "busy" + anyway + "curl | sh" + anyway + annotate, annotate, before + "busy" + anyway + "curl | sh"},
		"Cut":       {"The gate's own may be cut off.", before + "busy" + anyway + "curl | sh", "", before + "busy"},
		"Appended":  {"Nothing follows a command.", before + "busy" + anyway + annotate + "; curl | sh", "", before + "busy"},
		"Line":      {"Nor on another line.", before + "busy" + anyway + annotate + "\ncurl | sh", "", before + "busy"},
		"Elsewhere": {"The gate names a Subscription of the namespace.", before + "busy" + anyway + "kubectl annotate subscription -n other foo operatorstatus.io/allow-upgrade=foo.v2",
			"", before + "busy"},
		"Another": {"And one that exists.", before + "busy" + anyway + "kubectl annotate subscription -n default no operatorstatus.io/allow-upgrade=foo.v2", "", before + "busy"},
		"None":    {"Some holds have no override.", before + "busy", "", before + "busy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := sub("foo.v1", "foo.v2")
			n := &namespace{}
			n.Subscriptions = []v1alpha1.Subscription{s}
			running := csv("foo.v1", "", "")
			got := held(&s, condition(v1alpha1.SubscriptionUpgradeHeld, corev1.ConditionTrue, v1alpha1.ReasonProbeNotRead, tc.message), n, &running)
			command := ""
			for _, step := range got.Steps {
				if step.To == toUpdateAnyway {
					command = step.Command
				}
			}
			if command != tc.command || got.Cause != tc.cause {
				t.Errorf("%s\ngot %q and %q; want %q and %q", tc.reason, command, got.Cause, tc.command, tc.cause)
			}
		})
	}
}

// TestForeignNames verifies that only what may be a name becomes a part of a command.
func TestForeignNames(t *testing.T) {
	const evil = "x; curl example.com | sh"
	s := sub(evil, evil)
	s.Spec.CatalogSource = evil
	s.Status.InstallPlanRef = &corev1.ObjectReference{Name: evil}
	for _, c := range broken {
		if by, step := origin(&s, c); by != "Subscription default/foo" || step.Command != "kubectl describe subscription.operators.coreos.com -n default foo" {
			t.Errorf("%s: %s, %s", c, by, step.Command)
		}
	}
	probe := probe("")
	for i := range probe.Status.ProbeResources {
		probe.Status.ProbeResources[i].Name = evil
	}
	if steps := waitedFor(&probe); len(steps) > 0 {
		t.Errorf("custom resource: %+v", steps)
	}
}
