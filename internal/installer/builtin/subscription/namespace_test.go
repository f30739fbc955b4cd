package subscription

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/resolve"
	subscriptionstatus "github.com/operator-status/operator-status/internal/status/subscription"
)

var community = types.NamespacedName{Namespace: "olm", Name: "community"}

// subscribe returns a Subscription to a package, created at the given second.
func subscribe(name, pkg string, second int64) *v1alpha1.Subscription {
	return &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.Unix(second, 0)},
		Spec:       &olm.SubscriptionSpec{Package: pkg, CatalogSource: community.Name, CatalogSourceNamespace: community.Namespace},
	}
}

func csv(name string, phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	_, version, _ := strings.Cut(name, ".v")
	out.Spec.Version.Version = semver.MustParse(version)
	out.Status.Phase = phase
	return out
}

// stamped marks a CSV as installed from a package by a plan.
func stamped(pkg string, csv *v1alpha1.ClusterServiceVersion) *v1alpha1.ClusterServiceVersion {
	csv.Annotations = map[string]string{csvchain.AnnotationProperties: fmt.Sprintf(
		`{"properties":[{"type":"olm.package","value":{"packageName":%q,"version":"1.0.0"}}]}`, pkg)}
	return csv
}

// offer returns a catalog. Each package has one channel, in which each bundle replaces the previous one.
func offer(bundles ...string) catalog.Catalog {
	content := &catalog.Content{Packages: map[string]*catalog.Package{}}
	previous := map[string]string{}
	for _, text := range bundles {
		text, skips, _ := strings.Cut(text, " skips ")
		name, needs, _ := strings.Cut(text, " needs ")
		pkg, version, _ := strings.Cut(name, ".v")
		b := &catalog.Bundle{Name: name, Package: pkg, Version: semver.MustParse(version), Properties: []property.Property{
			{Type: property.TypePackage, Value: json.RawMessage(fmt.Sprintf(`{"packageName":%q,"version":%q}`, pkg, version))},
		}}
		if needs != "" {
			of, versions, _ := strings.Cut(needs, " ")
			b.Properties = append(b.Properties, property.MustBuildPackageRequired(of, versions))
		}
		p := content.Packages[pkg]
		if p == nil {
			p = &catalog.Package{Name: pkg, DefaultChannel: "stable", Channels: map[string]*catalog.Channel{
				"stable": {Name: "stable", Entries: map[string]*catalog.Entry{}},
			}}
			content.Packages[pkg] = p
		}
		p.Channels["stable"].Entries[name] = &catalog.Entry{Bundle: b, Replaces: previous[pkg]}
		if skips != "" {
			p.Channels["stable"].Entries[name].Skips = []string{skips}
		}
		previous[pkg] = name
	}
	return catalog.Catalog{Key: community, Healthy: true, Content: content}
}

// namespaceWith returns a namespace with a catalog and objects.
func namespaceWith(offered catalog.Catalog, objects ...client.Object) *namespace {
	out := &namespace{
		csvs: map[string]*v1alpha1.ClusterServiceVersion{}, plans: map[string]*olm.InstallPlan{}, catalogs: []catalog.Catalog{offered},
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.Subscription:
			out.subs = append(out.subs, o)
		case *v1alpha1.ClusterServiceVersion:
			out.csvs[o.Name] = o
		case *olm.InstallPlan:
			out.plans[o.Name] = o
		}
	}
	out.incomplete = map[string]bool{}
	out.newest = presentOf(out.csvs, out.incomplete)
	return out
}

// solutionOf returns a solution: "foo.v2>foo.v1" is foo.v2, which replaces foo.v1.
func solutionOf(words ...string) resolve.Solution {
	var out resolve.Solution
	for _, word := range words {
		name, replaces, _ := strings.Cut(word, ">")
		pkg, _, _ := strings.Cut(name, ".v")
		out.Choices = append(out.Choices, resolve.Choice{Bundle: &catalog.Bundle{Name: name}, Package: pkg, Catalog: community, Replaces: replaces})
	}
	return out
}

