package bridge

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

const (
	no  = metav1.ConditionFalse
	yes = metav1.ConditionTrue
)

// foo and bar are Subscriptions that install-2 updates.
func foo() *v1alpha1.Subscription {
	return referring(subscribing("foo", "foo.v1", "foo.v2"), "install-2")
}

func bar() *v1alpha1.Subscription {
	return referring(subscribing("bar", "bar.v1", "bar.v2"), "install-2")
}

// judgement is the summary of a Verdict.
type judgement struct {
	Approve, Ours bool
	Gate          string // its reason
	Overridden    bool
	Missing       []string
}

func inShort(v Verdict) judgement {
	out := judgement{Approve: v.Approve(), Ours: v.Ours, Missing: v.Missing}
	out.Gate, out.Overridden = v.Gate.Reason, v.Gate.Overridden
	return out
}

type verdictRow struct {
	reason  string
	plan    *olm.InstallPlan // nil for one of all Subscriptions of the namespace
	n       Namespace
	want    judgement
	message string // the message of the hold
}

func TestJudge(t *testing.T) {
	for _, rows := range []map[string]verdictRow{aloneRows(), togetherRows(), delegatedRows(), runningRows()} {
		for name, tc := range rows {
			t.Run(name, func(t *testing.T) {
				plan := tc.plan
				if plan == nil {
					var targets, owners []string
					for _, sub := range tc.n.Subscriptions {
						targets, owners = append(targets, sub.Status.CurrentCSV), append(owners, sub.Name)
					}
					plan = planning(targets, owners...)
				}
				got := Judge(plan, tc.n)
				if diff := cmp.Diff(tc.want, inShort(got)); diff != "" {
					t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
				}
				if !strings.Contains(got.Gate.Message, tc.message) {
					t.Errorf("%s\nmessage %q does not contain %q", tc.reason, got.Gate.Message, tc.message)
				}
			})
		}
	}
}

