package subscription

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

const allow = "kubectl annotate subscription -n default foo operatorstatus.io/allow-upgrade=foo.v2"

// probe is one of the user's own, whose status has been written since its spec was.
func probe(conditions ...metav1.Condition) *v1alpha1.Probe {
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1", Generation: generation},
		Spec:       &v1alpha1.ProbeSpec{},
		Status:     v1alpha1.ProbeStatus{ObservedGeneration: generation, Conditions: conditions},
	}
}

func manager(p *v1alpha1.Probe, manager v1alpha1.ProbeManager) *v1alpha1.Probe {
	p.Spec.Manager = manager
	return p
}

func noSpec(p *v1alpha1.Probe) *v1alpha1.Probe {
	p.Spec = nil
	return p
}

func observed(p *v1alpha1.Probe, generation int64) *v1alpha1.Probe {
	p.Status.ObservedGeneration = generation
	return p
}

func says(conditionType string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: "Because", Message: message}
}

func upgradeable(status metav1.ConditionStatus, message string) metav1.Condition {
	return says("Upgradeable", status, message)
}

func synced(status metav1.ConditionStatus) metav1.Condition {
	return says("Synced", status, string(status)+" it is.")
}

func ours(c metav1.Condition) metav1.Condition {
	c.Reason = v1alpha1.ReasonProbeNotUpgradeable
	return c
}

func operatorCondition(conditions, overrides []metav1.Condition) *operatorsv2.OperatorCondition {
	return &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1", Generation: 7},
		Spec:       operatorsv2.OperatorConditionSpec{Conditions: conditions, Overrides: overrides},
	}
}

