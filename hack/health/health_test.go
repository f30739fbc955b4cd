// Package health verifies how GitOps tools rate the statuses that operator-status writes: Argo CD by its health script for
// Subscriptions and those in config/argocd, kstatus, and Flux with the expressions in config/flux. The objects are the cases
// of the status tables.
package health

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// row is a Row of internal/test/healthrows.
type row struct {
	Name   string
	Health string
	Object *unstructured.Unstructured
}

// rows returns the rows of a kind.
func rows(t *testing.T, kind string) []row {
	t.Helper()
	folder := os.Getenv("HEALTH_ROWS")
	if folder == "" {
		t.Skip("HEALTH_ROWS is not set: `make test` sets it to the folder with the cases of the status tables")
	}
	files, err := filepath.Glob(filepath.Join(folder, kind+"_*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no case of a %s found in %s: %v", kind, folder, err)
	}
	var out []row
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r row
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, r)
	}
	return out
}

// TestArgo verifies that Argo CD rates a Subscription that is well as Healthy, one that needs a user as not Healthy,
// and one that progresses or waits as Progressing. An unhealthy catalog makes all Subscriptions that can see it
// Degraded, by OLM's own condition.
func TestArgo(t *testing.T) {
	vm := lua.VM{}
	for _, r := range rows(t, "Subscription") {
		t.Run(r.Name, func(t *testing.T) {
			script, _, err := vm.GetHealthScript(r.Object)
			if err != nil || script == "" {
				t.Fatalf("Argo CD has no script for the kind: %v", err)
			}
			got, err := vm.ExecuteHealthLua(r.Object, script)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string][]string{
				"Well": {"Healthy"}, "Beside": {"Degraded", "Progressing"}, "Waiting": {"Progressing"}, "Progress": {"Progressing"}, "Trouble": {"Degraded", "Progressing"},
			}[r.Health]
			check(t, r, string(got.Status), got.Message, want)
		})
	}
}

// TestArgoScripts verifies that the scripts in config/argocd rate operators that run as Healthy, with a message if their
// update waits, and those that need a user as Degraded.
func TestArgoScripts(t *testing.T) {
	want := map[string]string{"Well": "Healthy", "Beside": "Healthy", "Waiting": "Healthy", "Progress": "Progressing", "Trouble": "Degraded"}
	for _, kind := range []string{"Subscription", "PlatformOperator"} {
		for _, r := range rows(t, kind) {
			t.Run(r.Name, func(t *testing.T) {
				got := argoHealth(t, r.Object)
				check(t, r, string(got.Status), got.Message, []string{want[r.Health]})
				if r.Health != "Well" && r.Health != "Beside" && got.Message == "" {
					t.Error("the health has no message")
				}
			})
		}
	}
}

// TestArgoPhases verifies how the scripts in config/argocd rate every status in the golden files of the status tests.
func TestArgoPhases(t *testing.T) {
	phase := func(ratings map[string]string) func(map[string]any) string {
		return func(status map[string]any) string {
			p, _ := status["phase"].(string)
			return ratings[p]
		}
	}
	for _, tc := range []struct {
		folder, version, kind string
		want                  func(status map[string]any) string
	}{
		{"installplan", "operators.coreos.com/v1alpha1", "InstallPlan", phase(map[string]string{
			"Complete": "Healthy", "Failed": "Degraded", "RequiresApproval": "Suspended", "Planning": "Progressing", "Installing": "Progressing", "": "Progressing",
		})},
		{"csv", "operators.coreos.com/v1alpha1", "ClusterServiceVersion", phase(map[string]string{
			"Succeeded": "Healthy", "Replacing": "Healthy", "Deleting": "Healthy", "Failed": "Degraded", "Pending": "Progressing", "Unknown": "Progressing",
			"InstallReady": "Progressing", "Installing": "Progressing", "": "Progressing",
		})},
		{"probe", "operators.coreos.com/v1alpha1", "Probe", func(status map[string]any) string {
			switch synced := condition(status, "Synced"); {
			case synced == "True/Synced", strings.HasSuffix(synced, "/ResourceNotFound"), strings.HasSuffix(synced, "/NamespaceNotFound"):
				return "Healthy"
			case strings.HasSuffix(synced, "/Syncing"):
				return "Progressing"
			}
			return "Degraded"
		}},
		{"clusteroperator", "config.openshift.io/v1", "ClusterOperator", func(status map[string]any) string {
			switch {
			case strings.HasPrefix(condition(status, "Degraded"), "True/"):
				return "Degraded"
			case strings.HasPrefix(condition(status, "Available"), "True/"):
				return "Healthy"
			}
			return "Progressing"
		}},
	} {
		for name, status := range statusesOf(t, tc.folder) {
			t.Run(tc.kind+"/"+name, func(t *testing.T) {
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": tc.version, "kind": tc.kind, "status": status}}
				got := argoHealth(t, o)
				check(t, row{Health: "it", Object: o}, string(got.Status), got.Message, []string{tc.want(status)})
			})
		}
	}
}

// statusesOf returns the golden statuses of a kind, by the case that they are the result of.
func statusesOf(t *testing.T, kind string) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "status", kind, "testdata", "TestCompute.yaml"))
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	cases := map[string]any{}
	if err == nil {
		err = utiljson.Unmarshal(text, &cases) // with integers, as a client reads them
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("reading the golden statuses of %s: %v", kind, err)
	}
	out := map[string]map[string]any{}
	for name, status := range cases {
		out[name] = status.(map[string]any)
	}
	return out
}

