package manager_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestReadme runs the commands of the README's first Probe, and verifies that their output is as shown there.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testcluster.Root(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## A first Probe by hand\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("the README has no first Probe by hand")
	}
	var script, shown strings.Builder
	script.WriteString("set -euo pipefail\n")
	inScript := false
	for line := range strings.Lines(section) {
		switch {
		case strings.HasPrefix(line, "```"):
			inScript = line == "```sh\n"
		case inScript:
			script.WriteString(line)
		case strings.HasPrefix(line, "    "):
			shown.WriteString(strings.TrimPrefix(line, "    "))
		}
	}
	run := func(script string) (string, error) {
		bash := exec.Command("bash", "-c", script)
		bash.Dir = testcluster.Root()
		output, err := bash.CombinedOutput()
		return string(output), err
	}
	t.Cleanup(func() {
		if output, err := run("bin/devcluster down --dir bin/first-probe"); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
	})
	// Even if a command fails, the manager must not outlive the script that started it.
	output, err := run("trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for line := range strings.Lines(shown.String()) {
		if want := withoutAge(line); !strings.Contains(output, want) {
			t.Errorf("the README shows %q, which is not in:\n%s", want, output)
		}
	}
}

// withoutAge removes the last column of kubectl's output if it is an age.
func withoutAge(line string) string {
	line = strings.TrimRight(line, "\n")
	if before, found := strings.CutSuffix(line, "0s"); found {
		return strings.TrimRight(before, " ")
	}
	return line
}
