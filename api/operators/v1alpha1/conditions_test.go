package v1alpha1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestConditionsAreConstants verifies that every type and reason of a condition set in the code is a constant of an API
// package, which is documented.
func TestConditionsAreConstants(t *testing.T) {
	files := 0
	for _, folder := range []string{"internal", "cmd", "pkg"} {
		root := filepath.Join("..", "..", "..", folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil // also if the folder does not exist
			}
			files++
			checkFile(t, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 10 {
		t.Errorf("found only %d files: the folder of the test is wrong", files)
	}
}

// checkFile reports string literals that are used as the type or reason of a condition.
func checkFile(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	report := func(n ast.Node) {
		t.Errorf("%s: a condition's type or reason must be a constant of an API package", set.Position(n.Pos()))
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if !isCondition(n.Type) {
				return true
			}
			for _, element := range n.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok && isField(pair.Key) && isLiteral(pair.Value) {
					report(pair)
				} else if !ok && isLiteral(element) && isProblem(n.Type) && element == n.Elts[0] {
					report(element)
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				selector, ok := left.(*ast.SelectorExpr)
				if ok && selector.Sel.Name == "Reason" && len(n.Rhs) == len(n.Lhs) && isLiteral(n.Rhs[i]) {
					report(left)
				}
			}
		}
		return true
	})
}

func isCondition(e ast.Expr) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && strings.HasSuffix(selector.Sel.Name, "Condition") || isProblem(e)
}

// isProblem reports whether e is the type that carries the reason and message of a condition.
func isProblem(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "Problem"
}

func isField(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && (name.Name == "Type" || name.Name == "Reason")
}

func isLiteral(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING
}

// TestConstantsAreDocumented verifies that every condition constant has a doc comment of its own.
func TestConstantsAreDocumented(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "*", "*", "*_conditions.go"))
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]int{}
	for _, path := range paths {
		constants[filepath.Dir(path)] += checkComments(t, path)
	}
	for folder, n := range constants {
		if n < 5 {
			t.Errorf("only %d constants were found in %s", n, folder)
		}
	}
	if len(constants) != 4 {
		t.Errorf("there are %d API packages with conditions", len(constants))
	}
}

func checkComments(t *testing.T, path string) (constants int) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			constants++
			comment := constant.Doc
			if !group.Lparen.IsValid() {
				comment = group.Doc
			}
			if !strings.HasPrefix(comment.Text(), constant.Names[0].Name) {
				t.Errorf("%s has no doc comment", constant.Names[0].Name)
			}
		}
	}
	return constants
}
