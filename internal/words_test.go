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

// prose is text of one sort, with the lines in which each phrase stands.
type prose struct {
	lines int
	hits  map[string][]string
}

func (p *prose) add(text string, at token.Position) {
	p.lines++
	for name, ph := range phrases {
		if ph.pattern.MatchString(text) {
			p.hits[name] = append(p.hits[name], fmt.Sprintf("%s:%d: %s", at.Filename, at.Line, strings.TrimSpace(text)))
		}
	}
}

// check fails the test for each phrase that stands in more than a share of the lines, times the limit for comments.
func (p *prose) check(t *testing.T, times int) {
	t.Helper()
	if p.lines == 0 {
		t.Fatal("no text was found")
	}
	for name, ph := range phrases {
		t.Logf("%q: %.1f in a thousand lines", name, 1000*float64(len(p.hits[name]))/float64(p.lines))
		if most := ph.most * times; 1000*len(p.hits[name]) > most*p.lines {
			t.Errorf("%q stands in %d of %d lines, more than %d in a thousand. Write %s:\n%s", name, len(p.hits[name]), p.lines, most, ph.instead,
				strings.Join(p.hits[name], "\n"))
		}
	}
}

// TestWords verifies that comments, messages and identifiers use the words of the field. The limits are a few times the
// counts of Crossplane, Kueue and Flux.
func TestWords(t *testing.T) {
	comments, messages := &prose{hits: map[string][]string{}}, &prose{hits: map[string][]string{}}
	each(t, "..", func(files *token.FileSet, f *ast.File) {
		for _, group := range f.Comments {
			for _, c := range group.List {
				for i, text := range strings.Split(c.Text, "\n") {
					if at := files.Position(c.Pos()); !isDirective(text) {
						at.Line += i
						comments.add(text, at)
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if names.MatchString(n.Name) {
					t.Errorf("%s: %s: name it by its purpose", files.Position(n.Pos()), n.Name)
				}
			case *ast.BasicLit:
				const fewestWords = 3 // a shorter text is a name, or a part of one
				if at := files.Position(n.Pos()); n.Kind == token.STRING && isProduct(at.Filename) {
					for line := range strings.SplitSeq(n.Value, "\n") {
						if len(strings.Fields(line)) >= fewestWords {
							messages.add(line, at)
						}
					}
				}
			}
			return true
		})
	})
	t.Run("Comments", func(t *testing.T) { comments.check(t, 1) })
	t.Run("Messages", func(t *testing.T) { messages.check(t, messagesTimes) })
}

// isProduct reports whether users see the texts of a file.
func isProduct(path string) bool {
	path = filepath.ToSlash(path)
	in := func(folder string) bool { return strings.HasPrefix(path, "../"+folder+"/") }
	return !strings.HasSuffix(path, "_test.go") && !in("internal/test") && (in("api") || in("cmd") || in("internal") || in("pkg"))
}

// messagesTimes is how much more often a phrase may stand in a message: the command line answers what blocks an operator.
const messagesTimes = 3

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