func TestHeld(t *testing.T) {
	const (
		yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		waiting          = "Waiting for Foo default/foo-example: Migrating is True"
		busy             = "Rebalancing."
	)
	holds := func(reason, message string) *Hold { return &Hold{Reason: reason, Message: message} }
	unread := func(p *v1alpha1.Probe) HoldInputs { return HoldInputs{Probe: p} }
	notRead := holds("ProbeNotRead", "The update to foo.v2 is held: waiting to read what Probe default/foo.v1 watches. To update all the same: "+allow)
	probeSaysNo := probe(synced(yes), upgradeable(no, waiting))
	list := func(conditions ...metav1.Condition) []metav1.Condition { return conditions }

	cases := map[string]struct {
		reason     string
		in         HoldInputs
		annotation string
		phase      olm.ClusterServiceVersionPhase // of the running one; Succeeded where left out
		want       *Hold
	}{
		"NeverOptedIn": {reason: "An operator without a Probe is updated.", in: HoldInputs{}},
		"ProbeSaysNo": {
			reason: "The Probe's sentence names the resource, and is quoted.",
			in:     HoldInputs{Probe: probeSaysNo},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False: "+waiting+". To update all the same: "+allow),
		},
		"ProbeSaysYes":      {reason: "An operator that allows it is updated.", in: unread(probe(synced(yes), upgradeable(yes, "")))},
		"NoStatusYet":       {reason: "What was never read is waited for.", in: unread(probe()), want: notRead},
		"Syncing":           {reason: "So is what is being read for the first time.", in: unread(probe(synced(unknown), upgradeable(unknown, ""))), want: notRead},
		"SyncingAnew":       {reason: "So is what was added to what was read: the last yes did not know of it.", in: unread(probe(synced(unknown), upgradeable(yes, ""))), want: notRead},
		"SyncedUnsaid":      {reason: "So is a yes of nobody knows when.", in: unread(probe(upgradeable(yes, ""))), want: notRead},
		"UpgradeableUnsaid": {reason: "So is a word on the update.", in: unread(probe(synced(yes))), want: notRead},
		"Outdated":          {reason: "So is a word on the spec of today.", in: unread(observed(probe(synced(yes), upgradeable(yes, "")), generation-1)), want: notRead},
		"OutdatedNo": {
			reason: "But an outdated no is a no.",
			in:     HoldInputs{Probe: observed(probe(synced(yes), upgradeable(no, waiting)), 0)},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False: "+waiting+". To update all the same: "+allow),
		},
		"LastWordYes": {reason: "Where reading fails the last word stands.", in: unread(probe(synced(no), upgradeable(yes, "")))},
		"NeverReadable": {
			reason: "Where it never was read the message says why.",
			in:     HoldInputs{Probe: manager(probe(synced(no), upgradeable(unknown, "")), v1alpha1.ManagerCRDAnnotations)},
			want: holds("ProbeNotRead",
				"The update to foo.v2 is held: waiting to read what Probe default/foo.v1 watches: False it is. To update all the same: "+allow),
		},
		"OwnStatusSilent":      {reason: "An operator that writes its status itself, and has not, has nothing against it.", in: unread(manager(probe(), v1alpha1.ManagerOperator))},
		"OwnStatusSilentNoOne": {reason: "Nor has one whose Probe has no spec.", in: unread(noSpec(probe()))},
		"OwnStatusUnknown":     {reason: "Unknown does not hold.", in: unread(noSpec(probe(upgradeable(unknown, ""))))},
		"OwnStatusYes":         {reason: "It need not know what a generation is.", in: unread(observed(noSpec(probe(upgradeable(yes, ""))), 0))},
		"OwnStatusNo": {
			reason: "Its no is as good as any.",
			in:     HoldInputs{Probe: noSpec(probe(upgradeable(no, "")))},
			want:   holds("ProbeNotUpgradeable", "The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False. To update all the same: "+allow),
		},
		"OperatorSaysNo": {
			reason: "The operator's own word in its OperatorCondition holds, whatever generation it is of.",
			in:     HoldInputs{OperatorCondition: operatorCondition(list(upgradeable(no, busy)), nil)},
			want: holds("OperatorConditionNotUpgradeable",
				"The update to foo.v2 is held: OperatorCondition default/foo.v1 says Upgradeable=False: Rebalancing. To update all the same: "+allow),
		},
		"OperatorSaysYes":     {reason: "Its yes does not.", in: HoldInputs{OperatorCondition: operatorCondition(list(upgradeable(yes, "")), nil)}},
		"OperatorSaysUnknown": {reason: "Unknown does not hold here either.", in: HoldInputs{OperatorCondition: operatorCondition(list(upgradeable(unknown, "")), nil)}},
		"OperatorSaysElse":    {reason: "Other conditions are of no concern.", in: HoldInputs{OperatorCondition: operatorCondition(list(says("Ready", no, "")), nil)}},
		"OurOwnEntry":         {reason: "What we wrote there of a Probe is not heard twice.", in: HoldInputs{OperatorCondition: operatorCondition(list(ours(upgradeable(no, ""))), nil)}},
		"BothSayNo": {
			reason: "Both are heard, the Probe first.",
			in:     HoldInputs{Probe: probeSaysNo, OperatorCondition: operatorCondition(list(upgradeable(no, busy)), nil)},
			want: holds("ProbeNotUpgradeable", "The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False: "+waiting+
				"; OperatorCondition default/foo.v1 says Upgradeable=False: Rebalancing. To update all the same: "+allow),
		},
		"YesIsNoOverride": {
			reason: "The operator's yes does not outvote its Probe.",
			in:     HoldInputs{Probe: probeSaysNo, OperatorCondition: operatorCondition(list(upgradeable(yes, "")), nil)},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False: "+waiting+". To update all the same: "+allow),
		},
		"Annotated": {
			reason: "An administrator lets this one update go on, and what is overridden is told.",
			in:     HoldInputs{Probe: probeSaysNo}, annotation: "foo.v2",
			want: &Hold{Reason: "Overridden", Overridden: true, Message: "The update to foo.v2 goes on, since annotation " +
				"operatorstatus.io/allow-upgrade of Subscription default/foo allows it. It would be held: " +
				"Probe default/foo.v1 says Upgradeable=False: " + waiting},
		},
		"AnnotatedForAnother": {
			reason: "What was allowed for another version is not allowed for this one.",
			in:     HoldInputs{Probe: probeSaysNo}, annotation: "foo.v1",
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False: "+waiting+". To update all the same: "+allow+" --overwrite"),
		},
		"AnnotatedForNothing": {reason: "Where nothing holds there is nothing to override.", in: HoldInputs{}, annotation: "foo.v2"},
		"OverriddenTrue": {
			reason: "spec.overrides lets every update go on.",
			in:     HoldInputs{Probe: probe(), OperatorCondition: operatorCondition(list(upgradeable(no, busy)), list(upgradeable(yes, "")))},
			want: &Hold{Reason: "Overridden", Overridden: true, Message: "The update to foo.v2 goes on, since spec.overrides of " +
				"OperatorCondition default/foo.v1 allows it. It would be held: waiting to read what Probe default/foo.v1 watches; " +
				"OperatorCondition default/foo.v1 says Upgradeable=False: Rebalancing"},
		},
		"OverriddenFalse": {
			reason: "Or holds it, whoever allows it: it has the last word, and no annotation helps.",
			in: HoldInputs{
				Probe:             probe(synced(yes), upgradeable(yes, "")),
				OperatorCondition: operatorCondition(list(upgradeable(yes, "")), list(upgradeable(no, "Not on Fridays"))),
			},
			annotation: "foo.v2",
			want: holds("OperatorConditionNotUpgradeable", "The update to foo.v2 is held: spec.overrides of OperatorCondition "+
				"default/foo.v1 says Upgradeable=False: Not on Fridays. It goes on when that is removed or True"),
		},
		"OverriddenUnknown": {
			reason: "An override that says nothing overrides nothing.",
			in:     HoldInputs{OperatorCondition: operatorCondition(list(upgradeable(no, busy)), list(upgradeable(unknown, "")))},
			want: holds("OperatorConditionNotUpgradeable",
				"The update to foo.v2 is held: OperatorCondition default/foo.v1 says Upgradeable=False: Rebalancing. To update all the same: "+allow),
		},
		"DeadHolder": {
			reason: "What a dead operator says may be long past; that is said, and nothing is overridden for it.",
			in:     HoldInputs{Probe: probeSaysNo}, phase: olm.CSVPhaseFailed,
			want: holds("ProbeNotUpgradeable", "The update to foo.v2 is held: Probe default/foo.v1 says Upgradeable=False: "+waiting+
				". But foo.v1 itself is Failed, so that this may be out of date. To update all the same: "+allow),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := tc.in
			in.Target = "foo.v2"
			in.Running = csv("foo.v1", tc.phase)
			if tc.phase == "" {
				in.Running.Status.Phase = olm.CSVPhaseSucceeded
			}
			in.Subscription = &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo"}}
			if tc.annotation != "" {
				in.Subscription.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: tc.annotation}
			}
			got := Held(in)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if want := got != nil && got.Reason != v1alpha1.ReasonOverridden; got.Holds() != want {
				t.Errorf("Holds is %t of %+v", got.Holds(), got)
			}
			for name, change := range map[string]func(*HoldInputs){
				"a first install":       func(in *HoldInputs) { in.Running = nil },
				"no update":             func(in *HoldInputs) { in.Target = "" },
				"an install once again": func(in *HoldInputs) { in.Target = in.Running.Name },
			} {
				in := in
				change(&in)
				if got := Held(in); got != nil {
					t.Errorf("%s is held: %s", name, fmt.Sprint(*got))
				}
			}
		})
	}
}
