package docs

import (
	"regexp"
	"strings"
	"testing"
)

var moduleRow = regexp.MustCompile(`(?m)^\| [^|]+ \| ([\d.]+) \| \[([^\]]+)\]\(([^)]+)\) \|`)

// TestCompatibility verifies the versions in compatibility.md.
func TestCompatibility(t *testing.T) {
	rows := moduleRow.FindAllStringSubmatch(read(t, "compatibility.md"), -1)
	if len(rows) == 0 {
		t.Error("compatibility.md has no versions")
	}
	for _, row := range rows {
		version, module, file := row[1], row[2], row[3]
		if !strings.Contains(read(t, file), module+" v"+version+"\n") {
			t.Errorf("%s does not require %s v%s", file, module, version)
		}
	}
}