// chosen formats a solution, or the reason why none exists.
func chosen(s resolve.Solution, p *resolve.Problem) string {
	if p != nil {
		return p.Reason
	}
	var out []string
	for _, c := range s.Choices {
		word := c.Bundle.Name
		if c.Replaces != "" {
			word += ">" + c.Replaces
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

func planned(name string, sub *v1alpha1.Subscription, phase olm.InstallPlanPhase, csvs ...string) *olm.InstallPlan {
	out := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	if sub != nil {
		out.OwnerReferences = []metav1.OwnerReference{{APIVersion: "operators.coreos.com/v1alpha1", Kind: "Subscription", Name: sub.Name, UID: sub.UID}}
	}
	out.Spec.ClusterServiceVersionNames = csvs
	out.Status.Phase = phase
	return out
}

func TestPlanFor(t *testing.T) {
	with := func(approval olm.Approval) *v1alpha1.Subscription {
		out := subscribe("foo", "foo", 1)
		out.Spec.InstallPlanApproval = approval
		return out
	}
	gated := with(olm.ApprovalManual)
	gated.Labels = map[string]string{v1alpha1.LabelGate: v1alpha1.GateApproval}
	cases := map[string]struct {
		reason   string
		sub      *v1alpha1.Subscription
		solution resolve.Solution
		want     olm.InstallPlanSpec
	}{
		"FirstInstall": {"A plan that only installs is approved if the approval is Automatic.", with(olm.ApprovalAutomatic), solutionOf("foo.v1.0.0", "etcd.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Automatic", Approved: true, ClusterServiceVersionNames: []string{"foo.v1.0.0", "etcd.v1.0.0"}}},
		"ByDefault": {"Automatic is the default approval.", with(""), solutionOf("foo.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Automatic", Approved: true, ClusterServiceVersionNames: []string{"foo.v1.0.0"}}},
		"Manual": {"A plan is not approved if the approval is Manual.", with(olm.ApprovalManual), solutionOf("foo.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Manual", ClusterServiceVersionNames: []string{"foo.v1.0.0"}}},
		"Gated": {"An installation is approved if a Manual Subscription leaves the approval to the gate.", gated, solutionOf("foo.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Automatic", Approved: true, ClusterServiceVersionNames: []string{"foo.v1.0.0"}}},
		"Update": {"A plan with an update is not approved, since the gate decides about it.", with(olm.ApprovalAutomatic), solutionOf("foo.v2.0.0>foo.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Automatic", ClusterServiceVersionNames: []string{"foo.v2.0.0"}}},
		"UpdateOfADependency": {"A plan with an update of a dependency is not approved.", with(olm.ApprovalAutomatic), solutionOf("foo.v1.0.0", "etcd.v2.0.0>etcd.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Automatic", ClusterServiceVersionNames: []string{"foo.v1.0.0", "etcd.v2.0.0"}}},
		"UpdateWithANewDependency": {"A plan with an update and a new dependency is not approved.", with(olm.ApprovalAutomatic),
			solutionOf("foo.v2.0.0>foo.v1.0.0", "etcd.v1.0.0"),
			olm.InstallPlanSpec{Approval: "Automatic", ClusterServiceVersionNames: []string{"foo.v2.0.0", "etcd.v1.0.0"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := planFor([]*v1alpha1.Subscription{tc.sub}, tc.solution)
			tc.want.CatalogSource, tc.want.CatalogSourceNamespace = "community", "olm"
			want := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: got.Name, Annotations: got.Annotations,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "operators.coreos.com/v1alpha1", Kind: "Subscription", Name: "foo", UID: "uid-foo"}},
			}, Spec: tc.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if !ownedBy(got, tc.sub) {
				t.Error("the plan is not owned by its Subscription")
			}
		})
	}
}

// TestPlanForName verifies that the plan for a solution has a stable name, so one created just before a restart is
// found again, and that any other plan has another name.
func TestPlanForName(t *testing.T) {
	base := func() *v1alpha1.Subscription { return subscribe("foo", "foo", 1) }
	manual, again, moved, noted := base(), base(), base(), base()
	manual.Spec.InstallPlanApproval = olm.ApprovalManual
	again.UID = "uid-again"
	moved.Spec.Channel, moved.Generation = "fast", 7
	noted.Annotations, noted.Status.InstalledCSV = map[string]string{"a": "b"}, "foo.v1.0.0"
	explicit := base()
	explicit.Spec.InstallPlanApproval = olm.ApprovalAutomatic
	solution := solutionOf("foo.v2.0.0>foo.v1.0.0", "etcd.v1.0.0")
	name := planFor([]*v1alpha1.Subscription{base()}, solution).Name
	if !strings.HasPrefix(name, "install-") || len(name) != len("install-")+10 {
		t.Errorf("the name is %s", name)
	}
	for what, sub := range map[string]*v1alpha1.Subscription{"itself": base(), "another channel": moved, "another status": noted, "the default said": explicit} {
		if got := planFor([]*v1alpha1.Subscription{sub}, solution).Name; got != name {
			t.Errorf("%s: %s; want %s again", what, got, name)
		}
	}
	seen := map[string]string{name: "itself"}
	for what, got := range map[string]string{
		"another approval":     planFor([]*v1alpha1.Subscription{manual}, solution).Name,
		"a new Subscription":   planFor([]*v1alpha1.Subscription{again}, solution).Name,
		"another predecessor":  planFor([]*v1alpha1.Subscription{base()}, solutionOf("foo.v2.0.0>foo.v1.1.0", "etcd.v1.0.0")).Name,
		"a first install":      planFor([]*v1alpha1.Subscription{base()}, solutionOf("foo.v2.0.0", "etcd.v1.0.0")).Name,
		"without a dependency": planFor([]*v1alpha1.Subscription{base()}, solutionOf("foo.v2.0.0>foo.v1.0.0")).Name,
		"another version":      planFor([]*v1alpha1.Subscription{base()}, solutionOf("foo.v3.0.0>foo.v1.0.0", "etcd.v1.0.0")).Name,
	} {
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same name, %s", what, other, got)
		}
		seen[got] = what
	}
}

