package csv

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestOwnerConflict(t *testing.T) {
	const foos = "foos.example.com"
	conflict := func(with string) string {
		reason := "OwnerConflict"
		if !strings.HasPrefix(with, "default/") {
			reason = "InterOperatorGroupOwnerConflict"
		}
		return "Failed/" + reason + ": ClusterServiceVersion " + with + " already owns CustomResourceDefinition foos.example.com in the same namespaces"
	}
	refused := func(c *v1alpha1.ClusterServiceVersion) {
		phase(olm.CSVPhaseFailed)(c)
		reason(v1alpha1.CSVReasonInterOperatorGroupOwnerConflict)(c)
	}
	mine := func(options ...option) *v1alpha1.ClusterServiceVersion {
		return csv("v2", append([]option{owning("bars.example.com", foos), created(2000)}, options...)...)
	}
	cases := map[string]struct {
		reason  string
		csv     *v1alpha1.ClusterServiceVersion
		targets []string // default namespace if nil
		others  []*v1alpha1.ClusterServiceVersion
		group   *operatorsv1.OperatorGroup // of namespace other
		want    string
	}{
		"Alone": {reason: "It does not conflict with itself.", csv: mine()},
		"Older": {reason: "The older one of the namespace stays.", csv: mine(), others: []*v1alpha1.ClusterServiceVersion{csv("w1", owning(foos))},
			want: conflict("default/w1")},
		"Younger": {reason: "And the younger one gives way.", csv: mine(), others: []*v1alpha1.ClusterServiceVersion{csv("w1", owning(foos), created(3000))}},
		"SameAge": {reason: "Of the same age the first by name stays.", csv: mine(created(1000)),
			others: []*v1alpha1.ClusterServiceVersion{csv("a1", owning(foos))}, want: conflict("default/a1")},
		"SameAgeLater": {reason: "The first by name is this one.", csv: mine(created(1000)), others: []*v1alpha1.ClusterServiceVersion{csv("w1", owning(foos))}},
		"OtherKinds": {reason: "Who owns another kind is no rival.", csv: mine(),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", owning("others.example.com"))}},
		"Replaces": {reason: "Versions of one operator own the same.", csv: mine(replaces("v1")),
			others: []*v1alpha1.ClusterServiceVersion{csv("v1", owning(foos))}},
		"ReplacesInTwo": {reason: "Be it in several steps.", csv: mine(replaces("v1.5")),
			others: []*v1alpha1.ClusterServiceVersion{csv("v1.5", replaces("v1"), owning(foos)), csv("v1", owning(foos))}},
		"IsReplaced": {reason: "Also when the one that replaces it was made first.", csv: mine(),
			others: []*v1alpha1.ClusterServiceVersion{csv("v3", replaces("v2"), owning(foos))}},
		"ReplacesGone": {reason: "What it replaces need not be there for it to be another operator.", csv: mine(replaces("v1")),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", owning(foos))}, want: conflict("default/w1")},
		"Circle": {reason: "A circle is gone round once.", csv: mine(replaces("x1")),
			others: []*v1alpha1.ClusterServiceVersion{csv("x1", replaces("v2")), csv("w1", owning(foos))}, want: conflict("default/w1")},
		"Copied": {reason: "A copied CSV is ignored.", csv: mine(), others: []*v1alpha1.ClusterServiceVersion{csv("w1", owning(foos), copied)}},
		"Elsewhere": {reason: "Who looks after other namespaces is no rival.", csv: mine(),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}, group: targets("other")},
		"ElsewhereHere": {reason: "Who looks after this one from elsewhere is.", csv: mine(),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}, group: targets("a", "default"), want: conflict("other/w1")},
		"ElsewhereAll": {reason: "Who looks after all looks after this one.", csv: mine(),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}, group: targets(), want: conflict("other/w1")},
		"All": {reason: "Who looks after all is everybody's rival.", csv: mine(), targets: []string{""},
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}, group: targets("other"), want: conflict("other/w1")},
		"Unannotated": {reason: "One without an OperatorGroup watches nothing here.", csv: mine(),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}},
		"ElsewhereRefused": {
			reason: "What goes on does not give way to an older one that has been refused.",
			csv:    mine(phase(olm.CSVPhaseSucceeded)), others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos), refused)}, group: targets(),
		},
		"Refused": {
			reason: "And the older one waits for the younger that took its place.",
			csv:    mine(created(1), refused), others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos), phase(olm.CSVPhaseSucceeded))},
			group: targets(),
			want:  conflict("other/w1"),
		},
		"BothRefused": {
			reason: "Of two that were refused the older one goes on.",
			csv:    mine(refused), others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos), refused)}, group: targets(),
			want: conflict("other/w1"),
		},
		"ElsewherePending": {
			reason: "One that cannot run keeps nobody from it: anybody may claim a kind.",
			csv:    mine(), others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos), phase(olm.CSVPhasePending))}, group: targets(),
		},
		"YoungerRuns": {
			reason: "What could not run before does not stop a younger one that does.",
			csv:    mine(created(1), phase(olm.CSVPhasePending)),
			others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos), phase(olm.CSVPhaseSucceeded))},
			group:  targets(), want: conflict("other/w1"),
		},
		"OlderHasNotBegun": {
			reason: "An older one that begins now does not stop what runs.",
			csv:    mine(phase(olm.CSVPhaseSucceeded)), others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}, group: targets(),
		},
		"ElsewhereKeptOut": {
			reason: "One that may not run, since its static OperatorGroup does not list its kind, is no rival.",
			csv:    mine(), others: []*v1alpha1.ClusterServiceVersion{csv("w1", elsewhere, owning(foos))}, group: static("other", 1, ""),
		},
		"SameNameOther": {reason: "A CSV of the same name in another namespace is not the replaced one.", csv: mine(replaces("v1")),
			others: []*v1alpha1.ClusterServiceVersion{csv("v1", elsewhere, owning(foos))}, group: targets("default"), want: conflict("other/v1")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			all := append([]*v1alpha1.ClusterServiceVersion{tc.csv}, tc.others...)
			var here []*v1alpha1.ClusterServiceVersion
			for _, c := range all {
				if c.Namespace == "default" && !c.IsCopied() {
					here = append(here, c)
				}
			}
			s := about(here...)
			if tc.targets != nil {
				s.targets = tc.targets
			}
			there := objects(all...)
			if tc.group != nil {
				there = append(there, tc.group)
			}
			if got := word(verdictOf(t, reconciler(t, there...), s, "OperatorGroupConflict", "OwnerConflict")); got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// static returns an OperatorGroup with spec.staticProvidedAPIs.
func static(namespace string, age int64, apis string, targets ...string) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "static", CreationTimestamp: metav1.Unix(age, 0), Generation: 1,
			Annotations: map[string]string{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: apis},
		},
		Spec: operatorsv1.OperatorGroupSpec{StaticProvidedAPIs: true, TargetNamespaces: targets},
	}
}

