package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// phrase is a way of writing that maintainers of other projects hardly use.
type phrase struct {
	instead string // a better way
	pattern *regexp.Regexp
	most    int // in a thousand lines of comments
}

var phrases = map[string]phrase{
	"what":     {"name the object: \"the blockers of the plan\"", regexp.MustCompile(`\b[Ww]hat\b`), 3},
	"nil if":   {"\"or nil\", or a sentence", regexp.MustCompile(`[;,] (nil|empty|zero|0|none|false|"") (if|for|unless|while)\b`), 3},
	"there is": {"\"X exists\", \"without X\"", regexp.MustCompile(`\b[Tt]here (is|are|was|were)\b`), 4},
	"any more": {"\"no longer\"", regexp.MustCompile(`\bany more\b`), 1},
	"says":     {"reports, sets, returns, records", regexp.MustCompile(`\b(says?|tells?|is told)\b`), 3},
	"persons":  {"the user, another controller, no owner", regexp.MustCompile(`(?i)\b(somebody|nobody|whoever|those who)\b`), 1},
}

// names are identifiers that a newcomer would not search for.
var names = regexp.MustCompile(`(?i)^(vouch\w*|wordless|itAndItsLike|heirs?|knock|alarm|brought|remake|surroundings|seal|waves?|refusedOnes|whatever)$`)

// TestWords verifies that comments and identifiers use the words of the field. The limits are a few times the counts of
// Crossplane, Kueue and Flux.
func TestWords(t *testing.T) {
	lines, hits := 0, map[string][]string{}
	each(t, "..", func(files *token.FileSet, f *ast.File) {
		for _, group := range f.Comments {
			for _, c := range group.List {
				for i, text := range strings.Split(c.Text, "\n") {
					if isDirective(text) {
						continue
					}
					lines++
					for name, p := range phrases {
						if p.pattern.MatchString(text) {
							at := files.Position(c.Pos())
							hits[name] = append(hits[name], fmt.Sprintf("%s:%d: %s", at.Filename, at.Line+i, strings.TrimSpace(text)))
						}
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && names.MatchString(id.Name) {
				t.Errorf("%s: %s: name it by its purpose", files.Position(id.Pos()), id.Name)
			}
			return true
		})
	})
	for name, p := range phrases {
		t.Logf("%q: %.1f in a thousand lines", name, 1000*float64(len(hits[name]))/float64(lines))
		if 1000*len(hits[name]) > p.most*lines {
			t.Errorf("%q stands in %d of %d lines, more than %d in a thousand. Write %s:\n%s", name, len(hits[name]), lines, p.most, p.instead,
				strings.Join(hits[name], "\n"))
		}
	}
}

// isDirective reports whether a line is read by a tool, such as a marker of kubebuilder.
func isDirective(line string) bool {
	return strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "// ") || strings.HasPrefix(line, "// +")
}

// each parses the Go files of a folder that are not generated.
func each(t *testing.T, folder string, visit func(*token.FileSet, *ast.File)) {
	t.Helper()
	parsed := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bin" || entry.Name() == "node_modules" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(f) {
			parsed++
			visit(files, f)
		}
		return nil
	})
	if err != nil || parsed == 0 {
		t.Fatalf("%d files parsed in %s: %v", parsed, folder, err)
	}
}
