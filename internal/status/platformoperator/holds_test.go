package platformoperator

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// heldBy adds an UpgradeHold with causes.
func heldBy(name string, created int64, reported bool, causes ...holdv1alpha1.HoldCause) given {
	return func(in *Inputs) {
		h := holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(created, 0)}}
		if reported {
			h.Labels = map[string]string{holdv1alpha1.LabelReported: "true"}
		}
		h.Status.Holds = causes
		in.UpgradeHolds = append(in.UpgradeHolds, h)
	}
}

func TestHolds(t *testing.T) {
	byProbe := holdv1alpha1.HoldCause{
		Reason: "ProbeNotUpgradeable", By: "Probe foo/foo.v1", Message: "busy",
		Override: "kubectl annotate subscription.operators.coreos.com -n foo foo operatorstatus.io/allow-upgrade=<version>",
	}
	byUser := func(name string) holdv1alpha1.HoldCause {
		return holdv1alpha1.HoldCause{Reason: holdv1alpha1.ReasonHeldByUser, By: "UpgradeHold " + name, Message: name}
	}
	var many []holdv1alpha1.HoldCause
	var firstOfMany []string
	for i := range 25 {
		many = append(many, byUser(fmt.Sprint(i)))
		firstOfMany = append(firstOfMany, "UpgradeHold "+fmt.Sprint(i))
	}
	const newer = "The update to foo.v2 is held"
	reported := heldBy("olm.foo.foo", 100, true, byProbe)
	runs := func(changes ...given) Inputs {
		return beginning(append([]given{subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))}, changes...)...)
	}
	cases := map[string]struct {
		reason   string
		in       Inputs
		want     []string // the objects that report the causes
		override string   // that of the last one
	}{
		"None": {"An operator that may be updated has none.", runs(), nil, ""},
		"NoUpdate": {
			"A hold is reported although no update is available, whose version is not known then.",
			runs(reported), []string{"Probe foo/foo.v1"}, byProbe.Override,
		},
		"Update": {
			"The command to override it names the available version.",
			runs(reported, subscribed("foo.v2", "foo.v1", newer, "UpgradeHeld=True/ProbeNotUpgradeable: "+newer)), []string{"Probe foo/foo.v1"},
			"kubectl annotate subscription.operators.coreos.com -n foo foo operatorstatus.io/allow-upgrade=foo.v2",
		},
		"Overridden": {
			"Nothing holds an update that an administrator lets begin, although its UpgradeHold still holds other versions.",
			runs(reported, subscribed("foo.v2", "foo.v1", "Installing", "UpgradeHeld=False/Overridden: by the annotation")), nil, "",
		},
		"NotApproved": {
			"An approval that is missing for another operator is no cause of this one, and neither is the hold of other versions.",
			runs(reported, subscribed("foo.v2", "foo.v1", newer, "UpgradeHeld=True/ApprovalMissing: "+newer)), nil, "",
		},
		"Order": {
			"Those of users are first, the oldest before, whichever order they are read in.",
			runs(reported, heldBy("newer", 300, false, byUser("newer")), heldBy("b", 200, false, byUser("b")), heldBy("a", 200, false, byUser("a"))),
			[]string{"UpgradeHold a", "UpgradeHold b", "UpgradeHold newer", "Probe foo/foo.v1"}, byProbe.Override,
		},
		"Many": {"They are limited.", runs(reported, heldBy("many", 100, false, many...)), firstOfMany[:20], ""},
		"Lost": {
			"A deletion of an observed Subscription does not end them, as it does not change Upgradeable.",
			after(observed(runs(reported)), func(in *Inputs) { in.Subscription, in.UpgradeHolds = nil, nil }), []string{"Probe foo/foo.v1"}, byProbe.Override,
		},
		"Uninstalled": {
			"A deletion of a composed one does.",
			after(runs(reported), func(in *Inputs) { in.Subscription, in.UpgradeHolds = nil, nil }), nil, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := Compute(tc.in)
			var by []string
			override := ""
			for _, h := range got.Holds {
				by, override = append(by, h.By), h.Override
			}
			if diff := cmp.Diff([]any{tc.want, tc.override}, []any{by, override}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// observed has the PlatformOperator only observe.
func observed(in Inputs) Inputs {
	return with(in, func(in *Inputs) {
		observing(in.Operator)
		in.Objects = nil
	})
}
