package olmv0

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/lib/version"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operator"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
	"github.com/operator-status/operator-status/internal/test/golden"
)

var began = metav1.Unix(1000, 0)

// csv returns a ClusterServiceVersion of version 1.0.0 or, if it replaces another, 2.0.0.
func csv(name, replaces string, phase olm.ClusterServiceVersionPhase) v1alpha1.ClusterServiceVersion {
	out := v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	out.Spec.Version = version.OperatorVersion{Version: semver.MustParse("1.0.0")}
	if replaces != "" {
		out.Spec.Version, out.Spec.Replaces = version.OperatorVersion{Version: semver.MustParse("2.0.0")}, replaces
	}
	out.Status.Phase, out.Status.LastTransitionTime = phase, &began
	if phase == olm.CSVPhaseFailed {
		out.Status.Reason, out.Status.Message = olm.CSVReasonComponentFailed, "Deployment foo is not available"
	}
	return out
}

// sub returns OLM's Subscription foo.
func sub(installed, current string, conditions ...v1alpha1.SubscriptionCondition) v1alpha1.Subscription {
	out := v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo"}}
	out.Spec = &olm.SubscriptionSpec{Package: "foo", Channel: "stable", CatalogSource: "catalog", CatalogSourceNamespace: "olm"}
	out.Status.InstalledCSV, out.Status.CurrentCSV, out.Status.Conditions = installed, current, conditions
	if current != "" {
		out.Status.InstallPlanRef = &corev1.ObjectReference{Namespace: "default", Name: "install-1"}
	}
	return out
}

func manual(s v1alpha1.Subscription) v1alpha1.Subscription {
	s.Spec.InstallPlanApproval = olm.ApprovalManual
	return s
}

func plan(phase olm.InstallPlanPhase, csvs ...string) olm.InstallPlan {
	out := olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-1", CreationTimestamp: began}}
	out.Spec.Approval, out.Spec.ClusterServiceVersionNames = olm.ApprovalManual, csvs
	out.Status.Phase = phase
	return out
}

func catalog() olm.CatalogSource {
	out := olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: "catalog"}}
	out.Status.GRPCConnectionState = &olm.GRPCConnectionState{LastObservedState: "READY"}
	return out
}

func condition(t v1alpha1.SubscriptionConditionType, status corev1.ConditionStatus, reason, message string) v1alpha1.SubscriptionCondition {
	return v1alpha1.SubscriptionCondition{Type: t, Status: status, Reason: reason, Message: message, LastTransitionTime: &began}
}

func probe(reason string) v1alpha1.Probe {
	out := v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}, Spec: &v1alpha1.ProbeSpec{}}
	synced := metav1.Condition{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSynced, LastTransitionTime: began}
	if reason != "" {
		synced.Status, synced.Reason, synced.Message = metav1.ConditionFalse, reason, "Grant it that"
	}
	out.Status.Conditions = []metav1.Condition{synced}
	out.Status.ProbeResources = []v1alpha1.ProbeResourceStatus{
		{Resource: "foos.example.com", Kind: "Foo", Count: 2, Blocking: true},
		{Resource: "foos.example.com", Kind: "Foo", Namespace: "apps", Name: "example", Blocking: true},
	}
	return out
}

// brief is the part of an operator that the rows are about.
type brief struct {
	State       operator.State
	CSV         string
	Version     string
	UpToDate    metav1.ConditionStatus
	Update      string
	Upgradeable metav1.ConditionStatus
	Approval    *operator.Approval
	Blockers    []string // impact, by, reason
	Since       int64    // of the first
	Steps       []string // of the first
}

func inBrief(o operator.Operator) brief {
	out := brief{State: o.State, CSV: o.Installed, Version: o.Version, UpToDate: o.UpToDate, Update: o.Update, Upgradeable: o.Upgradeable, Approval: o.Approval}
	for i, b := range o.Blockers {
		out.Blockers = append(out.Blockers, string(b.Impact)+" by "+b.By+": "+b.Reason)
		if i > 0 {
			continue
		}
		if !b.Since.IsZero() {
			out.Since = b.Since.Unix()
		}
		for _, s := range b.Steps {
			out.Steps = append(out.Steps, s.To+": "+s.Command)
		}
	}
	return out
}

