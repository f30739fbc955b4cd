package installplan

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/live"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/watch"
)

// running returns a CSV that has Succeeded.
func running(name string) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	out.Status.Phase = olm.CSVPhaseSucceeded
	return out
}

// probing returns a Probe with an Upgradeable condition.
func probing(name string, upgradeable metav1.ConditionStatus, message string) *v1alpha1.Probe {
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       &v1alpha1.ProbeSpec{},
		Status: v1alpha1.ProbeStatus{Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionUpgradeable, Status: upgradeable, Reason: "Said", Message: message},
			{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue, Reason: "Synced"},
		}},
	}
}

func subscribing(name, installed, allows string) *v1alpha1.Subscription {
	out := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: &olm.SubscriptionSpec{}}
	out.Status.InstalledCSV = installed
	if allows != "" {
		out.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: allows}
	}
	return out
}

// freezing returns an UpgradeHold of a user for the operator of a Subscription.
func freezing(subscription string) *holdv1alpha1.UpgradeHold {
	out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit"}}
	out.Spec.Operator, out.Spec.Message = holdv1alpha1.SubscribedOperator("default", subscription), "An audit"
	return out
}

// updating returns a proposal of CSVs that each replace the given one.
func updating(replaces map[string]string) *proposal {
	out := &proposal{}
	for _, name := range []string{"bar.v2", "foo.v2"} {
		if old, ok := replaces[name]; ok {
			c := choice(name, old)
			c.Bundle.Provides = []property.GVK{{Group: "example.com", Kind: "Foo", Version: "v2"}}
			out.choices = append(out.choices, c)
		}
	}
	return out
}

func TestDecide(t *testing.T) {
	both := map[string]string{"foo.v2": "foo.v1", "bar.v2": "bar.v1"}
	foo := map[string]string{"foo.v2": "foo.v1"}
	cases := map[string]struct {
		reason   string
		there    []client.Object
		replaces map[string]string
		reader   string
		want     []string // "reason holds message"
	}{
		"FirstInstall": {reason: "Nothing runs that could hold.", replaces: map[string]string{"foo.v2": ""},
			there: []client.Object{running("foo.v1"), probing("foo.v1", "False", "busy")}},
		"WithoutProbe": {reason: "Who never opted in does not hold.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", "")}},
		"Allows": {reason: "A Probe that allows does not hold.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", ""), probing("foo.v1", "True", "")}},
		"Holds": {reason: "A Probe that does not allow the update holds it, and its message is reported.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", ""), probing("foo.v1", "False", "Foo is busy")},
			want:  []string{"ProbeNotUpgradeable holds", "Foo is busy", "kubectl annotate subscription.operators.coreos.com -n default foo operatorstatus.io/allow-upgrade=foo.v2"}},
		"OneOfTwo": {reason: "A plan goes on whole or not at all.", replaces: both,
			there: []client.Object{running("foo.v1"), running("bar.v1"), subscribing("foo", "foo.v1", ""), subscribing("bar", "bar.v1", ""),
				probing("foo.v1", "False", "Foo is busy"), probing("bar.v1", "True", "")},
			want: []string{"ProbeNotUpgradeable holds", "Foo is busy"}},
		"Overridden": {reason: "An administrator's word goes for what it names.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", "foo.v2"), probing("foo.v1", "False", "Foo is busy")},
			want:  []string{"Overridden passes", "Foo is busy"}},
		"OneOfTwoOverridden": {reason: "And not for what it does not name.", replaces: both,
			there: []client.Object{running("foo.v1"), running("bar.v1"), subscribing("foo", "foo.v1", ""), subscribing("bar", "bar.v1", "bar.v2"),
				probing("foo.v1", "False", "Foo is busy"), probing("bar.v1", "False", "Bar is busy")},
			want: []string{"ProbeNotUpgradeable holds", "Foo is busy"}},
		"StaleOverride": {reason: "An override of an earlier update allows nothing now.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", "foo.v1"), probing("foo.v1", "False", "Foo is busy")},
			want:  []string{"ProbeNotUpgradeable holds", "--overwrite"}},
		"NotJudged": {reason: "A Probe status from before this process started may be out of date.", replaces: foo, reader: "another",
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", ""), probing("foo.v1", "True", "")},
			want:  []string{"ProbeNotRead holds", "foo.v2", "Probe default/foo.v1"}},
		"BehindOneThatNeverRan": {reason: "Who does the work is asked, and not who was to follow it and failed.", replaces: map[string]string{"foo.v2": "foo.v1.5"},
			there: []client.Object{running("foo.v1"), failing("foo.v1.5", "foo.v1"), subscribing("foo", "foo.v1", ""), probing("foo.v1", "False", "Foo is busy")},
			want:  []string{"ProbeNotUpgradeable holds", "Foo is busy"}},
		"HeldByUser": {reason: "Other users hold it, too.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", ""), freezing("foo")}, want: []string{"HeldByUser holds", "An audit"}},
		"AllowedToAnother": {reason: "The annotation of a Subscription ends no hold of another user, whichever Subscription has it.", replaces: foo,
			there: []client.Object{running("foo.v1"), subscribing("foo", "foo.v1", ""), subscribing("bar", "", "foo.v2"), freezing("foo")},
			want:  []string{"HeldByUser holds", "An audit"}},
		"WithoutSubscription": {reason: "A plan that a user created for an operator without a Subscription is held like any other.", replaces: foo,
			there: []client.Object{running("foo.v1"), probing("foo.v1", "False", "Foo is busy")},
			want:  []string{"ProbeNotUpgradeable holds", "Foo is busy"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("%s\npanic: %v", tc.reason, p)
				}
			}()
			c := cluster(t, nothing, tc.there...)
			reader := func(context.Context) (string, error) { return tc.reader, nil }
			r := &Reconciler{Now: time.Now, Client: c, Reader: c, OptIns: optIns(c), ProbeReader: reader}
			decision, err := r.decide(t.Context(), "default", updating(tc.replaces), false)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if decision.Reason != "" {
				got = decision.Reason + map[bool]string{true: " holds ", false: " passes "}[decision.Held] + decision.Message
			}
			if tc.want == nil && got != "" {
				t.Errorf("%s\ngot %s; want nothing", tc.reason, got)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s\ngot %q; want %q in it", tc.reason, got, want)
				}
			}
		})
	}
}

