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
	out := []string{"../README.md", "../SECURITY.md", "../CONTRIBUTING.md", "../CHANGELOG.md"}
	if err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			out = append(out, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{".", "adr", "reference", "tutorials"} {
		if !slices.ContainsFunc(out, func(path string) bool { return filepath.Dir(path) == folder }) {
			t.Fatalf("there are no documents in %s", folder)
		}
	}
	return out
}

// TestIndex verifies that the index links to each document in this folder, and each folder of documents.
func TestIndex(t *testing.T) {
	var linked []string
	for _, found := range link.FindAllStringSubmatch(read(t, "README.md"), -1) {
		target, _, _ := strings.Cut(found[2], "#")
		linked = append(linked, filepath.Clean(target))
	}
	for _, document := range documents(t) {
		switch {
		case document == "README.md", strings.HasPrefix(document, "../"):
			continue
		case strings.HasPrefix(document, "adr/"):
			document = "adr/README.md" // it has an index of its own
		}
		if !slices.Contains(linked, document) {
			t.Errorf("docs/README.md does not link to %s", document)
		}
	}
}

var heading = regexp.MustCompile("(?m)^#+ (.*)$")

// anchors returns the anchors of a document's headings, as a forge makes them.
func anchors(text string) []string {
	var out []string
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		out = append(out, strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return out
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// TestLinks verifies that each file that a document links to exists, with the heading or the test that the link names.
func TestLinks(t *testing.T) {
	for _, document := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(read(t, document), -1) {
			text, target := found[1], found[2]
			if strings.Contains(target, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			if file = filepath.Join(filepath.Dir(document), file); strings.HasPrefix(target, "#") {
				file = document
			}
			switch _, err := os.Stat(file); {
			case errors.Is(err, fs.ErrNotExist):
				t.Errorf("%s links to %s, which does not exist", document, target)
			case err != nil:
				t.Error(err)
			case anchor != "" && !slices.Contains(anchors(read(t, file)), anchor):
				t.Errorf("%s links to %s, which has no such heading", document, target)
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
