// Package prometheus tests the alerts and the dashboard with Prometheus' own tools.
package prometheus

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// promtool returns the path of promtool, or skips the test.
func promtool(t *testing.T) string {
	t.Helper()
	out := filepath.Join("..", "..", "bin", "prometheus", "promtool")
	if _, err := os.Stat(out); err != nil {
		t.Skipf("skipped: there is no promtool: make test downloads it on Debian: %v", err)
	}
	return out
}

// rules is the part of a PrometheusRule that Prometheus itself reads.
type rules struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []struct {
			Alert       string            `json:"alert"`
			Expr        string            `json:"expr"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"rules"`
	} `json:"groups"`
}

func load(t *testing.T) rules {
	t.Helper()
	var manifest struct {
		Spec rules `json:"spec"`
	}
	if err := yaml.Unmarshal(mustRead(t, "alerts.yaml"), &manifest); err != nil {
		t.Fatalf("reading alerts.yaml: %v", err)
	}
	return manifest.Spec
}

// TestAlerts runs the tests in testdata, which have a case for each alert.
func TestAlerts(t *testing.T) {
	program, dir := promtool(t), t.TempDir()
	data, err := yaml.Marshal(load(t))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "alerts.yaml"), data, 0o600)
	}
	if err == nil {
		err = os.CopyFS(dir, os.DirFS("testdata"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint-fatal", filepath.Join(dir, "alerts.yaml")},
		{"test", "rules", filepath.Join(dir, "alerts_test.yaml")},
	} {
		if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
		}
	}
	tests := string(mustRead(t, filepath.Join("testdata", "alerts_test.yaml")))
	for _, group := range load(t).Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(tests, "alertname: "+rule.Alert+"\n    exp_alerts:") {
				t.Errorf("no test has %s fire", rule.Alert)
			}
		}
	}
}

// TestRunbooks verifies that the runbook of each alert exists.
func TestRunbooks(t *testing.T) {
	const document = "https://github.com/operator-status/operator-status/blob/main/docs/alerts.md#"
	runbooks := string(mustRead(t, filepath.Join("..", "..", "docs", "alerts.md")))
	for _, group := range load(t).Groups {
		for _, rule := range group.Rules {
			if got := rule.Annotations["runbook_url"]; got != document+strings.ToLower(rule.Alert) {
				t.Errorf("the runbook of %s is %s", rule.Alert, got)
			}
			if !strings.Contains(runbooks, "\n## "+rule.Alert+"\n") {
				t.Errorf("docs/alerts.md has no section %s", rule.Alert)
			}
		}
	}
}

var (
	metric     = regexp.MustCompile(`\boperator_status_\w+`)
	documented = regexp.MustCompile("`(operator_status_\\w+)`")
)

// TestDocumented verifies that alerts and dashboard use only metrics that docs/metrics.md lists. TestPrometheus in e2e
// verifies that the manager serves the listed metrics.
func TestDocumented(t *testing.T) {
	var names []string
	for _, m := range documented.FindAllStringSubmatch(string(mustRead(t, filepath.Join("..", "..", "docs", "metrics.md"))), -1) {
		names = append(names, m[1])
	}
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		for _, used := range metric.FindAllString(string(mustRead(t, file)), -1) {
			if !slices.Contains(names, strings.TrimSuffix(used, "_bucket")) {
				t.Errorf("%s uses %s, which docs/metrics.md does not list", file, used)
			}
		}
	}
	if !json.Valid(mustRead(t, "dashboard.json")) {
		t.Error("dashboard.json is no JSON")
	}
}

func mustRead(t *testing.T, file string) []byte {
	t.Helper()
	out, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestComponent verifies that the component adds its objects to the manager's namespace, and the certificate to all managers.
func TestComponent(t *testing.T) {
	for base, managers := range map[string]int{"default": 1, "lifecycle": 2} {
		overlay, err := os.MkdirTemp("..", "overlay-") // kustomize accepts no absolute paths
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(overlay); err != nil {
				t.Error(err)
			}
		})
		kustomization := "resources: [../" + base + "]\ncomponents: [../prometheus]\n"
		if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(kustomization), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(filepath.Join("..", "..", "bin", "kustomize"), "build", overlay).Output()
		if err != nil {
			t.Fatalf("kustomize build: %v", err)
		}
		for text, want := range map[string]int{
			"- --metrics-cert-dir=/metrics-certs\n": managers,
			"secretName: metrics-server-cert\n":     managers,
			"kind: PrometheusRule\n":                1,
			"kind: ServiceMonitor\n":                1,
			"namespace: system\n":                   0,
		} {
			if got := strings.Count(string(out), text); got != want {
				t.Errorf("config/%s: got %q %d times, want %d", base, strings.TrimSpace(text), got, want)
			}
		}
	}
}
