package bridge

import (
	"math/rand/v2"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/test/builder"
)

var (
	past = metav1.Unix(1000, 0)
	now  = metav1.Unix(2000, 12345) // more precise than the API server
)

// subscribing returns OLM's Subscription to package foo, with Automatic approval.
func subscribing(name, installed, current string) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), Generation: 3},
		Spec: &olm.SubscriptionSpec{
			CatalogSource: "operators", CatalogSourceNamespace: "global", Package: "foo", Channel: "stable",
			InstallPlanApproval: olm.ApprovalAutomatic,
		},
		Status: v1alpha1.SubscriptionStatus{InstalledCSV: installed, CurrentCSV: current},
	}
}

// byHand leaves the approval of a Subscription's updates to a user, and byGate to operator-status.
func byHand(sub *v1alpha1.Subscription) *v1alpha1.Subscription {
	sub.Spec.InstallPlanApproval = olm.ApprovalManual
	return sub
}

func byGate(sub *v1alpha1.Subscription) *v1alpha1.Subscription {
	return labelled(byHand(sub))
}

func labelled(sub *v1alpha1.Subscription) *v1alpha1.Subscription {
	sub.Labels = map[string]string{"operatorstatus.io/gate": "approval"}
	return sub
}

func allowing(sub *v1alpha1.Subscription, csv string) *v1alpha1.Subscription {
	sub.Annotations = map[string]string{"operatorstatus.io/allow-upgrade": csv}
	return sub
}

func limited(sub *v1alpha1.Subscription, versions string) *v1alpha1.Subscription {
	sub.Annotations = map[string]string{"operatorstatus.io/version": versions}
	return sub
}

// referring makes the status refer to an InstallPlan, as OLM does for the Subscriptions that it updates.
func referring(sub *v1alpha1.Subscription, plan string) *v1alpha1.Subscription {
	sub.Status.InstallPlanRef = &corev1.ObjectReference{Kind: "InstallPlan", Namespace: "default", Name: plan}
	return sub
}

// csv returns a ClusterServiceVersion with a condition for each phase that it went through, as OLM sets them.
func csv(name, replaces string, phases ...olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       olm.ClusterServiceVersionSpec{Replaces: replaces},
	}
	for _, p := range phases {
		out.Status.Phase = p
		out.Status.Conditions = append(out.Status.Conditions, v1alpha1.ClusterServiceVersionCondition{Phase: p})
	}
	return out
}

func because(csv *v1alpha1.ClusterServiceVersion, reason olm.ConditionReason, message string) *v1alpha1.ClusterServiceVersion {
	csv.Status.Reason, csv.Status.Message = reason, message
	return csv
}

// succeeded returns a running ClusterServiceVersion.
func succeeded(name string) *v1alpha1.ClusterServiceVersion {
	return csv(name, "", olm.CSVPhasePending, olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded)
}

// beingReplaced returns foo.v1, which runs until its successor has Succeeded.
func beingReplaced() *v1alpha1.ClusterServiceVersion {
	return csv("foo.v1", "", olm.CSVPhasePending, olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded, olm.CSVPhaseReplacing)
}

// heldBack returns foo.v2, which OLM holds because of the OperatorCondition of foo.v1.
func heldBack() *v1alpha1.ClusterServiceVersion {
	return because(csv("foo.v2", "foo.v1", olm.CSVPhasePending), olm.CSVReasonOperatorConditionNotUpgradeable, "operator is not upgradeable: it is busy.")
}

func named(csvs ...*v1alpha1.ClusterServiceVersion) map[string]*v1alpha1.ClusterServiceVersion {
	out := map[string]*v1alpha1.ClusterServiceVersion{}
	for _, c := range csvs {
		out[c.Name] = c
	}
	return out
}

// planning returns a plan that waits for approval, owned by those Subscriptions.
func planning(csvs []string, owners ...string) *olm.InstallPlan {
	out := &olm.InstallPlan{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-2"},
		Spec:       olm.InstallPlanSpec{ClusterServiceVersionNames: csvs, Approval: olm.ApprovalManual, Generation: 2},
		Status:     olm.InstallPlanStatus{Phase: olm.InstallPlanPhaseRequiresApproval},
	}
	for _, name := range owners {
		out.OwnerReferences = append(out.OwnerReferences, metav1.OwnerReference{Kind: "Subscription", Name: name, UID: types.UID("uid-" + name)})
	}
	return out
}

func approved(p *olm.InstallPlan, phase olm.InstallPlanPhase) *olm.InstallPlan {
	p.Spec.Approved, p.Status.Phase = true, phase
	return p
}

// probing returns a Probe whose resources have been read, with that status of Upgradeable.
func probing(name string, status metav1.ConditionStatus) *v1alpha1.Probe {
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       &v1alpha1.ProbeSpec{},
		Status: v1alpha1.ProbeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionUpgradeable, Status: status, Message: "Waiting for Foo a/b: Migrating is True"},
		}},
	}
}