func TestOperators(t *testing.T) {
	const (
		yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
		succeeded        = olm.CSVPhaseSucceeded
	)
	heldMessage := "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False. To update anyway: kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v2"
	cases := map[string]struct {
		reason string
		in     Cluster
		want   brief
	}{
		"UpToDate": {
			reason: "OLM alone does not report it, but shows all it takes.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v1")},
			},
			want: brief{State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: yes, Upgradeable: yes},
		},
		"UpToDateBefore": {
			reason: "operator-status has not seen the update yet, or does not run.",
			in: Cluster{
				Subscriptions:  []v1alpha1.Subscription{sub("foo.v1", "foo.v2", condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionTrue, v1alpha1.ReasonNewestRuns, ""))},
				CatalogSources: []olm.CatalogSource{catalog()}, ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)},
			},
			want: brief{State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: metav1.ConditionUnknown, Upgradeable: yes, Update: "foo.v2"},
		},
		"WaitsForApproval": {
			reason: "A plan that waits for a user is a hold, with the command that ends it.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{manual(sub("foo.v1", "foo.v2"))}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2")},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: yes, Approval: &operator.Approval{Plan: "install-1", Installs: []string{"foo.v2"}}, Update: "foo.v2",
				Since:    1000,
				Blockers: []string{"Held by InstallPlan default/install-1: RequiresApproval"},
				Steps:    []string{`To approve it: kubectl patch installplan.operators.coreos.com -n default install-1 --type=merge -p '{"spec":{"approved":true}}'`},
			},
		},
		"Superseded": {
			reason: "A plan that waits, for a version that another plan has installed, is not needed.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseRequiresApproval, "foo.v1", "bar.v1")},
			},
			want: brief{State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: yes, Upgradeable: yes},
		},
		"HeldByProbe": {
			reason: "What operator-status reports is taken as it is, and leads to the custom resource that is waited for.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v2",
					condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionFalse, v1alpha1.ReasonNewestDoesNotRun, heldMessage),
					condition(v1alpha1.SubscriptionUpgradeHeld, corev1.ConditionTrue, v1alpha1.ReasonProbeNotUpgradeable, heldMessage))},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)}, Probes: []v1alpha1.Probe{probe("")},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: no, Update: "foo.v2", Since: 1000,
				Blockers: []string{"Held by Probe default/foo.v1: ProbeNotUpgradeable"},
				Steps: []string{
					"To see the blocking resource: kubectl get foos.example.com -n apps example -o yaml",
					"To update anyway: kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v2",
				},
			},
		},
		"BlindProbe": {
			reason: "A Probe that may not read is broken, although nothing waits for it yet.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)}, Probes: []v1alpha1.Probe{probe(v1alpha1.ReasonForbidden)},
				InstallPlans: []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v1")},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: yes, Upgradeable: no, Since: 1000,
				Blockers: []string{"Broken by Probe default/foo.v1: Forbidden"},
				Steps:    []string{"To see why: kubectl describe probe.operators.coreos.com -n default foo.v1"},
			},
		},
		"Unmet": {
			reason: "The new version cannot run here, until a user changes that.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v2",
					condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionFalse, v1alpha1.ReasonNewestDoesNotRun, "foo.v2 cannot run here"),
					condition(v1alpha1.SubscriptionInstallPlanPending, corev1.ConditionTrue, v1alpha1.PlanReasonRequirementsNotMet, "foo.v2 cannot run here"))},
				CatalogSources: []olm.CatalogSource{catalog()}, ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded)},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: yes, Update: "foo.v2", Since: 1000,
				Blockers: []string{"Broken by InstallPlan default/install-1: RequirementsNotMet"},
				Steps:    []string{"To see why: kubectl describe installplan.operators.coreos.com -n default install-1"},
			},
		},
		"Unresolvable": {
			reason: "Nothing is installed, since OLM cannot resolve it.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("", "",
					condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue, "ConstraintsNotSatisfiable",
						"constraints not satisfiable: no operators found in package foo in the catalog referenced by subscription foo"))},
				CatalogSources: []olm.CatalogSource{catalog()},
			},
			want: brief{
				State: operator.NotInstalled, UpToDate: no, Upgradeable: unknown, Since: 1000,
				Blockers: []string{"Broken by Subscription default/foo: PackageNotFound"},
				Steps:    []string{"To see why: kubectl describe subscription.operators.coreos.com -n default foo"},
			},
		},
		"NoCatalog": {
			reason: "A catalog that does not exist breaks the Subscription, before anything else does.",
			in:     Cluster{Subscriptions: []v1alpha1.Subscription{sub("", "")}},
			want: brief{
				State: operator.NotInstalled, UpToDate: no, Upgradeable: unknown,
				Blockers: []string{"Broken by CatalogSource olm/catalog: CatalogSourceNotFound"},
				Steps:    []string{"To see which exist: kubectl get catalogsources.operators.coreos.com -A"},
			},
		},
		"HeldByOLM": {
			reason: "OLM calls a version installed that it holds back: what runs is the one before.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v2", "foo.v2")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded), heldBack(csv("foo.v2", "foo.v1", olm.CSVPhasePending))},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v2")},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: no, Update: "foo.v2",
				Blockers: []string{"Held by OperatorCondition default/foo.v1: OperatorConditionNotUpgradeable"},
				Steps:    []string{"To see why: kubectl describe operatorcondition.operators.coreos.com -n default foo.v1"},
			},
		},
		"HeldByOLMUnresolved": {
			reason: "That OLM cannot resolve the namespace meanwhile is a consequence of the hold.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v2", "foo.v2", condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue,
					"ConstraintsNotSatisfiable", "@existing/default//foo.v1 and @existing/default//foo.v2 originate from package foo"))},
				CatalogSources:         []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", succeeded), heldBack(csv("foo.v2", "foo.v1", olm.CSVPhasePending))},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v2")},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: no, Update: "foo.v2",
				Blockers: []string{"Held by OperatorCondition default/foo.v1: OperatorConditionNotUpgradeable"},
				Steps:    []string{"To see why: kubectl describe operatorcondition.operators.coreos.com -n default foo.v1"},
			},
		},
		"UpdatingUnresolved": {
			reason: "That OLM cannot resolve the namespace is a consequence of the update, which no cause may replace.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v2", "foo.v2", condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue,
					"ConstraintsNotSatisfiable", "constraints not satisfiable: @existing/default//foo.v1 and @existing/default//foo.v2 originate from package foo, "+
						"clusterserviceversion foo.v1 exists and is not referenced by a subscription"))},
				CatalogSources:         []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseReplacing), csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v2")},
			},
			want: brief{State: operator.Running, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: unknown, Update: "foo.v2"},
		},
		"OutdatedFailure": {
			reason: "OLM does not resolve anew when it has deleted the version because of which the resolution failed.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v2", "foo.v2", condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue,
					"ConstraintsNotSatisfiable", "clusterserviceversion foo.v1 exists and is not referenced by a subscription, subscription foo exists"))},
				CatalogSources:         []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v2", "foo.v1", succeeded)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v2")},
			},
			want: brief{
				State: operator.Running, CSV: "foo.v2", Version: "2.0.0", UpToDate: no, Upgradeable: yes, Since: 1000,
				Blockers: []string{"Held by Subscription default/foo: ConstraintsNotSatisfiable"},
				Steps: []string{"To have OLM resolve it now: kubectl annotate --overwrite subscription.operators.coreos.com -n default foo " +
					"operatorstatus.io/resolve-anew=$(date +%s)"},
			},
		},
		"Unsubscribed": {
			reason: "A ClusterServiceVersion that was applied by hand is an operator, too.",
			in:     Cluster{ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseFailed)}},
			want: brief{
				State: operator.Failed, CSV: "foo.v1", Version: "1.0.0", UpToDate: unknown, Upgradeable: yes, Since: 1000,
				Blockers: []string{"Broken by ClusterServiceVersion default/foo.v1: InstallComponentFailed"},
				Steps:    []string{"To see why: kubectl describe clusterserviceversion.operators.coreos.com -n default foo.v1"},
			},
		},
		"FirstInstall": {
			reason: "What has never run is being installed.",
			in: Cluster{
				Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseInstalling)},
				InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v1")},
			},
			want: brief{State: operator.Installing, CSV: "foo.v1", Version: "1.0.0", UpToDate: no, Upgradeable: unknown},
		},
	}
	goldens := golden.Open(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			goldens.Check(t, name, descriptionOf(tc.reason, tc.in))
			got := Operators(tc.in)
			if len(got) != 1 {
				t.Fatalf("%s\ngot %d operators, want one: %+v", tc.reason, len(got), got)
			}
			if diff := cmp.Diff(tc.want, inBrief(got[0])); diff != "" {
				t.Errorf("%s\n-want +got\n%s\n%+v", tc.reason, diff, got[0].Blockers)
			}
		})
	}
}

