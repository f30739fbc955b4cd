package subscription

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

// TestUpToDate verifies UpToDate for all combinations of the facts below.
func TestUpToDate(t *testing.T) {
	const facts = 9
	for bits := range 1 << facts {
		is := func(fact int) bool { return bits&(1<<fact) != 0 }
		in := running()
		want := true
		for fact, spoil := range []func(){
			func() {
				in.Subscription.Status.CurrentCSV, in.Plan = "foo.v2", plan(olm.InstallPlanPhaseInstalling, "foo.v2")
			},
			func() { in.Installed, in.Current = nil, nil },
			func() { in.Installed.Status.Phase = olm.CSVPhaseInstalling }, // Current is the same one
			func() { in.Resolution.Newest = "foo.v2" },
			func() { in.Resolution.Next = "foo.v2" },
			func() {
				in.Resolution.Problem = &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: "It is so"}
			},
			func() { in.CatalogSources[0].Read = false },
			func() {
				in.Gate = gate.Decision{Held: true, Reason: v1alpha1.ReasonProbeNotUpgradeable, Message: "Held"}
			},
			func() {
				in.CatalogSources[0] = unhealthy(in.CatalogSources[0], v1alpha1.ReasonUnreachable, "No answer")
			},
		} {
			if !is(fact) || fact == 2 && is(1) {
				continue
			}
			spoil()
			// A hold without an update, and the health of a catalog that was read, do not matter.
			want = want && fact >= 7
		}
		if got := Compute(in).UpToDate; got != want {
			t.Errorf("%0*b: UpToDate is %t", facts, bits, got)
		}
	}
}

// TestNewestAllowed verifies that the newest version that a user allows counts as the newest, and that a newer one is named.
func TestNewestAllowed(t *testing.T) {
	in := running()
	in.Resolution.Beyond = "foo.v2"
	status := Compute(in)
	c := status.GetCondition(v1alpha1.SubscriptionUpToDate)
	const want = "foo.v1 runs, and annotation operatorstatus.io/version does not allow the newer foo.v2"
	if !status.UpToDate || c.Status != corev1.ConditionTrue || c.Reason != v1alpha1.ReasonNewestAllowedRuns || c.Message != want {
		t.Errorf("UpToDate is %t, and the condition %+v", status.UpToDate, c)
	}
	in.Resolution.Newest = "foo.v1.1"
	if c := Compute(in).Conditions; slices.ContainsFunc(c, func(c v1alpha1.SubscriptionCondition) bool { return c.Reason == v1alpha1.ReasonNewestAllowedRuns }) {
		t.Error("it counts as the newest although another one is allowed")
	}
}

// TestRandom verifies for random inputs that Compute changes none of them, and that its result is stable.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range uint64(1000) {
		in := random(rand.New(rand.NewPCG(seed, i)))
		status := Compute(in)
		if diff := cmp.Diff(random(rand.New(rand.NewPCG(seed, i))), in); diff != "" {
			t.Errorf("Compute changed its input: %s", diff)
		}
		checkStable(t, in, status)
		checkInvariants(t, status)
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