// world returns a Namespace without Probes. Its empty Reader and Targets match those of probing.
func world(csvs map[string]*v1alpha1.ClusterServiceVersion, subs ...*v1alpha1.Subscription) Namespace {
	out := Namespace{
		CSVs:               csvs,
		Probes:             map[string]*v1alpha1.Probe{},
		OperatorConditions: map[string]*operatorsv2.OperatorCondition{},
	}
	for _, sub := range subs {
		out.Subscriptions = append(out.Subscriptions, *sub)
	}
	return out
}

func withProbes(n Namespace, probes ...*v1alpha1.Probe) Namespace {
	for _, p := range probes {
		n.Probes[p.Name] = p
	}
	return n
}

// objecting sets Upgradeable in the OperatorCondition of foo.v1, as the operator does, or an administrator if override.
func objecting(n Namespace, status metav1.ConditionStatus, override bool) Namespace {
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	got := []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: status, Reason: "Busy", Message: "it is busy."}}
	if override {
		condition.Spec.Overrides = got
	} else {
		condition.Spec.Conditions = got
	}
	n.OperatorConditions["foo.v1"] = condition
	return n
}

// gating sets Upgradeable=False in the OperatorCondition of foo.v1, as operator-status does because of its Probe.
func gating(n Namespace) Namespace {
	n = objecting(n, metav1.ConditionFalse, false)
	n.OperatorConditions["foo.v1"].Spec.Conditions[0].Reason = v1alpha1.ReasonProbeNotUpgradeable
	return n
}

// unread makes the Probes appear to be read by another process.
func unread(n Namespace) Namespace {
	n.Reader = "another"
	return n
}

func catalog(state string) *olm.CatalogSource {
	return &olm.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "global", Name: "operators"},
		Status:     olm.CatalogSourceStatus{GRPCConnectionState: &olm.GRPCConnectionState{Address: "operators.global.svc:50051", LastObservedState: state}},
	}
}

// settled returns the inputs of a Subscription that OLM has updated to foo.v1.
func settled() Inputs {
	return Inputs{
		Subscription:  subscribing("sub", "foo.v1", "foo.v1"),
		CatalogSource: catalog("READY"),
		CSVs:          named(succeeded("foo.v1")),
		Now:           now,
	}
}

// updating returns the inputs of a Subscription that OLM updates from foo.v1 to foo.v2, which does not exist yet.
func updating(p *olm.InstallPlan) Inputs {
	in := settled()
	in.Subscription, in.Plan = referring(subscribing("sub", "foo.v1", "foo.v2"), "install-2"), p
	return in
}

// arriving returns the inputs of a Subscription whose foo.v2 exists, and for OLM is the installed CSV.
func arriving(csvs ...*v1alpha1.ClusterServiceVersion) Inputs {
	in := updating(approved(planning([]string{"foo.v2"}, "sub"), olm.InstallPlanPhaseComplete))
	in.Subscription.Status.InstalledCSV, in.Subscription.Status.State = "foo.v2", olm.SubscriptionStateAtLatest
	in.CSVs = named(csvs...)
	return in
}

// superseded returns the inputs of a Subscription whose version runs, and which refers to a plan for it that was not approved.
func superseded(sub *v1alpha1.Subscription, plan *olm.InstallPlan, others ...*v1alpha1.Subscription) Inputs {
	in := settled()
	n := world(in.CSVs, append([]*v1alpha1.Subscription{referring(sub, plan.Name)}, others...)...)
	out := n.Inputs(&n.Subscriptions[0], in.CatalogSource, plan)
	out.Now = in.Now
	return out
}

// unresolved returns the inputs of a Subscription that OLM has not resolved.
func unresolved() Inputs {
	in := settled()
	in.Subscription, in.CSVs = subscribing("sub", "", ""), nil
	return in
}

func with(in Inputs, changes ...func(*Inputs)) Inputs {
	for _, change := range changes {
		change(&in)
	}
	return in
}

// failing makes OLM report that it cannot resolve the namespace.
func failing(reason, message string) func(*Inputs) {
	return func(in *Inputs) {
		in.Subscription.Status.Conditions = []v1alpha1.SubscriptionCondition{{
			Type: v1alpha1.SubscriptionResolutionFailed, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: &past,
		}}
	}
}

// telling sets a condition of OLM to True.
func telling(t olm.SubscriptionConditionType, message string) func(*Inputs) {
	return func(in *Inputs) {
		in.Subscription.Status.Conditions = []v1alpha1.SubscriptionCondition{{
			Type: v1alpha1.SubscriptionConditionType(t), Status: corev1.ConditionTrue, Message: message, LastTransitionTime: &past,
		}}
	}
}

func from(source *olm.CatalogSource) func(*Inputs) {
	return func(in *Inputs) { in.CatalogSource = source }
}

// conditions returns our conditions on a Subscription that is up to date, with changes, as "Status/Reason" by type; an
// empty one is absent.
func conditions(changes ...string) map[string]string {
	return builder.Changed(map[string]string{
		"UpToDate":                          "True/NewestRuns",
		"UpgradeHeld":                       "False/NotHeld",
		"InstallPlanAwaitingManualApproval": "False/NotAwaitingApproval",
		"InstalledCSVReplacementAvailable":  "False/NoReplacementAvailable",
		"InstalledCSVFailed":                "False/CSVNotFailed",
		"InstalledCSVMissing":               "False/CSVPresent",
		"CatalogSourceInvalid":              "False/CatalogSourceValid",
		"PackageChannelInvalid":             "False/PackageChannelValid",
	}, changes...)
}