// aloneRows are cases of a plan for one Subscription.
func aloneRows() map[string]verdictRow {
	running := named(succeeded("foo.v1"))
	alone := func(sub *v1alpha1.Subscription, probes ...*v1alpha1.Probe) Namespace {
		return withProbes(world(running, sub), probes...)
	}
	allowed := judgement{Approve: true, Ours: true}
	return map[string]verdictRow{
		"Allowed":       {reason: "An update that the operator allows is approved.", n: alone(byGate(foo()), probing("foo.v1", yes)), want: allowed},
		"NeverOptedIn":  {reason: "So is that of an operator without a Probe.", n: alone(byGate(foo())), want: allowed},
		"ProbeOfOthers": {reason: "The Probe of another operator is ignored.", n: alone(byGate(foo()), probing("bar.v1", no)), want: allowed},
		"Held": {
			reason: "An update that the operator does not allow is not approved.",
			n:      alone(byGate(foo()), probing("foo.v1", no)), want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"},
			message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True",
		},
		"NotRead": {
			reason: "A Probe status from before this process started is not relied on.",
			n:      unread(alone(byGate(foo()), probing("foo.v1", yes))), want: judgement{Ours: true, Gate: "ProbeNotRead"},
			message: "waiting to read the custom resources of Probe default/foo.v1",
		},
		"NotReadNo": {
			reason: "But a no stays a no, and names what it is about.",
			n:      unread(alone(byGate(foo()), probing("foo.v1", no))), want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"},
			message: "Migrating is True",
		},
		"OperatorSaysNo": {
			reason: "The operator's own word counts as the Probe's does.",
			n:      objecting(alone(byGate(foo()), probing("foo.v1", yes)), no, false), want: judgement{Ours: true, Gate: "OperatorConditionNotUpgradeable"},
			message: "OperatorCondition default/foo.v1 reports Upgradeable=False: it is busy",
		},
		"Versions": {reason: "An update within the range of versions is approved.", n: alone(byGate(limited(foo(), "<3"))), want: allowed},
		"ByVersion": {
			reason: "An update beyond it is not.",
			n:      alone(byGate(limited(foo(), "<2"))), want: judgement{Ours: true, Gate: "VersionNotAllowed"},
			message: "annotation operatorstatus.io/version of Subscription default/foo allows versions \"<2\". The update continues when the annotation allows 2",
		},
		"Annotated": {
			reason:  "An update that an administrator allows is approved, and the Event can report what was overridden.",
			n:       alone(byGate(allowing(foo(), "foo.v2")), probing("foo.v1", no)),
			want:    judgement{Approve: true, Ours: true, Gate: "Overridden", Overridden: true},
			message: "The update to foo.v2 is allowed by annotation operatorstatus.io/allow-upgrade of Subscription default/foo",
		},
		"AnnotatedForAnother": {
			reason: "What was allowed for another version is not for this one.",
			n:      alone(byGate(allowing(foo(), "foo.v1.5")), probing("foo.v1", no)), want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"},
		},
		"OverriddenTrue": {
			reason:  "spec.overrides allows it just as well.",
			n:       objecting(alone(byGate(foo()), probing("foo.v1", no)), yes, true),
			want:    judgement{Approve: true, Ours: true, Gate: "Overridden", Overridden: true},
			message: "is allowed by spec.overrides of OperatorCondition default/foo.v1",
		},
		"OverriddenFalse": {
			reason: "And has the last word where it forbids it.",
			n:      objecting(alone(byGate(allowing(foo(), "foo.v2")), probing("foo.v1", yes)), no, true),
			want:   judgement{Ours: true, Gate: "OperatorConditionNotUpgradeable"},
		},
		"OperatorObjects": {
			reason:  "Against the operator's own word our annotation does not help, since OLM asks for it after the plan has run.",
			n:       objecting(alone(byGate(allowing(foo(), "foo.v2")), probing("foo.v1", yes)), no, false),
			want:    judgement{Ours: true, Gate: "OperatorConditionNotUpgradeable"},
			message: "set Upgradeable=True in spec.overrides of OperatorCondition default/foo.v1",
		},
		"ByHand": {reason: "A plan that its Subscription leaves to a person is not ours.", n: alone(byHand(foo())),
			want: judgement{Missing: []string{"default/foo"}}},
		"Automatic": {reason: "Nor is one that OLM approves.", n: alone(foo()), want: judgement{}},
		"LabelOnly": {reason: "The label alone gives us nothing to approve.", n: alone(labelled(foo())), want: judgement{}},
		"OtherGate": {
			reason: "A label with another value does not delegate approval to us either.",
			n: func() Namespace {
				sub := byGate(foo())
				sub.Labels[v1alpha1.LabelGate] = "other"
				return alone(sub)
			}(),
			want: judgement{Missing: []string{"default/foo"}},
		},
	}
}

