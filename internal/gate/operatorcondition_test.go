package gate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

func probeWith(status metav1.ConditionStatus) *v1alpha1.Probe {
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Name: "foo.v1"},
		Status: v1alpha1.ProbeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionUpgradeable, Status: status, Message: "Waiting for Foo a/b: Migrating is True"},
		}},
	}
}

func entry(status metav1.ConditionStatus, reason, message string, seconds int64) metav1.Condition {
	return metav1.Condition{Type: "Upgradeable", Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Unix(seconds, 0)}
}

// asking marks a Probe as created from annotations, and owned as created by a user.
func asking(p *v1alpha1.Probe) *v1alpha1.Probe {
	p.Spec = &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerCRDAnnotations}
	p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue})
	return p
}

func hiding(p *v1alpha1.Probe) *v1alpha1.Probe {
	p.Status.Conditions[0].Message = "Waiting for a custom resource whose name is not shown"
	return p
}

func owned(p *v1alpha1.Probe) *v1alpha1.Probe {
	p.Spec = &v1alpha1.ProbeSpec{}
	return p
}

// TestIsHolding verifies that it agrees with the gate.
func TestIsHolding(t *testing.T) {
	busy := entry(metav1.ConditionFalse, "Migrating", "", 0)
	cases := map[string]struct {
		reason                string
		conditions, overrides []metav1.Condition
		want                  bool
	}{
		"Silent":     {reason: "An operator that reports nothing may be updated."},
		"Ready":      {reason: "It says so.", conditions: []metav1.Condition{entry(metav1.ConditionTrue, "Ready", "", 0)}},
		"Unknown":    {reason: "As in OLM, Unknown does not hold.", conditions: []metav1.Condition{entry(metav1.ConditionUnknown, "Ready", "", 0)}},
		"Busy":       {reason: "It says so.", conditions: []metav1.Condition{busy}, want: true},
		"Gate":       {reason: "operator-status repeats a Probe.", conditions: []metav1.Condition{entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable, "", 0)}},
		"Overridden": {reason: "An admin decides otherwise.", conditions: []metav1.Condition{busy}, overrides: []metav1.Condition{entry(metav1.ConditionTrue, "Anyway", "", 0)}},
		"Held":       {reason: "An admin holds the updates.", overrides: []metav1.Condition{entry(metav1.ConditionFalse, "Audit", "", 0)}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			oc := &operatorsv2.OperatorCondition{Spec: operatorsv2.OperatorConditionSpec{Conditions: tc.conditions, Overrides: tc.overrides}}
			decided := Evaluate(Inputs{Running: &operator.Version{Ref: operator.Ref{Name: "foo.v1"}}, Target: "foo.v2", OperatorCondition: oc}).Held
			if got := IsHolding(oc); got != tc.want || decided != tc.want {
				t.Errorf("%s\ngot %t, and the gate decides %t", tc.reason, got, decided)
			}
		})
	}
}

