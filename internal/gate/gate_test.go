package gate

import (
	stdcmp "cmp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

const allow = "kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v2"

// probe returns a Probe created by a user, whose status is of its current generation.
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

func yielding(p *v1alpha1.Probe) *v1alpha1.Probe {
	p.Spec.YieldAfter = &metav1.Duration{Duration: time.Minute}
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

func isolated(p *v1alpha1.Probe) *v1alpha1.Probe {
	p.Spec.Isolation = v1alpha1.IsolationPod
	return p
}

// by sets the reader that computed a Probe's status, and the hash of the target namespaces it was computed for.
func by(p *v1alpha1.Probe, reader, targets string) *v1alpha1.Probe {
	p.Status.Reader, p.Status.ObservedTargets = reader, targets
	return p
}

func newCondition(conditionType string, status metav1.ConditionStatus, message string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: "Because", Message: message}
}

func upgradeable(status metav1.ConditionStatus, message string) metav1.Condition {
	return newCondition("Upgradeable", status, message)
}

func synced(status metav1.ConditionStatus) metav1.Condition {
	return newCondition("Synced", status, string(status)+" it is.")
}

func live(conditions ...metav1.Condition) *v1alpha1.ProbeStatus {
	return &v1alpha1.ProbeStatus{Conditions: conditions}
}

func fromProbe(c metav1.Condition) metav1.Condition {
	c.Reason = v1alpha1.ReasonProbeNotUpgradeable
	return c
}

func operatorCondition(conditions, overrides []metav1.Condition) *operatorsv2.OperatorCondition {
	return &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1", Generation: 7},
		Spec:       operatorsv2.OperatorConditionSpec{Conditions: conditions, Overrides: overrides},
	}
}

