package probe_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/operator-status/operator-status/"

// TestImports verifies that operators that import the package get nothing of this project but its API, and that the
// package itself has only allowed imports.
func TestImports(t *testing.T) {
	list := func(args ...string) []string {
		t.Helper()
		output, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(output))
	}
	for _, p := range list("-deps", ".") {
		if strings.HasPrefix(p, module) && p != module+"pkg/probe" && p != module+"api/operators/v1alpha1" {
			t.Errorf("the package depends on %s", p)
		}
	}
	allowed := []string{
		module + "api/operators/v1alpha1", "k8s.io/apimachinery/",
		"k8s.io/client-go/util/retry", "sigs.k8s.io/controller-runtime/pkg/client",
	}
	for _, p := range list("-f", `{{join .Imports "\n"}}`, ".") {
		first, _, _ := strings.Cut(p, "/")
		standard := !strings.Contains(first, ".")
		if !standard && !slices.ContainsFunc(allowed, func(a string) bool { return p == a || strings.HasSuffix(a, "/") && strings.HasPrefix(p, a) }) {
			t.Errorf("the package imports %s", p)
		}
	}
}
