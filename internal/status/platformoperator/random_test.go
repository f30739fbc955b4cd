package platformoperator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// rounds is the number of random Inputs that each property is tested with.
const rounds = 500

// TestRandom verifies that the status of any Inputs is consistent.
func TestRandom(t *testing.T) {
	for name, check := range map[string]func(*testing.T, Inputs, v1alpha1.PlatformOperatorStatus){
		"Sense":   checkConditions,
		"Fixed":   checkStable,
		"Failing": checkFailing,
		"Times":   checkTimes,
		"Ready":   checkReady,
		"Regress": checkRegress,
	} {
		t.Run(name, func(t *testing.T) {
			eachRound(t, func(in func() Inputs) {
				given := in()
				got, again := Compute(given)
				check(t, given, got)
				if again < 0 || (again > 0) != (got.QuietSince != nil) {
					t.Errorf("quiet since %v, reconciled again in %v", got.QuietSince, again)
				}
			})
		})
	}
}

// TestPure verifies that Compute does not change its Inputs, and returns the same status for equal ones.
func TestPure(t *testing.T) {
	eachRound(t, func(in func() Inputs) {
		given := in()
		got, _ := Compute(given)
		if diff := cmp.Diff(in(), given); diff != "" {
			t.Errorf("Compute changed its input:\n%s", diff)
		}
		if second, _ := Compute(given); !cmp.Equal(got, second) {
			t.Errorf("-first +second\n%s", cmp.Diff(got, second))
		}
		if other, _ := Compute(in()); !cmp.Equal(got, other) {
			t.Errorf("-one +other\n%s", cmp.Diff(got, other))
		}
		got.Conditions[0].Message = "changed"
		for i := range got.Holds {
			got.Holds[i].Since.Time = noon.Time
		}
		for i := range got.RelatedObjects {
			got.RelatedObjects[i].Name = "changed"
		}
		if diff := cmp.Diff(in(), given); diff != "" {
			t.Errorf("the input shares memory with the result:\n%s", diff)
		}
	})
}

// eachRound calls try with a function that returns the same random Inputs at every call. On failure it prints the seed.
func eachRound(t *testing.T, try func(in func() Inputs)) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range uint64(rounds) {
		in := func() Inputs { return randomInputs(rand.New(rand.NewPCG(seed, i))) }
		try(in)
		if t.Failed() {
			t.Fatalf("seed %d, round %d:\n%s", seed, i, describe(in()))
		}
	}
}

