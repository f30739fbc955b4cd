package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-air/gini/z"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// maxSteps limits the steps of an explanation in its text: the first and last ones are kept.
const maxSteps = 4

// explanation explains, in steps, why an offer cannot be installed, such as a dependency of a dependency that does not exist.
type explanation struct {
	reason string
	steps  []string
	// vague is true if no step names the cause.
	vague bool
}

func (t explanation) String() string {
	var out []string
	for i, step := range t.steps {
		cut := len(t.steps) - maxSteps
		if cut > 0 && i >= maxSteps/2 && i < maxSteps/2+cut {
			if i == maxSteps/2 {
				out = append(out, "…")
			}
			continue
		}
		out = append(out, messages.Clip(step, maxMessage/maxSteps-8))
	}
	return strings.Join(out, " ")
}

// assumptions are the premises of an explanation: literals, and the offers that are being explained.
type assumptions struct {
	lits    []z.Lit
	offers  []*offer
	visited map[*offer]bool
}

func (c assumptions) with(o *offer, lit z.Lit) assumptions {
	return assumptions{append(slices.Clip(c.lits), lit), append(slices.Clip(c.offers), o), c.visited}
}

// explain returns why an offer cannot be installed, together with the offers of the assumptions, if any. It follows
// unsatisfiable needs to the first cause.
func (s *search) explain(in assumptions, o *offer) explanation {
	in.visited = map[*offer]bool{}
	t := s.explainOffer(in, o)
	if t.vague && o.blocked == "" {
		// All needs lead back to the offer, so the offer itself may conflict with them.
		in.visited = map[*offer]bool{o: true}
		if closer, ok := s.firstUnmet(in.with(o, o.placed), o); ok && !closer.vague {
			return closer
		}
	}
	return t
}

func (s *search) explainOffer(in assumptions, o *offer) explanation {
	s.want(o)
	if o.blocked != "" {
		return plain("%s", o.blocked)
	}
	for _, other := range in.offers {
		if why := clash(other, o); why != "" {
			return plain("%s", why)
		}
	}
	if in.visited[o] {
		return vague("%s cannot be installed together with all its dependencies", o.name)
	}
	in.visited[o] = true
	if s.satisfiable(append(slices.Clip(in.lits), o.chosen)...) {
		return s.lost(in, o)
	}
	if t, ok := s.firstUnmet(in, o); ok {
		return t
	}
	// Each need is satisfiable by itself, so they conflict with each other or with the offer itself.
	beside := in.with(o, o.placed)
	if t, ok := s.firstUnmet(beside, o); ok {
		return t
	}
	return s.apart(beside, o)
}

// firstUnmet returns the explanation of the first need of an offer that is unsatisfiable. It prefers one whose cause is
// known.
func (s *search) firstUnmet(in assumptions, o *offer) (first explanation, ok bool) {
	for _, n := range o.nodes {
		if s.satisfiable(append(slices.Clip(in.lits), n.lit)...) {
			continue
		}
		t := s.unmet(in, o, n)
		if !t.vague {
			return t, true
		}
		if !ok {
			first, ok = t, true
		}
	}
	return first, ok
}

// apart returns which needs of an offer are not satisfiable together.
func (s *search) apart(in assumptions, o *offer) explanation {
	lits := slices.Clone(in.lits)
	for j, n := range o.nodes {
		if lits = append(lits, n.lit); s.satisfiable(lits...) {
			continue
		}
		for _, other := range o.nodes[:j] {
			if s.satisfiable(append(slices.Clip(in.lits), other.lit, n.lit)...) {
				continue
			}
			t := plain("%s requires both %s and %s, but", o.name, other.text, n.text)
			if a, b := s.available(in, other), s.available(in, n); a != nil && b != nil {
				why := s.explainOffer(in.with(a, a.chosen), b)
				t.steps = append(t.steps, why.steps...)
			} else {
				t.steps = append(t.steps, "they conflict")
			}
			return t
		}
		return plain("%s requires %s, which conflicts with its other dependencies", o.name, n.text)
	}
	return vague("%s cannot be installed together with all its dependencies", o.name)
}

// available returns the preferred offer that satisfies a need and can be chosen, or nil.
func (s *search) available(in assumptions, n *node) *offer {
	for _, o := range n.offers {
		if !n.absent && s.satisfiable(append(slices.Clip(in.lits), o.chosen)...) {
			return o
		}
	}
	return nil
}

// unmet returns why a need of an offer is not satisfiable.
func (s *search) unmet(in assumptions, o *offer, n *node) explanation {
	switch {
	case n.op == opFault:
		return explanation{reason: n.reason, steps: []string{o.name + " " + n.text}}
	case n.absent:
		return s.notAbsent(in, o, n)
	case n.every:
		for _, p := range n.parts {
			if !s.satisfiable(append(slices.Clip(in.lits), p.lit)...) {
				return s.unmet(in, o, p)
			}
		}
		return plain("%s requires %s, but these conflict", o.name, n.text)
	case len(n.parts) > 0:
		t := s.unmet(in, o, n.parts[0])
		t.steps = slices.Insert(t.steps, 0, fmt.Sprintf("%s requires %s, but none is available:", o.name, n.text))
		return t
	case len(n.offers) == 0:
		return plain("%s requires %s", o.name, s.missing(n.need))
	default:
		best := n.offers[0]
		t := plain("%s", clash(o, best))
		if i := slices.IndexFunc(n.offers, func(other *offer) bool { return clash(o, other) == "" }); i >= 0 {
			best = n.offers[i]
			t = s.explainOffer(in, best)
		}
		t.steps = slices.Insert(t.steps, 0, fmt.Sprintf("%s requires %s, which %s would satisfy, but", o.name, n.text, best.name))
		return t
	}
}

