package resolve

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// randomNeed returns a random requirement on packages a to d and kinds A to D.
func randomNeed(r *rand.Rand, compounds bool) property.Property {
	simple := func() (string, property.Property) {
		if r.IntN(2) == 0 {
			k := kind(pick(r, "A", "B", "C", "D"))
			return fmt.Sprintf(`{"gvk":{"group":%q,"version":%q,"kind":%q}}`, k.Group, k.Version, k.Kind),
				property.MustBuildGVKRequired(k.Group, k.Version, k.Kind)
		}
		name, versions := pick(r, "a", "b", "c", "d"), pick(r, "<2.0.0", ">=2.0.0", ">=1.0.0")
		return fmt.Sprintf(`{"package":{"packageName":%q,"versionRange":%q}}`, name, versions), needsPackage(name, versions)
	}
	if !compounds || r.IntN(2) == 0 {
		_, p := simple()
		return p
	}
	var compound func() string
	compound = func() string {
		x, _ := simple()
		y, _ := simple()
		if r.IntN(3) == 0 {
			y = compound()
		}
		return fmt.Sprintf(`{%q:{"constraints":[%s,%s]}}`, pick(r, "all", "any", "not"), y, x)
	}
	return constrains(compound())
}

// randomInputs returns a Subscription to package a with random catalogs and operators, small enough to try every
// solution. Each channel is a chain.
func randomInputs(r *rand.Rand, compounds bool) Inputs {
	in := Inputs{Subscription: sub(Subscription{Package: "a", Catalog: key("one")})}
	for _, name := range []string{"one", "two"} {
		c := source(name)
		c.Priority = r.IntN(2)
		for _, p := range []string{"a", "b", "c", "d"} {
			ch := channel("stable")
			for v := 1; v <= 2; v++ {
				if p == "a" && name == "two" || r.IntN(3) == 0 && (p != "a" || v > 1) {
					continue
				}
				e := bundle(fmt.Sprintf("%s.v%d.0.0", p, v), replaces(fmt.Sprintf("%s.v%d.0.0", p, v-1)))
				for range r.IntN(3) {
					has(randomNeed(r, compounds))(e)
				}
				for _, k := range []string{"A", "B", "C", "D"} {
					if r.IntN(4) == 0 {
						provides(k)(e)
					}
				}
				ch.Entries[e.Bundle.Name] = e
			}
			if len(ch.Entries) > 0 {
				c.Content.Packages[p] = pkg(p, ch)
			}
		}
		in.Catalogs = append(in.Catalogs, c)
	}
	for _, name := range []string{"b.v1.0.0", "x.v1.0.0"} {
		if r.IntN(4) == 0 {
			in.Present = append(in.Present, installed(name, provides(pick(r, "A", "B", "C")), has(randomNeed(r, compounds))))
		}
	}
	if r.IntN(3) == 0 {
		in.OnCluster = append(in.OnCluster, kind(pick(r, "A", "B", "C", "D")))
	}
	if r.IntN(2) == 0 {
		in.Installed = update("a.v1.0.0", provides(pick(r, "A", "B")))
	}
	return in
}

// reference resolves by trying every set of bundles. The only code that it shares with the search is that for decoding
// properties.
type reference struct {
	Inputs
	bundles []Choice
}

func newReference(in Inputs) reference {
	out := reference{Inputs: in}
	for _, c := range in.Catalogs {
		for _, p := range c.Content.Packages {
			for _, e := range p.Channels["stable"].Entries {
				out.bundles = append(out.bundles, Choice{Bundle: e.Bundle, Catalog: c.Key})
			}
		}
	}
	return out
}

// valid reports whether a set of bundles can be installed together.
func (r reference) valid(set []*catalog.Bundle) bool {
	taken := map[string]bool{}
	take := func(what string) bool {
		free := !taken[what]
		taken[what] = true
		return free
	}
	var all []operator
	for _, p := range r.Present {
		take("package " + p.Package)
		for _, k := range p.Provides {
			take(k.Kind)
		}
		all = append(all, p.operator())
	}
	for _, b := range set {
		if !take("package " + b.Package) {
			return false
		}
		kinds := slices.Clone(b.Provides)
		slices.SortFunc(kinds, func(a, b property.GVK) int { return strings.Compare(a.Kind, b.Kind) })
		for _, k := range slices.Compact(kinds) {
			if !take(k.Kind) {
				return false
			}
		}
		all = append(all, operator{b.Name, b.Package, b.Version, b.Provides, b.Properties})
	}
	for _, b := range set {
		for _, n := range needs(b.Properties) {
			if !r.met(n, all, b.Name, true, true) {
				return false
			}
		}
	}
	var before []operator
	for _, p := range r.Present {
		before = append(before, p.operator())
	}
	if r.Installed != nil {
		before = append(before, r.Installed.operator())
	}
	for _, p := range r.Present {
		for _, n := range needs(p.Properties) {
			if r.met(n, before, p.Name, true, false) && !r.met(n, all, p.Name, true, false) {
				return false
			}
		}
	}
	return true
}

// met reports whether operators satisfy a need, or its negation if expected is false.
func (r reference) met(n need, all []operator, owner string, expected, cluster bool) bool {
	every := func(expected bool) bool {
		return !slices.ContainsFunc(n.parts, func(p need) bool { return !r.met(p, all, owner, expected, cluster) })
	}
	some := func(expected bool) bool {
		return slices.ContainsFunc(n.parts, func(p need) bool { return r.met(p, all, owner, expected, cluster) })
	}
	switch {
	case n.op == opAll && expected, n.op == opAny && !expected:
		return every(expected)
	case n.op == opAny, n.op == opAll:
		return some(expected)
	case n.op == opNone && expected:
		return every(false)
	case n.op == opNone:
		return some(true)
	}
	found := slices.ContainsFunc(all, func(o operator) bool { return n.met(o) && (expected || o.name != owner) })
	if expected && cluster && n.op == opKind && slices.Contains(r.OnCluster, n.kind) {
		return true
	}
	return found == expected
}