// togetherRows are cases of a plan for several Subscriptions, which OLM installs as a whole.
func togetherRows() map[string]verdictRow {
	running := named(succeeded("foo.v1"), succeeded("bar.v1"))
	both := func(a, b *v1alpha1.Subscription, probes ...*v1alpha1.Probe) Namespace {
		return withProbes(world(running, a, b), probes...)
	}
	zoo := referring(byHand(subscribing("zoo", "zoo.v1", "zoo.v2")), "install-2")
	return map[string]verdictRow{
		"BothGated": {reason: "What is ours to approve on both sides is approved.", n: both(byGate(foo()), byGate(bar())),
			want: judgement{Approve: true, Ours: true}},
		"AutomaticNeighbour": {
			reason: "An Automatic Subscription in the same plan needs no approval of its own.",
			n:      both(byGate(foo()), bar()), want: judgement{Approve: true, Ours: true},
		},
		"ManualNeighbour": {
			reason: "Who wants a person to approve is not passed over, and is named.",
			n:      both(byGate(foo()), byHand(bar())), want: judgement{Ours: true, Missing: []string{"default/bar"}},
		},
		"ManualNeighbours": {
			reason: "Several are named in one order, whatever order they come in.",
			n:      world(running, zoo, byGate(foo()), byHand(bar())), want: judgement{Ours: true, Missing: []string{"default/bar", "default/zoo"}},
		},
		"NeitherGated": {
			reason: "A plan in which no Subscription delegates approval to us is not ours, whatever the Probe reports.",
			n:      both(foo(), byHand(bar()), probing("foo.v1", yes)), want: judgement{Missing: []string{"default/bar"}},
		},
		"HeldNeighbour": {
			reason: "One operator that does not allow its update holds the whole plan, and it is named.",
			n:      both(byGate(foo()), byGate(bar()), probing("foo.v1", yes), probing("bar.v1", no)), want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"},
			message: "The update to bar.v2 is held: Probe default/bar.v1",
		},
		"HeldAutomaticNeighbour": {
			reason: "Also where its own Subscription would let OLM approve.",
			n:      both(byGate(foo()), bar(), probing("bar.v1", no)), want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"},
			message: "bar.v2",
		},
		"OverriddenBesideHeld": {
			reason: "What is allowed for one is not for the other.",
			n:      both(byGate(allowing(foo(), "foo.v2")), byGate(bar()), probing("foo.v1", no), probing("bar.v1", no)),
			want:   judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "bar.v2",
		},
		"HeldBesideOverridden": {
			reason: "Whichever of them comes first.",
			n:      both(byGate(foo()), byGate(allowing(bar(), "bar.v2")), probing("foo.v1", no), probing("bar.v1", no)),
			want:   judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "foo.v2",
		},
		"HeldAndManual": {
			reason: "Both that it is held and whose word is missing is known.",
			n:      both(byGate(foo()), byHand(bar()), probing("foo.v1", no)),
			want:   judgement{Ours: true, Gate: "ProbeNotUpgradeable", Missing: []string{"default/bar"}},
		},
	}
}