func TestEvaluate(t *testing.T) {
	const (
		yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		waiting          = "Waiting for Foo default/foo-example: Migrating is True"
		busy             = "Rebalancing."
	)
	holds := func(reason, message string) Decision { return Decision{Held: true, Reason: reason, Message: message} }
	unread := func(p *v1alpha1.Probe) Inputs { return Inputs{Probe: p} }
	silentFor := func(status metav1.ConditionStatus) metav1.Condition {
		out := newCondition("Synced", status, "No answer.")
		out.Reason = v1alpha1.ReasonStale
		return out
	}
	silent := silentFor(unknown)
	notRead := holds("ProbeNotRead", "The update to foo.v2 is held: waiting to read the custom resources of Probe default/foo.v1. To update anyway: "+allow)
	probeSaysNo := probe(synced(yes), upgradeable(no, waiting))
	list := func(conditions ...metav1.Condition) []metav1.Condition { return conditions }

	cases := map[string]struct {
		reason     string
		in         Inputs
		annotation string
		phase      string   // of the running version, if that may not be running
		want       Decision // without its holds
		unreported bool
	}{
		"NeverOptedIn": {reason: "An operator without a Probe is updated.", in: Inputs{}},
		"ProbeSaysNo": {
			reason: "The message of the Probe names the resource, and is quoted.",
			in:     Inputs{Probe: probeSaysNo},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+". To update anyway: "+allow),
		},
		"ProbeSaysYes": {reason: "An operator that allows it is updated.", in: unread(probe(synced(yes), upgradeable(yes, "")))},
		"NoStatusYet":  {reason: "What was never read is waited for.", in: unread(probe()), want: notRead},
		"Syncing":      {reason: "So is what is being read for the first time.", in: unread(probe(synced(unknown), upgradeable(unknown, ""))), want: notRead},
		"SyncingAnew": {reason: "So is what was added to what was read: the last yes did not know of it.",
			in: unread(probe(synced(unknown), upgradeable(yes, ""))), want: notRead},
		"SyncedUnsaid":      {reason: "Without Synced it is not known how old Upgradeable is.", in: unread(probe(upgradeable(yes, ""))), want: notRead},
		"UpgradeableUnsaid": {reason: "A Probe that was read but does not set Upgradeable is waited for.", in: unread(probe(synced(yes))), want: notRead},
		"Outdated": {reason: "So is a Probe whose status is of an earlier generation.", in: unread(observed(probe(synced(yes), upgradeable(yes, "")), generation-1)),
			want: notRead},
		"OutdatedNo": {
			reason: "Upgradeable=False of an earlier generation still holds the update.",
			in:     Inputs{Probe: observed(probe(synced(yes), upgradeable(no, waiting)), 0)},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+". To update anyway: "+allow),
		},
		"PartlySynced": {reason: "What a Probe cannot read or parse, and may ignore, does not hold.", in: unread(probe(synced(no), upgradeable(yes, "")))},
		"NeverReadable": {
			reason: "If it was never read, the message states why.",
			in:     Inputs{Probe: manager(probe(synced(no), upgradeable(unknown, "")), v1alpha1.ManagerCRDAnnotations)},
			want: holds("ProbeNotRead",
				"The update to foo.v2 is held: waiting to read the custom resources of Probe default/foo.v1: False it is. To update anyway: "+allow),
		},
		"OwnStatusSilent": {reason: "An operator that writes its status itself, and has not, has nothing against it.",
			in: unread(manager(probe(), v1alpha1.ManagerOperator))},
		"OwnStatusSilentNoOne": {reason: "Nor has one whose Probe has no spec.", in: unread(noSpec(probe()))},
		"OwnStatusUnknown":     {reason: "Unknown does not hold.", in: unread(noSpec(probe(upgradeable(unknown, ""))))},
		"OwnStatusYes":         {reason: "It need not know what a generation is.", in: unread(observed(noSpec(probe(upgradeable(yes, ""))), 0))},
		"OwnStatusNo": {
			reason: "Its no is as good as any.",
			in:     Inputs{Probe: noSpec(probe(upgradeable(no, "")))},
			want:   holds("ProbeNotUpgradeable", "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False. To update anyway: "+allow),
		},
		"OperatorSaysNo": {
			reason: "A condition that the operator sets in its OperatorCondition holds the update, of any generation.",
			in:     Inputs{OperatorCondition: operatorCondition(list(upgradeable(no, busy)), nil)},
			want: holds("OperatorConditionNotUpgradeable",
				"The update to foo.v2 is held: OperatorCondition default/foo.v1 reports Upgradeable=False: Rebalancing. To update anyway: "+allow),
		},
		"OperatorSaysYes":     {reason: "Upgradeable=True does not hold it.", in: Inputs{OperatorCondition: operatorCondition(list(upgradeable(yes, "")), nil)}},
		"OperatorSaysUnknown": {reason: "Unknown does not hold here either.", in: Inputs{OperatorCondition: operatorCondition(list(upgradeable(unknown, "")), nil)}},
		"OperatorSaysElse": {reason: "Other conditions are of no concern.",
			in: Inputs{OperatorCondition: operatorCondition(list(newCondition("Ready", no, "")), nil)}},
		"OurOwnEntry": {reason: "What operator-status copied there from a Probe does not count again.",
			in: Inputs{OperatorCondition: operatorCondition(list(fromProbe(upgradeable(no, ""))), nil)}},
		"BothSayNo": {
			reason: "Both are reported, the Probe first.",
			in:     Inputs{Probe: probeSaysNo, OperatorCondition: operatorCondition(list(upgradeable(no, busy)), nil)},
			want: holds("ProbeNotUpgradeable", "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+
				"; OperatorCondition default/foo.v1 reports Upgradeable=False: Rebalancing. To update anyway: "+allow),
		},
		"YesIsNoOverride": {
			reason: "Upgradeable=True in the OperatorCondition does not override the Probe.",
			in:     Inputs{Probe: probeSaysNo, OperatorCondition: operatorCondition(list(upgradeable(yes, "")), nil)},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+". To update anyway: "+allow),
		},
		"Annotated": {
			reason: "An administrator allows this one update, and the message lists what is overridden.",
			in:     Inputs{Probe: probeSaysNo}, annotation: "foo.v2",
			want: Decision{Reason: "Overridden", Overridden: true, Message: "The update to foo.v2 is allowed by annotation " +
				"operatorstatus.io/allow-upgrade of Subscription default/foo. Without it, the update would be held: " +
				"Probe default/foo.v1 reports Upgradeable=False: " + waiting},
		},
		"AnnotatedForAnother": {
			reason: "What was allowed for another version is not allowed for this one.",
			in:     Inputs{Probe: probeSaysNo}, annotation: "foo.v1",
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+". To update anyway: "+allow+" --overwrite"),
		},
		"AnnotatedForNothing": {reason: "Where nothing holds there is nothing to override.", in: Inputs{}, annotation: "foo.v2"},
		"OverriddenTrue": {
			reason: "spec.overrides allows every update.",
			in:     Inputs{Probe: probe(), OperatorCondition: operatorCondition(list(upgradeable(no, busy)), list(upgradeable(yes, "")))},
			want: Decision{Reason: "Overridden", Overridden: true, Message: "The update to foo.v2 is allowed by spec.overrides of " +
				"OperatorCondition default/foo.v1. Without it, the update would be held: waiting to read the custom resources of Probe default/foo.v1; " +
				"OperatorCondition default/foo.v1 reports Upgradeable=False: Rebalancing"},
		},
		"OverriddenFalse": {
			reason: "spec.overrides can also hold every update. It takes precedence over the other conditions and the annotation.",
			in: Inputs{
				Probe:             probe(synced(yes), upgradeable(yes, "")),
				OperatorCondition: operatorCondition(list(upgradeable(yes, "")), list(upgradeable(no, "Not on Fridays"))),
			},
			annotation: "foo.v2",
			want: holds("OperatorConditionNotUpgradeable", "The update to foo.v2 is held: spec.overrides of OperatorCondition "+
				"default/foo.v1 sets Upgradeable=False: Not on Fridays. The update continues when the override is removed or set to True"),
		},
		"OverriddenUnknown": {
			reason:     "An override that is not True holds every update, as in OLM.",
			in:         Inputs{OperatorCondition: operatorCondition(list(upgradeable(yes, "")), list(upgradeable(unknown, "Who knows?")))},
			annotation: "foo.v2",
			want: holds("OperatorConditionNotUpgradeable", "The update to foo.v2 is held: spec.overrides of OperatorCondition "+
				"default/foo.v1 sets Upgradeable=Unknown: Who knows?. The update continues when the override is removed or set to True"),
		},
		"StaleYes": {
			reason: "What may have changed since it was read is waited for.",
			in:     Inputs{Probe: probe(synced(unknown), upgradeable(unknown, ""))},
			want:   notRead,
		},
		"Silent": {
			reason: "It is stated why they may have.",
			in:     Inputs{Probe: probe(silent, upgradeable(unknown, ""))},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: waiting to read the custom resources of Probe default/foo.v1: No answer. "+
				"To update anyway: "+allow),
		},
		"StaysSilent": {
			reason: "A yes despite blocking custom resources is none while these cannot be read again, for however long.",
			in:     Inputs{Probe: probe(silentFor(no), upgradeable(yes, ""))},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: waiting to read the custom resources of Probe default/foo.v1: No answer. "+
				"To update anyway: "+allow),
		},
		"OthersExpressions": {
			reason: "A yes to what another version asks is none.",
			in: Inputs{Probe: manager(probe(synced(yes), upgradeable(yes, "")), v1alpha1.ManagerCRDAnnotations), Declaration: Declaration{
				OptedIn: true, Own: []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "!Migrating"}},
			}},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: Probe default/foo.v1 does not have the spec that foo.v1 was installed "+
				"with, or that ProbePolicies determine; operator-status corrects it. To update anyway: "+allow),
		},
		"PolicyChanged": {
			reason: "A yes to what a ProbePolicy asked before it changed is none.",
			in: Inputs{Probe: manager(probe(synced(yes), upgradeable(yes, "")), v1alpha1.ManagerPolicy), Declaration: Declaration{
				OptedIn: true, ByPolicy: true, Own: []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "Ready"}},
			}},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: Probe default/foo.v1 does not have the spec that foo.v1 was installed "+
				"with, or that ProbePolicies determine; operator-status corrects it. To update anyway: "+allow),
		},
		"PolicyAlone": {
			reason: "An operator that a ProbePolicy applies to is held until it has its Probe.",
			in:     Inputs{Declaration: Declaration{OptedIn: true, ByPolicy: true}},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: Probe default/foo.v1 does not exist; operator-status creates it from ProbePolicies. "+
				"To update anyway: "+allow),
		},
		"SettleChanged": {
			reason: "A yes before a ProbePolicy has custom resources settle is none.",
			in: Inputs{Probe: manager(probe(synced(yes), upgradeable(yes, "")), v1alpha1.ManagerPolicy), Declaration: Declaration{
				OptedIn: true, ByPolicy: true, Own: []v1alpha1.ProbeResource{}, Settle: &metav1.Duration{Duration: time.Minute},
			}},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: Probe default/foo.v1 does not have the spec that foo.v1 was installed "+
				"with, or that ProbePolicies determine; operator-status corrects it. To update anyway: "+allow),
		},
		"YieldChanged": {
			reason: "Nor is a yes by a Probe that yields although the policy does not.",
			in: Inputs{Probe: yielding(manager(probe(synced(yes), upgradeable(yes, "")), v1alpha1.ManagerPolicy)), Declaration: Declaration{
				OptedIn: true, ByPolicy: true, Own: []v1alpha1.ProbeResource{},
			}},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: Probe default/foo.v1 does not have the spec that foo.v1 was installed "+
				"with, or that ProbePolicies determine; operator-status corrects it. To update anyway: "+allow),
		},
		"PolicyOfWorkload": {
			reason: "The Probe of an operator without ClusterServiceVersion has a name of its own.",
			in: Inputs{Declaration: Declaration{
				OptedIn: true, ByPolicy: true, ProbeName: types.NamespacedName{Namespace: "default", Name: "workload.foo"},
			}},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: Probe default/workload.foo does not exist; operator-status creates it from "+
				"ProbePolicies. To update anyway: "+allow),
		},
		"PolicyBesideUser": {
			reason: "The Probe of a user takes precedence over ProbePolicies, and is no conflict with them.",
			in:     Inputs{Probe: probe(synced(yes), upgradeable(yes, "")), Declaration: Declaration{OptedIn: true, ByPolicy: true}},
		},
		"LiveYes": {
			reason: "An update begins if the custom resources allow it at that moment, too.",
			in:     Inputs{Probe: probe(synced(yes), upgradeable(yes, "")), Begins: true, Live: live(synced(yes), upgradeable(yes, ""))},
		},
		"LiveNo": {
			reason: "A Probe may not have heard yet of what its custom resources report.",
			in:     Inputs{Probe: probe(synced(yes), upgradeable(yes, "")), Begins: true, Live: live(synced(yes), upgradeable(no, waiting))}, unreported: true,
			want: Decision{Held: true, Reason: "ProbeNotUpgradeable", Message: "The update to foo.v2 is held: Probe default/foo.v1 does not " +
				"report it yet, but its custom resources do not allow the update: " + waiting + ". To update anyway: " + allow},
		},
		"LiveUnreadable": {
			reason: "What cannot be read at that moment is not known.",
			in:     Inputs{Probe: probe(synced(yes), upgradeable(yes, "")), Begins: true, Live: live(synced(no), upgradeable(unknown, ""))},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: the custom resources of Probe default/foo.v1 cannot be read now: False it is. "+
				"To update anyway: "+allow),
		},
		"LiveMissing": {
			reason: "A caller that lets the update begin without reading does not let it begin.",
			in:     Inputs{Probe: probe(synced(yes), upgradeable(yes, "")), Begins: true},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: the custom resources of Probe default/foo.v1 have not been read for this update. "+
				"To update anyway: "+allow),
		},
		"LiveYesProbeNo": {
			reason: "A Probe that has not heard yet that it is allowed is waited for.",
			in:     Inputs{Probe: probeSaysNo, Begins: true, Live: live(synced(yes), upgradeable(yes, ""))},
			want: holds("ProbeNotUpgradeable",
				"The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+". To update anyway: "+allow),
		},
		"Uninstalled": {
			reason: "Installing another version beside custom resources is an update, and they cannot be asked otherwise.",
			in:     Inputs{Uninstalled: true, Begins: true, Live: live(synced(yes), upgradeable(no, waiting))}, unreported: true,
			want: Decision{Held: true, Reason: "ProbeNotUpgradeable", Message: "The update to foo.v2 is held: default/foo.v1 was uninstalled, " +
				"but its custom resources do not allow the update: " + waiting + ". Their status does not change until an operator runs again. " +
				"To update anyway: " + allow},
		},
		"UninstalledUnread": {
			reason: "What may be left is not known.",
			in:     Inputs{Uninstalled: true, Begins: true},
			want: holds("ProbeNotRead", "The update to foo.v2 is held: the custom resources of default/foo.v1, which was uninstalled, have not been read "+
				"for this update. Their status does not change until an operator runs again. To update anyway: "+allow),
		},
		"UninstalledYes": {
			reason: "Custom resources that allow it do not hold it.",
			in:     Inputs{Uninstalled: true, Begins: true, Live: live(synced(yes), upgradeable(yes, ""))},
		},
		"LiveOfOwnStatus": {
			reason: "There is nothing else to read if the operator writes the Probe itself.",
			in:     Inputs{Probe: noSpec(probe(upgradeable(yes, ""))), Begins: true},
		},
		"LiveNoAnnotated": {
			reason: "An administrator's permission is for what is read at that moment, too.",
			in:     Inputs{Probe: probe(synced(yes), upgradeable(yes, "")), Begins: true, Live: live(synced(yes), upgradeable(no, waiting))}, annotation: "foo.v2",
			want: Decision{Reason: "Overridden", Overridden: true, Message: "The update to foo.v2 is allowed by annotation " +
				"operatorstatus.io/allow-upgrade of Subscription default/foo. Without it, the update would be held: " +
				"Probe default/foo.v1 does not report it yet, but its custom resources do not allow the update: " + waiting},
		},
		"DeadHolder": {
			reason: "The conditions of a failed operator may be out of date. The message mentions it, but the update is still held.",
			in:     Inputs{Probe: probeSaysNo}, phase: "Failed",
			want: holds("ProbeNotUpgradeable", "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: "+waiting+
				". foo.v1 is Failed, so its conditions may be stale. To update anyway: "+allow),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := tc.in
			in.Target = "foo.v2"
			in.Running = version("foo.v1", tc.phase)
			in.Request = request("foo")
			if tc.annotation != "" {
				in.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: tc.annotation}
			}
			got := Evaluate(in)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Decision{}, "Holds")); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if got.Unreported() != tc.unreported {
				t.Errorf("%s\nunreported: %t", tc.reason, !tc.unreported)
			}
			for name, change := range map[string]func(*Inputs){
				"a first install":       func(in *Inputs) { in.Running = nil },
				"no update":             func(in *Inputs) { in.Target = "" },
				"an install once again": func(in *Inputs) { in.Target = in.Running.Name },
			} {
				in := in
				change(&in)
				if got := Evaluate(in); !cmp.Equal(got, Decision{}) {
					t.Errorf("%s is held: %+v", name, got)
				}
			}
		})
	}
}