func optIns(c client.Client) *optin.Store {
	return &optin.Store{Reader: c, Writer: c, Namespace: "system"}
}

// TestDecideLive verifies that an update begins only if the custom resources allow it at that moment.
func TestDecideLive(t *testing.T) {
	foos := []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "!Migrating"}}
	owner := running("foo.v1")
	owner.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: "foos.example.com", Kind: "Foo", Version: "v1"}}
	owner.Spec.InstallStrategy.StrategySpec.Permissions = []olm.StrategyDeploymentPermissions{{ServiceAccountName: "foo-operator"}}
	allows := probing("foo.v1", "True", "")
	allows.Spec.ProbeResources = foos
	definition := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"}}
	definition.Spec.Group, definition.Spec.Names.Kind, definition.Spec.Names.Plural = "example.com", "Foo", "foos"
	definition.Spec.Scope = apiextensions.NamespaceScoped
	definition.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true}}
	definition.Status.Conditions = []apiextensions.CustomResourceDefinitionCondition{{Type: apiextensions.Established, Status: apiextensions.ConditionTrue}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo-operator"}}
	busy := observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 1, Blocking: 1},
		Items: []observed.Item{{Namespace: "default", Name: "busy", Explanation: observed.Explanation{Blocks: "Migrating is True"}}}}
	idle := observed.Snapshot{Filled: true, Counts: observed.Counts{Total: 1}}
	update := map[string]string{"foo.v2": "foo.v1"}
	install := map[string]string{"foo.v2": ""}
	cases := map[string]struct {
		reason   string
		there    []client.Object
		record   *optin.OptIn
		replaces map[string]string
		begins   bool
		read     observed.Snapshot
		err      error
		as       string // the account that reads, or empty if nothing is read
		want     string // the reason of the hold
	}{
		"Idle": {reason: "They allow it, read as their operator.", there: []client.Object{owner, allows, definition, account, group()},
			replaces: update, begins: true, read: idle, as: "default/foo-operator"},
		"Busy": {reason: "A Probe that has not heard of it yet does not matter.", there: []client.Object{owner, allows, definition, account, group()},
			replaces: update, begins: true, read: busy, as: "default/foo-operator", want: "ProbeNotUpgradeable"},
		"NotYet": {reason: "An update that does not begin yet costs no read.", there: []client.Object{owner, allows, definition, account, group()},
			replaces: update, read: busy},
		"Unreadable": {reason: "What cannot be read is not known.", there: []client.Object{owner, allows, definition, account, group()},
			replaces: update, begins: true, err: errors.New("too many requests"), as: "default/foo-operator", want: "ProbeNotRead"},
		"NoAccount": {reason: "Nor what the operator itself could not read.", there: []client.Object{owner, allows, definition, group()},
			replaces: update, begins: true, read: idle, want: "ProbeNotRead"},
		"Overridden": {reason: "Nothing is read for an update that an administrator allows.",
			there:    []client.Object{owner, probing("foo.v1", "False", "busy"), subscribing("foo", "foo.v1", "foo.v2"), definition, account, group()},
			replaces: update, begins: true, read: busy},
		"Reinstalled": {reason: "Another version beside custom resources of an uninstalled one is an update, too.",
			there: []client.Object{definition, group()}, record: new(optin.New(owner, foos)),
			replaces: install, begins: true, read: busy, as: "/", want: "ProbeNotUpgradeable"},
		"ReinstalledIdle": {reason: "They allow it.", there: []client.Object{definition, group()}, record: new(optin.New(owner, foos)),
			replaces: install, begins: true, read: idle, as: "/"},
		"ReinstalledByAnother": {reason: "An operator of other kinds takes nothing over.", there: []client.Object{definition, group()},
			record:   &optin.OptIn{Of: client.ObjectKeyFromObject(owner), Resources: foos, Owned: []schema.GroupKind{{Group: "example.com", Kind: "Bar"}}},
			replaces: install, begins: true, read: busy},
		"ReinstalledAllowed": {reason: "An administrator may allow it as any update.",
			there: []client.Object{definition, group(), subscribing("foo", "foo.v1", "foo.v2")}, record: new(optin.New(owner, foos)),
			replaces: install, begins: true, read: busy, as: "/"},
		"BesideTheRunning": {reason: "The record of an operator that runs is not of an uninstalled one.",
			there: []client.Object{owner, definition, group()}, record: new(optin.New(owner, foos)),
			replaces: install, begins: true, read: busy},
		"NeverOptedIn": {reason: "An operator that declared nothing left nothing to wait for.", there: []client.Object{definition, group()},
			record: new(optin.New(owner, nil)), replaces: install, begins: true, read: busy},
		"AnnotatedByAnother": {reason: "What another version wrote to the definition since does not count.",
			there:    []client.Object{owner, fromAnnotations(allows), definition, account, group()},
			record:   new(optin.New(owner, []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "Ready"}})),
			replaces: update, begins: true, read: idle, want: "ProbeNotRead"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, nothing, tc.there...)
			r := &Reconciler{Now: time.Now, Client: c, Reader: c, OptIns: optIns(c), ProbeReader: func(context.Context) (string, error) { return "", nil }}
			if tc.record != nil {
				if err := r.OptIns.Put(t.Context(), *tc.record); err != nil {
					t.Fatal(err)
				}
			}
			targets, err := operatorgroup.HashOf(t.Context(), c, c, "default")
			if err != nil {
				t.Fatal(err)
			}
			probes := &v1alpha1.ProbeList{}
			if err := c.List(t.Context(), probes); err != nil {
				t.Fatal(err)
			}
			for i := range probes.Items {
				probes.Items[i].Status.ObservedTargets = targets
				if err := c.Update(t.Context(), &probes.Items[i]); err != nil {
					t.Fatal(err)
				}
			}
			as := ""
			r.Live = live.Probes{Reader: c, List: func(_ context.Context, request watch.Request) (observed.Snapshot, error) {
				as = request.Target.Identity.String()
				return tc.read, tc.err
			}}
			decision, err := r.decide(t.Context(), "default", updating(tc.replaces), tc.begins)
			if err != nil {
				t.Fatal(err)
			}
			if got := decision.Reason; decision.Held != (tc.want != "") || decision.Held && got != tc.want || as != tc.as {
				t.Errorf("%s\nheld: %t because %s: %s; read as %q; want %q, read as %q", tc.reason, decision.Held, got, decision.Message, as, tc.want, tc.as)
			}
		})
	}
}