func TestHead(t *testing.T) {
	current := func(name string) *v1alpha1.Subscription {
		out := subscribe("foo", "foo", 1)
		out.Status.CurrentCSV = name
		return out
	}
	replacing := func(csv *v1alpha1.ClusterServiceVersion, old string) *v1alpha1.ClusterServiceVersion {
		csv.Spec.Replaces = old
		return csv
	}
	offered := offer("foo.v1.0.0", "foo.v2.0.0", "bar.v1.0.0")
	cases := map[string]struct {
		reason string
		sub    *v1alpha1.Subscription
		there  []client.Object
		want   string
	}{
		"None":         {"A first install has no CSV yet.", current(""), nil, ""},
		"ByProperties": {"The CSV is found by the package in its annotation.", current(""), []client.Object{stamped("foo", csv("odd.v9.0.0", ""))}, "odd.v9.0.0"},
		"ByStatus":     {"A CSV without the annotation is found by the name in the status.", current("odd.v9.0.0"), []client.Object{csv("odd.v9.0.0", "")}, "odd.v9.0.0"},
		"ByCatalog":    {"A CSV that existed before the Subscription is found by its entry in the catalog.", current(""), []client.Object{csv("foo.v1.0.0", "")}, "foo.v1.0.0"},
		"OtherPackage": {"A CSV that is an entry of another package is not used.", current(""), []client.Object{csv("bar.v1.0.0", "")}, ""},
		"StampedOther": {"A CSV with the annotation of another package is not used, even if catalog and status name it.", current("foo.v1.0.0"),
			[]client.Object{stamped("bar", csv("foo.v1.0.0", ""))}, ""},
		"Unknown": {"A CSV of an unknown package is not used.", current(""), []client.Object{csv("odd.v9.0.0", "")}, ""},
		"AmongOthers": {"The CSV is found among those of other packages.", current(""),
			[]client.Object{stamped("bar", csv("aaa.v1.0.0", "")), csv("bbb.v1.0.0", ""), csv("foo.v2.0.0", ""), stamped("zzz", csv("zzz.v1.0.0", ""))}, "foo.v2.0.0"},
		"Newest": {"During an update the new CSV is used.", current("foo.v1.0.0"),
			[]client.Object{stamped("foo", csv("foo.v1.0.0", "Replacing")), replacing(stamped("foo", csv("foo.v2.0.0", "Pending")), "foo.v1.0.0")}, "foo.v2.0.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if head := namespaceWith(offered, tc.there...).head(tc.sub); head != nil {
				got = head.Name
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
	t.Run("WithoutACatalog", func(t *testing.T) {
		unread := catalog.Catalog{Key: community}
		if head := namespaceWith(unread, csv("foo.v1.0.0", "")).head(current("")); head != nil {
			t.Errorf("%s is adopted although its package is unknown", head.Name)
		}
		elsewhere := offer("foo.v1.0.0")
		elsewhere.Key.Name = "another"
		if head := namespaceWith(elsewhere, csv("foo.v1.0.0", "")).head(current("")); head != nil {
			t.Errorf("%s is adopted according to a catalog that the Subscription does not name", head.Name)
		}
	})
}

func TestResolve(t *testing.T) {
	a, b, other := subscribe("a", "foo", 1), subscribe("b", "foo", 2), subscribe("other", "bar", 3)
	offered := offer("foo.v1.0.0", "foo.v2.0.0", "bar.v1.0.0 needs foo >=1.0.0")
	n := namespaceWith(offered, a, b, other)
	for _, tc := range []struct {
		sub  *v1alpha1.Subscription
		want string
	}{{a, "foo.v2.0.0"}, {b, "DuplicateSubscription"}, {other, "bar.v1.0.0 foo.v2.0.0"}} {
		if got := chosen(n.resolve(tc.sub, nil)); got != tc.want {
			t.Errorf("%s: %s; want %s", tc.sub.Name, got, tc.want)
		}
	}
	_, problem := n.resolve(b, nil)
	want := &resolve.Problem{Reason: "DuplicateSubscription", Message: "The older Subscription a already installs package foo: delete one of them"}
	if diff := cmp.Diff(want, problem); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	solution, _ := n.resolve(a, nil)
	n.plan(solution)
	if got := chosen(n.resolve(other, nil)); got != "bar.v1.0.0" {
		t.Errorf("other: %s; want it to use the plan of an older Subscription", got)
	}
	adopted := csv("foo.v1.0.0", "Succeeded")
	n = namespaceWith(offered, a, adopted)
	if got := chosen(n.resolve(a, adopted)); got != "foo.v2.0.0>foo.v1.0.0" {
		t.Errorf("a: %s; want an update of the adopted CSV", got)
	}
}

// TestPlannedReplaces verifies that a CSV that an older Subscription is about to replace is not present for the others.
func TestPlannedReplaces(t *testing.T) {
	old := stamped("foo", csv("foo.v1.0.0", "Succeeded"))
	foo, bar := subscribe("foo", "foo", 1), subscribe("bar", "bar", 2)
	n := namespaceWith(offer("foo.v1.0.0", "foo.v2.0.0", "bar.v1.0.0 needs foo <2.0.0"), foo, bar, old)
	solution, problem := n.resolve(foo, old)
	if got := chosen(solution, problem); got != "foo.v2.0.0>foo.v1.0.0" {
		t.Fatalf("foo: %s", got)
	}
	n.plan(solution)
	if got := chosen(n.resolve(bar, nil)); got == "bar.v1.0.0" {
		t.Errorf("bar: %s, which needs foo.v1.0.0, although foo.v2.0.0 is about to replace it", got)
	}
}

// TestPlanOfExisting verifies that an existing CSV is not planned as well.
func TestPlanOfExisting(t *testing.T) {
	n := namespaceWith(offer(), csv("foo.v1.0.0", "Installing"))
	n.plan(solutionOf("foo.v1.0.0", "etcd.v1.0.0"))
	if len(n.planned) != 1 || n.planned[0].Name != "etcd.v1.0.0" || !n.planned[0].Planned {
		t.Errorf("planned %+v; want etcd alone", n.planned)
	}
}

// TestPlanOfDependency verifies that the Subscription of a dependency refers to the plan of its dependent, which
// installed it.
func TestPlanOfDependency(t *testing.T) {
	sub := subscribe("foo-stable", "foo", 1)
	head := csv("foo.v1.0.0", olm.CSVPhaseSucceeded)
	head.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: "install-bar"}
	sub.Status.CurrentCSV, sub.Status.InstalledCSV = head.Name, head.Name
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "install-bar"}}
	plan.Spec.ClusterServiceVersionNames = []string{"bar.v1.0.0", head.Name}
	plan.Status.Phase = olm.InstallPlanPhaseComplete
	r := &Reconciler{Now: time.Now}
	got := subscriptionstatus.Compute(r.inputs(namespaceWith(offer(), sub, head, plan), sub, &result{head: head}, nil))
	if got.InstallPlanRef == nil || got.InstallPlanRef.Name != plan.Name || got.Install == nil {
		t.Errorf("the plan is %v", got.InstallPlanRef)
	}
}

