package installplan

import (
	"context"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/resolve"
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

// updating returns choices that each replace the given CSV.
func updating(replaces map[string]string) []resolve.Choice {
	var out []resolve.Choice
	for _, name := range []string{"bar.v2", "foo.v2"} {
		if old, ok := replaces[name]; ok {
			out = append(out, choice(name, old))
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
			want:  []string{"ProbeNotUpgradeable holds", "Foo is busy", "kubectl annotate subscription -n default foo operatorstatus.io/allow-upgrade=foo.v2"}},
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
			decision, err := (&Reconciler{Client: c, Reader: c, ProbeReader: reader}).decide(t.Context(), "default", updating(tc.replaces))
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
			c := cluster(t, nothing, tc.there...)
			sub, err := (&Reconciler{Client: c, Reader: c}).allowing(t.Context(), update{"foo.v2", tc.running})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if sub != nil {
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