// possible reports whether a set that contains these bundles can be installed.
func (r reference) possible(fixed ...*catalog.Bundle) bool {
	var rest []*catalog.Bundle
	for _, b := range r.bundles {
		if !slices.ContainsFunc(fixed, func(f *catalog.Bundle) bool { return f.Package == b.Bundle.Package }) {
			rest = append(rest, b.Bundle)
		}
	}
	var try func(i int, set []*catalog.Bundle) bool
	try = func(i int, set []*catalog.Bundle) bool {
		if i == len(rest) {
			return r.valid(set)
		}
		if try(i+1, set) {
			return true
		}
		if slices.ContainsFunc(set, func(b *catalog.Bundle) bool { return b.Package == rest[i].Package }) {
			return false
		}
		return try(i+1, append(slices.Clip(set), rest[i]))
	}
	return try(0, fixed)
}

// roots returns the bundles that the Subscription can install or update to, newest first.
func (r reference) roots() []*catalog.Bundle {
	var out []*catalog.Bundle
	for _, version := range []string{"2.0.0", "1.0.0"} {
		for _, c := range r.bundles {
			if c.Bundle.Package == "a" && c.Bundle.Version.EQ(semver.MustParse(version)) && (r.Installed == nil || version == "2.0.0") {
				out = append(out, c.Bundle)
			}
		}
	}
	return out
}

// preferred returns the bundle that should satisfy a root's need for a kind if it is the only need.
func (r reference) preferred(root *catalog.Bundle, n need) *catalog.Bundle {
	meets := func(o operator) bool { return n.met(o) }
	found := slices.Clone(r.bundles)
	rank := func(c Choice) int {
		if c.Catalog == key("one") {
			return 0 // the catalog of the root
		}
		return 1
	}
	slices.SortFunc(found, func(a, b Choice) int {
		if rank(a) != rank(b) {
			return rank(a) - rank(b)
		}
		if a.Bundle.Package != b.Bundle.Package {
			return strings.Compare(a.Bundle.Package, b.Bundle.Package)
		}
		return b.Bundle.Version.Compare(a.Bundle.Version)
	})
	for _, c := range found {
		b := c.Bundle
		if meets(operator{b.Name, b.Package, b.Version, b.Provides, b.Properties}) && b.Package != "a" && r.possible(root, b) {
			return b
		}
	}
	return nil
}

func TestAgainstReference(t *testing.T) { againstReference(t, seeded(t)) }

// TestSeeds repeats runs that failed in the past.
func TestSeeds(t *testing.T) {
	for name, seed := range map[string]uint64{
		"a need of what is there that is negated twice":             1795400439645464895,
		"a need of an installed operator that something else keeps": 1795893758290557449,
	} {
		t.Run(name, func(t *testing.T) { againstReference(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func againstReference(t *testing.T, r *rand.Rand) {
	t.Helper()
	for i := range 400 {
		in := randomInputs(r, i%2 == 0)
		ref := newReference(in)
		s, problem := Resolve(in)
		var best *catalog.Bundle
		roots := ref.roots()
		for _, b := range roots {
			if ref.possible(b) {
				best = b
				break
			}
		}
		switch {
		case len(roots) == 0 && problem == nil && len(s.Choices) == 0:
			continue
		case best == nil && problem == nil || best != nil && problem != nil:
			t.Fatalf("round %d: %v, %+v; the reference has %+v", i, answer(s, problem).Choices, problem, best)
		case best == nil:
			continue
		}
		if s.Choices[0].Bundle != best {
			t.Fatalf("round %d: chose %s, and %s can be installed", i, s.Choices[0].Bundle.Name, best.Name)
		}
		checkChoices(t, ref, s)
	}
}

// checkChoices verifies that the choices can be installed together, that none is superfluous, and that the first
// dependency is the preferred one.
func checkChoices(t *testing.T, ref reference, s Solution) {
	t.Helper()
	var set []*catalog.Bundle
	var required []need
	for _, c := range s.Choices {
		set = append(set, c.Bundle)
		required = append(required, needs(c.Bundle.Properties)...)
	}
	for _, p := range ref.Present {
		required = append(required, needs(p.Properties)...)
	}
	// Fewer bundles may suffice, although more are preferred.
	compounds := len(ref.OnCluster) > 0 || slices.ContainsFunc(required, func(n need) bool { return n.op >= opAll })
	if !ref.valid(set) {
		t.Fatalf("cannot be installed together: %v", answer(s, nil).Choices)
	}
	for i := 1; i < len(set) && !compounds; i++ {
		if ref.valid(slices.Delete(slices.Clone(set), i, i+1)) {
			t.Fatalf("%s is not required: %v", set[i].Name, answer(s, nil).Choices)
		}
	}
	root := set[0]
	first := needs(root.Properties)
	if len(first) == 0 || first[0].op >= opAll {
		return
	}
	there := append([]operator{{root.Name, root.Package, root.Version, root.Provides, nil}}, func() (out []operator) {
		for _, p := range ref.Present {
			out = append(out, p.operator())
		}
		return out
	}()...)
	if slices.ContainsFunc(there, first[0].met) {
		return
	}
	if wanted := ref.preferred(root, first[0]); wanted != nil && !slices.Contains(set, wanted) {
		t.Fatalf("%s is preferred for %s: %v", wanted.Name, first[0].text, answer(s, nil).Choices)
	}
}