func TestStaticProvidedAPIs(t *testing.T) {
	const (
		foo   = "Foo.v1.example.com"
		taken = "Failed/InterOperatorGroupOwnerConflict: OperatorGroup other/static lists Foo.v1.example.com in its static provided APIs " +
			"and targets some of the same namespaces: change the targets or the provided APIs of one group"
		unlisted = "Failed/CannotModifyStaticOperatorGroupProvidedAPIs: OperatorGroup static sets spec.staticProvidedAPIs, but Foo.v1.example.com " +
			"is not in its annotation olm.providedAPIs: add it, or unset spec.staticProvidedAPIs"
	)
	mine := csv("v1", owning("foos.example.com"))
	cases := map[string]struct {
		reason  string
		csv     *v1alpha1.ClusterServiceVersion
		own     *operatorsv1.OperatorGroup // not static if nil
		targets []string
		others  []*operatorsv1.OperatorGroup
		want    string
	}{
		"None": {reason: "No group is static.", csv: mine, others: []*operatorsv1.OperatorGroup{targets("default")}},
		"Taken": {reason: "An administrator declared that another group provides it here.", csv: mine,
			others: []*operatorsv1.OperatorGroup{static("other", 1, foo, "default")}, want: taken},
		"TakenByAll": {reason: "All namespaces are these as well.", csv: mine,
			others: []*operatorsv1.OperatorGroup{static("other", 1, "Bar.v1.example.com, "+foo)}, want: taken},
		"TakenForAll": {reason: "And these are among all.", csv: mine, targets: []string{""}, others: []*operatorsv1.OperatorGroup{static("other", 1, foo, "a")},
			want: taken},
		"Elsewhere": {reason: "It targets other namespaces.", csv: mine, others: []*operatorsv1.OperatorGroup{static("other", 1, foo, "a", "other")}},
		"OtherAPI": {reason: "Another version is another API, as in OLM.", csv: mine,
			others: []*operatorsv1.OperatorGroup{static("other", 1, "Foo.v2.example.com", "default")}},
		"Younger": {reason: "A group that was made after the operator does not stop it.", csv: mine,
			others: []*operatorsv1.OperatorGroup{static("other", 2000, foo, "default")}},
		"ProvidesNone": {reason: "An operator without APIs has no conflicts.", csv: csv("v1"), own: static("default", 1, ""),
			others: []*operatorsv1.OperatorGroup{static("other", 1, foo)}},
		"Listed":   {reason: "Its own group lists it.", csv: mine, own: static("default", 1, foo+",Bar.v1.example.com")},
		"Unlisted": {reason: "Its own group does not, and may not be changed.", csv: mine, own: static("default", 1, "Bar.v1.example.com"), want: unlisted},
		"UnlistedTaken": {reason: "The conflict goes first, as in OLM.", csv: mine, own: static("default", 1, ""),
			others: []*operatorsv1.OperatorGroup{static("other", 1, foo)}, want: taken},
		"ListedTaken": {
			reason: "Both list it: OLM takes it off the annotation of its own group, and may not.",
			csv:    mine, own: static("default", 1, foo), others: []*operatorsv1.OperatorGroup{static("other", 1, foo)},
			want: strings.Replace(taken, "InterOperatorGroupOwnerConflict", "CannotModifyStaticOperatorGroupProvidedAPIs", 1),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			there := objects(tc.csv)
			for _, g := range tc.others {
				there = append(there, g)
			}
			s := about(tc.csv)
			if tc.targets != nil {
				s.targets = tc.targets
			}
			if tc.own != nil {
				s.group = tc.own
				there = append(there, tc.own)
			}
			if got := word(verdictOf(t, reconciler(t, there...), s, "OperatorGroupConflict")); got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRivals verifies that a change in one namespace enqueues only those CSVs of others whose conflicts may start or
// end.
func TestRivals(t *testing.T) {
	const refused = v1alpha1.CSVReasonInterOperatorGroupOwnerConflict
	there := objects(
		csv("here", owning("foos.example.com")),
		csv("same", elsewhere, owning("foos.example.com")),
		csv("refused", elsewhere, owning("bars.other.com"), reason(refused)),
		csv("unrelated", elsewhere, owning("bars.other.com")),
		csv("copy", elsewhere, copied, owning("foos.example.com")),
	)
	group := targets()
	group.Namespace = "default"
	cases := map[string]struct {
		reason string
		change client.Object
		want   []string
	}{
		"Group":       {"Its operators own what others own.", group, []string{"refused", "same"}},
		"StaticGroup": {"It claims something besides.", static("default", 1, "Foo.v1.other.com"), []string{"refused", "same", "unrelated"}},
		"NoOperators": {"Those that were refused may go on whatever changes.", static("empty", 1, ""), []string{"refused"}},
		"Deleted":     {"So they may when an operator is gone.", csv("gone"), []string{"refused", "same"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range reconciler(t, there...).enqueueConflicting(t.Context(), tc.change) {
				got = append(got, request.Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestConflictPredicates(t *testing.T) {
	grown := func(g *operatorsv1.OperatorGroup) *operatorsv1.OperatorGroup { g.Generation++; return g }
	selected := func(namespaces ...string) *operatorsv1.OperatorGroup {
		out := targets()
		out.Status.Namespaces = namespaces
		return out
	}
	later := selected("a")
	later.Status.LastUpdated = new(metav1.Unix(2000, 0))
	annotated := targets("a")
	annotated.Annotations = map[string]string{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: "Foo.v1.example.com"}
	cases := map[string]struct {
		reason string
		got    bool
		want   bool
	}{
		"NewGroup":  {"One that is not static claims nothing.", groupMoved.Create(event.CreateEvent{Object: targets("a")}), false},
		"NewStatic": {"A static one does.", groupMoved.Create(event.CreateEvent{Object: static("other", 1, "")}), true},
		"Annotated": {"That is our own writing.", groupMoved.Update(event.UpdateEvent{ObjectOld: targets("a"), ObjectNew: annotated}), false},
		"StaticAnnotated": {"That is the administrator's.",
			groupMoved.Update(event.UpdateEvent{ObjectOld: static("other", 1, ""), ObjectNew: static("other", 1, "Foo.v1.example.com")}), true},
		"SelectsOther": {"A namespace was labelled: the spec stays the same.",
			groupMoved.Update(event.UpdateEvent{ObjectOld: selected("a", "b"), ObjectNew: selected("b")}), true},
		"SelectsSame": {"The rest of the status has no part in it.",
			groupMoved.Update(event.UpdateEvent{ObjectOld: selected("a"), ObjectNew: later}), false},
		"Moved":     {"Its targets may have changed.", groupMoved.Update(event.UpdateEvent{ObjectOld: targets("a"), ObjectNew: grown(targets("b"))}), true},
		"GroupGone": {"What it had is free.", groupMoved.Delete(event.DeleteEvent{Object: targets("a")}), true},
		"NewCSV":    {"It is the youngest.", ownershipEnded.Create(event.CreateEvent{Object: csv("v1")}), false},
		"CSVStatus": {"It owns what it owned.", ownershipEnded.Update(event.UpdateEvent{ObjectOld: csv("v1"), ObjectNew: csv("v1", reason("x"))}), false},
		"CSVOwnsOther": {"What it owned may be free, and what it owns be another's.",
			ownershipEnded.Update(event.UpdateEvent{ObjectOld: csv("v1"), ObjectNew: csv("v1", owning("foos.example.com"))}), true},
		"CSVGone": {"What it owned is free.", ownershipEnded.Delete(event.DeleteEvent{Object: csv("v1")}), true},
	}
	for name, tc := range cases {
		if tc.got != tc.want {
			t.Errorf("%s: %s got %v", name, tc.reason, tc.got)
		}
	}
}
