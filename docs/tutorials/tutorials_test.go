// Package tutorials runs the tutorials in this folder.
package tutorials

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestTutorials runs the commands of each tutorial, as a reader who copies them into one shell, and verifies that they print
// the output that the tutorial shows. A tutorial has its cluster in the folder of bin with its own name.
func TestTutorials(t *testing.T) {
	documents, err := filepath.Glob("*.md")
	if err != nil || len(documents) == 0 {
		t.Fatalf("there are no tutorials: %v", err)
	}
	for _, document := range documents {
		name := strings.TrimSuffix(document, ".md")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Clean(document))
			if err != nil {
				t.Fatal(err)
			}
			script, shown := parse(string(text))
			if script == "" || len(shown) == 0 {
				t.Fatal("it has no commands, or shows nothing that they print")
			}
			folder := filepath.Join("bin", name)
			t.Cleanup(func() {
				if output, err := bash("bin/devcluster down --dir " + folder); err != nil {
					t.Errorf("%v\n%s", err, output)
				}
			})
			// Even if a command fails, the manager must not outlive the script that started it.
			output, err := bash("set -euo pipefail; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n" + script)
			if err != nil {
				log, _ := os.ReadFile(filepath.Join(testcluster.Root(), folder, "manager.log")) // it may not have been started
				t.Fatalf("%v\n%s\nthe manager's log:\n%s", err, output, log)
			}
			for _, line := range shown {
				if !strings.Contains(stable(output), stable(line)) {
					t.Errorf("it shows %q, which is not in:\n%s", line, output)
				}
			}
		})
	}
}

// parse returns the commands of a tutorial, which are in blocks of sh, and the lines that it shows of their output, which
// are indented.
func parse(text string) (script string, shown []string) {
	inScript, inBlock := false, false
	for line := range strings.Lines(text) {
		switch indented, is := strings.CutPrefix(line, "    "); {
		case strings.HasPrefix(line, "```"):
			inBlock = !inBlock
			inScript = inBlock && line == "```sh\n"
		case inScript:
			script += line
		case is && !inBlock:
			shown = append(shown, strings.TrimSuffix(indented, "\n"))
		}
	}
	return script, shown
}

func bash(script string) (string, error) {
	command := exec.Command("bash", "-c", script) // the commands of this folder
	command.Dir = testcluster.Root()
	output, err := command.CombinedOutput()
	return string(output), err
}

var (
	ages   = regexp.MustCompile(`\b\d+(s|m|h|m\d+s)\b`)
	spaces = regexp.MustCompile(` +`)
)

// stable returns text without the parts that differ from run to run: ages, and the width of columns.
func stable(text string) string {
	return spaces.ReplaceAllString(ages.ReplaceAllString(text, "AGE"), " ")
}

func TestParse(t *testing.T) {
	script, shown := parse("Text `code`:\n\n```sh\na <<EOF\n    b\nEOF\n```\n\n    c   1m2s\n\n```yaml\nd:\n    e\n```\n\n```sh\nf\n```\n")
	if want := "a <<EOF\n    b\nEOF\nf\n"; script != want {
		t.Errorf("the script is %q, want %q", script, want)
	}
	if len(shown) != 1 || stable(shown[0]) != stable("c 45s") {
		t.Errorf("%q is shown", shown)
	}
}
