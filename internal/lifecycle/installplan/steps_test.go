package installplan

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// lines tells steps in one line each.
func lines(steps []*olm.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, fmt.Sprintf("%s/%s %s/%s/%s %s %s/%s", s.Resolving, s.Status,
			s.Resource.Group, s.Resource.Version, s.Resource.Kind, s.Resource.Name,
			s.Resource.CatalogSourceNamespace, s.Resource.CatalogSource))
	}
	return out
}

func TestSteps(t *testing.T) {
	const (
		config     = "foo.v1/Unknown /v1/ConfigMap foo olm/community"
		other      = "foo.v1/Unknown /v1/ConfigMap bar olm/community"
		definition = "foo.v1/Unknown apiextensions.k8s.io/v1/CustomResourceDefinition foos.example.com olm/community"
		version    = "foo.v1/Unknown operators.coreos.com/v1alpha1/ClusterServiceVersion foo.v1 olm/community"
	)
	cases := map[string]struct {
		reason  string
		bundles []Bundle
		want    []string
	}{
		"None": {reason: "Nothing takes no step."},
		"FirstInstall": {"The definitions come first, since the operator needs them; the rest as the bundle has it.",
			[]Bundle{bundle("foo.v1", "", configMap("foo"), csv("foo.v1"), configMap("bar"), crd())},
			[]string{definition, version, config, other}},
		"Update": {"That the old one is replaced is known before anything else changes.",
			[]Bundle{bundle("foo.v1", "foo.v0", configMap("foo"), crd(), csv("foo.v1"), configMap("bar"))},
			[]string{version, definition, config, other}},
		"Dependency": {"One bundle is through before the next begins, whatever kind its objects are of.",
			[]Bundle{bundle("etcd.v1", "", configMap("etcd"), csv("etcd.v1")), bundle("foo.v1", "foo.v0", crd(), csv("foo.v1"))},
			[]string{
				"etcd.v1/Unknown operators.coreos.com/v1alpha1/ClusterServiceVersion etcd.v1 olm/community",
				"etcd.v1/Unknown /v1/ConfigMap etcd olm/community",
				version, definition,
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problem := Steps(runtime.NewScheme(), tc.bundles, plan(), scope("default"))
			if problem != nil {
				t.Fatal(problem.Message)
			}
			if diff := cmp.Diff(tc.want, lines(got)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStamp: a plan's ClusterServiceVersion says what it really replaces, whence it came and what it looks after.
func TestStamp(t *testing.T) {
	annotations := func(targets string) map[string]any {
		return map[string]any{
			"operatorframework.io/properties":  `{"properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}`,
			"operatorstatus.io/install-plan":   "install-1",
			"operatorstatus.io/subscription":   "foo",
			"operatorstatus.io/catalog-source": "olm/community",
			"olm.operatorGroup":                "mine",
			"olm.operatorNamespace":            "default",
			"olm.targetNamespaces":             targets,
		}
	}
	want := func(spec map[string]any, targets string) map[string]any {
		return map[string]any{
			"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
			"metadata": map[string]any{"name": "foo.v1", "namespace": "default", "annotations": annotations(targets)},
			"spec":     spec,
		}
	}
	const other = `{"apiVersion":"app.coreos.com/v1alpha1","kind":"ClusterServiceVersion",` +
		`"metadata":{"name":"foo.v1","namespace":"elsewhere","creationTimestamp":"2020-01-01T00:00:00Z","annotations":{"olm.targetNamespaces":"kube-system"}},` +
		`"spec":{"displayName":"Foo"},"status":{"phase":"Succeeded"}}`
	foo := map[string]any{"displayName": "Foo"}
	cases := map[string]struct {
		reason   string
		csv      *unstructured.Unstructured
		replaces string
		targets  []string
		want     map[string]any
	}{
		"Update": {"It replaces what is installed, whatever its author wrote: a skipRange skips.", csv("foo.v1"), "foo.v0.9", []string{"b", "a"},
			want(map[string]any{"displayName": "Foo", "replaces": "foo.v0.9"}, "a,b")},
		"FirstInstall": {"A first install replaces nothing, whatever its author wrote.", csv("foo.v1"), "", []string{""}, want(foo, "")},
		"Mended": {"A misspelt group, a namespace, a status and a claim about what it looks after are not taken over.",
			object(other), "", []string{"default"}, want(foo, "default")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.csv.DeepCopy()
			steps, problem := Steps(runtime.NewScheme(), []Bundle{bundle("foo.v1", tc.replaces, tc.csv)}, plan(), scope(tc.targets...))
			if problem != nil {
				t.Fatal(problem.Message)
			}
			got, err := Object(steps[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Object); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if steps[0].Resource.Group != "operators.coreos.com" {
				t.Errorf("the step is of group %s", steps[0].Resource.Group)
			}
			if diff := cmp.Diff(before, tc.csv); diff != "" {
				t.Errorf("The catalog's object, which is shared, was changed:\n%s", diff)
			}
		})
	}
}

// TestObject: what a step applies is what the catalog has, to the digit.
func TestObject(t *testing.T) {
	exact := object(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"foo"},
		"spec":{"large":9007199254740993,"most":9223372036854775807,"one":1,"half":0.5,"list":[1,null,"<>"],"empty":{}}}`)
	for name, filler := range map[string]int{"Plain": 0, "Compressed": maxManifest} {
		t.Run(name, func(t *testing.T) {
			padding := configMap("padding")
			padding.Object["data"] = map[string]any{"a": strings.Repeat("a", filler)}
			steps := stepsOf(t, "olm", csv("foo.v1"), exact, padding)
			if got := strings.HasPrefix(steps[1].Resource.Manifest, compressed); got != (filler > 0) {
				t.Fatalf("compressed: %t", got)
			}
			got, err := Object(steps[1])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(exact.Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectOfGarbage(t *testing.T) {
	for name, manifest := range map[string]string{
		"NoJSON":      "{",
		"Empty":       "",
		"NoBase64":    compressed + "!",
		"NoGzip":      compressed + "aGFsbG8=",
		"CutOff":      compressed + "H4sIAAAAAAAA",
		"NotAnObject": `"ConfigMap"`,
	} {
		t.Run(name, func(t *testing.T) {
			step := &olm.Step{Resolving: "foo.v1", Resource: olm.StepResource{Kind: "ConfigMap", Name: "foo", Manifest: manifest}}
			if got, err := Object(step); err == nil {
				t.Errorf("got %v; want an error", got)
			} else if !strings.Contains(err.Error(), "ConfigMap foo of foo.v1") {
				t.Errorf("%v: it does not name the step", err)
			}
		})
	}
}

func step(manifest string) *olm.Step {
	return &olm.Step{Resource: olm.StepResource{Manifest: manifest}}
}

// quotes is a manifest of that many bytes.
func quotes(length int) string { return `"` + strings.Repeat("a", length-2) + `"` }

func TestCompress(t *testing.T) {
	noise := make([]byte, maxPlan) // which in hex halves at best, and in base64 grows again
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason     string
		steps      []*olm.Step
		compressed bool
		fails      bool
	}{
		"AtTheThreshold": {reason: "People can read what is short enough.", steps: []*olm.Step{step(quotes(maxManifest / 2)), step(quotes(maxManifest / 2))}},
		"Above":          {reason: "One byte more, and all are compressed.", steps: []*olm.Step{step(quotes(maxManifest / 2)), step(quotes(maxManifest/2 + 1))}, compressed: true},
		"TooLarge":       {reason: "What does not fit is refused in words, and not by etcd.", steps: []*olm.Step{step(`"` + hex.EncodeToString(noise) + `"`)}, compressed: true, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := compress(tc.steps)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			for _, s := range tc.steps {
				if got := strings.HasPrefix(s.Resource.Manifest, compressed); got != tc.compressed {
					t.Errorf("%s\ncompressed: %t; want %t", tc.reason, got, tc.compressed)
				}
			}
			if !tc.fails && length(tc.steps) > maxPlan {
				t.Errorf("%s\n%d bytes", tc.reason, length(tc.steps))
			}
		})
	}
}

// TestStepsTooLarge: the admin is told on the plan, with what to do.
func TestStepsTooLarge(t *testing.T) {
	noise := make([]byte, maxPlan)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	large := configMap("large")
	large.Object["data"] = map[string]any{"a": hex.EncodeToString(noise)}
	steps, problem := Steps(runtime.NewScheme(), []Bundle{bundle("foo.v1", "", csv("foo.v1"), large)}, plan(), scope("default"))
	if steps != nil || problem == nil || problem.Reason != "PlanTooLarge" || !strings.Contains(problem.Message, "one by one") {
		t.Errorf("%d steps, %+v", len(steps), problem)
	}
}

func TestDependencySubscription(t *testing.T) {
	got := DependencySubscription(bundle("foo.v1", "").Choice, "default")
	want := map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
		"metadata": map[string]any{"namespace": "default", "name": "foo-stable-community-olm"},
		"spec": map[string]any{
			"name": "foo", "channel": "stable", "source": "community", "sourceNamespace": "olm",
			"startingCSV": "foo.v1", "installPlanApproval": "Automatic",
		},
	}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := DependencySubscription(bundle("foo.v1", "").Choice, "default"); !cmp.Equal(got, again) {
		t.Error("It is another one the second time")
	}
	steps := stepsOf(t, "olm", csv("foo.v1"), got)
	if got := steps[len(steps)-1].Resource.Kind; got != "Subscription" {
		t.Errorf("the last step is a %s; want the Subscription, for it is resolved at once", got)
	}
}

// TestStepsOfABadObject: what cannot be stamped is said of the bundle.
func TestStepsOfABadObject(t *testing.T) {
	bad := csv("foo.v1")
	bad.Object["spec"] = "none"
	_, problem := Steps(runtime.NewScheme(), []Bundle{bundle("foo.v1", "foo.v0", bad)}, plan(), scope("default"))
	if problem == nil || problem.Reason != "BundleInvalid" || !strings.HasPrefix(problem.Message, "Bundle foo.v1 of CatalogSource olm/community: ") {
		t.Errorf("got %+v", problem)
	}
}
