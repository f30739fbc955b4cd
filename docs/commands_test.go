package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ambiguous matches a command with the name of a kind without its group. ACM and Knative have Subscriptions of their own, and the Prometheus
// operator has Probes: with both installed, kubectl takes another kind.
var ambiguous = regexp.MustCompile(`kubectl (annotate|delete|describe|edit|get|label|patch|wait)( --?[\w-]+(=\S+)?)* ` +
	`(([a-z]+\.[a-z.]+,)*)(subscription|sub|probe|prb|installplan|ip|catalogsource|clusterserviceversion|csv|operatorcondition|operatorgroup|` +
	`platformoperator|clusterextension|upgradehold)s?([ /,"\x60]|$)`)

// TestCommands verifies that each command that the documents and messages have names its kinds with their groups.
func TestCommands(t *testing.T) {
	files := 0
	for _, folder := range []string{"../README.md", "../api", "../cmd", "../config", "../charts", ".", "../internal", "../pkg", "../ui/headlamp/src"} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !slices.Contains([]string{".go", ".md", ".ts", ".tsx", ".yaml", ".txt", ".lua"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			for i, line := range strings.Split(string(text), "\n") {
				if found := ambiguous.FindString(line); found != "" && filepath.Base(path) != "commands_test.go" {
					t.Errorf("%s:%d: %s", path, i+1, found)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 300 {
		t.Errorf("only %d files were read", files)
	}
}
