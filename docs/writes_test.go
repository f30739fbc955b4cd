package docs

import (
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	module = "github.com/operator-status/operator-status/"

	// clients is the package of the interfaces that write to the API server.
	clients = "sigs.k8s.io/controller-runtime/pkg/client"
)

// mechanisms are the packages that write for their callers. Only the callers are in the table.
var mechanisms = []string{module + "internal/apply", module + "internal/installer/builtin/record", module + "internal/kube", module + "internal/optin"}

// TestWrites verifies that writes.md has a row for every function of the manager that writes to the API server and for no
// other, and that the tests in it exist.
func TestWrites(t *testing.T) {
	rows := map[string]string{}
	for line := range strings.SplitSeq(read(t, "writes.md"), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if name := backquoted.FindStringSubmatch(cells[0]); len(cells) == columns && name != nil {
			rows[name[1]] = cells[columns-1]
		}
	}
	writers := writers(t)
	for _, w := range writers {
		if _, ok := rows[w]; !ok {
			t.Errorf("writes.md has no row for %s, which writes to the API server", w)
		}
	}
	tests := declaredTests(t)
	for w, named := range rows {
		if !slices.Contains(writers, w) {
			t.Errorf("writes.md has a row for %s, which does not write to the API server", w)
		}
		found := backquoted.FindAllStringSubmatch(named, -1)
		if len(found) == 0 {
			t.Errorf("writes.md names no test of %s", w)
		}
		for _, test := range found {
			if !tests[test[1]] {
				t.Errorf("writes.md names test %s of %s, which does not exist", test[1], w)
			}
		}
	}
}

// columns is how many cells a row has.
const columns = 5

var (
	backquoted = regexp.MustCompile("`([^`]+)`")
	testFunc   = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// declaredTests returns the tests of the repository, by name and by folder.name.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	const root = ".."
	out := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for _, found := range testFunc.FindAllStringSubmatch(read(t, path), -1) {
			out[found[1]], out[folder+"."+found[1]] = true, true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// writers returns the functions of the manager that write to the API server, as package.Function or
// package.Type.Function. Each writes by an interface of a client, or by a mechanism.
func writers(t *testing.T) []string {
	t.Helper()
	scanned := load(t, packages.NeedName|packages.NeedExportFile|packages.NeedSyntax|packages.NeedTypes|packages.NeedTypesInfo|packages.NeedImports,
		partsOf(t, "./cmd/manager")...)
	// A function of a mechanism that calls a writing function writes, too.
	indirect := map[string]bool{}
	for before := -1; before < len(indirect); {
		before = len(indirect)
		eachWrite(scanned, indirect, func(p *packages.Package, f *ast.FuncDecl) {
			if slices.Contains(mechanisms, p.PkgPath) {
				indirect[p.TypesInfo.Defs[f.Name].(*types.Func).FullName()] = true
			}
		})
	}
	var out []string
	eachWrite(scanned, indirect, func(p *packages.Package, f *ast.FuncDecl) {
		if !slices.Contains(mechanisms, p.PkgPath) {
			out = append(out, strings.TrimPrefix(p.PkgPath, module)+"."+nameOf(f))
		}
	})
	return out
}

// partsOf returns the packages of this module that a program consists of.
func partsOf(t *testing.T, program string) []string {
	t.Helper()
	var out []string
	packages.Visit(load(t, packages.NeedName|packages.NeedImports|packages.NeedDeps, program), nil, func(p *packages.Package) {
		if strings.HasPrefix(p.PkgPath, module) {
			out = append(out, p.PkgPath)
		}
	})
	return out
}

func load(t *testing.T, mode packages.LoadMode, patterns ...string) []*packages.Package {
	t.Helper()
	out, err := packages.Load(&packages.Config{Mode: mode, Dir: ".."}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
	}
	return out
}

// eachWrite calls yield with every function that writes. indirect holds the functions of mechanisms that write.
func eachWrite(in []*packages.Package, indirect map[string]bool, yield func(*packages.Package, *ast.FuncDecl)) {
	for _, p := range in {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && writes(f, p.TypesInfo, indirect) {
					yield(p, f)
				}
			}
		}
	}
}

func writes(f *ast.FuncDecl, info *types.Info, indirect map[string]bool) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			used, ok := info.Uses[name].(*types.Func)
			found = found || ok && (isWrite(used) || indirect[used.Origin().FullName()])
		}
		return !found
	})
	return found
}

// isWrite reports whether a function is a method of a client that writes.
func isWrite(f *types.Func) bool {
	if f.Pkg() == nil || f.Pkg().Path() != clients || f.Signature().Recv() == nil {
		return false
	}
	return slices.Contains([]string{"Create", "Update", "Patch", "Apply", "Delete", "DeleteAllOf"}, f.Name())
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return fmt.Sprintf("%s.%s", strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*"), f.Name.Name)
}