// random returns Inputs with few distinct names, so objects often refer to each other.
func random(r *rand.Rand) Inputs {
	name := func() string { return pick(r, "", "foo.v1", "foo.v2", "foo.v3") }
	csv := func() *v1alpha1.ClusterServiceVersion {
		if r.IntN(4) == 0 {
			return nil
		}
		return withReason(csv(name(), pick(r, olm.CSVPhaseSucceeded, olm.CSVPhaseSucceeded, olm.CSVPhaseFailed, olm.CSVPhasePending, olm.CSVPhaseReplacing, "")),
			pick(r, "", olm.CSVReasonInstallSuccessful), pick(r, "", "so it is."))
	}
	in := Inputs{
		Subscription:    &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: pick(r, "default", "global"), Name: "foo", Generation: 2}},
		GlobalNamespace: pick(r, "", "global"),
		Installed:       csv(),
		Current:         csv(),
		Gate: pick(r, gate.Decision{}, gate.Decision{Held: true, Reason: v1alpha1.ReasonProbeNotRead, Message: "held"},
			gate.Decision{Reason: v1alpha1.ReasonOverridden, Message: "not held", Overridden: true}),
		Now: now,
	}
	if r.IntN(10) > 0 {
		in.Subscription.Spec = &olm.SubscriptionSpec{CatalogSource: pick(r, "a", "b", ""), CatalogSourceNamespace: pick(r, "global", "default"), Package: "foo"}
	}
	for range r.IntN(4) {
		s := source(pick(r, "a", "b", "c"))
		s.Namespace, s.Read = pick(r, "global", "default", ""), r.IntN(3) > 0
		in.CatalogSources = append(in.CatalogSources, pick(r, s, s, unhealthy(s, v1alpha1.ReasonUnreachable, ""),
			CatalogSource{CatalogSource: olm.CatalogSource{ObjectMeta: s.ObjectMeta}}))
	}
	if r.IntN(5) > 0 {
		in.Resolution = &Resolution{Next: name(), Newest: name()}
		if r.IntN(3) == 0 {
			in.Resolution.Problem = &Problem{Reason: pick(r, v1alpha1.ReasonPackageNotFound, v1alpha1.ReasonBundleInvalid, v1alpha1.ReasonDuplicateSubscription),
				Message: "broken"}
		}
	}
	if r.IntN(2) == 0 {
		in.Plan = plan(pick(r, "", olm.InstallPlanPhaseFailed, olm.InstallPlanPhaseRequiresApproval, olm.InstallPlanPhaseComplete), name(), name())
		in.Plan.Spec.Approval, in.Plan.Spec.Approved = pick(r, "", olm.ApprovalManual), r.IntN(2) == 0
	}
	if r.IntN(3) > 0 {
		in.Subscription.Status = Compute(with(in, func(in *Inputs) {
			in.Subscription = in.Subscription.DeepCopy()
			in.Subscription.Status.Conditions = []v1alpha1.SubscriptionCondition{{Type: "Zebra", Status: corev1.ConditionTrue}, {Type: "Ape"}}
			in.Resolution = &Resolution{Next: name(), Newest: name()}
			in.Now = past
		}))

	}
	if r.IntN(3) > 0 {
		in.Subscription.Status.CurrentCSV, in.Subscription.Status.InstalledCSV = name(), name()
	}
	return in
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// TestTimes verifies that each timestamp changes with the fields that it belongs to, and with nothing else.
func TestTimes(t *testing.T) {
	first := running()
	first.CatalogSources = []CatalogSource{source("z"), source("operators"), unhealthy(source("a"), v1alpha1.ReasonUnreachable, "No answer"), {}}
	first.Now = past
	before := Compute(first)

	second := running()
	second.Subscription.Status = before
	second.CatalogSources = []CatalogSource{unhealthy(source("operators"), v1alpha1.ReasonUnreachable, "No answer"), source("z"),
		unhealthy(source("a"), v1alpha1.ReasonUnreachable, "Still none")}
	second.Resolution = &Resolution{Problem: &Problem{Reason: v1alpha1.ReasonBundleInvalid, Message: "It has two"}}
	after := Compute(second)

	var health []string
	for _, h := range after.CatalogHealth {
		health = append(health, fmt.Sprintf("%s/%s %t %d", h.CatalogSourceRef.Namespace, h.CatalogSourceRef.Name, h.Healthy, h.LastUpdated.Unix()))
	}
	if diff := cmp.Diff([]string{"global/a false 1000", "global/operators false 2000", "global/z true 1000"}, health); diff != "" {
		t.Errorf("catalogHealth, sorted, without unread catalogs, with the time of the last change: -want +got\n%s", diff)
	}
	want := &corev1.ObjectReference{APIVersion: "operators.coreos.com/v1alpha1", Kind: "CatalogSource", Namespace: "global", Name: "a", UID: "uid-a"}
	if diff := cmp.Diff(want, after.CatalogHealth[0].CatalogSourceRef); diff != "" {
		t.Errorf("catalogSourceRef: -want +got\n%s", diff)
	}
	for conditionType, want := range map[v1alpha1.SubscriptionConditionType]int64{
		v1alpha1.SubscriptionResolutionFailed:        2000, // its status changed
		v1alpha1.SubscriptionCatalogSourcesUnhealthy: 1000, // its message did
		v1alpha1.SubscriptionUpgradeHeld:             1000,
	} {
		c := after.GetCondition(conditionType)
		if c.LastTransitionTime == nil || c.LastTransitionTime.Unix() != want {
			t.Errorf("lastTransitionTime of %s is %v, want %v", conditionType, c.LastTransitionTime, want)
		}
	}
	if before.GetCondition(v1alpha1.SubscriptionCatalogSourcesUnhealthy).Message == after.GetCondition(v1alpha1.SubscriptionCatalogSourcesUnhealthy).Message {
		t.Error("the message of CatalogSourcesUnhealthy did not change, so the test has no effect")
	}
	if before.LastUpdated.Unix() != 1000 || after.LastUpdated.Unix() != 2000 {
		t.Errorf("lastUpdated is %v and then %v", before.LastUpdated, after.LastUpdated)
	}
	second.Subscription.Status = after
	second.Subscription.Status.LastUpdated = metav1.Time{}
	if got := Compute(second).LastUpdated; got.Unix() != 2000 {
		t.Errorf("lastUpdated is %v after it was removed, but it is required", got)
	}
}

// TestForeign verifies that conditions of others stay, and that conditions are sorted.
func TestForeign(t *testing.T) {
	in := running()
	zebra := v1alpha1.SubscriptionCondition{
		Type: "Zebra", Status: corev1.ConditionTrue, Reason: "Striped", Message: "It is", LastHeartbeatTime: &past, LastTransitionTime: &past,
	}
	ape := v1alpha1.SubscriptionCondition{Type: "Ape", Status: corev1.ConditionUnknown}
	in.Subscription.Status.Conditions = []v1alpha1.SubscriptionCondition{zebra, ape}
	got := Compute(in)
	if diff := cmp.Diff([]v1alpha1.SubscriptionCondition{ape, zebra}, []v1alpha1.SubscriptionCondition{got.Conditions[0],
		got.Conditions[len(got.Conditions)-1]}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if !got.UpToDate || got.Message != "" {
		t.Errorf("an unknown condition affects upToDate or the message: %t %q", got.UpToDate, got.Message)
	}
}

// TestPlanReference verifies that the status has both forms of the reference, and keeps them when the plan is deleted.
func TestPlanReference(t *testing.T) {
	in := updating(approved(plan(olm.InstallPlanPhaseInstalling, "foo.v2")))
	for range 2 {
		got := Compute(in)
		if diff := cmp.Diff(planRef(), got.InstallPlanRef); diff != "" {
			t.Errorf("installPlanRef: -want +got\n%s", diff)
		}
		want := &olm.InstallPlanReference{APIVersion: "operators.coreos.com/v1alpha1", Kind: "InstallPlan", Name: "install-1", UID: "uid-plan"}
		if diff := cmp.Diff(want, got.Install); diff != "" {
			t.Errorf("installplan: -want +got\n%s", diff)
		}
		if got.InstallPlanGeneration != 2 {
			t.Errorf("installPlanGeneration is %d", got.InstallPlanGeneration)
		}
		in.Subscription.Status, in.Plan = got, nil
	}
}
