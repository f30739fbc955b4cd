// Package healthrows exports the objects of the status tests to hack/health, a separate module that evaluates them with
// the health checks of GitOps tools.
package healthrows

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Folder is the environment variable with the folder that rows are written to. `make test` sets it.
const Folder = "HEALTH_ROWS"

// Health is the health that an object reports.
type Health string

// Values of Health.
const (
	Well     Health = "Well"     // it is healthy
	Beside   Health = "Beside"   // it is healthy, and something related to it is not
	Waiting  Health = "Waiting"  // it is running, and an update waits for approval
	Progress Health = "Progress" // it progresses without intervention
	Trouble  Health = "Trouble"  // it needs intervention
)

// Row is a test case of a status table.
type Row struct {
	Name   string
	Health Health
	Object client.Object
}

// Write writes a row to a file named after the test. It does nothing if Folder is not set.
func Write(t testing.TB, o client.Object, health Health) {
	t.Helper()
	folder := os.Getenv(Folder)
	if folder == "" {
		return
	}
	kind := o.GetObjectKind().GroupVersionKind().Kind
	data, err := json.Marshal(Row{Name: t.Name(), Health: health, Object: o})
	if err != nil {
		t.Fatal(err)
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(kind + "_" + t.Name() + ".json")
	if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