const generation = 3

func TestNeedsPolling(t *testing.T) {
	notRead, reported := Hold{Reason: v1alpha1.ReasonProbeNotRead}, Hold{Reason: v1alpha1.ReasonProbeNotUpgradeable}
	unreported := Hold{Reason: v1alpha1.ReasonProbeNotUpgradeable, Unreported: true}
	cases := map[string]struct {
		reason string
		holds  []Hold
		want   bool
	}{
		"Allowed":    {"Nothing is waited for.", nil, false},
		"Reported":   {"The Probe changes when its custom resources do.", []Hold{reported}, false},
		"NotRead":    {"No event reports that it can be read.", []Hold{notRead}, true},
		"Unreported": {"The Probe does not change when its custom resources do.", []Hold{unreported}, true},
		"Both":       {"Before the event that ends one hold, it does not matter whether the other has ended.", []Hold{notRead, reported}, false},
		"Neither":    {"None of them ends with an event.", []Hold{notRead, unreported}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Decision{Held: len(tc.holds) > 0, Holds: tc.holds}).NeedsPolling(); got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
	if (Decision{Overridden: true, Holds: []Hold{notRead}}).NeedsPolling() {
		t.Error("nothing is waited for if the hold is overridden")
	}
}

// TestHolds verifies that a decision has every hold of every update, with the time since when it is reported and its override.
func TestHolds(t *testing.T) {
	const no = metav1.ConditionFalse
	since := func(c metav1.Condition, hour int) metav1.Condition {
		c.LastTransitionTime = metav1.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC)
		return c
	}
	busy, full := since(upgradeable(no, "busy"), 1), since(upgradeable(no, "full"), 2)
	update := func(name string, change func(*Inputs)) Inputs {
		out := Inputs{
			Running: version(name+".v1", ""), Target: name + ".v2", Request: request(name),
		}
		change(&out)
		return out
	}
	withProbe := func(in *Inputs) { in.Probe = probe(busy) }
	withBoth := func(in *Inputs) {
		in.Probe, in.OperatorCondition = probe(busy), operatorCondition([]metav1.Condition{full}, nil)
	}
	annotation := Override{Object: ref("Subscription", "foo"), Resource: "subscription.operators.coreos.com", Target: "foo.v2"}
	byProbe := Hold{
		Reason: "ProbeNotUpgradeable", By: ref("Probe", "foo.v1"), Since: busy.LastTransitionTime, Target: "foo.v2",
		Cause: "Probe default/foo.v1 reports Upgradeable=False: busy", Override: annotation,
	}
	byOperator := Hold{
		Reason: "OperatorConditionNotUpgradeable", By: ref("OperatorCondition", "foo.v1"), Since: full.LastTransitionTime, Target: "foo.v2",
		Cause: "OperatorCondition default/foo.v1 reports Upgradeable=False: full", Override: annotation,
	}
	beside := Override{Object: ref("OperatorCondition", "foo.v1")}
	with := func(h Hold, change func(*Hold)) Hold { change(&h); return h }
	cases := map[string]struct {
		reason  string
		updates []Inputs
		want    []Hold
	}{
		"None": {"Nothing holds it.", []Inputs{update("foo", func(*Inputs) {})}, nil},
		"Both": {"Each has its own beginning, and both the same override.", []Inputs{update("foo", withBoth)}, []Hold{byProbe, byOperator}},
		"BesideOLM": {
			"OLM also reads the OperatorCondition, and no annotation.",
			[]Inputs{update("foo", func(in *Inputs) { withBoth(in); in.BesideOLM = true })},
			[]Hold{with(byProbe, func(h *Hold) { h.Override = beside }), with(byOperator, func(h *Hold) { h.Override = beside })},
		},
		"Caveat": {
			"A failed operator does not change what it reports.",
			[]Inputs{update("foo", func(in *Inputs) { withProbe(in); in.Running.Phase = "Failed" })},
			[]Hold{with(byProbe, func(h *Hold) { h.Caveat = "foo.v1 is Failed, so its conditions may be stale" })},
		},
		"Administrator": {
			"Only an administrator ends an own hold.",
			[]Inputs{update("foo", func(in *Inputs) {
				withProbe(in)
				in.OperatorCondition = operatorCondition(nil, []metav1.Condition{full})
			})},
			[]Hold{{
				Reason: "OperatorConditionNotUpgradeable", By: ref("OperatorCondition", "foo.v1"), Since: full.LastTransitionTime, Target: "foo.v2",
				Cause: "spec.overrides of OperatorCondition default/foo.v1 sets Upgradeable=False: full. The update continues when the override is removed or set to True",
			}},
		},
		"Uninstalled": {
			"The Probe was deleted with the operator.",
			[]Inputs{update("foo", func(in *Inputs) {
				in.Uninstalled, in.Begins, in.Live = true, true, live(upgradeable(no, "busy"))
			})},
			[]Hold{{
				Reason: "ProbeNotUpgradeable", By: ref("ClusterServiceVersion", "foo.v1"), Target: "foo.v2", Unreported: true, Override: annotation,
				Cause:  "default/foo.v1 was uninstalled, but its custom resources do not allow the update: busy",
				Caveat: "Their status does not change until an operator runs again",
			}},
		},
		"ByUser": {
			"A user's hold comes before those of the operator, tells when it ends, and nothing overrides it.",
			[]Inputs{update("foo", func(in *Inputs) {
				withProbe(in)
				in.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "foo.v2"}
				audit := holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}
				audit.Spec = holdv1alpha1.UpgradeHoldSpec{HoldTerms: holdv1alpha1.HoldTerms{Message: "audit.", RequestedBy: "jane"}}
				in.UpgradeHolds = []UserHold{{UpgradeHold: audit, Ends: time.Unix(0, 0)}}
			})},
			[]Hold{
				{
					Reason: "HeldByUser", By: operator.Ref{Kind: "UpgradeHold", Name: "audit"}, Until: new(metav1.Unix(0, 0)), Target: "foo.v2",
					Cause: "UpgradeHold audit holds the updates for jane until 1970-01-01T00:00:00Z: audit. The update continues then, or when it is deleted",
				},
				with(byProbe, func(h *Hold) { h.Override.Replaces = true }),
			},
		},
		"Plan": {
			"A plan has those of all updates that are held, and of none that is overridden.",
			[]Inputs{
				update("foo", withProbe),
				update("bar", func(in *Inputs) {
					withProbe(in)
					in.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "bar.v2"}
				}),
				update("baz", withProbe),
			},
			[]Hold{byProbe, with(byProbe, func(h *Hold) {
				h.Target, h.Override = "baz.v2", Override{Object: ref("Subscription", "baz"), Resource: "subscription.operators.coreos.com", Target: "baz.v2"}
			})},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, EvaluatePlan(tc.updates).Holds); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func ref(kind, name string) operator.Ref {
	return operator.Ref{Kind: kind, Namespace: "default", Name: name}
}

