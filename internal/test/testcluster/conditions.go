package testcluster

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Registered returns the constants of the API packages: every condition type and reason that operator-status may write.
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

// Lacking returns a message about the first wanted condition, as "Type=Status/Reason", that is missing, with the message of the one that
// there is, or "".
func Lacking(conditions []metav1.Condition, want ...string) string {
	var got []string
	for _, c := range conditions {
		got = append(got, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	for _, w := range want {
		if slices.Contains(got, w) {
			continue
		}
		out := fmt.Sprintf("want %s, got %s", w, strings.Join(got, " "))
		kind, _, _ := strings.Cut(w, "=")
		if c := meta.FindStatusCondition(conditions, kind); c != nil {
			out += ": " + c.Message
		}
		return out
	}
	return ""
}