func heldBack(c v1alpha1.ClusterServiceVersion) v1alpha1.ClusterServiceVersion {
	c.Status.Reason, c.Status.Message = olm.CSVReasonOperatorConditionNotUpgradeable, "operator is not upgradeable: busy"
	return c
}

// TestUnresolvedNeighbor verifies that a Subscription waits for another that OLM holds, and is not broken itself.
func TestUnresolvedNeighbor(t *testing.T) {
	const message = "@existing/default//foo.v1 and @existing/default//foo.v2 originate from package foo"
	failed := condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue, "ConstraintsNotSatisfiable", message)
	neighbor := sub("", "", failed)
	neighbor.Name, neighbor.Spec.Package = "bar", "bar"
	in := Cluster{
		Subscriptions:          []v1alpha1.Subscription{sub("foo.v2", "foo.v2", failed), neighbor},
		CatalogSources:         []olm.CatalogSource{catalog()},
		ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded), heldBack(csv("foo.v2", "foo.v1", olm.CSVPhasePending))},
	}
	golden.Open(t).Check(t, "UnresolvedNeighbor", descriptionOf("A Subscription waits for another that OLM holds.", in))
	got := Operators(in)
	want := brief{
		State: operator.NotInstalled, UpToDate: metav1.ConditionFalse, Upgradeable: metav1.ConditionUnknown, Since: 1000,
		Blockers: []string{"Held by Subscription default/foo: ConstraintsNotSatisfiable"},
		Steps:    []string{"To see its blockers: kubectl operator-status why -n default foo"},
	}
	if diff := cmp.Diff(want, inBrief(got[0])); diff != "" {
		t.Errorf("-want +got\n%s\n%+v", diff, got[0].Blockers)
	}
}

