package surroundings

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

func cluster(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, operatorsv1.AddToScheme, v1alpha1.AddToScheme, apiextensions.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func group(namespace, name string, targets ...string) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: targets},
	}
}

func namespace(name, team string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
}

func TestGroup(t *testing.T) {
	elsewhere := group("elsewhere", "global")
	cases := map[string]struct {
		reason  string
		there   []client.Object
		want    string
		problem *resolve.Problem
	}{
		"None": {
			reason: "One in another namespace says nothing of this one.",
			there:  []client.Object{elsewhere},
			problem: &resolve.Problem{Reason: "OperatorGroupMissing", Message: "Namespace default has no OperatorGroup, " +
				"which says what namespaces its operators look after: create one"},
		},
		"One": {
			reason: "There is one, so that is it.",
			there:  []client.Object{elsewhere, group("default", "mine")},
			want:   "mine",
		},
		"Two": {
			reason: "Nobody knows which: both are named, always in the same order.",
			there:  []client.Object{group("default", "b"), group("default", "a")},
			problem: &resolve.Problem{Reason: "TooManyOperatorGroups", Message: "Namespace default has 2 OperatorGroups and may have one: " +
				"delete all but one of a, b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problem, err := Group(t.Context(), cluster(t, tc.there...), "default")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.problem, problem); diff != "" {
				t.Errorf("%s\nproblem (-want +got):\n%s", tc.reason, diff)
			}
			if (got == nil) != (tc.want == "") || got != nil && got.Name != tc.want {
				t.Errorf("%s\ngot %v; want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestTargets(t *testing.T) {
	selecting := func(s *metav1.LabelSelector, targets ...string) *operatorsv1.OperatorGroup {
		out := group("default", "mine", targets...)
		out.Spec.Selector = s
		return out
	}
	blue := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}
	cases := map[string]struct {
		reason string
		group  *operatorsv1.OperatorGroup
		want   []string
	}{
		"All":           {"A group that names none looks after all.", group("default", "mine"), []string{""}},
		"EmptySelector": {"So does one whose selector says nothing.", selecting(&metav1.LabelSelector{}), []string{""}},
		"List":          {"Namespaces are told sorted and once, be they there or not.", group("default", "mine", "c", "a", "c", "b"), []string{"a", "b", "c"}},
		"Selector":      {"Labels select those that carry them.", selecting(blue), []string{"ns-1", "ns-3"}},
		"Expressions": {"Expressions do so too.", selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"blue"}},
		}}), []string{"ns-2"}},
		"ListBeatsSelector": {"Names that are given go before labels.", selecting(blue, "ns-2"), []string{"ns-2"}},
		"SelectsNone":       {"None is none, and never all.", selecting(&metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}), nil},
		"InvalidSelector": {"What makes no sense selects none, and never all.", selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "team", Operator: "Near", Values: []string{"blue"}},
		}}), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.group.DeepCopy()
			c := cluster(t, namespace("ns-3", "blue"), namespace("ns-2", "green"), namespace("ns-1", "blue"))
			got, err := Targets(t.Context(), c, tc.group)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, tc.group); diff != "" {
				t.Errorf("The group was changed:\n%s", diff)
			}
		})
	}
}

func TestCSVs(t *testing.T) {
	copied := csv("copied", "", "Succeeded")
	copied.Labels = map[string]string{olm.CopiedLabelKey: "elsewhere"}
	reason := csv("reason", "", "Succeeded")
	reason.Status.Reason = olm.CSVReasonCopied
	other := csv("other", "", "Succeeded")
	other.Namespace = "elsewhere"
	got, err := CSVs(t.Context(), cluster(t, csv("own", "", ""), copied, reason, other), "default")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got["own"] == nil || got["own"].Name != "own" {
		t.Errorf("got %v; want own alone: copies are those of another namespace", got)
	}
}

func csv(name, replaces string, phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	out.Spec.Replaces = replaces
	out.Status.Phase = phase
	return out
}

