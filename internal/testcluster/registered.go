package testcluster

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
)

// Registered are the values of the constants that the API packages document: every condition type and reason that operator-status
// may write.
func Registered() map[string]bool {
	files, err := filepath.Glob(filepath.Join(Root(), "api", "*", "*", "*_conditions.go"))
	if err != nil || len(files) == 0 {
		panic("the API packages have no conditions")
	}
	out := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			panic(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					if value, err := strconv.Unquote(literal.Value); err == nil {
						out[value] = true
					}
				}
			}
			return true
		})
	}
	return out
}