func version(name, phase string) *operator.Version {
	return &operator.Version{Ref: ref("ClusterServiceVersion", name), Phase: phase}
}

func request(name string) *operator.Request {
	return &operator.Request{Ref: ref("Subscription", name), Resource: "subscription.operators.coreos.com"}
}

// TestNotKnown verifies for each unknown state of a running operator whether it holds the update, and why. The message
// of each hold states how it ends, and the command that overrides it.
func TestNotKnown(t *testing.T) {
	const (
		yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		reader, targets  = "manager-0", "0123456789abcdef"
	)
	annotations := func(conditions ...metav1.Condition) *v1alpha1.Probe {
		return by(manager(probe(conditions...), v1alpha1.ManagerCRDAnnotations), reader, targets)
	}
	because := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: "Synced", Status: no, Reason: reason, Message: message}
	}
	cases := map[string]struct {
		reason  string
		probe   *v1alpha1.Probe
		never   bool   // the operator never opted in
		reader  string // the current reader; that of the Probe if empty
		held    string // the reason, or empty
		endedBy string // part of the message
	}{
		"Absent": {
			reason: "A Probe that is about to be created, or was deleted, has not been read.",
			held:   "ProbeNotRead", endedBy: "Probe default/foo.v1 does not exist; operator-status creates it",
		},
		"AbsentNeverOptedIn": {reason: "An operator that asks for no Probe is not held for lack of it.", never: true},
		"Foreign": {
			reason: "A Probe of that name that was not created from the CRD annotations does not count, whatever its conditions.",
			probe:  by(probe(synced(yes), upgradeable(yes, "")), reader, targets),
			held:   "ProbeConflict", endedBy: "delete it to have it recreated from them, or set its spec.manager to crdAnnotations",
		},
		"ForeignNeverOptedIn": {
			reason: "If the operator never opted in, a Probe that a user created counts.",
			probe:  by(probe(synced(yes), upgradeable(yes, "")), reader, targets), never: true,
		},
		"Operator": {
			reason: "An operator that took over its Probe sets the conditions itself.",
			probe:  manager(probe(upgradeable(yes, "")), v1alpha1.ManagerOperator),
		},
		"OperatorUnknown": {
			reason: "Unknown is an answer, and does not hold.",
			probe:  manager(probe(upgradeable(unknown, "")), v1alpha1.ManagerOperator),
		},
		"OperatorSilent": {
			reason: "An operator that took over its Probe and has not set Upgradeable yet is waited for.",
			probe:  manager(probe(), v1alpha1.ManagerOperator),
			held:   "ProbeNotRead", endedBy: "the operator writes the status of Probe default/foo.v1 itself, and has not set Upgradeable",
		},
		"SpeclessSilent": {
			reason: "So is one whose Probe has no spec, since any user may have created it.",
			probe:  noSpec(probe()),
			held:   "ProbeNotRead", endedBy: "has not set Upgradeable",
		},
		"NeverRead": {
			reason: "What was never read is not known.",
			probe:  annotations(synced(unknown), upgradeable(unknown, "")),
			held:   "ProbeNotRead", endedBy: "waiting to read the custom resources of Probe default/foo.v1",
		},
		"NoIdentity": {
			reason: "Nor is what cannot be read without a service account: the message names the one to create.",
			probe:  annotations(because("NoIdentity", "No service account foo exists in namespace default"), upgradeable(unknown, "")),
			held:   "ProbeNotRead", endedBy: "No service account foo exists in namespace default",
		},
		"Forbidden": {
			reason: "Nor is what the service account may not read: the message states what to grant.",
			probe:  annotations(because("Forbidden", "Service account default/foo may not list and watch foos.example.com: grant it these permissions"), upgradeable(unknown, "")),
			held:   "ProbeNotRead", endedBy: "grant it these permissions",
		},
		"ForbiddenSince": {
			reason: "What was read until the right was taken away stands.",
			probe:  annotations(because("Forbidden", "Grant it that"), upgradeable(yes, "")),
		},
		"ForbiddenSinceNo": {
			reason: "A no stands as well.",
			probe:  annotations(because("Forbidden", "Grant it that"), upgradeable(no, "Waiting for Foo default/x: Migrating is True")),
			held:   "ProbeNotUpgradeable", endedBy: "Waiting for Foo default/x",
		},
		"ForbiddenAndAnotherReader": {
			reason: "What an earlier manager could read and this one cannot is not known.",
			probe:  by(annotations(because("Forbidden", "Grant it that"), upgradeable(yes, "")), "manager-1", targets),
			held:   "ProbeNotRead", endedBy: "Grant it that",
		},
		"AnotherReader": {
			reason: "A takeover has everything read anew.",
			probe:  by(annotations(synced(yes), upgradeable(yes, "")), "manager-1", targets),
			held:   "ProbeNotRead", endedBy: "waiting to read",
		},
		"NoReader": {
			reason: "What custom resources report since the reader ended is not known.",
			probe:  annotations(synced(yes), upgradeable(yes, "")), reader: NoReader,
			held: "ProbeNotRead", endedBy: "no process reads custom resources",
		},
		"NoPod": {
			reason: "What custom resources report since the Probe's own pod ended is not known.",
			probe:  isolated(annotations(synced(yes), upgradeable(yes, ""))), reader: NoReader,
			held: "ProbeNotRead", endedBy: "the pod that reads the custom resources of Probe default/foo.v1 is not ready. To update anyway",
		},
		"NoPodBecause": {
			reason: "Its Probe reports why it ended, and so does the hold.",
			probe:  isolated(annotations(synced(yes), upgradeable(yes, ""), newCondition("PodReady", no, "Image x cannot be pulled"))), reader: NoReader,
			held: "ProbeNotRead", endedBy: "is not ready: Image x cannot be pulled. To update anyway",
		},
		"NoReaderOfNone": {
			reason: "Nor is anything known of a Probe that was never read.",
			probe:  annotations(), reader: NoReader,
			held: "ProbeNotRead", endedBy: "no process reads custom resources",
		},
		"OtherTargets": {
			reason: "So has another target namespace of the OperatorGroup.",
			probe:  by(annotations(synced(yes), upgradeable(yes, "")), reader, "fedcba9876543210"),
			held:   "ProbeNotRead", endedBy: "waiting to read",
		},
		"OtherSpec": {
			reason: "So has another spec.",
			probe:  observed(annotations(synced(yes), upgradeable(yes, "")), generation-1),
			held:   "ProbeNotRead", endedBy: "waiting to read",
		},
		"CRDUnserved": {
			reason: "A kind that is not served has no custom resources.",
			probe:  annotations(because("ResourceNotFound", "CustomResourceDefinition or API group foos.example.com not found"), upgradeable(yes, "")),
		},
		"InvalidExpression": {
			reason: "An expression that cannot be parsed is unknown, and unknown does not hold.",
			probe:  annotations(because("InvalidExpression", "Position 1 is wrong"), upgradeable(yes, "")),
		},
		"FieldNotFound": {
			reason: "So is a comparison of a field that does not exist.",
			probe:  annotations(because("FieldNotFound", "there is no field status.phse"), upgradeable(yes, "")),
		},
		"Current": {reason: "A Probe that was read and allows the update does not hold it.", probe: annotations(synced(yes), upgradeable(yes, ""))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Inputs{
				Running: version("foo.v1", ""), Target: "foo.v2", Probe: tc.probe, Declaration: Declaration{OptedIn: !tc.never}, Reader: tc.reader, Targets: targets,
				Request: request("foo"),
			}
			if in.Reader == "" {
				in.Reader = reader
			}
			got := Evaluate(in)
			if got.Held != (tc.held != "") || got.Reason != tc.held || !strings.Contains(got.Message, tc.endedBy) {
				t.Errorf("%s\ngot %+v\nwant %q by %q", tc.reason, got, tc.held, tc.endedBy)
			}
			if got.Held && !strings.HasSuffix(got.Message, "To update anyway: "+allow) {
				t.Errorf("The message does not end with the override: %s", got.Message)
			}
			in.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "foo.v2"}
			if got := Evaluate(in); got.Held || got.Overridden != (tc.held != "") {
				t.Errorf("with the annotation it is %+v", got)
			}
		})
	}
}