// chain is made of words such as "v2>v1:Succeeded": v2, which replaces v1 and has Succeeded.
func chain(words ...string) map[string]*v1alpha1.ClusterServiceVersion {
	out := map[string]*v1alpha1.ClusterServiceVersion{}
	for _, word := range words {
		names, phase, _ := strings.Cut(word, ":")
		name, replaces, _ := strings.Cut(names, ">")
		phase, ran, _ := strings.Cut(phase, " ")
		out[name] = csv(name, replaces, olm.ClusterServiceVersionPhase(phase))
		if ran == "ran" {
			out[name].Status.LastTransitions = []v1alpha1.ClusterServiceVersionTransition{{Phase: "Succeeded"}, {Phase: olm.ClusterServiceVersionPhase(phase)}}
		}
	}
	return out
}

func TestNewest(t *testing.T) {
	cases := map[string]struct {
		reason string
		csvs   map[string]*v1alpha1.ClusterServiceVersion
		want   []string
	}{
		"None":           {"There is none.", nil, nil},
		"Chain":          {"The end of a chain.", chain("v1", "v2>v1", "v3>v2"), []string{"v3"}},
		"Several":        {"One for each chain, by name.", chain("b2>b1", "b1", "a1"), []string{"a1", "b2"}},
		"ReplacesItself": {"One that replaces itself replaces nobody.", chain("v1>v1"), []string{"v1"}},
		"ReplacesAbsent": {"What it replaces need not be there.", chain("v2>v1"), []string{"v2"}},
		"TwoReplaceOne":  {"Two may replace one: neither is replaced.", chain("v1", "v2a>v1", "v2b>v1"), []string{"v2a", "v2b"}},
		"Cycle":          {"In a circle none is the newest; what is beside it is.", chain("v1>v2", "v2>v1", "w1"), []string{"w1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, c := range Newest(tc.csvs) {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRunning(t *testing.T) {
	cases := map[string]struct {
		reason string
		csvs   map[string]*v1alpha1.ClusterServiceVersion
		from   string
		want   string
	}{
		"FirstInstall":    {"Nothing is replaced.", chain("v1:Pending"), "", ""},
		"Gone":            {"What was replaced is there no more.", chain("v2>v1:Pending"), "v1", ""},
		"Succeeded":       {"It does the work.", chain("v1:Succeeded", "v2>v1"), "v1", "v1"},
		"Replacing":       {"It does the work until it is replaced.", chain("v1:Replacing"), "v1", "v1"},
		"Deleting":        {"It did the work, and nobody has taken its place.", chain("v1:Deleting"), "v1", "v1"},
		"FailedNow":       {"What ran once is what runs, be it unwell.", chain("v1:Failed ran", "v0:Succeeded"), "v1", "v1"},
		"SkipsTheUnrun":   {"One that never ran holds nothing: what it was to replace does.", chain("v1:Replacing", "v2>v1:Failed", "v3>v2:Pending"), "v3", "v1"},
		"NoneRan":         {"Where none ever ran, the oldest that is there.", chain("v1:Failed", "v2>v1:Failed"), "v2", "v1"},
		"ReplacesItself":  {"One that replaces itself is looked at once.", chain("v1>v1:Failed"), "v1", "v1"},
		"Cycle":           {"A circle is gone round once.", chain("v1>v3:Failed", "v2>v1:Failed", "v3>v2:Failed"), "v3", "v1"},
		"CycleWithOneRan": {"A circle is left where one ran.", chain("v1>v3:Replacing", "v2>v1:Failed", "v3>v2:Failed"), "v3", "v1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if c := Running(tc.csvs, tc.from); c != nil {
				got = c.Name
			}
			if got != tc.want {
				t.Errorf("%s\ngot %q; want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestRunningOfAnything: whatever replaces whatever, both end, and agree with what is there.
func TestRunningOfAnything(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	phases := []string{"", "Pending", "Failed", "Failed ran", "Replacing", "Succeeded"}
	for range 2000 {
		n := random.IntN(6)
		var words []string
		for i := range n {
			words = append(words, fmt.Sprintf("v%d>v%d:%s", i, random.IntN(7), phases[random.IntN(len(phases))]))
		}
		csvs := chain(words...)
		for _, c := range Newest(csvs) {
			for _, other := range csvs {
				if other.Spec.Replaces == c.Name && other.Name != c.Name {
					t.Fatalf("seed %d: %s is the newest of %v, though %s replaces it", seed, c.Name, words, other.Name)
				}
			}
		}
		from := fmt.Sprintf("v%d", random.IntN(7))
		running := Running(csvs, from)
		if (running == nil) != (csvs[from] == nil) {
			t.Fatalf("seed %d: going back from %s in %v, %v runs", seed, from, words, running)
		}
		if running != nil && Ran(csvs[from]) && running.Name != from {
			t.Fatalf("seed %d: %s has run, yet of %v %s runs", seed, from, words, running.Name)
		}
	}
}

func TestInstalled(t *testing.T) {
	full := csv("vault.v1.2.3", "", "")
	full.Spec.Version.Version = semver.MustParse("1.2.3")
	full.Spec.CustomResourceDefinitions = olm.CustomResourceDefinitions{
		Owned: []olm.CRDDescription{
			{Name: "vaults.security.example.com", Version: "v1", Kind: "Vault"},
			{Name: "nodot", Version: "v1", Kind: "Nonsense"},
		},
		Required: []olm.CRDDescription{{Name: "etcds.example.com", Version: "v1", Kind: "Etcd"}},
	}
	bare := resolve.Installed{
		Name: "vault.v1.2.3", Version: semver.MustParse("1.2.3"),
		Provides: []property.GVK{{Group: "security.example.com", Version: "v1", Kind: "Vault"}},
	}
	needs := property.Property{Type: property.TypePackageRequired, Value: json.RawMessage(`{"packageName":"etcd","versionRange":"1.x"}`)}
	named := property.Property{Type: property.TypePackage, Value: json.RawMessage(`{"packageName":"vault","version":"1.2.3"}`)}
	unreadable := property.Property{Type: property.TypePackage, Value: json.RawMessage(`"vault"`)}
	with := func(pkg string, properties ...property.Property) resolve.Installed {
		out := bare
		out.Package, out.Properties = pkg, properties
		return out
	}
	stamp := func(properties ...property.Property) string {
		data, err := json.Marshal(map[string]any{"properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cases := map[string]struct {
		reason     string
		annotation *string
		want       resolve.Installed
	}{
		"Unstamped":         {"What was applied by hand tells what it provides, and not whose it is.", nil, bare},
		"Stamped":           {"What a plan stamped tells its package and its needs.", new(stamp(named, needs)), with("vault", named, needs)},
		"WithoutAPackage":   {"Needs are told without a package, too.", new(stamp(needs)), with("", needs)},
		"UnreadablePackage": {"A package that cannot be read is not known.", new(stamp(unreadable, needs)), with("", unreadable, needs)},
		"Garbage":           {"An annotation that is no JSON is none.", new("{"), bare},
		"Empty":             {"Nor is an empty one.", new(""), bare},
		"Null":              {"No properties are none.", new(`{"properties":null}`), bare},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := full.DeepCopy()
			if tc.annotation != nil {
				in.Annotations = map[string]string{AnnotationProperties: *tc.annotation}
			}
			if diff := cmp.Diff(tc.want, Installed(in)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOnCluster(t *testing.T) {
	crd := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensions.CustomResourceDefinitionNames{Kind: "Foo"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{Name: "v1", Served: true}, {Name: "v1beta1"}, {Name: "v2", Served: true}},
		},
	}
	got, err := OnCluster(t.Context(), cluster(t, crd))
	if err != nil {
		t.Fatal(err)
	}
	want := []property.GVK{{Group: "example.com", Version: "v1", Kind: "Foo"}, {Group: "example.com", Version: "v2", Kind: "Foo"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("A version that is not served serves nobody (-want +got):\n%s", diff)
	}
}