const (
	behind      = "UpToDate=False/NewestDoesNotRun"
	notKnown    = "UpToDate=False/NewestNotKnown"
	replacement = "InstalledCSVReplacementAvailable=True/ReplacementAvailable"
)

// nothingYet returns our conditions while OLM has resolved and installed nothing, with changes.
func nothingYet(changes ...string) map[string]string {
	absent := []string{
		notKnown, "InstallPlanAwaitingManualApproval=", "InstalledCSVReplacementAvailable=", "InstalledCSVFailed=", "InstalledCSVMissing=",
	}
	return conditions(slices.Concat(absent, changes)...)
}

// random returns inputs with few distinct names, so objects often refer to each other.
func random(r *rand.Rand) Inputs {
	name := func() string { return pick(r, "", "foo.v1", "foo.v2", "foo.v3") }
	in := Inputs{
		Subscription:  subscribing("sub", name(), name()),
		CatalogSource: pick(r, nil, catalog("READY"), catalog("TRANSIENT_FAILURE"), catalog("IDLE"), &olm.CatalogSource{}),
		CSVs:          map[string]*v1alpha1.ClusterServiceVersion{},
		Now:           now,
	}
	for _, name := range []string{"foo.v1", "foo.v2", "foo.v3"} {
		if r.IntN(4) == 0 {
			continue
		}
		var phases []olm.ClusterServiceVersionPhase
		for range r.IntN(4) {
			phases = append(phases, pick(r, olm.CSVPhaseSucceeded, olm.CSVPhaseSucceeded, olm.CSVPhasePending, olm.CSVPhaseFailed, olm.CSVPhaseReplacing))
		}
		in.CSVs[name] = because(csv(name, pick(r, "", "foo.v1", "foo.v2", "foo.v3"), phases...), pick(r, "", olm.CSVReasonRequirementsNotMet),
			pick(r, "", "so it is."))
	}
	if r.IntN(2) == 0 {
		in.Plan = planning([]string{name(), name()}, "sub")
		in.Plan.Status.Phase = pick(r, olm.InstallPlanPhaseRequiresApproval, olm.InstallPlanPhaseFailed, olm.InstallPlanPhaseComplete, "")
		in.Plan.Spec.Approved = r.IntN(2) == 0
	}
	decision := pick(r, gate.Decision{},
		gate.Decision{Held: true, Reason: v1alpha1.ReasonProbeNotRead, Message: "held"},
		gate.Decision{Held: true, Reason: v1alpha1.ReasonOperatorConditionNotUpgradeable, Message: "held by OLM", Approved: true},
		gate.Decision{Reason: v1alpha1.ReasonOverridden, Message: "not held", Overridden: true})
	if Waits(in.Plan) {
		in.Verdict = Verdict{Ours: r.IntN(2) == 0, Gate: decision, Missing: pick(r, nil, []string{"default/other"})}
	} else {
		in.HeldByOLM = decision
	}
	in.Subscription = pick(r, byHand, byGate, labelled, func(sub *v1alpha1.Subscription) *v1alpha1.Subscription { return sub })(in.Subscription)
	if r.IntN(2) == 0 {
		referring(in.Subscription, "install-2")
	}
	if r.IntN(10) == 0 {
		in.Subscription.Spec = nil
	}
	in.Subscription.Status.Conditions = randomConditions(r)
	return in
}

// randomConditions returns some conditions of others, each once, interspersed with some of ours.
func randomConditions(r *rand.Rand) []v1alpha1.SubscriptionCondition {
	others := []v1alpha1.SubscriptionConditionType{
		"ResolutionFailed", "CatalogSourcesUnhealthy", "InstallPlanFailed", "InstallPlanMissing", "InstallPlanPending", "BundleUnpacking", "Zebra", "Ape",
	}
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	types := others[:r.IntN(len(others)+1)]
	for range r.IntN(6) {
		types = slices.Insert(types, r.IntN(len(types)+1),
			pick(r, v1alpha1.SubscriptionUpToDate, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.SubscriptionCatalogSourceInvalid,
				v1alpha1.SubscriptionPackageChannelInvalid, v1alpha1.SubscriptionInstalledCSVMissing, v1alpha1.SubscriptionInstalledCSVReplacementAvailable))
	}
	var out []v1alpha1.SubscriptionCondition
	for _, t := range types {
		out = append(out, v1alpha1.SubscriptionCondition{
			Type: t, Status: pick(r, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown, ""),
			Reason: pick(r, "", "Because", "NotHeld", "ConstraintsNotSatisfiable"),
			Message: pick(r, "", "so it is",
				"no operators found in package foo in the catalog referenced by subscription sub", "subscription sub-2 exists"),
			LastHeartbeatTime: pick(r, nil, &past), LastTransitionTime: pick(r, nil, &past),
		})
	}
	return out
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }
