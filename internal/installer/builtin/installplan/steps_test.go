package installplan

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

var generated = regexp.MustCompile(`-[0-9A-Za-z]{36,38}$`)

func asking(csv *unstructured.Unstructured) *unstructured.Unstructured {
	spec := csv.Object["spec"].(map[string]any)
	spec["customresourcedefinitions"] = object(`{"owned":[{"name":"foos.example.com","version":"v1","kind":"Foo"}]}`).Object
	spec["install"] = object(`{"strategy":"deployment","spec":{"permissions":[{"serviceAccountName":"foo","rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}]}}`).Object
	return csv
}

// annotated returns a CustomResourceDefinition that asks for a Probe.
func annotated() *unstructured.Unstructured {
	out := crd()
	out.SetAnnotations(map[string]string{v1alpha1.AnnotationUpgradeable: "!Migrating"})
	return out
}

func lines(steps []*olm.Step) []string {
	var out []string
	for _, s := range steps {
		out = append(out, fmt.Sprintf("%s/%s %s/%s/%s %s %s/%s", s.Resolving, s.Status,
			s.Resource.Group, s.Resource.Version, s.Resource.Kind, generated.ReplaceAllString(s.Resource.Name, "-*"),
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
		bundles []record.Bundle
		want    []string
	}{
		"None": {reason: "Nothing takes no step."},
		"FirstInstall": {"The definitions come first, since the operator needs them; the rest as the bundle has it.",
			[]record.Bundle{bundle("foo.v1", "", configMap("foo"), csv("foo.v1"), configMap("bar"), crd())},
			[]string{definition, version, config, other}},
		"Update": {"That the old one is replaced is known before anything else changes.",
			[]record.Bundle{bundle("foo.v1", "foo.v0", configMap("foo"), crd(), csv("foo.v1"), configMap("bar"))},
			[]string{version, definition, config, other}},
		"Dependency": {"One bundle is through before the next begins, whatever kind its objects are of.",
			[]record.Bundle{bundle("etcd.v1", "", configMap("etcd"), csv("etcd.v1")), bundle("foo.v1", "foo.v0", crd(), csv("foo.v1"))},
			[]string{
				"etcd.v1/Unknown operators.coreos.com/v1alpha1/ClusterServiceVersion etcd.v1 olm/community",
				"etcd.v1/Unknown /v1/ConfigMap etcd olm/community",
				version, definition,
			}},
		"Rights": {"A user who approves the plan sees the operator's permissions and its Probe.",
			[]record.Bundle{bundle("foo.v1", "", asking(csv("foo.v1")), annotated())},
			[]string{definition, version,
				"foo.v1/Unknown /v1/ServiceAccount foo olm/community",
				"foo.v1/Unknown rbac.authorization.k8s.io/v1/Role foo.v1-foo-* olm/community",
				"foo.v1/Unknown rbac.authorization.k8s.io/v1/RoleBinding foo.v1-foo-* olm/community",
				"foo.v1/Unknown operators.coreos.com/v1alpha1/Probe foo.v1 olm/community",
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, problem := stepsOf(tasks(t, tc.bundles...))
			if problem != nil {
				t.Fatal(problem.Message)
			}
			if diff := cmp.Diff(tc.want, lines(got)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStamp verifies that a plan's CSV states the CSV that it really replaces, its origin and its targets.
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
			tasks, err := tasksOf(&record.Content{Bundles: []record.Bundle{bundle("foo.v1", tc.replaces, tc.csv)}}, plan().Name, scope(tc.targets...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tasks[0].object.Object); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestContentIsExact verifies that a plan writes the catalog's content exactly, also after it was stored.
func TestContentIsExact(t *testing.T) {
	exact := object(`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"foo"},
		"spec":{"large":9007199254740993,"most":9223372036854775807,"one":1,"half":0.5,"list":[1,null,"<>"],"empty":{}}}`)
	c := cluster(t, nothing)
	store := &record.Store{Client: c, Live: c, Namespace: "system"}
	content := &record.Content{Bundles: []record.Bundle{bundle("foo.v1", "", csv("foo.v1"), exact)}}
	key := types.NamespacedName{Namespace: "default", Name: "install-1"}
	if err := store.KeepContent(t.Context(), key, "uid", content); err != nil {
		t.Fatal(err)
	}
	kept, err := store.Content(t.Context(), key, "uid")
	if err != nil {
		t.Fatal(err)
	}
	if !kept.Equal(content) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(content, kept))
	}
	if diff := cmp.Diff(exact.Object, kept.Bundles[0].Objects[1].Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := store.SweepContents(t.Context(), func(types.UID) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if gone, err := store.Content(t.Context(), key, "uid"); gone != nil || err != nil {
		t.Errorf("it is still there, %v", err)
	}
}

func step(manifest string) *olm.Step {
	return &olm.Step{Resource: olm.StepResource{Manifest: manifest}}
}

// quotes returns a manifest of that length in bytes.
func quotes(length int) string { return `"` + strings.Repeat("a", length-2) + `"` }

func TestCompress(t *testing.T) {
	noise := make([]byte, maxPlan) // hex halves at best when compressed, and base64 makes it longer again
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
		"Above": {reason: "One byte more, and all are compressed.", steps: []*olm.Step{step(quotes(maxManifest / 2)), step(quotes(maxManifest/2 + 1))},
			compressed: true},
		"TooLarge": {reason: "What does not fit is refused in words, and not by etcd.", steps: []*olm.Step{step(`"` + hex.EncodeToString(noise) + `"`)},
			compressed: true, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := compress(tc.steps)
			if (err != nil) != tc.fails {
				t.Fatalf("%s\n%v", tc.reason, err)
			}
			for _, s := range tc.steps {
				if got := strings.HasPrefix(s.Resource.Manifest, v1alpha1.PlanManifestCompressed); got != tc.compressed {
					t.Errorf("%s\ncompressed: %t; want %t", tc.reason, got, tc.compressed)
				}
			}
			if !tc.fails && length(tc.steps) > maxPlan {
				t.Errorf("%s\n%d bytes", tc.reason, length(tc.steps))
			}
		})
	}
}

// TestStepsTooLarge verifies that the problem states a remedy.
func TestStepsTooLarge(t *testing.T) {
	noise := make([]byte, maxPlan)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	large := configMap("large")
	large.Object["data"] = map[string]any{"a": hex.EncodeToString(noise)}
	steps, problem := stepsOf(tasks(t, bundle("foo.v1", "", csv("foo.v1"), large)))
	if steps != nil || problem == nil || problem.Reason != "PlanTooLarge" || !strings.Contains(problem.Message, "one by one") {
		t.Errorf("%d steps, %+v", len(steps), problem)
	}
}

func TestDependencySubscription(t *testing.T) {
	want := map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
		"metadata": map[string]any{"namespace": "default", "name": "foo-stable-community-olm"},
		"spec": map[string]any{
			"name": "foo", "channel": "stable", "source": "community", "sourceNamespace": "olm",
			"startingCSV": "foo.v1", "installPlanApproval": "Automatic",
		},
	}
	got := DependencySubscription(choice("foo.v1", ""), plan())
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	manual := plan()
	manual.Spec.Approval = olm.ApprovalManual
	approval, _, _ := unstructured.NestedString(DependencySubscription(choice("foo.v1", ""), manual).Object, "spec", "installPlanApproval")
	if approval != "Manual" {
		t.Errorf("the dependency of a plan that a person approves is updated %sally", approval)
	}
	steps := shown(t, csv("foo.v1"), got)
	if got := steps[len(steps)-1].Resource.Kind; got != "Subscription" {
		t.Errorf("the last step is a %s; want the Subscription, for it is resolved at once", got)
	}
}

func TestObjectName(t *testing.T) {
	for want, parts := range map[string][]string{
		"foo-stable-community-olm": {"foo", "stable", "community", "olm"},
		"my-foo-4.x-c-olm":         {"My_Foo", "4.x", "c", "olm"},
		"foo":                      {"-Foo", "."},
	} {
		if got := objectName(parts...); got != want {
			t.Errorf("%v: %s; want %s", parts, got, want)
		}
	}
}

// TestBadBundles verifies that an error about invalid objects names the bundle.
func TestBadBundles(t *testing.T) {
	bad := csv("foo.v1")
	bad.Object["spec"] = "none"
	for name, objects := range map[string][]*unstructured.Unstructured{"NoSpec": {bad}, "NoCSV": {crd()}} {
		_, err := tasksOf(&record.Content{Bundles: []record.Bundle{bundle("foo.v1", "foo.v0", objects...)}}, "install-1", scope("default"))
		if err == nil || !strings.HasPrefix(err.Error(), "bundle foo.v1 of CatalogSource olm/community: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
