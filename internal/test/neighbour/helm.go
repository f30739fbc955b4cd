package neighbour

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/story"
)

// Chart writes the chart of a version of an operator, and returns its folder.
func Chart(t *testing.T, o story.Op, version string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"Chart.yaml":              "apiVersion: v2\nname: " + o.Name + "\nversion: " + version + "\nappVersion: " + version + "\n",
		"templates/operator.yaml": strings.TrimSpace(o.Manifests(version)) + "\n",
	} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
