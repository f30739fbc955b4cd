// Package health verifies how GitOps tools rate the statuses that operator-status writes: Argo CD's health script for
// Subscriptions, kstatus, and Flux with the expressions in config/flux. The objects are the cases of the status tables.
package health

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
		t.Skip("HEALTH_ROWS names no folder with the cases of the status tables: `make test` does")
	}
	files, err := filepath.Glob(filepath.Join(folder, kind+"_*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no case of a %s in %s: %v", kind, folder, err)
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
				t.Fatalf("Argo CD has no script for it: %v", err)
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
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "flux", "healthchecks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var checks []kustomize.CustomHealthCheck
	if err := yaml.UnmarshalStrict(data, &checks); err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		evaluator, err := cel.NewStatusEvaluator(&c.HealthCheckExpressions)
		if err != nil {
			t.Fatalf("%s: %v", c.Kind, err)
		}
		for _, r := range rows(t, c.Kind) {
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