// fromAnnotations returns a Probe that was made from annotations.
func fromAnnotations(probe *v1alpha1.Probe) *v1alpha1.Probe {
	out := probe.DeepCopy()
	out.Spec.Manager = v1alpha1.ManagerCRDAnnotations
	return out
}

func failing(name, replaces string) *v1alpha1.ClusterServiceVersion {
	out := running(name)
	out.Spec.Replaces, out.Status.Phase = replaces, olm.CSVPhaseFailed
	return out
}

// TestAllowing verifies that the Subscription for an update is the one that allows it, otherwise the one that has the
// running CSV installed.
func TestAllowing(t *testing.T) {
	stamped := running("foo.v1")
	stamped.Annotations = map[string]string{v1alpha1.AnnotationSubscription: "stamped"}
	cases := map[string]struct {
		running *v1alpha1.ClusterServiceVersion
		there   []client.Object
		want    string
	}{
		"None":      {running("foo.v1"), []client.Object{subscribing("other", "bar.v1", "")}, ""},
		"Installed": {running("foo.v1"), []client.Object{subscribing("other", "bar.v1", ""), subscribing("foo", "foo.v1", "")}, "foo"},
		"Stamped":   {stamped, []client.Object{subscribing("stamped", "", "")}, "stamped"},
		"Allows":    {running("foo.v1"), []client.Object{subscribing("allows", "", "foo.v2"), subscribing("foo", "foo.v1", "")}, "allows"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var subs []v1alpha1.Subscription
			for _, o := range tc.there {
				subs = append(subs, *o.(*v1alpha1.Subscription))
			}
			got := ""
			u := update{target: "foo.v2", running: tc.running}
			if sub := cmp.Or(allowing(u, subs), csvchain.SubscriptionOf(tc.running, subs)); sub != nil {
				got = sub.Name
			}
			if got != tc.want {
				t.Errorf("got %q; want %q", got, tc.want)
			}
		})
	}
}