// describe summarizes Inputs.
func describe(in Inputs) string {
	out := fmt.Sprintf("policy %q, duplicates %v, yields %t, no OLM %t, observed %v\n",
		in.Operator.Spec.ManagementPolicy, in.Duplicates, in.Yields, in.NoOLM, in.Observed)
	for _, c := range in.Operator.Status.Conditions {
		out += fmt.Sprintf("was %s=%s/%s of generation %d\n", c.Type, c.Status, c.Reason, c.ObservedGeneration)
	}
	for _, o := range in.Objects {
		out += fmt.Sprintf("%s: there %t, leaving %t, problem %v\n", o.Entry, o.Live != nil, o.Leaving, o.Problem)
	}
	if in.Subscription != nil {
		s := in.Subscription.Status
		out += fmt.Sprintf("subscription: current %q, installed %q, up to date %t\n", s.CurrentCSV, s.InstalledCSV, s.UpToDate)
		for _, c := range s.Conditions {
			out += fmt.Sprintf("\t%s=%s/%s: %s\n", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for name, csv := range in.CSVs {
		out += fmt.Sprintf("%s replaces %q, %s, has been %v\n", name, csv.Spec.Replaces, csv.Status.Phase, csv.Status.LastTransitions)
	}
	if in.Probe != nil {
		out += fmt.Sprintf("probe: %v\n", in.Probe.Status.Conditions)
	}
	return out
}

// checkRegress verifies that a loss of readiness is reported as Degraded, unless the spec changed.
func checkRegress(t *testing.T, in Inputs, first v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	ready := metav1.Condition{}
	read := func(status v1alpha1.PlatformOperatorStatus) {
		for _, c := range status.Conditions {
			if c.Type == "Ready" {
				ready = c
			}
		}
	}
	read(in.Operator.Status)
	sameSpec := in.Operator.Status.ObservedGeneration == in.Operator.Generation
	was := ready.Status == metav1.ConditionTrue && sameSpec || ready.Reason == "Degraded"
	for _, status := range []v1alpha1.PlatformOperatorStatus{first, again(in, first)} {
		read(status)
		if was && ready.Status != metav1.ConditionTrue && ready.Reason != "Degraded" {
			t.Errorf("it was ready, and is now %s/%s: %s", ready.Status, ready.Reason, ready.Message)
		}
	}
}

func again(in Inputs, status v1alpha1.PlatformOperatorStatus) v1alpha1.PlatformOperatorStatus {
	in = with(in)
	in.Operator.Status = status
	out, _ := Compute(in)
	return out
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

// randomInputs uses few names, so objects often refer to each other. The previous status also comes from Status.
func randomInputs(r *rand.Rand) Inputs {
	in := randomMoment(r)
	in.Now = noon
	for range r.IntN(3) {
		next := randomMoment(r)
		if !in.NoOLM && oneIn(r, 2) { // something stays the same
			next = with(in)
			change(r, &next)
		}
		next.Operator.Status, _ = Compute(in)
		next.Operator.Generation = in.Operator.Generation + int64(r.IntN(2))
		if !slices.Equal(entries(in), entries(next)) {
			next.Operator.Generation = in.Operator.Generation + 1
		}
		next.Now = metav1.NewTime(in.Now.Add(pick(r, 0, time.Second, time.Minute, 2*time.Minute, time.Hour)))
		in = next
	}
	return in
}

// entries returns the entries that the spec desires.
func entries(in Inputs) []string {
	var out []string
	for _, o := range in.Objects {
		if !o.Leaving {
			out = append(out, o.Entry)
		}
	}
	return out
}

// change changes one part of the Inputs.
func change(r *rand.Rand, in *Inputs) {
	other := randomMoment(r)
	switch r.IntN(4) {
	case 0:
		in.Subscription = other.Subscription
	case 1:
		in.CSVs = other.CSVs
	case 2:
		in.Objects, in.Operator.Spec = other.Objects, other.Operator.Spec
		in.Yields, in.Duplicates, in.Observed = other.Yields, other.Duplicates, other.Observed
	case 3:
		in.Probe, in.UpgradeHolds = other.Probe, other.UpgradeHolds
	}
	if in.Running() == nil {
		in.Probe = nil
	}
}

// randomMoment returns Inputs without a previous status, in combinations that the controller can read.
func randomMoment(r *rand.Rand) Inputs {
	in := beginning()
	if oneIn(r, 3) { // everything is fine
		subscribed("foo.v1", "foo.v1", "")(&in)
		csvs(succeeded("foo.v1", ""))(&in)
		return in
	}
	for _, o := range in.Objects {
		if oneIn(r, 12) {
			problem(o.Entry, pick(r, "Conflict", "Forbidden", "KindNotFound", "ApplyFailed"), "It is so")(&in)
		}
	}
	for i := range r.IntN(3) {
		withObject(fmt.Sprintf("entry-%d", i), randomObject(r, i))(&in)
		last := &in.Objects[len(in.Objects)-1]
		switch r.IntN(6) {
		case 0:
			last.Live, last.Problem = nil, &condition.Problem{Reason: pick(r, "Conflict", "Forbidden", "KindNotFound", "ApplyFailed"), Message: "So it is"}
		case 1:
			last.Live = nil
		case 2:
			last.Checks = builder.Checks(pick(r, builder.None, builder.NonEmpty("status.phase"), builder.MatchTrue("")))
		}
	}
	if oneIn(r, 6) {
		withLeavingObject("gone", randomObject(r, 9))(&in)
	}
	if oneIn(r, 5) {
		in.Duplicates = []string{"bar", "baz"}[:1+r.IntN(2)]
	}
	switch r.IntN(10) {
	case 0:
		observing(in.Operator)
		in.Objects, in.Duplicates = nil, nil
		in.Observed.Candidates = []string{"foo/foo", "other/foo"}[:r.IntN(3)]
	case 1:
		in.Objects, in.Duplicates, in.Yields = nil, []string{"bar"}, true
	case 2:
		in.NoOLM = true
		for _, entry := range []string{"operatorgroup", "subscription"} {
			problem(entry, "KindNotFound", "The cluster does not know the kind")(&in)
		}
	}
	if !in.NoOLM {
		randomOLM(r, &in)
	}
	return in
}

func randomObject(r *rand.Rand, i int) *unstructured.Unstructured {
	out := pick(r, builder.FooWithConditions(), builder.FooWithConditions("Ready=True"), builder.FooWithConditions("Ready=False/Provisioning: not yet"),
		builder.FooWithConditions("Ready=False/no word: "),
		builder.FooWithConditions("Degraded=True/CrashLoop: it crashes"),
		builder.WithField(builder.FooWithConditions("Ready=True"), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp"))
	out.SetName(fmt.Sprintf("example-%d", i))
	return out
}

// randomOLM adds objects as OLM, the built-in loops or another author may have written them.
func randomOLM(r *rand.Rand, in *Inputs) {
	names := []string{"foo.v1", "foo.v2", "foo.v3"}
	phase := func() olm.ClusterServiceVersionPhase {
		return pick(r, olm.CSVPhaseSucceeded, olm.CSVPhaseSucceeded, olm.CSVPhaseReplacing, olm.CSVPhaseFailed, olm.CSVPhasePending,
			olm.CSVPhaseInstalling, olm.CSVPhaseDeleting, olm.CSVPhaseUnknown, olm.CSVPhaseNone)
	}
	reason := func() string {
		return pick(r, "CSVFailed", "ResolutionFailed", "PackageNotFound", "ApprovalMissing", "", "no word", "a,b", "ends:")
	}
	message := func() string { return pick(r, "It is so", "It is so", "It is ä", "") }
	var there []*clusterServiceVersion
	for _, name := range names {
		if oneIn(r, 3) {
			continue
		}
		csv := withReason(csv(name, pick(r, append(names, "")...), phase()), olm.ConditionReason(reason()), message())
		if oneIn(r, 3) {
			csv = withReason(inPhase(csv, phase()), csv.Status.Reason, csv.Status.Message)
		}
		there = append(there, pick(r, csv, byOLM(csv.DeepCopy())))
	}
	csvs(there...)(in)
	if oneIn(r, 8) || in.Observes() && len(in.Observed.Candidates) != 1 {
		in.Subscription, in.CSVs = nil, nil // CSVs are only read with a Subscription
		return
	}
	var conditions []string
	for _, t := range []operatorsv1alpha1.SubscriptionConditionType{
		operatorsv1alpha1.SubscriptionInstalledCSVFailed, operatorsv1alpha1.SubscriptionInstalledCSVMissing,
		operatorsv1alpha1.SubscriptionResolutionFailed, operatorsv1alpha1.SubscriptionCatalogSourceInvalid,
		operatorsv1alpha1.SubscriptionUpgradeHeld, operatorsv1alpha1.SubscriptionInstallPlanAwaitingManualApproval,
		operatorsv1alpha1.SubscriptionUpToDate, "BundleUnpackFailed", "Zebra",
	} {
		if oneIn(r, 4) {
			conditions = append(conditions, fmt.Sprintf("%s=%s/%s: %s", t, pick(r, "True", "False", "False", "Unknown"), reason(), message()))
		}
	}
	name := func() string { return pick(r, append(names, "")...) }
	subscribed(name(), name(), message(), conditions...)(in)
	if oneIn(r, 10) {
		in.Subscription.Spec = nil
	}
	if oneIn(r, 2) {
		heldBy("olm.foo.foo", 100, true, holdv1alpha1.HoldCause{Reason: reason(), Message: message(), Since: new(metav1.Unix(100, 0)), Override: "<version>"})(in)
	}
	if in.Running() != nil && oneIn(r, 2) {
		probed()(in)
		for _, t := range []string{"Upgradeable", "Important", "Synced"} {
			if !oneIn(r, 3) {
				c := metav1.Condition{Type: t, Status: pick(r, metav1.ConditionTrue, metav1.ConditionFalse), Reason: reason(), Message: message()}
				in.Probe.Status.Conditions = append(in.Probe.Status.Conditions, c)
			}
		}
	}
}

// inPhase moves a CSV to another phase.
func inPhase(csv *clusterServiceVersion, phase olm.ClusterServiceVersionPhase) *clusterServiceVersion {
	csv.Status.Phase = phase
	csv.Status.LastTransitions = append(csv.Status.LastTransitions, operatorsv1alpha1.ClusterServiceVersionTransition{Phase: phase})
	return csv
}

// TestComposeRandom verifies that composed objects are owned, and do not depend on the order of existing objects.
func TestComposeRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range uint64(rounds) {
		generate := func() (*v1alpha1.PlatformOperator, Existing) {
			return randomExisting(rand.New(rand.NewPCG(seed, i)))
		}
		op, s := generate()
		got := Compose(op, s)
		entries := map[string]bool{}
		for _, d := range got {
			checkOwned(t, op, d.Object)
			if entries[d.Entry] {
				t.Errorf("duplicate entry %s", d.Entry)
			}
			entries[d.Entry] = true
		}
		if entries["subscription"] == (op.Spec.ManagementPolicy == v1alpha1.ManagementObserve) {
			t.Errorf("subscription: %t", entries["subscription"])
		}
		r := rand.New(rand.NewPCG(seed, i))
		r.Shuffle(len(s.Groups), func(i, j int) { s.Groups[i], s.Groups[j] = s.Groups[j], s.Groups[i] })
		r.Shuffle(len(s.Subscriptions), func(i, j int) { s.Subscriptions[i], s.Subscriptions[j] = s.Subscriptions[j], s.Subscriptions[i] })
		if diff := cmp.Diff(outline(got), outline(Compose(op, s))); diff != "" {
			t.Errorf("the result depends on the order of the input: -one +other\n%s", diff)
		}
		untouched, _ := generate()
		if diff := cmp.Diff(untouched, op); diff != "" {
			t.Errorf("the PlatformOperator was changed:\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, i)
		}
	}
}

func randomExisting(r *rand.Rand) (*v1alpha1.PlatformOperator, Existing) {
	those := func() []string {
		names := []string{"foo", "a", "b", "z"}
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var out []string
		for _, name := range names[:r.IntN(4)] {
			out = append(out, name+pick(r, "", " of foo", " of bar", " for foo", " for bar", " of foo, for foo"))
		}
		return out
	}
	op := builder.PlatformOperator(pick(r, tracked, observing, builder.InNamespaceBar, approving(olm.ApprovalManual), configured(`{"env":[]}`)))
	including("cr", pick(r, `{"apiVersion":"v1","kind":"Foo","metadata":{"name":"cr"}}`, `{}`, `[`, `null`))(op)
	s := existingWith(groups(those()...), subscriptions(those()...))
	if oneIn(r, 2) {
		namespaceOfOthers(&s)
	}
	if oneIn(r, 2) {
		modes(pick(r, olm.InstallModeTypeOwnNamespace, olm.InstallModeTypeAllNamespaces, olm.InstallModeTypeSingleNamespace))(&s)
	}
	return op, s
}