func (s *search) notAbsent(in assumptions, o *offer, n *node) explanation {
	if n.by != nil {
		return plain("%s excludes %s, but %s", o.name, n.text, n.by.presence())
	}
	for _, other := range in.offers {
		if slices.Contains(n.offers, other) {
			return plain("%s excludes %s, which %s matches", o.name, n.text, other.name)
		}
	}
	return plain("%s excludes %s", o.name, n.text)
}

// lost returns which need of a present operator an otherwise installable offer would break.
func (s *search) lost(in assumptions, o *offer) explanation {
	for _, k := range s.kept {
		if !s.satisfiable(append(slices.Clip(in.lits), o.chosen, k.lit)...) {
			return plain("%s cannot be installed: %s, which requires %s, and that would no longer be satisfied", o.name, k.owner.presence(), k.text)
		}
	}
	return plain("%s cannot be installed: requirements of the operators in the namespace would no longer be satisfied", o.name)
}

// missing returns the text of a need, and why no offer satisfies it.
func (s *search) missing(n need) string {
	var why string
	switch n.op {
	case opKind:
		why = ", which no bundle in the visible catalogs provides and the cluster does not serve" + s.otherVersions(n.kind)
	case opPackage:
		why = s.missingPackage(n)
	default:
		why = ", which no visible catalog has"
	}
	var unread []string
	for _, c := range s.candidates.catalogs {
		if c.Content == nil {
			unread = append(unread, c.Key.String())
		}
	}
	if len(unread) > 0 {
		why += fmt.Sprintf(" (CatalogSource %s has not been read)", listing(unread, ""))
	}
	return n.text + why
}

func (s *search) missingPackage(n need) string {
	for _, p := range s.present {
		if p.Package == n.pkg {
			return fmt.Sprintf(", but %s, and only its own Subscription updates it", p.presence())
		}
	}
	var names, versions []string
	for _, c := range s.candidates.readable() {
		for _, o := range s.candidates.ofPackage(c, n.pkg) {
			versions = append(versions, o.version.String())
		}
		names = slices.AppendSeq(names, maps.Keys(c.Content.Packages))
	}
	if len(versions) > 0 {
		return ", but the visible catalogs have only " + messages.List(unique(versions), maxNamed, ", ")
	}
	return ", which no visible catalog has" + didYouMean(n.pkg, names)
}

// otherVersions returns a hint about bundles that provide other versions of a kind, or the empty string.
func (s *search) otherVersions(kind property.GVK) string {
	var found []string
	for _, c := range s.candidates.readable() {
		for _, name := range packagesWith(c.Content, func(b *catalog.Bundle) bool { return similar(b.Provides, kind) != "" }) {
			for _, o := range s.candidates.ofPackage(c, name) {
				if version := similar(o.provides, kind); version != "" {
					found = append(found, fmt.Sprintf("%s of package %s", version, name))
					break
				}
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "; available: " + listing(found, "")
}

// similar returns the greatest version of a kind in a list, compared as text, or the empty string.
func similar(kinds []property.GVK, kind property.GVK) string {
	var out string
	for _, k := range kinds {
		if k.Group == kind.Group && k.Kind == kind.Kind {
			out = max(out, k.Version)
		}
	}
	return out
}

// clash returns why two offers exclude each other, or the empty string.
func clash(a, b *offer) string {
	what := ""
	switch {
	case a == b:
		return ""
	case a.pkg == b.pkg:
		what = "belong to package " + a.pkg
	case a.name == b.name:
		return fmt.Sprintf("packages %s and %s both have a bundle named %s", min(a.pkg, b.pkg), max(a.pkg, b.pkg), a.name)
	default:
		kinds := slices.SortedFunc(slices.Values(a.provides), func(x, y property.GVK) int {
			return cmp.Or(cmp.Compare(x.Group, y.Group), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Version, y.Version))
		})
		at := slices.IndexFunc(kinds, func(k property.GVK) bool { return slices.Contains(b.provides, k) })
		if at < 0 {
			return ""
		}
		what = "provide " + kindText(kinds[at])
	}
	return fmt.Sprintf("%s and %s both %s", a.name, b.name, what)
}

func plain(format string, args ...any) explanation {
	return explanation{reason: v1alpha1.ReasonConstraintsNotSatisfiable, steps: []string{fmt.Sprintf(format, args...)}}
}

func vague(format string, args ...any) explanation {
	t := plain(format, args...)
	t.vague = true
	return t
}