// goldens returns a Probe for every status in the golden file of Probes, and one as an operator writes it.
func goldens(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	statuses := statusesOf(t, "probe")
	statuses["written by its operator"] = map[string]any{"conditions": []any{map[string]any{"type": "Upgradeable", "status": "False", "reason": "Busy"}}}
	out := map[string]*unstructured.Unstructured{}
	for name, status := range statuses {
		out[name] = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Probe", "status": status}}
		if g, ok := status["observedGeneration"]; ok {
			out[name].Object["metadata"] = map[string]any{"generation": g}
		}
	}
	return out
}

// TestProbe verifies that Argo CD and Flux rate a Probe the same: by whether it knows the state of the operator, and not by
// whether that permits an update.
func TestProbe(t *testing.T) {
	evaluator := evaluators(t)["Probe"]
	flux := map[string]string{"Healthy": "Current", "Degraded": "Failed", "Progressing": "InProgress"}
	for name, o := range goldens(t) {
		t.Run(name, func(t *testing.T) {
			argo := argoHealth(t, o)
			got, err := evaluator.Evaluate(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			check(t, row{Health: string(argo.Status), Object: o}, string(got.Status), got.Message, []string{flux[string(argo.Status)]})
		})
	}
}

// TestArgoConfigMap verifies that config/argocd gives Argo CD each script under the name of its kind.
func TestArgoConfigMap(t *testing.T) {
	folder := filepath.Join("..", "..", "config", "argocd")
	data, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var k struct {
		ConfigMapGenerator []struct{ Files []string }
	}
	if err := yaml.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(folder, "*", "*", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, script := range scripts {
		kind := filepath.Dir(script)
		group := filepath.Base(filepath.Dir(kind))
		want = append(want, fmt.Sprintf("resource.customizations.health.%s_%s=%s/%s/health.lua", group, filepath.Base(kind), group, filepath.Base(kind)))
	}
	got := slices.Sorted(slices.Values(k.ConfigMapGenerator[0].Files))
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the files are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// condition returns the status and reason of a condition, as "True/Reason".
func condition(status map[string]any, conditionType string) string {
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		if c := c.(map[string]any); c["type"] == conditionType {
			return fmt.Sprintf("%v/%v", c["status"], c["reason"])
		}
	}
	return ""
}

// argoHealth returns how Argo CD rates an object by the script in config/argocd.
func argoHealth(t *testing.T, o *unstructured.Unstructured) *health.HealthStatus {
	t.Helper()
	gvk := o.GroupVersionKind()
	script, err := os.ReadFile(filepath.Join("..", "..", "config", "argocd", gvk.Group, gvk.Kind, "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := (lua.VM{}).ExecuteHealthLua(o, string(script))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestKstatus verifies that a PlatformOperator is Current only if it is Ready. A Subscription is always Current,
// because kstatus knows none of its conditions.
func TestKstatus(t *testing.T) {
	for kind, want := range map[string]map[string][]string{
		"Subscription":     {"Well": {"Current"}, "Beside": {"Current"}, "Waiting": {"Current"}, "Progress": {"Current"}, "Trouble": {"Current"}},
		"PlatformOperator": {"Well": {"Current"}, "Progress": {"InProgress"}, "Trouble": {"InProgress", "Failed"}},
	} {
		for _, r := range rows(t, kind) {
			t.Run(r.Name, func(t *testing.T) {
				got, err := status.Compute(r.Object)
				if err != nil {
					t.Fatal(err)
				}
				check(t, r, string(got.Status), got.Message, want[r.Health])
			})
		}
	}
}

// TestFlux verifies that the expressions in config/flux rate objects that are well or wait as Current, those that need
// a user as Failed, and the others as InProgress.
func TestFlux(t *testing.T) {
	for kind, evaluator := range evaluators(t) {
		if kind == "Probe" { // see TestProbe
			continue
		}
		for _, r := range rows(t, kind) {
			t.Run(r.Name, func(t *testing.T) {
				got, err := evaluator.Evaluate(t.Context(), r.Object)
				if err != nil {
					t.Fatal(err)
				}
				check(t, r, string(got.Status), got.Message, map[string][]string{
					"Well": {"Current"}, "Beside": {"Current"}, "Waiting": {"Current"}, "Progress": {"InProgress"}, "Trouble": {"Failed"},
				}[r.Health])
			})
		}
	}
}

// evaluators returns the expressions in config/flux, by kind.
func evaluators(t *testing.T) map[string]*cel.StatusEvaluator {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "flux", "healthchecks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var checks []kustomize.CustomHealthCheck
	if err := yaml.UnmarshalStrict(data, &checks); err != nil {
		t.Fatal(err)
	}
	out := map[string]*cel.StatusEvaluator{}
	for _, c := range checks {
		if out[c.Kind], err = cel.NewStatusEvaluator(&c.HealthCheckExpressions); err != nil {
			t.Fatalf("%s: %v", c.Kind, err)
		}
	}
	return out
}

func check(t *testing.T, r row, got, message string, want []string) {
	t.Helper()
	for _, w := range want {
		if got == w {
			return
		}
	}
	text, _ := json.MarshalIndent(r.Object.Object["status"], "", "  ") // it was decoded from JSON
	t.Errorf("%s is %s (%s), want %v:\n%s", r.Health, got, message, want, text)
}
