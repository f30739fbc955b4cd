package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCallersOfGate verifies that the table of docs/architecture.md lists every package that calls a function of the gate that
// decides, with these functions.
func TestCallersOfGate(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]map[string]bool{} // by folder
	row := regexp.MustCompile("(?m)^\\| .*\\[(internal/[^]]+)\\]\\([^)]+\\).* \\| ((?:`[A-Z][A-Za-z]+`(?:, )?)+) \\|")
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		functions := map[string]bool{}
		for name := range strings.SplitSeq(match[2], ", ") {
			functions[strings.Trim(name, "`")] = true
		}
		documented[match[1]] = functions
	}
	actual := map[string]map[string]bool{}
	call := regexp.MustCompile(`\bgate\.(Evaluate|EvaluatePlan|Upgradeable)\(`)
	err = filepath.WalkDir(".", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range call.FindAllStringSubmatch(string(source), -1) {
			folder := "internal/" + filepath.ToSlash(filepath.Dir(path))
			if actual[folder] == nil {
				actual[folder] = map[string]bool{}
			}
			actual[folder][match[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(actual) == 0 {
		t.Fatal("no package calls the gate: has it been renamed?")
	}
	for folder, functions := range actual {
		for name := range functions {
			if !documented[folder][name] {
				t.Errorf("%s calls gate.%s, and the table of docs/architecture.md does not list it", folder, name)
			}
		}
	}
	for folder, functions := range documented {
		for name := range functions {
			if !actual[folder][name] {
				t.Errorf("the table of docs/architecture.md lists that %s calls %s, and it does not", folder, name)
			}
		}
	}
}