// delegatedRows are cases of who approves a plan. OLM makes all Subscriptions of a namespace its owners.
func delegatedRows() map[string]verdictRow {
	running := named(succeeded("foo.v1"), succeeded("bar.v1"))
	resting := func() *v1alpha1.Subscription { return referring(subscribing("foo", "foo.v1", "foo.v1"), "install-1") }
	onlyBar := planning([]string{"bar.v2"}, "foo", "bar")
	overtaken := referring(byGate(subscribing("bar", "bar.v1", "bar.v3")), "install-3")
	earlier := func() *v1alpha1.Subscription { return referring(subscribing("bar", "bar.v1", "bar.v2"), "install-1") }
	brings := func(kind, resolving string) *olm.InstallPlan {
		out := planning([]string{"foo.v2", "dependency.v1"}, "foo")
		out.Status.Plan = []*olm.Step{
			{Resolving: "foo.v2", Resource: olm.StepResource{Kind: "ClusterServiceVersion", Name: "foo.v2"}},
			{Resolving: resolving, Resource: olm.StepResource{Kind: kind, Name: "dependency"}},
		}
		return out
	}
	return map[string]verdictRow{
		"NeighbourAtRest": {
			reason: "A Subscription without an update is ignored, though it refers to the plan that installed it.",
			plan:   onlyBar, n: world(running, byGate(resting()), byGate(bar())), want: judgement{Approve: true, Ours: true},
		},
		"NeighbourAtRestObjects": {
			reason: "Even if its own operator allows no update.",
			plan:   onlyBar, n: withProbes(world(running, byGate(resting()), byGate(bar())), probing("foo.v1", no)), want: judgement{Approve: true, Ours: true},
		},
		"AutomaticNeighbourAtRest": {
			reason: "Even if its approval is Automatic.",
			plan:   onlyBar, n: world(running, resting(), byGate(bar())), want: judgement{Approve: true, Ours: true},
		},
		"AutomaticBesideGated": {
			reason: "If OLM requires approval only because of a gated Subscription, updates of Automatic ones are approved too.",
			plan:   onlyBar, n: world(running, byGate(resting()), bar()), want: judgement{Approve: true, Ours: true},
		},
		"AutomaticBesideGatedHeld": {
			reason: "What is approved in OLM's place is held like anything else.",
			plan:   onlyBar, n: withProbes(world(running, byGate(resting()), bar()), probing("bar.v1", no)),
			want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "bar.v2",
		},
		"AutomaticBesidePerson": {
			reason: "Where OLM would ask a person anyhow we do not answer for them.",
			plan:   onlyBar, n: world(running, byGate(resting()), bar(), referring(byHand(subscribing("zoo", "zoo.v1", "zoo.v1")), "install-1")),
			want: judgement{},
		},
		"EarlierReference": {
			reason: "Who refers to an earlier plan, and whose target this one installs too, is in it.",
			plan:   planning([]string{"foo.v2", "bar.v2"}, "foo"), n: withProbes(world(running, byGate(foo()), earlier()), probing("bar.v1", no)),
			want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "bar.v2",
		},
		"EarlierReferenceByHand": {
			reason: "So that its word may be missing.",
			plan:   planning([]string{"foo.v2", "bar.v2"}, "foo"), n: world(running, byGate(foo()), byHand(earlier())),
			want: judgement{Ours: true, Missing: []string{"default/bar"}},
		},
		"Overtaken": {
			reason: "A plan of which something newer has become the target is not approved any more.",
			plan:   onlyBar, n: world(running, overtaken), want: judgement{},
		},
		"OvertakenInPart": {
			reason: "Also where the rest of it is what it was.",
			plan:   planning([]string{"foo.v2", "bar.v2"}, "foo", "bar"), n: world(running, byGate(foo()), overtaken), want: judgement{},
		},
		"OvertakenAutomatic": {
			reason: "Also where the other Subscription is Automatic.",
			plan:   planning([]string{"foo.v2", "bar.v2"}, "foo", "bar"), n: world(running, foo(), overtaken), want: judgement{},
		},
		"TooEarly": {
			reason: "Nor before OLM has a Subscription refer to it.",
			n:      world(running, byGate(subscribing("foo", "foo.v1", "foo.v2"))), want: judgement{},
		},
		"BringsAlong": {
			reason: "What an operator needs comes with a Subscription of its own.",
			plan:   brings("Subscription", "dependency.v1"), n: world(running, byGate(foo())), want: judgement{Approve: true, Ours: true},
		},
		"BringsUnasked": {
			reason: "A plan that installs a CSV without a Subscription is not approved.",
			plan:   brings("ClusterServiceVersion", "dependency.v1"), n: world(running, byGate(foo())), want: judgement{},
		},
		"BringsAnother": {
			reason: "Nor is one that creates a Subscription for another CSV.",
			plan:   brings("Subscription", "other.v1"), n: world(running, byGate(foo())), want: judgement{},
		},
		"Elsewhere": {
			reason: "What another plan waits for does not hold this one.",
			plan:   planning([]string{"bar.v2"}), n: withProbes(world(running, bar(), byGate(referring(foo(), "install-3"))), probing("foo.v1", no)),
			want: judgement{Approve: true, Ours: true},
		},
		"Nobody": {reason: "A plan without Subscriptions is not ours.", plan: onlyBar, n: world(nil), want: judgement{}},
	}
}

