// Package licenses checks the licenses of the modules that are linked into the manager.
package licenses

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/licensecheck"
)

// allowed lists licenses under which code can be distributed with an Apache-2.0 program, by SPDX identifier.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0"}

// parts lists further licenses that are allowed for files of a module that are not Go code.
var parts = []string{"CC-BY-4.0", "CC-BY-SA-4.0", "OFL-1.1"}

// TestLicenses verifies that each module that is linked into bin/manager has a license file with only allowed licenses.
func TestLicenses(t *testing.T) {
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Module", "./cmd/manager")
	list.Dir = filepath.Join("..", "..")
	text, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := map[string]string{}
	for packages := json.NewDecoder(bytes.NewReader(text)); packages.More(); {
		var p struct {
			Module *struct {
				Path, Dir string
			}
		}
		if err := packages.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !strings.HasPrefix(p.Module.Path+"/", "github.com/operator-status/operator-status/") {
			modules[p.Module.Path] = p.Module.Dir
		}
	}
	const fewest = 50
	if len(modules) < fewest {
		t.Fatalf("found only %d modules", len(modules))
	}
	for module, dir := range modules {
		found := licensesIn(t, dir)
		if len(found) == 0 {
			t.Errorf("no known license found in %s", module)
		}
		for _, l := range found {
			if !slices.Contains(allowed, l) && !slices.Contains(parts, l) {
				t.Errorf("the license of %s is %s, want one of %s", module, l, strings.Join(allowed, ", "))
			}
		}
	}
	t.Logf("%d modules", len(modules))
}

// licensesIn returns the licenses in the license files of a folder.
func licensesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range licensecheck.Scan(text).Match {
			if !m.IsURL {
				out = append(out, m.ID)
			}
		}
	}
	return out
}