// TestUpdatingNeighbor verifies that a Subscription waits for the update of another, during which OLM resolves nothing in the namespace.
func TestUpdatingNeighbor(t *testing.T) {
	failed := condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue, "ConstraintsNotSatisfiable",
		"@existing/default//foo.v2 and @existing/default//foo.v1 originate from package foo")
	neighbor := sub("", "", failed)
	neighbor.Name, neighbor.Spec.Package = "bar", "bar"
	in := Cluster{
		Subscriptions:          []v1alpha1.Subscription{sub("foo.v2", "foo.v2", failed), neighbor},
		CatalogSources:         []olm.CatalogSource{catalog()},
		ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseReplacing), csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling)},
	}
	golden.Open(t).Check(t, "UpdatingNeighbor", descriptionOf("A Subscription waits for the update of another.", in))
	got := Operators(in)
	if want := []string{"Held by Subscription default/foo: ConstraintsNotSatisfiable"}; !slices.Equal(inBrief(got[0]).Blockers, want) {
		t.Errorf("got %v, want %v", inBrief(got[0]).Blockers, want)
	}
}

// TestOutdatedNeighbor verifies that a Subscription is not broken by a failure of the whole namespace that is outdated.
func TestOutdatedNeighbor(t *testing.T) {
	failed := condition(v1alpha1.SubscriptionResolutionFailed, corev1.ConditionTrue, "ConstraintsNotSatisfiable",
		"clusterserviceversion foo.v1 exists and is not referenced by a subscription, subscription foo exists")
	neighbor := sub("", "", failed)
	neighbor.Name, neighbor.Spec.Package = "bar", "bar"
	in := Cluster{
		Subscriptions:          []v1alpha1.Subscription{neighbor},
		CatalogSources:         []olm.CatalogSource{catalog()},
		ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v2", "foo.v1", olm.CSVPhaseSucceeded)},
	}
	golden.Open(t).Check(t, "OutdatedNeighbor", descriptionOf("A failure of the whole namespace that is outdated breaks no Subscription.", in))
	got := Operators(in)
	if want := []string{"Held by Subscription default/bar: ConstraintsNotSatisfiable"}; !slices.Equal(inBrief(got[0]).Blockers, want) {
		t.Errorf("got %v, want %v", inBrief(got[0]).Blockers, want)
	}
}