func TestUpgradeable(t *testing.T) {
	other := metav1.Condition{Type: "Other", Status: metav1.ConditionTrue, Reason: "Theirs"}
	no := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable, "Probe foo.v1: Waiting for Foo a/b: Migrating is True", 2000)
	yes := entry(metav1.ConditionTrue, v1alpha1.ReasonProbeUpgradeable, "Probe foo.v1 reports that the operator may be updated", 2000)
	gone := entry(metav1.ConditionTrue, v1alpha1.ReasonProbeGone, "The Probe that could hold the update no longer exists", 2000)
	hidden := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable, "Probe foo.v1: Waiting for a custom resource whose name is not shown", 2000)
	partly := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable, "Probe foo.v1: Waiting for Foo a/b: Migrating is True; and 7 more, not shown", 2000)
	waiver := &Waiver{v1alpha1.ReasonOverridden, "an admin says so"}
	waived := entry(metav1.ConditionTrue, v1alpha1.ReasonOverridden, "an admin says so", 2000)
	released := entry(metav1.ConditionTrue, v1alpha1.ReasonReleased, "operator-status has let go of it", 1000)
	theirs := entry(metav1.ConditionTrue, "TheirReason", "theirs", 1000)
	missing := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotRead,
		"Probe default/foo.v1 does not exist; operator-status creates it from the annotations of the CustomResourceDefinitions", 2000)
	notRead := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeNotRead, "waiting to read the custom resources of Probe /foo.v1", 2000)
	conflict := entry(metav1.ConditionFalse, v1alpha1.ReasonProbeConflict, "Probe /foo.v1 was not created from the annotations of the operator's "+
		"CustomResourceDefinitions: delete it to have it recreated from them, or set its spec.manager to crdAnnotations", 2000)
	earlier := func(c metav1.Condition) metav1.Condition { c.LastTransitionTime = metav1.Unix(1000, 0); return c }
	cases := map[string]struct {
		reason     string
		conditions []metav1.Condition
		probe      *v1alpha1.Probe
		want       []metav1.Condition
		transition bool
		waiver     *Waiver
		optedIn    bool
	}{
		"Held": {"Upgradeable=False of the Probe is set for OLM; other conditions are kept.", []metav1.Condition{other}, probeWith(metav1.ConditionFalse),
			[]metav1.Condition{other, no}, true, nil, false},
		"Released": {"So is Upgradeable=True.", []metav1.Condition{earlier(no), other}, probeWith(metav1.ConditionTrue), []metav1.Condition{yes, other}, true,
			nil, false},
		"StillHeld": {"The same status is no transition.", []metav1.Condition{earlier(no)}, probeWith(metav1.ConditionFalse), []metav1.Condition{earlier(no)},
			false, nil, false},
		"First": {"The first result is set, whatever it is.", nil, probeWith(metav1.ConditionTrue), []metav1.Condition{yes}, true, nil, false},
		"Unknown": {"Upgradeable=Unknown changes nothing.", []metav1.Condition{earlier(no)}, probeWith(metav1.ConditionUnknown),
			[]metav1.Condition{earlier(no)}, false, nil, false},
		"NoStatus": {"Nor does a Probe without a status.", nil, &v1alpha1.Probe{}, nil, false, nil, false},
		"Gone":     {"When the Probe goes ours turns True, and stays.", []metav1.Condition{earlier(no)}, nil, []metav1.Condition{gone}, true, nil, false},
		"GoneAllowed": {"If it was True already, there is nothing to write.", []metav1.Condition{earlier(yes)}, nil, []metav1.Condition{earlier(gone)}, false,
			nil, false},
		"NeverThere": {"Without a Probe there is nothing to set.", []metav1.Condition{other}, nil, []metav1.Condition{other}, false, nil, false},
		"Theirs": {"The operator's own condition is kept.", []metav1.Condition{theirs}, probeWith(metav1.ConditionFalse), []metav1.Condition{theirs}, false, nil,
			false},
		"Waived": {"With a waiver, an update that the Probe held continues.", []metav1.Condition{earlier(no)}, probeWith(metav1.ConditionFalse),
			[]metav1.Condition{waived}, true, waiver, false},
		"WaivedFirst": {"A waiver alone sets nothing.", nil, probeWith(metav1.ConditionFalse), nil, false, waiver, false},
		"WaivedTheirs": {"A waiver keeps the operator's own.", []metav1.Condition{theirs}, probeWith(metav1.ConditionFalse), []metav1.Condition{theirs},
			false, waiver, false},
		"LetGo": {"What was released stays so.", []metav1.Condition{released}, probeWith(metav1.ConditionFalse), []metav1.Condition{released}, false, nil,
			false},
		"NotThereYet": {"The Probe that an operator asks for is not there: what it watches is not known, and holds.", nil, nil, []metav1.Condition{missing}, true,
			nil, true},
		"Deleted": {"Nor is it known when somebody deletes it.", []metav1.Condition{earlier(yes)}, nil, []metav1.Condition{missing}, true, nil, true},
		"NeverRead": {"Nor before the first read.", []metav1.Condition{earlier(yes)}, asking(probeWith(metav1.ConditionUnknown)), []metav1.Condition{notRead},
			true, nil, true},
		"Foreign": {"Nor by one that somebody else created.", []metav1.Condition{earlier(yes)}, owned(probeWith(metav1.ConditionTrue)),
			[]metav1.Condition{conflict}, true, nil, true},
		"Known": {"And when it is known, OLM goes on.", []metav1.Condition{earlier(missing)}, asking(probeWith(metav1.ConditionTrue)), []metav1.Condition{yes},
			true, nil, true},
		"NotShown": {"Names that may not be shown any more go, though the answer is the same.", []metav1.Condition{earlier(no)},
			hiding(probeWith(metav1.ConditionFalse)), []metav1.Condition{earlier(hidden)}, true, nil, false},
		"FewerShown": {"Also where some were not shown before.", []metav1.Condition{earlier(partly)}, hiding(probeWith(metav1.ConditionFalse)),
			[]metav1.Condition{earlier(hidden)}, true, nil, false},
		"StillHidden": {"And that once.", []metav1.Condition{earlier(hidden)}, hiding(probeWith(metav1.ConditionFalse)), []metav1.Condition{earlier(hidden)},
			false, nil, false},
		"Unasked":     {"What is waived is not waited for.", nil, nil, nil, false, waiver, true},
		"TheirsAlone": {"Also when the Probe is gone.", []metav1.Condition{theirs}, nil, []metav1.Condition{theirs}, false, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Running: version("foo.v1", ""), Probe: tc.probe, Declaration: Declaration{OptedIn: tc.optedIn}}
			got := Upgradeable(tc.conditions, in, tc.waiver, metav1.Unix(2000, 0))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if OperatorConditionChanged(tc.conditions, got) != tc.transition {
				t.Errorf("%s\ntransition is %t", tc.reason, !tc.transition)
			}
		})
	}
}