// runningRows are cases of which operator decides: the running one of each Subscription in the plan.
func runningRows() map[string]verdictRow {
	first := byGate(referring(subscribing("foo", "", "foo.v2"), "install-2"))
	failedBefore := byGate(referring(subscribing("foo", "foo.v2", "foo.v3"), "install-2"))
	return map[string]verdictRow{
		"FirstInstall": {
			reason: "A first install is never held.",
			n:      withProbes(world(nil, first), probing("foo.v2", no)), want: judgement{Approve: true, Ours: true},
		},
		"NeverRan": {
			reason: "Nor is one that takes the place of what never ran.",
			n: withProbes(world(named(csv("foo.v1", "", olm.CSVPhasePending, olm.CSVPhaseFailed)), byGate(foo())),
				probing("foo.v1", no)),
			want: judgement{Approve: true, Ours: true},
		},
		"Forgotten": {
			reason: "A CSV whose history is too short to show whether it ever ran may hold its update.",
			n: withProbes(world(named(csv("foo.v1", "", slices.Repeat([]olm.ClusterServiceVersionPhase{olm.CSVPhaseFailed}, 20)...)), byGate(foo())),
				probing("foo.v1", no)),
			want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "conditions may be stale",
		},
		"ManualNeighbourAtRest": {
			reason: "Who waits for nothing is asked nothing, though OLM has him own the plan.",
			plan:   planning([]string{"foo.v2"}, "foo", "bar"),
			n:      world(named(succeeded("foo.v1"), succeeded("bar.v1")), byGate(foo()), byHand(referring(subscribing("bar", "bar.v1", "bar.v1"), "install-1"))),
			want:   judgement{Approve: true, Ours: true},
		},
		"FirstInstallBesideUpdate": {
			reason: "But it waits with an update in the same plan that is.",
			n:      withProbes(world(named(succeeded("bar.v1")), first, byGate(bar())), probing("bar.v1", no)),
			want:   judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "bar.v2",
		},
		"BehindOneThatNeverRan": {
			reason: "Who does the work is asked, and not who was to follow it and failed.",
			n: withProbes(world(named(beingReplaced(), csv("foo.v2", "foo.v1", olm.CSVPhasePending, olm.CSVPhaseFailed)), failedBefore),
				probing("foo.v1", no), probing("foo.v2", yes)),
			want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "The update to foo.v3 is held: Probe default/foo.v1",
		},
		"NotSucceededNow": {
			reason: "One that ran and fails is asked all the same, with a word of doubt.",
			n: withProbes(world(named(csv("foo.v1", "", olm.CSVPhaseSucceeded, olm.CSVPhaseFailed)), byGate(foo())),
				probing("foo.v1", no)),
			want: judgement{Ours: true, Gate: "ProbeNotUpgradeable"}, message: "foo.v1 is Failed, so its conditions may be stale",
		},
		"NoUpdate": {
			reason: "What is not updated is not asked.",
			n:      withProbes(world(named(succeeded("foo.v1")), byGate(referring(subscribing("foo", "foo.v1", "foo.v1"), "install-2"))), probing("foo.v1", no)),
			want:   judgement{Approve: true, Ours: true},
		},
	}
}

func TestHeldByOLM(t *testing.T) {
	const after = ". The OperatorCondition gate acts after InstallPlan default/install-2: its CustomResourceDefinitions are already installed, " +
		"and OLM installs or updates nothing else in the namespace meanwhile"
	sub := referring(subscribing("foo", "foo.v2", "foo.v2"), "install-2")
	pending := named(beingReplaced(), heldBack())
	byProbe := gate.Decision{
		Held: true, Reason: "ProbeNotUpgradeable", Approved: true,
		Message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True. " +
			"To update anyway: kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v2" + after,
	}
	byOLM := gate.Decision{
		Held: true, Reason: "OperatorConditionNotUpgradeable", Approved: true,
		Message: "The update to foo.v2 is held: operator is not upgradeable: it is busy" + after,
	}
	unreferred := byOLM
	unreferred.Message = strings.Replace(byOLM.Message, "install-2", "unknown", 1)
	cases := map[string]struct {
		reason string
		sub    *v1alpha1.Subscription
		n      Namespace
		want   gate.Decision
	}{
		"ByProbe":     {"Where the Probe is why OLM waits, it is named.", sub, withProbes(world(pending), probing("foo.v1", no)), byProbe},
		"ByOLM":       {"Otherwise OLM's own words are all there is.", sub, world(pending), byOLM},
		"ProbeAllows": {"Also where the Probe has nothing against it.", sub, withProbes(world(pending), probing("foo.v1", yes)), byOLM},
		"Annotated": {
			"What an administrator allows is held until OLM goes on with it.",
			allowing(referring(subscribing("foo", "foo.v2", "foo.v2"), "install-2"), "foo.v2"), withProbes(world(pending), probing("foo.v1", no)), byOLM,
		},
		"NoReference": {"The hold is reported even if the InstallPlan is not known.", subscribing("foo", "foo.v2", "foo.v2"), world(pending), unreferred},
		"NotThere":    {"What is not there yet is not held by OLM.", sub, withProbes(world(named(succeeded("foo.v1"))), probing("foo.v1", no)), gate.Decision{}},
		"OtherReason": {
			"What waits for something else is not held.", sub,
			withProbes(world(named(beingReplaced(), because(csv("foo.v2", "foo.v1", olm.CSVPhasePending), olm.CSVReasonRequirementsNotMet, ""))), probing("foo.v1", no)),
			gate.Decision{},
		},
		"InProgress": {
			"Nor is what OLM goes on with, though the reason may be the last.", sub,
			world(named(beingReplaced(), because(csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling), olm.CSVReasonOperatorConditionNotUpgradeable, ""))), gate.Decision{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.n.HeldByOLM(tc.sub)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(gate.Decision{}, "Holds")); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if got.Held && (len(got.Holds) != 1 || got.Holds[0].Reason != got.Reason || !strings.HasPrefix(got.Message, got.Holds[0].Message())) {
				t.Errorf("%s\nits holds are %+v", tc.reason, got.Holds)
			}
		})
	}
}

