package subscription

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestConditions verifies that Conditions has every type of the API once, and that their order is defined.
func TestConditions(t *testing.T) {
	var got []string
	ranks := map[int]v1alpha1.SubscriptionConditionType{}
	for _, c := range Conditions {
		got = append(got, string(c.Type))
		if (c.Rank == 0) != (c.Effect == Informs) {
			t.Errorf("%s, which %s, has rank %d", c.Type, c.Effect, c.Rank)
		}
		if other, taken := ranks[c.Rank]; taken && c.Rank != 0 {
			t.Errorf("%s and %s have rank %d", other, c.Type, c.Rank)
		}
		ranks[c.Rank] = c.Type
	}
	want := append(declared(t, "../../../api/operators/v1alpha1/subscription_conditions.go"), "BundleUnpacking", "BundleUnpackFailed") // of OLM alone
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(slices.Values(got))); diff != "" {
		t.Errorf("types of conditions -in the API +in the table\n%s", diff)
	}
}

// declared returns the values of the constants of type SubscriptionConditionType in a file.
func declared(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "SubscriptionConditionType" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, value)
		}
		return true
	})
	return out
}

// TestListsElsewhere verifies that the files in other languages have the same lists.
func TestListsElsewhere(t *testing.T) {
	var failed, reasons []string
	for _, c := range TypesOf(Broken) {
		if c != v1alpha1.SubscriptionInstallPlanPending { // which depends on its reason
			failed = append(failed, string(c))
		}
	}
	reasons = append(reasons, inProgressReasons...)
	slices.Sort(reasons)
	const (
		lua  = "../../../config/argocd/operators.coreos.com/Subscription/health.lua"
		flux = "../../../config/flux/healthchecks.yaml"
	)
	for _, c := range []struct {
		path, list string // an expression whose first group is the list
		sorted     bool
		want       []string
	}{
		{lua, `(?s)ipairs\(\{("InstalledCSVFailed".*?)\}\)`, false, failed},
		{lua, `(?s)local waits = \{(.*?)\}`, true, reasons},
		{flux, `(?s)c\.type in \[("InstalledCSVFailed".*?)\]`, false, failed},
		{flux, `(?s)!\(c\.reason in \[(""[^\]]*)\]`, true, reasons},
	} {
		text, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(c.list).FindSubmatch(text)
		if found == nil {
			t.Errorf("%s has no list that matches %s", c.path, c.list)
			continue
		}
		var got []string
		for entry := range strings.SplitSeq(string(found[1]), ",") {
			if entry = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(entry), "= true")); entry != "" {
				got = append(got, strings.Trim(entry, `"'[]`))
			}
		}
		if c.sorted {
			slices.Sort(got)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s -want +got\n%s", c.path, diff)
		}
	}
}
