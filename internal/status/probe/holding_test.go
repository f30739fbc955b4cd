package probe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

var since = metav1.Unix(500, 0)

// waiting returns a Subscription with that status of UpgradeHeld.
func waiting(installed, current string, held corev1.ConditionStatus) v1alpha1.Subscription {
	out := v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: "foo"}}
	out.Status.InstalledCSV, out.Status.CurrentCSV = installed, current
	out.Status.SetCondition(v1alpha1.SubscriptionCondition{Type: v1alpha1.SubscriptionUpgradeHeld, Status: held, LastTransitionTime: &since})
	return out
}

func TestHeldBy(t *testing.T) {
	replacing := &v1alpha1.ClusterServiceVersion{}
	replacing.Spec.Replaces = "foo.v1"
	csvs := map[string]*v1alpha1.ClusterServiceVersion{"foo.v2": replacing}
	cases := map[string]struct {
		reason string
		sub    v1alpha1.Subscription
		gate   string
	}{
		"BeforeApproval": {"An update that waits for approval is held by the Probe of the installed operator.", waiting("foo.v1", "foo.v2", corev1.ConditionTrue), "ApprovalGate"},
		"AfterApproval":  {"An update that OLM has approved is held by the Probe of the operator that it replaces.", waiting("foo.v2", "foo.v2", corev1.ConditionTrue), "OperatorConditionGate"},
		"NotHeld":        {"An update whose hold has ended is not held.", waiting("foo.v1", "foo.v2", corev1.ConditionFalse), ""},
		"NotSaid":        {"An update without the condition is not held.", v1alpha1.Subscription{}, ""},
		"OfAnother":      {"An update of another operator is not held by this Probe.", waiting("bar.v1", "bar.v2", corev1.ConditionTrue), ""},
		"OfAnotherBegun": {"An update of another operator that OLM has approved is not held by this Probe.", waiting("bar.v2", "bar.v2", corev1.ConditionTrue), ""},
		"Target":         {"The Probe of the new version does not hold its update.", waiting("foo.v0", "foo.v1", corev1.ConditionTrue), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var want []Held
			if tc.gate != "" {
				want = []Held{{Gate: tc.gate, Subscription: "foo", Target: "foo.v2", Since: since}}
			}
			if diff := cmp.Diff(want, HeldBy("foo.v1", []v1alpha1.Subscription{tc.sub}, csvs)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestHolding(t *testing.T) {
	held := []Held{{Gate: v1alpha1.ReasonApprovalGate, Subscription: "foo", Target: "foo.v2", Since: since}}
	message := func(status metav1.ConditionStatus) *v1alpha1.ProbeStatus {
		return &v1alpha1.ProbeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionUpgradeable, Status: status, Message: "Waiting for Foo a/b: Migrating is True"},
			{Type: v1alpha1.ConditionHolding, Status: metav1.ConditionTrue, Reason: "Before", LastTransitionTime: metav1.Unix(100, 0)},
		}}
	}
	in := Inputs{Probe: &v1alpha1.Probe{}, Held: held, Now: metav1.Unix(1000, 0)}
	out := message(metav1.ConditionFalse)
	out.Conditions = out.Conditions[:1]
	holding(in, findings{}, out)
	c := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionHolding)
	if c == nil || c.Reason != v1alpha1.ReasonApprovalGate || c.LastTransitionTime != since || !strings.Contains(c.Message, "foo.v2: Waiting for Foo a/b") {
		t.Errorf("Holding should report which update waits, for what, and since when: %+v", c)
	}
	allowed := message(metav1.ConditionTrue)
	holding(in, findings{}, allowed)
	none := message(metav1.ConditionFalse)
	holding(Inputs{Probe: in.Probe, Now: in.Now}, findings{}, none)
	for what, out := range map[string]*v1alpha1.ProbeStatus{"a Probe that allows the update": allowed, "one that nothing waits for": none} {
		if meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionHolding) != nil {
			t.Errorf("%s: want no hold", what)
		}
	}
}