func TestWaiver(t *testing.T) {
	held := named(beingReplaced(), heldBack())
	pending := func() *v1alpha1.Subscription { return subscribing("foo", "foo.v2", "foo.v2") }
	arrived := subscribing("foo", "foo.v1", "foo.v1")
	gated := &gate.Waiver{Reason: "ApprovalGate", Message: "Updates of Subscription foo are held before their InstallPlan is approved"}
	allowed := &gate.Waiver{Reason: "Overridden", Message: "Annotation operatorstatus.io/allow-upgrade of Subscription foo allows the update to foo.v2"}
	cases := map[string]struct {
		reason string
		n      Namespace
		of     string
		want   *gate.Waiver
	}{
		"Gated":         {"Where the approval gate holds, the later one does not.", world(named(succeeded("foo.v1")), byGate(foo())), "foo.v1", gated},
		"GatedAtRest":   {"Also while there is nothing to hold.", world(named(succeeded("foo.v1")), byGate(arrived.DeepCopy())), "foo.v1", gated},
		"GatedApproved": {"And once the new one is there, of the one that runs.", world(held, byGate(pending())), "foo.v1", gated},
		"GatedTooLate":  {"Unless OLM had begun the update before: only the later one holds it then.", gating(world(held, byGate(pending()))), "foo.v1", nil},
		"GatedAllowed":  {"An administrator lets that one go on as well.", gating(world(held, allowing(byGate(pending()), "foo.v2"))), "foo.v1", allowed},
		"GatedHolding":  {"At rest the entry holds nothing that has begun.", gating(world(named(succeeded("foo.v1")), byGate(foo()))), "foo.v1", gated},
		"GatedByThem":   {"The operator's own is not ours.", objecting(world(held, byGate(pending())), metav1.ConditionFalse, false), "foo.v1", gated},
		"ByHand":        {"A user's approval is not gated by the Probe, so the later gate is not waived.", world(held, byHand(pending())), "foo.v1", nil},
		"LabelOnly":     {"Nor is it where the label has no effect.", world(held, labelled(pending())), "foo.v1", nil},
		"Allowed":       {"An administrator lets this one update go on.", world(held, allowing(pending(), "foo.v2")), "foo.v1", allowed},
		"AllowedBefore": {"Also before OLM has come that far.", world(named(succeeded("foo.v1")), allowing(foo(), "foo.v2")), "foo.v1", allowed},
		"AllowedOther":  {"But not another one.", world(held, allowing(pending(), "foo.v3")), "foo.v1", nil},
		"AllowedPast": {"What was allowed and is done allows nothing more.", world(named(succeeded("foo.v1")), allowing(arrived.DeepCopy(), "foo.v1")), "foo.v1",
			nil},
		"None":         {"Without a label or an annotation nothing is waived.", world(held, pending()), "foo.v1", nil},
		"OfTheNew":     {"What does not run yet holds nothing that could be let go.", world(held, allowing(pending(), "foo.v2")), "foo.v2", nil},
		"OfAnother":    {"A Subscription waives no gate of another operator.", world(named(succeeded("foo.v1"), succeeded("bar.v1")), byGate(foo())), "bar.v1", nil},
		"FirstInstall": {"Nor of one that never ran.", world(named(csv("foo.v1", "", olm.CSVPhasePending)), byGate(arrived.DeepCopy())), "foo.v1", nil},
		"Nobody":       {"Nor of one without a Subscription.", world(held), "foo.v1", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, sub := tc.n.Waiver(tc.of)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if got := sub != nil && sub.Name == "foo"; got != (tc.want != nil) {
				t.Errorf("%s\nthe waiving Subscription is %v", tc.reason, sub)
			}
		})
	}
}