func TestMayMoveOn(t *testing.T) {
	for phase, want := range map[olm.ClusterServiceVersionPhase]struct{ normal, failForward bool }{
		"":           {false, false},
		"Pending":    {false, false},
		"Installing": {false, false},
		"Succeeded":  {true, true},
		"Failed":     {false, true},
		"Replacing":  {false, false}, // it never ran
		"Deleting":   {false, false},
	} {
		n := &namespace{}
		if got := n.mayMoveOn(csv("foo.v1.0.0", phase)); got != want.normal {
			t.Errorf("%q: %t; want %t", phase, got, want.normal)
		}
		n.failForward = true
		if got := n.mayMoveOn(csv("foo.v1.0.0", phase)); got != want.failForward {
			t.Errorf("%q with failForward: %t; want %t", phase, got, want.failForward)
		}
	}
	if n := (&namespace{}); !n.mayMoveOn(nil) {
		t.Error("a first install must not wait")
	}
	inherited := csv("foo.v1.0.0", "Pending")
	inherited.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: "Succeeded"}, {Phase: "Pending"}}
	if n := (&namespace{}); !n.mayMoveOn(inherited) {
		t.Error("a version that OLM installed waits for a grant that only the next version brings")
	}
	inherited.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: "install-foo"}
	if n := (&namespace{}); n.mayMoveOn(inherited) {
		t.Error("a version of the loops is updated although its requirements are not met")
	}
}