// TestEvaluatePlan verifies that a plan proceeds as a whole or not at all.
func TestEvaluatePlan(t *testing.T) {
	update := func(name string, status metav1.ConditionStatus, allow bool) Inputs {
		p := probe(synced(metav1.ConditionTrue), upgradeable(status, "busy"))
		p.Name = name + ".v1"
		out := Inputs{
			Running: version(name+".v1", ""), Target: name + ".v2", Probe: p, Request: request(name),
		}
		if allow {
			out.Request.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: out.Target}
		}
		return out
	}
	yes, no := metav1.ConditionTrue, metav1.ConditionFalse
	for name, tc := range map[string]struct {
		reason  string
		updates []Inputs
		want    string
	}{
		"None":       {"Nothing is updated.", nil, "goes ahead"},
		"AllAllow":   {"Every running operator allows it.", []Inputs{update("a", yes, false), update("b", yes, false)}, "goes ahead"},
		"OneHolds":   {"One is enough.", []Inputs{update("a", yes, false), update("b", no, false)}, "b.v2 held"},
		"Overridden": {"What an administrator allows goes ahead, and is reported.", []Inputs{update("a", no, true), update("b", yes, false)}, "a.v2 overridden"},
		"OneOfTwo":   {"An override is for one of them.", []Inputs{update("a", no, true), update("b", no, false)}, "b.v2 held"},
		"TwoHold":    {"Each is reported with its own override.", []Inputs{update("a", no, false), update("b", no, false)}, "a.v2 held, b.v2 held"},
		"TwoAllowed": {"So is each that is overridden.", []Inputs{update("a", no, true), update("b", no, true)}, "a.v2 overridden, b.v2 overridden"},
	} {
		t.Run(name, func(t *testing.T) {
			d := EvaluatePlan(tc.updates)
			var reported []string
			for _, in := range tc.updates {
				if strings.Contains(d.Message, "to "+in.Target+" ") {
					reported = append(reported, in.Target+map[bool]string{true: " held", false: " overridden"}[d.Held])
				}
			}
			if got := stdcmp.Or(strings.Join(reported, ", "), "goes ahead"); got != tc.want {
				t.Errorf("%s\ngot %s; want %s", tc.reason, got, tc.want)
			}
		})
	}
}
