package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makeTarget = regexp.MustCompile(`run: make ([a-z][a-z0-9-]*)`)
	matrix     = regexp.MustCompile(`target: \[([^]]*)\]`)
	action     = regexp.MustCompile(`uses: (\S+)(.*)`)
	pinned     = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # v\d`)
	phony      = regexp.MustCompile(`(?m)^\.PHONY: (.*)$`)
)

// TestWorkflows verifies that every job runs targets of the Makefile, which also run elsewhere, and that actions are pinned.
func TestWorkflows(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, match := range phony.FindAllStringSubmatch(string(makefile), -1) {
		targets = append(targets, strings.Fields(match[1])...)
	}
	files, err := filepath.Glob("../.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no workflows found: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var run []string
		for _, match := range makeTarget.FindAllStringSubmatch(string(text), -1) {
			run = append(run, match[1])
		}
		for _, match := range matrix.FindAllStringSubmatch(string(text), -1) {
			run = append(run, strings.Split(match[1], ", ")...)
		}
		for _, target := range run {
			if !slices.Contains(targets, target) {
				t.Errorf("%s runs make %s, which is no target of the Makefile", file, target)
			}
		}
		for _, match := range action.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(match[1] + match[2]) {
				t.Errorf("%s: %s is not pinned to a commit, with its version as a comment", file, match[1])
			}
		}
	}
}