func TestDeleted(t *testing.T) {
	sub := func(installed, plan string) *v1alpha1.Subscription {
		out := subscribe("foo", "foo", 1)
		out.Status.InstalledCSV = installed
		if plan != "" {
			out.Status.InstallPlanRef = &corev1.ObjectReference{Name: plan}
		}
		return out
	}
	n := namespaceWith(offer(), planned("install-1", nil, "Complete", "foo.v1.0.0"))
	head := csv("foo.v1.0.0", "Succeeded")
	cases := map[string]struct {
		reason string
		sub    *v1alpha1.Subscription
		head   *v1alpha1.ClusterServiceVersion
		want   bool
	}{
		"FirstInstall": {"A CSV is not deleted before the first installation.", sub("", ""), nil, false},
		"NotYetThere":  {"A CSV is not deleted if its plan has not created it yet.", sub("", "install-1"), nil, false},
		"There":        {"A CSV that exists is not deleted.", sub("foo.v1.0.0", "install-1"), head, false},
		"Deleted":      {"A CSV that a user deleted is not installed again while its plan exists.", sub("foo.v1.0.0", "install-1"), nil, true},
		"Both":         {"A CSV does not count as deleted if its plan was deleted, too.", sub("foo.v1.0.0", "install-2"), nil, false},
		"NoPlan":       {"A CSV does not count as deleted if the Subscription has no plan.", sub("foo.v1.0.0", ""), nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := n.deleted(tc.sub, tc.head); got != tc.want {
				t.Errorf("%s\ngot %t; want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestBegun(t *testing.T) {
	foo, other := subscribe("foo", "foo", 1), subscribe("other", "bar", 1)
	const a, b, c = "foo.v1.0.0", "etcd.v1.0.0", "bar.v1.0.0"
	needed := csv(a, "Pending")
	needed.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: "needs", v1alpha1.AnnotationSubscription: foo.Name}
	cases := map[string]struct {
		reason string
		plan   *olm.InstallPlan
		wants  []string
		want   bool
	}{
		"Installing":    {"A plan that is being installed covers the solution.", planned("p", foo, "Installing", a, b), []string{a}, true},
		"Complete":      {"A complete plan covers the solution, even if its CSVs are not in the cache yet.", planned("p", foo, "Complete", a, b), []string{a}, true},
		"Failed":        {"A failed plan covers the solution, since a user has to repair or delete it.", planned("p", foo, "Failed", a), []string{a}, true},
		"NotBegun":      {"A plan that waits for approval can be replaced.", planned("p", foo, "RequiresApproval", a, b), []string{a}, false},
		"Planning":      {"A plan that is not resolved can be replaced.", planned("p", foo, "Planning", a, b), []string{a}, false},
		"Others":        {"A plan of another Subscription does not cover the solution.", planned("p", other, "Installing", a, b), []string{a}, false},
		"Nobodys":       {"A plan without an owner does not cover the solution.", planned("p", nil, "Installing", a, b), []string{a}, false},
		"Fewer":         {"A plan without a dependency of the solution does not cover it.", planned("p", foo, "Installing", a), []string{a, b}, false},
		"AsADependency": {"A plan of another Subscription that installed the CSV as a dependency does not cover the solution.", planned("p", foo, "Installing", c, a), []string{a}, false},
		"Needed": {"The plan of the dependent covers a dependency, as the annotations of its CSV show.",
			planned("needs", other, "Installing", c, a), []string{a}, true},
		"WithoutNames": {"A plan without CSV names does not cover the solution.", planned("p", foo, "Installing"), []string{a}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := namespaceWith(offer(), tc.plan, needed).approvedPlan(foo, solutionOf(tc.wants...)); (got != nil) != tc.want {
				t.Errorf("%s\ngot %v; want one: %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestHasInstalledCSV(t *testing.T) {
	from := func(plan string) *v1alpha1.ClusterServiceVersion {
		out := csv("foo.v1.0.0", "")
		out.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: plan}
		return out
	}
	p := planned("install-1", nil, "Complete", "etcd.v1.0.0", "foo.v1.0.0")
	for name, tc := range map[string]struct {
		reason  string
		objects []client.Object
		want    bool
	}{
		"Installed":     {"The plan installed the ClusterServiceVersion.", []client.Object{from("install-1")}, true},
		"ByAnother":     {"Another plan installed it.", []client.Object{from("install-2")}, false},
		"ByUser":        {"A user created it.", []client.Object{csv("foo.v1.0.0", "")}, false},
		"NotInPlan":     {"The plan does not name the ClusterServiceVersion that exists.", []client.Object{csv("bar.v1.0.0", "")}, false},
		"AllAreDeleted": {"None of its ClusterServiceVersions exists.", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := namespaceWith(offer(), tc.objects...).hasInstalledCSV(p); got != tc.want {
				t.Errorf("%s\ngot %t; want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// reconcilerWith returns a Reconciler that appends the names of the objects it deletes to deletes.
func reconcilerWith(t *testing.T, deletes *[]string, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypes(v1alpha1.GroupVersion, &olm.InstallPlan{}, &olm.InstallPlanList{}, &olm.CatalogSource{}, &olm.CatalogSourceList{})
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			*deletes = append(*deletes, o.GetName())
			in := (&client.DeleteOptions{}).ApplyOptions(options)
			if in.Preconditions == nil || in.Preconditions.UID == nil || in.Preconditions.ResourceVersion == nil {
				t.Errorf("%s is deleted without the UID and resourceVersion that were read", o.GetName())
			}
			return c.Delete(ctx, o)
		},
	}).Build()
	return &Reconciler{Client: c, Reader: c, GlobalNamespace: "olm"}
}

func TestDiscard(t *testing.T) {
	foo, other := subscribe("foo", "foo", 1), subscribe("other", "bar", 1)
	installed := csv("foo.v1.0.0", "Succeeded")
	installed.Annotations = map[string]string{v1alpha1.AnnotationInstallPlan: "of-the-installed"}
	wanted := planned("wanted", foo, "RequiresApproval", "foo.v3.0.0")
	plans := []client.Object{
		wanted,
		planned("waiting", foo, "RequiresApproval", "foo.v2.0.0"),
		planned("unresolved", foo, "Planning", "foo.v2.0.0"),
		planned("nothing-left", foo, "Complete", "foo.v0.0.1"),
		planned("failed", foo, "Failed", "foo.v0.0.2"),
		planned("under-way", foo, "Installing", "foo.v2.0.0"),
		planned("of-the-installed", foo, "Complete", "foo.v1.0.0"),
		planned("others", other, "RequiresApproval", "bar.v1.0.0"),
		planned("a-persons", nil, "RequiresApproval", "foo.v2.0.0"),
		with(planned("without-rights", foo, "Installing", "foo.v2.0.0"),
			olm.InstallPlanCondition{Type: olm.InstallPlanInstalled, Status: "False", Reason: "Forbidden"}),
	}
	for name, tc := range map[string]struct {
		wanted *olm.InstallPlan
		want   []string
	}{
		"Overtaken":     {wanted, []string{"failed", "nothing-left", "unresolved", "waiting", "without-rights"}},
		"NothingWanted": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var deletes []string
			r := reconcilerWith(t, &deletes, plans...)
			n := namespaceWith(offer(), append(plans, installed)...)
			if err := r.discard(t.Context(), n, foo, tc.wanted); err != nil {
				t.Fatal(err)
			}
			slices.Sort(deletes)
			if diff := cmp.Diff(tc.want, deletes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if left := len(n.plans); left != len(plans)-len(tc.want) {
				t.Errorf("%d plans are left in memory: %v", left, slices.Sorted(maps.Keys(n.plans)))
			}
		})
	}
}

func TestEnsure(t *testing.T) {
	foo := subscribe("foo", "foo", 1)
	solution := solutionOf("foo.v1.0.0")
	name := planFor([]*v1alpha1.Subscription{foo}, solution).Name
	ensured := func(t *testing.T, n *namespace, there ...client.Object) (string, []string) {
		t.Helper()
		var deletes []string
		r := reconcilerWith(t, &deletes, there...)
		got, err := r.ensure(t.Context(), n, foo, &result{solution: solution, owners: []*v1alpha1.Subscription{foo}})
		if err != nil {
			t.Fatal(err)
		}
		list := &olm.InstallPlanList{}
		if err := r.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, p := range list.Items {
			all = append(all, p.Name)
		}
		return got.Name, all
	}
	t.Run("Made", func(t *testing.T) {
		n := namespaceWith(offer())
		if got, all := ensured(t, n); got != name || !slices.Equal(all, []string{name}) || n.plans[name] == nil {
			t.Errorf("%s of %v", got, all)
		}
	})
	t.Run("IsThere", func(t *testing.T) {
		there := planned(name, foo, "Complete", "foo.v1.0.0")
		if got, all := ensured(t, namespaceWith(offer(), there), there); got != name || len(all) != 1 {
			t.Errorf("%s of %v", got, all)
		}
	})
	t.Run("MadeBeforeWeWereCutOff", func(t *testing.T) {
		if got, all := ensured(t, namespaceWith(offer()), planned(name, foo, "", "foo.v1.0.0")); got != name || len(all) != 1 {
			t.Errorf("%s of %v; want the one that is not in the cache yet", got, all)
		}
	})
	t.Run("Deleted", func(t *testing.T) {
		foo.Status.InstallPlanRef = &corev1.ObjectReference{Name: name, UID: "uid-deleted"}
		defer func() { foo.Status.InstallPlanRef = nil }()
		n := namespaceWith(offer())
		again, all := ensured(t, n)
		if again == name || len(all) != 1 {
			t.Errorf("%s of %v; want a name other than that of the deleted one", again, all)
		}
		if got, _ := ensured(t, n, n.plans[again]); got != again {
			t.Errorf("%s; want %s, which exists", got, again)
		}
		foo.Status.InstallPlanRef = &corev1.ObjectReference{Name: again, UID: n.plans[again].UID}
		if got, _ := ensured(t, n, n.plans[again]); got != again {
			t.Errorf("with the reference in the status: %s; want %s, which exists", got, again)
		}
	})
	t.Run("NotInTheCacheYet", func(t *testing.T) {
		there := planned(name, foo, "", "foo.v1.0.0")
		foo.Status.InstallPlanRef = &corev1.ObjectReference{Name: name, UID: there.UID}
		defer func() { foo.Status.InstallPlanRef = nil }()
		if got, all := ensured(t, namespaceWith(offer()), there); got != name || len(all) != 1 {
			t.Errorf("%s of %v; want the one of the API server", got, all)
		}
	})
	t.Run("Begun", func(t *testing.T) {
		there := planned("install-earlier", foo, "Installing", "foo.v1.0.0", "etcd.v1.0.0")
		if got, all := ensured(t, namespaceWith(offer(), there), there); got != "install-earlier" || len(all) != 1 {
			t.Errorf("%s of %v; want the one that is being installed", got, all)
		}
	})
}

func with(plan *olm.InstallPlan, conditions ...olm.InstallPlanCondition) *olm.InstallPlan {
	plan.Status.Conditions = conditions
	return plan
}

func TestDecisionOf(t *testing.T) {
	held := func(status string) olm.InstallPlanCondition {
		return olm.InstallPlanCondition{Type: v1alpha1.ConditionUpgradeHeld, Status: "True", Reason: "ProbeNotUpgradeable", Message: status}
	}
	released := held("")
	released.Status = "False"
	want := gate.Decision{Held: true, Reason: "ProbeNotUpgradeable", Message: "busy"}
	for name, tc := range map[string]struct {
		plan *olm.InstallPlan
		want gate.Decision
	}{
		"NoPlan":     {nil, gate.Decision{}},
		"NotSaid":    {planned("p", nil, "RequiresApproval"), gate.Decision{}},
		"Held":       {with(planned("p", nil, "RequiresApproval"), held("busy")), want},
		"Released":   {with(planned("p", nil, "RequiresApproval"), released), gate.Decision{}},
		"Installing": {with(planned("p", nil, "Installing"), held("busy")), gate.Decision{}},
		"Complete":   {with(planned("p", nil, "Complete"), held("busy")), gate.Decision{}},
	} {
		if diff := cmp.Diff(tc.want, decisionOf(tc.plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUnresolvedPlan(t *testing.T) {
	resolved := func(status string) olm.InstallPlanCondition {
		out := olm.InstallPlanCondition{Type: olm.InstallPlanResolved, Reason: "BundleInvalid", Message: "It is no YAML"}
		out.Status = "True"
		if status == "False" {
			out.Status = "False"
		}
		return out
	}
	want := &resolve.Problem{Reason: "BundleInvalid", Message: "It is no YAML"}
	for name, tc := range map[string]struct {
		plan *olm.InstallPlan
		want *resolve.Problem
	}{
		"NoPlan":     {nil, nil},
		"New":        {planned("p", nil, ""), nil},
		"Unresolved": {with(planned("p", nil, "Planning"), resolved("False")), want},
		"Resolved":   {with(planned("p", nil, "RequiresApproval"), resolved("True")), nil},
		"Later":      {with(planned("p", nil, "Installing"), resolved("False")), nil},
	} {
		if diff := cmp.Diff(tc.want, unresolvedPlan(tc.plan)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSources verifies that a namespace sees its own CatalogSources and the global ones, each once.
func TestSources(t *testing.T) {
	source := func(namespace, name string) client.Object {
		return &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	there := []client.Object{source("olm", "community"), source("olm", "unread"), source("default", "own"), source("elsewhere", "others")}
	for namespace, want := range map[string][]string{
		"default": {"default/own false", "olm/community true", "olm/unread false"},
		"olm":     {"olm/community true", "olm/unread false"},
	} {
		var deletes []string
		all, err := reconcilerWith(t, &deletes, there...).sources(t.Context(), namespace,
			[]catalog.Catalog{offer(), {Key: types.NamespacedName{Namespace: "olm", Name: "unread"}}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			got = append(got, fmt.Sprintf("%s/%s %t", s.Namespace, s.Name, s.Read))
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}
}

// TestStands verifies that a problem is not rewritten until all catalogs have been read, since its message depends on
// their contents.
func TestStands(t *testing.T) {
	problem := &resolve.Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable}
	got := subscribe("foo", "foo", 1)
	got.Status.SetCondition(v1alpha1.SubscriptionCondition{Type: v1alpha1.SubscriptionResolutionFailed, Status: "True", Reason: problem.Reason})
	read := offer("foo.v1.0.0")
	read.Tried = true
	unread := catalog.Catalog{Key: types.NamespacedName{Namespace: "olm", Name: "unread"}}
	for name, tc := range map[string]struct {
		reason   string
		sub      *v1alpha1.Subscription
		catalogs []catalog.Catalog
		problem  *resolve.Problem
		want     bool
	}{
		"Unread":  {"A problem is kept while a catalog is unread, since that may have the missing package.", got, []catalog.Catalog{read, unread}, problem, true},
		"AllRead": {"A problem is replaced once all catalogs have been read.", got, []catalog.Catalog{read}, problem, false},
		"New":     {"A first problem is reported although a catalog is unread.", subscribe("foo", "foo", 1), []catalog.Catalog{read, unread}, problem, false},
		"Another": {"A problem with another reason is reported although a catalog is unread.",
			got, []catalog.Catalog{read, unread}, &resolve.Problem{Reason: v1alpha1.ReasonPackageNotFound}, false},
		"None": {"A solved problem is removed although a catalog is unread.", got, []catalog.Catalog{read, unread}, nil, false},
	} {
		if got := (&namespace{catalogs: tc.catalogs}).stands(tc.sub, tc.problem); got != tc.want {
			t.Errorf("%s: %v. %s", name, got, tc.reason)
		}
	}
}

// TestResolveAll verifies the resolution of Subscriptions that depend on each other and on existing CSVs.
func TestResolveAll(t *testing.T) {
	stampedBy := func(plan string, c *v1alpha1.ClusterServiceVersion) *v1alpha1.ClusterServiceVersion {
		c.Annotations[v1alpha1.AnnotationInstallPlan] = plan
		return c
	}
	needing := func(c *v1alpha1.ClusterServiceVersion, pkg, versions string) *v1alpha1.ClusterServiceVersion {
		required := property.MustBuildPackageRequired(pkg, versions)
		own, _, _ := strings.Cut(c.Name, ".v")
		text, err := json.Marshal(map[string]any{"properties": []property.Property{property.MustBuildPackage(own, "1.0.0"), required}})
		if err != nil {
			t.Fatal(err)
		}
		c.Annotations["operatorframework.io/properties"] = string(text)
		return c
	}
	installed := func(name, pkg, csv string) *v1alpha1.Subscription {
		out := subscribe(name, pkg, 1)
		out.Status.CurrentCSV, out.Status.InstalledCSV = csv, csv
		return out
	}
	replacing := stamped("foo", csv("foo.v1.0.0", olm.CSVPhaseReplacing))
	replacing.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: olm.CSVPhaseSucceeded}}
	incompleteCSV := func() *v1alpha1.ClusterServiceVersion {
		out := stampedBy("install-1", stamped("foo", csv("foo.v2.0.0", olm.CSVPhasePending)))
		out.Spec.Replaces = "foo.v1.0.0"
		return out
	}
	withStarted := func(csv *v1alpha1.ClusterServiceVersion) *v1alpha1.ClusterServiceVersion {
		csv.Status.Phase = olm.CSVPhaseFailed
		csv.Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: olm.CSVPhaseInstalling}}
		return csv
	}
	other := installed("foo", "bar", "foo.v1.0.0")
	for name, tc := range map[string]struct {
		reason     string
		offered    catalog.Catalog
		there      []client.Object
		incomplete []string
		want       map[string]string // by Subscription: the installs, the next CSV and the number of owners
	}{
		"LockStep": {
			reason:  "Packages that are pinned to each other's version are updated in one plan.",
			offered: offer("odf.v1.0.0 needs ocs 1.0.0", "odf.v1.1.0 needs ocs 1.1.0", "ocs.v1.0.0", "ocs.v1.1.0"),
			there: []client.Object{installed("odf", "odf", "odf.v1.0.0"), installed("ocs", "ocs", "ocs.v1.0.0"),
				needing(stamped("odf", csv("odf.v1.0.0", "Succeeded")), "ocs", "1.0.0"), stamped("ocs", csv("ocs.v1.0.0", "Succeeded"))},
			want: map[string]string{
				"odf": "odf.v1.1.0>odf.v1.0.0 ocs.v1.1.0>ocs.v1.0.0 next odf.v1.1.0 for 2",
				"ocs": "odf.v1.1.0>odf.v1.0.0 ocs.v1.1.0>ocs.v1.0.0 next ocs.v1.1.0 for 2",
			},
		},
		"LockStepBesideBlocked": {
			reason: "A Subscription that cannot be updated does not block others that depend on each other's version.",
			offered: offer("a.v1.0.0 needs b 1.0.0", "a.v1.1.0 needs b 1.1.0", "b.v1.0.0 needs c 1.0.0", "b.v1.1.0 needs c 1.1.0", "c.v1.0.0", "c.v1.1.0",
				"lone.v1.0.0", "lone.v1.1.0 needs nothing 1.0.0"),
			there: []client.Object{
				installed("lone", "lone", "lone.v1.0.0"), stamped("lone", csv("lone.v1.0.0", "Succeeded")),
				installed("a", "a", "a.v1.0.0"), needing(stamped("a", csv("a.v1.0.0", "Succeeded")), "b", "1.0.0"),
				installed("b", "b", "b.v1.0.0"), needing(stamped("b", csv("b.v1.0.0", "Succeeded")), "c", "1.0.0"),
				installed("c", "c", "c.v1.0.0"), stamped("c", csv("c.v1.0.0", "Succeeded")),
			},
			want: map[string]string{
				"a":    "a.v1.1.0>a.v1.0.0 b.v1.1.0>b.v1.0.0 c.v1.1.0>c.v1.0.0 next a.v1.1.0 for 3",
				"b":    "a.v1.1.0>a.v1.0.0 b.v1.1.0>b.v1.0.0 c.v1.1.0>c.v1.0.0 next b.v1.1.0 for 3",
				"c":    "a.v1.1.0>a.v1.0.0 b.v1.1.0>b.v1.0.0 c.v1.1.0>c.v1.0.0 next c.v1.1.0 for 3",
				"lone": "ConstraintsNotSatisfiable next  for 1, not now",
			},
		},
		"Incomplete": {
			reason:  "A CSV that its plan left incomplete is installed again as an update of the running CSV.",
			offered: offer("foo.v1.0.0", "foo.v2.0.0"), incomplete: []string{"foo.v2.0.0"},
			there: []client.Object{installed("foo", "foo", "foo.v1.0.0"), replacing, incompleteCSV()},
			want:  map[string]string{"foo": "foo.v2.0.0>foo.v1.0.0 next foo.v2.0.0 for 1"},
		},
		"BeingWritten": {
			reason:  "A newer version is not planned while the plan of a CSV is being written.",
			offered: offer("foo.v1.0.0", "foo.v2.0.0"), incomplete: []string{"foo.v2.0.0"},
			there: []client.Object{installed("foo", "foo", "foo.v1.0.0"), replacing, incompleteCSV(),
				planned("install-1", installed("foo", "foo", ""), "Installing", "foo.v2.0.0")},
			want: map[string]string{"foo": "foo.v2.0.0>foo.v1.0.0 next foo.v2.0.0 for 1, not now"},
		},
		"NeverRan": {
			reason:  "A CSV that never ran is skipped by a version that can update the running one.",
			offered: offer("foo.v1.0.0", "foo.v2.0.0", "foo.v3.0.0 skips foo.v1.0.0"),
			there:   []client.Object{installed("foo", "foo", "foo.v1.0.0"), replacing, incompleteCSV(), planned("install-1", installed("foo", "foo", ""), "Complete", "foo.v2.0.0")},
			want:    map[string]string{"foo": "foo.v3.0.0>foo.v2.0.0 next foo.v3.0.0 for 1"},
		},
		"NeverRanNoWayAround": {
			reason:  "A CSV that never ran is not skipped by a version that cannot update the running one.",
			offered: offer("foo.v1.0.0", "foo.v2.0.0", "foo.v3.0.0"),
			there:   []client.Object{installed("foo", "foo", "foo.v1.0.0"), replacing, incompleteCSV(), planned("install-1", installed("foo", "foo", ""), "Complete", "foo.v2.0.0")},
			want:    map[string]string{"foo": "foo.v3.0.0>foo.v2.0.0 next foo.v3.0.0 for 1, not now"},
		},
		"BegunButFailed": {
			reason:  "A CSV whose installation has started is not skipped, since the running version may have been deleted.",
			offered: offer("foo.v1.0.0", "foo.v2.0.0", "foo.v3.0.0 skips foo.v1.0.0"),
			there: []client.Object{installed("foo", "foo", "foo.v1.0.0"), replacing, withStarted(incompleteCSV()),
				planned("install-1", installed("foo", "foo", ""), "Complete", "foo.v2.0.0")},
			want: map[string]string{"foo": "foo.v3.0.0>foo.v2.0.0 next foo.v3.0.0 for 1, not now"},
		},
		"AnotherPackage": {
			reason:  "A Subscription whose package changed installs the new package beside the previous one.",
			offered: offer("foo.v1.0.0", "bar.v1.0.0"),
			there:   []client.Object{other, stamped("foo", csv("foo.v1.0.0", "Succeeded")), planned("install-1", other, "Complete", "foo.v1.0.0")},
			want:    map[string]string{"foo": "bar.v1.0.0 next bar.v1.0.0 for 1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := namespaceWith(tc.offered, tc.there...)
			n.catalogs[0].Tried = true
			for _, name := range tc.incomplete {
				n.incomplete[name] = true
			}
			n.newest = presentOf(n.csvs, n.incomplete)
			n.resolveAll()
			got := map[string]string{}
			for sub, res := range n.results {
				got[sub] = chosen(res.solution, res.problem) + fmt.Sprintf(" next %s for %d", res.next, len(res.owners))
				if !res.wanted {
					got[sub] += ", not now"
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
