// Package healthrows hands the objects of the status tables to hack/health, a module of its own that has GitOps tools' programs judge
// them.
package healthrows

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Folder is the environment variable that names the folder which rows are written to; `make test` sets it.
const Folder = "HEALTH_ROWS"

// Health is what an object says of itself.
type Health string

// What it may say.
const (
	Well     Health = "Well"     // it runs as it should
	Beside   Health = "Beside"   // so it does, and something beside it does not
	Waiting  Health = "Waiting"  // it runs, and an update waits for somebody's word
	Progress Health = "Progress" // it goes on by itself
	Trouble  Health = "Trouble"  // somebody has to do something
)

// Row is a case of a status table.
type Row struct {
	Name   string
	Health Health
	Object client.Object
}

// Write writes a row, under the name of the test, where somebody wants it.
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