func TestInstalls(t *testing.T) {
	plan := planning([]string{"foo.v2"}, "foo")
	cases := map[string]struct {
		reason string
		sub    *v1alpha1.Subscription
		want   bool
	}{
		"Reference": {"A Subscription is in the plan that its status refers to.", referring(subscribing("bar", "bar.v1", "bar.v2"), "install-2"), true},
		"Owner":     {"Owner references do not count: OLM makes all Subscriptions of a namespace owners.", subscribing("foo", "foo.v1", "foo.v1"), false},
		"Target":    {"And in one that installs its target, whatever it refers to.", referring(subscribing("bar", "foo.v1", "foo.v2"), "install-1"), true},
		"Neither":   {"It is in no other.", referring(subscribing("bar", "bar.v1", "bar.v2"), "install-1"), false},
		"Nothing":   {"A Subscription that OLM has not resolved is in no plan.", subscribing("bar", "", ""), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := installs(plan, tc.sub); got != tc.want {
				t.Errorf("%s\ninstalls is %t", tc.reason, got)
			}
		})
	}
}

func TestWaits(t *testing.T) {
	phase := func(phase olm.InstallPlanPhase) *olm.InstallPlan {
		out := planning(nil)
		out.Status.Phase = phase
		return out
	}
	deleted := planning(nil)
	deleted.DeletionTimestamp = &past
	cases := map[string]struct {
		reason string
		plan   *olm.InstallPlan
		want   bool
	}{
		"Waits":      {"A plan that is not approved waits.", planning(nil), true},
		"Approved":   {"An approved one does not.", approved(planning(nil), olm.InstallPlanPhaseRequiresApproval), false},
		"Planning":   {"Nor does one that is still being made.", phase(olm.InstallPlanPhasePlanning), false},
		"NoPhase":    {"Nor one without a phase.", phase(olm.InstallPlanPhaseNone), false},
		"Installing": {"Nor one that is under way.", phase(olm.InstallPlanPhaseInstalling), false},
		"Complete":   {"Nor one that is done.", phase(olm.InstallPlanPhaseComplete), false},
		"Failed":     {"Nor one that failed.", phase(olm.InstallPlanPhaseFailed), false},
		"Deleted":    {"Nor one that is being deleted.", deleted, false},
		"Gone":       {"Nor one that is gone.", nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Waits(tc.plan); got != tc.want {
				t.Errorf("%s\nwaits is %t", tc.reason, got)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	cases := map[string]struct {
		reason string
		subs   string
		want   string
	}{
		"One":  {"The other Subscription is named.", "a/one", "is also for Subscription a/one,"},
		"Five": {"A few are all named.", "a/1 a/2 a/3 a/4 a/5", "is also for Subscription a/1, a/2, a/3, a/4, a/5,"},
		"Many": {"Of many the rest are counted.", "a/1 a/2 a/3 a/4 a/5 a/6 a/7", "is also for Subscription a/1, a/2, a/3, a/4, a/5, and 2 more,"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := missing(planning(nil), strings.Fields(tc.subs))
			if !strings.HasPrefix(got, "InstallPlan default/install-2 "+tc.want) || !strings.Contains(got, "kubectl patch installplan.operators.coreos.com -n default install-2 ") {
				t.Errorf("%s\ngot %q", tc.reason, got)
			}
		})
	}
}