// TestMany verifies the order of several operators, and that copies and old versions are not among them.
func TestMany(t *testing.T) {
	copied := csv("foo.v1", "", olm.CSVPhaseSucceeded)
	copied.Namespace, copied.Status.Reason = "apps", olm.CSVReasonCopied
	other := csv("bar.v1", "", olm.CSVPhaseSucceeded)
	other.Namespace = "apps"
	platform := platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: "foos"}}
	platform.Status.Resources = []platformv1alpha1.ResourceStatus{{}}
	platform.Status.Resources[0].Reference.Kind, platform.Status.Resources[0].Reference.Namespace, platform.Status.Resources[0].Reference.Name = "Subscription",
		"default", "foo"
	in := Cluster{
		Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v2")},
		ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseReplacing), csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling), copied,
			other},
		PlatformOperators: []platformv1alpha1.PlatformOperator{platform},
	}
	golden.Open(t).Check(t, "Many", descriptionOf("Operators are sorted; copies and old versions are not among them.", in))
	got := Operators(in)
	var names []string
	for _, o := range got {
		names = append(names, o.Namespace+"/"+o.Name)
	}
	if want := []string{"apps/bar.v1", "default/foo"}; !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	for _, name := range []string{"foo", "foo.v1", "foo.v2", "foos"} {
		if !got[1].Is(name) || got[0].Is(name) {
			t.Errorf("%s is not found as %s", names[1], name)
		}
	}
}

// TestLimited verifies that unread kinds lead to no positive conclusion about an update that OLM has started.
func TestLimited(t *testing.T) {
	in := Cluster{
		Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v2")}, CatalogSources: []olm.CatalogSource{catalog()},
		ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)},
		InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseInstalling, "foo.v2")},
	}
	in.Subscriptions[0].Status.State = olm.SubscriptionStateUpgradePending
	if got := Operators(in)[0]; got.Upgradeable != metav1.ConditionTrue {
		t.Errorf("Upgradeable is %s of an operator that nothing holds", got.Upgradeable)
	}
	for _, kind := range []string{InstallPlans, OperatorConditions} {
		in.Unread = []string{kind}
		if got := Operators(in)[0]; got.Upgradeable != metav1.ConditionUnknown || got.UpToDate == metav1.ConditionTrue || !slices.Contains(got.Unread, kind) {
			t.Errorf("without %s: Upgradeable=%s, UpToDate=%s, unread %v", kind, got.Upgradeable, got.UpToDate, got.Unread)
		}
	}
}

