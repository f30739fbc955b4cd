package docs

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link     = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)
	testName = regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w*`)
)

// documents returns the paths of the documents whose links are checked.
func documents(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("*.md")
	if err != nil || len(out) == 0 {
		t.Fatalf("there are no documents: %v", err)
	}
	decisions, err := filepath.Glob("adr/*.md")
	if err != nil || len(decisions) == 0 {
		t.Fatalf("there are no decisions: %v", err)
	}
	return append(append(out, decisions...), "../README.md", "../SECURITY.md", "../CONTRIBUTING.md", "../CHANGELOG.md")
}

// TestLinks verifies that each file that a document links to exists, and contains the test that the link names.
func TestLinks(t *testing.T) {
	for _, document := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, document), -1) {
			text, target := found[1], found[2]
			if strings.Contains(target, "://") {
				continue
			}
			file, _, _ := strings.Cut(target, "#")
			file = filepath.Join(filepath.Dir(document), file)
			switch _, err := os.Stat(file); {
			case errors.Is(err, fs.ErrNotExist):
				t.Errorf("%s links to %s, which does not exist", document, target)
			case err != nil:
				t.Error(err)
			case testName.MatchString(text) && !slices.Contains(testsIn(t, file), text):
				t.Errorf("%s names %s in %s, which does not exist", document, text, target)
			}
		}
	}
}

// TestNamedTests verifies that the threat model names a test for every attempt it lists as prevented, and names each
// test by a link, which TestLinks verifies.
func TestNamedTests(t *testing.T) {
	text := read(t, "threat-model.md")
	linked := 0
	for _, found := range link.FindAllStringSubmatch(text, -1) {
		if testName.FindString(found[1]) == found[1] && strings.HasSuffix(found[2], "_test.go") {
			linked++
		}
	}
	if named := len(testName.FindAllString(text, -1)); linked == 0 || linked != named {
		t.Errorf("%d tests are named, and %d of them by a link to their file", named, linked)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| Attempt |") && !testName.MatchString(line) {
			t.Errorf("no test shows this: %s", line)
		}
	}
}

// testsIn returns the names of the tests in a file.
func testsIn(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, declaration := range parsed.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
			out = append(out, f.Name.Name)
		}
	}
	return out
}
