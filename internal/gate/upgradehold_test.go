package gate

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestAllowedByUser verifies that an annotation of an UpgradeHold allows one version, and the message of the decision.
func TestAllowedByUser(t *testing.T) {
	const (
		allowHold = "kubectl annotate upgradehold.operatorstatus.io freeze.foo operatorstatus.io/allow-upgrade=foo.v2"
		policy    = "UpgradeHold freeze.foo of UpgradeHoldPolicy freeze holds the updates until 1970-01-01T00:00:00Z: year's end. The update continues " +
			"then, or when the policy is deleted"
		audit   = "UpgradeHold audit holds the updates. The update continues when it is deleted"
		byProbe = "Probe default/foo.v1 reports Upgradeable=False: Waiting"
	)
	hold := func(name, policy, allows string) UserHold {
		out := UserHold{UpgradeHold: holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name}}}
		if policy != "" {
			out.OwnerReferences = []metav1.OwnerReference{{Kind: "UpgradeHoldPolicy", Name: policy, Controller: new(true)}}
			out.Spec.Message, out.Ends = "year's end", time.Unix(0, 0)
		}
		if allows != "" {
			out.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: allows}
		}
		return out
	}
	frozen, unfrozen := hold("freeze.foo", "freeze", ""), hold("freeze.foo", "freeze", "foo.v2")
	cases := map[string]struct {
		reason string
		holds  []UserHold
		busy   bool // the Probe holds, too
		allow  bool // the annotation of the Subscription is set
		held   bool
		want   string
	}{
		"Policy": {"A policy's hold tells what ends it, and how to let one version pass.", []UserHold{frozen}, false, false, true,
			"The update to foo.v2 is held: " + policy + ". To update anyway: " + allowHold},
		"PolicyAndProbe": {"If the operator itself does not allow it, that takes another command.", []UserHold{frozen}, true, false, true,
			"The update to foo.v2 is held: " + policy + "; " + byProbe + ". To update anyway: " + allowHold + " and " + allow},
		"PolicyAndUser": {"Nothing overrides the hold of a user.", []UserHold{frozen, hold("audit", "", "")}, false, false, true,
			"The update to foo.v2 is held: " + policy + "; " + audit},
		"OfSubscription": {"Who may annotate a Subscription may not end the hold of a policy.", []UserHold{frozen}, false, true, true,
			"The update to foo.v2 is held: " + policy + ". To update anyway: " + allowHold},
		"Allowed": {"The annotation of the hold allows the version.", []UserHold{unfrozen}, false, false, false,
			"The update to foo.v2 is allowed by annotation operatorstatus.io/allow-upgrade of UpgradeHold freeze.foo. Without it, the update would be held: " + policy},
		"AllowedNotByProbe": {"But not what the operator does not allow.", []UserHold{unfrozen}, true, false, true,
			"The update to foo.v2 is held: " + byProbe + ". To update anyway: " + allow},
		"AllowedByBoth": {"Unless that is allowed, too.", []UserHold{unfrozen}, true, true, false,
			"The update to foo.v2 is allowed by annotation operatorstatus.io/allow-upgrade of UpgradeHold freeze.foo and annotation " +
				"operatorstatus.io/allow-upgrade of Subscription default/foo. Without it, the update would be held: " + policy + "; " + byProbe},
		"OtherVersion": {"Another version is not allowed.", []UserHold{hold("freeze.foo", "freeze", "foo.v3")}, false, false, true,
			"The update to foo.v2 is held: " + policy + ". To update anyway: " + allowHold + " --overwrite"},
		"OfUser": {"A user may let one version pass, too.", []UserHold{hold("audit", "", "foo.v2")}, false, false, false,
			"The update to foo.v2 is allowed by annotation operatorstatus.io/allow-upgrade of UpgradeHold audit. Without it, the update would be held: " + audit},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Request: request("foo"), Running: version("foo.v1", ""), Target: "foo.v2", UpgradeHolds: tc.holds}
			if tc.busy {
				in.Probe = probe(synced(metav1.ConditionTrue), upgradeable(metav1.ConditionFalse, "Waiting"))
			}
			if tc.allow {
				in.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "foo.v2"}
			}
			got := Evaluate(in)
			if got.Held != tc.held || got.Overridden == tc.held || got.Message != tc.want {
				t.Errorf("%s\nheld is %t, and the message %s\nwant %s", tc.reason, got.Held, got.Message, tc.want)
			}
		})
	}
}

// TestPlaceholderAllowsNothing verifies that the placeholder for a version, which messages have, allows no update if it is taken literally.
func TestPlaceholderAllowsNothing(t *testing.T) {
	literally := map[string]string{v1alpha1.AnnotationAllowUpgrade: AnyVersion}
	freeze := UserHold{UpgradeHold: holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "freeze", Annotations: literally}}}
	in := Inputs{Request: request("foo"), Running: version("foo.v1", ""), Target: AnyVersion, UpgradeHolds: []UserHold{freeze}}
	if got := Evaluate(in); !got.Held {
		t.Errorf("An UpgradeHold allows every version: %s", got.Message)
	}
	in.UpgradeHolds, in.Probe = nil, probe(synced(metav1.ConditionTrue), upgradeable(metav1.ConditionFalse, "Waiting"))
	in.Request.Annotations = literally
	if got := Evaluate(in); !got.Held {
		t.Errorf("A Subscription allows every version: %s", got.Message)
	}
}
