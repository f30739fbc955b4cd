// Package monitoring tests config/prometheus with the types of the Prometheus operator and with Grafana's linter.
package monitoring

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

var folder = filepath.Join("..", "..", "config", "prometheus")

// TestManifestFields verifies that the manifests have no field that the Prometheus operator does not know.
func TestManifestFields(t *testing.T) {
	for file, object := range map[string]any{"alerts.yaml": &monitoringv1.PrometheusRule{}, "monitor.yaml": &monitoringv1.ServiceMonitor{}} {
		data, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(data, []byte("\n---\n")) {
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// TestDashboard runs Grafana's linter, of which a warning fails the test, too.
func TestDashboard(t *testing.T) {
	out, err := exec.Command("go", "run", "github.com/grafana/dashboard-linter", "lint", "--strict", filepath.Join(folder, "dashboard.json")).CombinedOutput()
	if err != nil {
		t.Errorf("dashboard-linter: %v\n%s", err, out)
	}
}