// TestDistinct verifies that a cause is listed once for each impact, since the earliest known time.
func TestDistinct(t *testing.T) {
	at := metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	broken, held := operator.Blocker{Impact: operator.Broken, Cause: "full"}, operator.Blocker{Impact: operator.Held, Cause: "full"}
	dated := broken
	dated.Since = at
	if diff := cmp.Diff([]operator.Blocker{dated, held}, distinct([]operator.Blocker{broken, held, dated})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestWorstFirst verifies that the command line names the same problem first as the status of a Subscription, whichever two
// conditions it has, and none that ends by itself.
func TestWorstFirst(t *testing.T) {
	types := subscriptionstatus.TypesOf(subscriptionstatus.Broken, subscriptionstatus.Passes)
	for _, one := range types {
		for _, other := range types {
			s := sub("foo.v1", "foo.v1", condition(one, corev1.ConditionTrue, "One", "one"), condition(other, corev1.ConditionTrue, "Other", "other"),
				condition(v1alpha1.SubscriptionUpToDate, corev1.ConditionFalse, "No", "operator-status wrote all of them"))
			var want string
			if p := subscriptionstatus.ProblemOf(&s.Status); p != nil {
				want = p.Reason
			}
			o := Operators(Cluster{
				Subscriptions: []v1alpha1.Subscription{s}, CatalogSources: []olm.CatalogSource{catalog()},
				ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)},
			})[0]
			var got string
			if len(o.Blockers) > 0 {
				got = o.Blockers[0].Reason
			}
			if got != want {
				t.Errorf("with %s and %s the first blocker is %q, and the problem of the status %q", one, other, got, want)
			}
		}
	}
}

// TestExternalRequirements verifies which requirements an update does not meet by itself: these are reported at once.
func TestExternalRequirements(t *testing.T) {
	const absent, unsatisfied = olm.RequirementStatusReasonNotPresent, olm.RequirementStatusReasonPresentNotSatisfied
	for name, tc := range map[string]struct {
		reason      string
		requirement olm.RequirementStatus
		want        bool
	}{
		"Kubernetes": {"It stays that version.", olm.RequirementStatus{Kind: "ClusterServiceVersion", Name: "foo.v2", Status: unsatisfied}, true},
		"Native":     {"No bundle of the update has it.", olm.RequirementStatus{Group: "route.openshift.io", Kind: "Route", Status: absent}, true},
		"Served":     {"It is met.", olm.RequirementStatus{Group: "route.openshift.io", Kind: "Route", Status: olm.RequirementStatusReasonPresent}, false},
		"CRD":        {"The update creates it.", olm.RequirementStatus{Kind: "CustomResourceDefinition", Name: "foos.example.com", Status: absent}, false},
		"Account":    {"The replaced version has it until it goes.", olm.RequirementStatus{Kind: "ServiceAccount", Name: "foo", Status: unsatisfied}, false},
	} {
		next := csv("foo.v2", "foo.v1", olm.CSVPhasePending)
		next.Status.Reason, next.Status.RequirementStatus = olm.CSVReasonRequirementsNotMet, []olm.RequirementStatus{tc.requirement}
		in := Cluster{
			Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v2")}, CatalogSources: []olm.CatalogSource{catalog()},
			ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseReplacing), next},
		}
		if got := Operators(in)[0].Unfinished; got == nil || got.External != tc.want {
			t.Errorf("%s: %+v; want External %t: %s", name, got, tc.want, tc.reason)
		}
	}
}