// TestSubscribed verifies that the oldest Subscription to a package is used; of the same age, the first by name.
func TestSubscribed(t *testing.T) {
	at := func(name, pkg string, seconds int64) v1alpha1.Subscription {
		return v1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(seconds, 0)}, Spec: &olm.SubscriptionSpec{Package: pkg},
		}
	}
	subs := []v1alpha1.Subscription{{}, at("young", "foo", 2), at("b", "foo", 1), at("a", "foo", 1), at("other", "bar", 0)}
	for pkg, want := range map[string]string{"foo": "a", "bar": "other", "none": "", "": ""} {
		if got := subscribed(subs, pkg); got != want {
			t.Errorf("%q: %q; want %q", pkg, got, want)
		}
	}
}

// TestWait verifies that a plan is requeued if its hold may end without an event, the later the longer it has been held.
func TestWait(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	held := func(reason string) gate.Decision {
		return gate.Decision{Held: true, Reason: reason, Message: "held", Holds: []gate.Hold{{Reason: reason}}}
	}
	cases := map[string]struct {
		reason string
		held   gate.Decision
		since  time.Duration // how long the plan has reported it; 0 if it does not yet
		want   time.Duration
	}{
		"Reported":    {"The Probe changes.", held(v1alpha1.ReasonProbeNotUpgradeable), 0, 0},
		"NotRead":     {"A Probe that is read again need not change.", held(v1alpha1.ReasonProbeNotRead), 0, time.Second},
		"NotReadLong": {"A cause that has lasted for long may last for as long again.", held(v1alpha1.ReasonProbeNotRead), time.Minute, time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := plan()
			if tc.since > 0 {
				since := metav1.NewTime(now.Add(-tc.since))
				p.Status.SetCondition(olm.InstallPlanCondition{
					Type: v1alpha1.ConditionUpgradeHeld, Status: corev1.ConditionTrue, Reason: olm.InstallPlanConditionReason(tc.held.Reason), Message: "held",
					LastUpdateTime: &since, LastTransitionTime: &since,
				})
			}
			a := &attempt{r: &Reconciler{Client: cluster(t, nothing, p), Now: func() time.Time { return now }}, facts: facts{plan: p, gate: &tc.held}}
			got, err := a.wait(t.Context())
			if err != nil || got.RequeueAfter != tc.want {
				t.Errorf("%s\nrequeued after %s: %v; want %s", tc.reason, got.RequeueAfter, err, tc.want)
			}
		})
	}
}
