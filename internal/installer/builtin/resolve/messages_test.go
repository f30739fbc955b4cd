package resolve

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

func TestDidYouMean(t *testing.T) {
	names := []string{"vault", "etcd", "prometheus", "kafkaesque", "a"}
	cases := map[string]struct {
		reason, name, want string
	}{
		"Swapped":  {"A name with two swapped letters is recognized.", "vualt", ": did you mean vault?"},
		"Missing":  {"A name without a letter is recognized.", "etc", ": did you mean etcd?"},
		"Case":     {"A name in another case is recognized.", "Etcd", ": did you mean etcd?"},
		"Long":     {"A long name may differ in more letters.", "prometeus", ": did you mean prometheus?"},
		"TooShort": {"Nothing is suggested for a single letter.", "b", ""},
		"Unlike":   {"Nothing is suggested for a name that is not similar.", "kafka", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, didYouMean(c.name, names)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestListing(t *testing.T) {
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf("stable-1.%d", i))
	}
	cases := map[string]struct {
		reason string
		names  []string
		like   string
		want   string
	}{
		"None": {"An empty list is printed as none.", nil, "", "none"},
		"Few":  {"A short list is sorted and without duplicates.", []string{"b", "a", "b"}, "", "a, b"},
		"Nearby": {"A long list starts with similar names.", append([]string{"stabel"}, many...), "stable",
			"stabel, stable-1.0, stable-1.1, stable-1.2, stable-1.3, stable-1.4, stable-1.5, stable-1.6, stable-1.7, stable-1.8 and 21 more"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, listing(c.names, c.like)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestLongExplanation verifies that shortening a long chain of needs keeps its end, which has the cause.
func TestLongExplanation(t *testing.T) {
	var packages []*catalog.Package
	for i := range 50 {
		name := func(i int) string { return fmt.Sprintf("%s-%d", strings.Repeat("ü", 40), i) }
		packages = append(packages, singleBundle(name(i)+".v1.0.0", has(needsPackage(name(i+1), ""))))
	}
	_, problem := Resolve(Inputs{
		sub(Subscription{Package: packages[0].Name}),
		NamespaceState{Catalogs: sources(source("community", packages...))},
	})
	if problem == nil || len(problem.Message) > maxMessage || !utf8.ValidString(problem.Message) ||
		!strings.Contains(problem.Message, "-50, which no visible catalog has") {
		t.Errorf("%+v", problem)
	}
}

// TestSolverTimeout verifies that nothing is chosen, and a Problem is returned, if the solver gives up.
func TestSolverTimeout(t *testing.T) {
	in := sources(fooNeeding([]property.Property{needsKind("Bar")}, singleBundle("bar.v1.0.0", provides("Bar"))))
	s := newSearch(newCandidates(in, "default"), NamespaceState{Catalogs: in}, nil)
	root := s.candidates.meeting(need{op: opPackage, pkg: "foo", versions: anyVersion})
	s.remaining = 0
	if s.possible(root[0]) || !s.gaveUp {
		t.Error("the solver returns a solution after its timeout")
	}
	want := &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: "Resolving the dependencies of foo.v1.0.0 took longer than 5s"}
	if diff := cmp.Diff(want, s.problem(root, nil)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