// TestUnpacking verifies that a Job of OLM that unpacks a bundle is named while no version of the operator has been written for it.
func TestUnpacking(t *testing.T) {
	const pulls = "Bundle image pull failed"
	unpacking := func(message string) v1alpha1.SubscriptionCondition {
		return condition(v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpacking), corev1.ConditionTrue, "UnpackingInProgress", message)
	}
	runs := []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)}
	for name, tc := range map[string]struct {
		reason  string
		sub     v1alpha1.Subscription
		csvs    []v1alpha1.ClusterServiceVersion
		message string // contained in the message, or "" if there is nothing to wait for
		broken  bool
	}{
		"First":  {"OLM runs, and has chosen a version.", sub("", "", unpacking("")), nil, "has not unpacked the bundle", false},
		"Update": {"The update is not known before.", sub("foo.v1", "foo.v1", unpacking("")), runs, "has not unpacked the bundle", false},
		"Pull":   {"It does not end by itself.", sub("foo.v1", "foo.v1", unpacking(pulls)), runs, pulls, true},
		"None":   {"The operator is up to date.", sub("foo.v1", "foo.v1"), runs, "", false},
		"Installs": {"The version that has been written comes first.", sub("foo.v1", "foo.v2", unpacking("")),
			append(runs, csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling)), "OLM has not begun to install it", false},
	} {
		got := Operators(Cluster{
			Subscriptions: []v1alpha1.Subscription{tc.sub}, CatalogSources: []olm.CatalogSource{catalog()}, ClusterServiceVersions: tc.csvs,
		})[0].Unfinished
		switch {
		case tc.message == "" && got == nil:
		case got == nil || tc.message == "" || !strings.Contains(got.Message, tc.message) || got.Broken != tc.broken:
			t.Errorf("%s: %+v; want %q, broken %t: %s", name, got, tc.message, tc.broken, tc.reason)
		case name != "Installs" && (got.Since != began || got.Steps[0].Command != "kubectl get jobs,pods -n olm -l operatorframework.io/bundle-unpack-ref"):
			t.Errorf("%s: it began %s, and the steps are %v", name, got.Since, got.Steps)
		}
	}
}

// TestLimitedByUser verifies that an operator that is as new as its user allows has the message about the newer version.
func TestLimitedByUser(t *testing.T) {
	in := Cluster{
		Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
		ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)},
	}
	const message = "foo.v1 runs, and annotation operatorstatus.io/version does not allow the newer foo.v2"
	for reason, want := range map[string]string{v1alpha1.ReasonNewestRuns: "", v1alpha1.ReasonNewestAllowedRuns: message} {
		in.Subscriptions[0].Status.Conditions = []v1alpha1.SubscriptionCondition{
			{Type: v1alpha1.SubscriptionUpToDate, Status: corev1.ConditionTrue, Reason: reason, Message: message},
		}
		if got := Operators(in)[0]; got.Limited != want || got.UpToDate != metav1.ConditionTrue {
			t.Errorf("with reason %s, UpToDate is %s, and Limited %q", reason, got.UpToDate, got.Limited)
		}
	}
}

// TestUnsubscribed verifies that the installation of a ClusterServiceVersion without Subscription is described while it has not ended.
func TestUnsubscribed(t *testing.T) {
	for phase, want := range map[olm.ClusterServiceVersionPhase]bool{
		olm.CSVPhaseNone: true, olm.CSVPhasePending: true, olm.CSVPhaseInstallReady: true, olm.CSVPhaseInstalling: true,
		olm.CSVPhaseSucceeded: false, olm.CSVPhaseFailed: false, olm.CSVPhaseReplacing: false, olm.CSVPhaseDeleting: false,
	} {
		applied := csv("foo.v1", "", phase)
		applied.CreationTimestamp = began
		got := Operators(Cluster{ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{applied}})[0].Unfinished
		if (got != nil) != want || got != nil && (got.String() != "ClusterServiceVersion default/foo.v1" || got.Since != began) {
			t.Errorf("in phase %q its installation is %+v; want one: %t", phase, got, want)
		}
	}
}

// TestRuns verifies that the workload of a version runs its operator in the namespace of that alone: others may have a version of the same name.
func TestRuns(t *testing.T) {
	op := operator.Operator{Installer: Installer{}.Name(), Namespace: "default", Name: "foo", Installed: "foo.v1"}
	for namespace, want := range map[string]bool{"default": true, "other": false} {
		d := deployment("foo", "foo.v1", 1)
		d.Namespace = namespace
		if w, _ := installer.WorkloadOf(&d); (Installer{}).Runs(op, w) != want {
			t.Errorf("in namespace %s it runs the operator: %t, want %t", namespace, !want, want)
		}
	}
}
