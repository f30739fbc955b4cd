package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-air/gini"
	"github.com/go-air/gini/z"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// solverTimeout limits the total time of the solver. Real catalogs take milliseconds; a maliciously complex one must not
// delay others.
const solverTimeout = 5 * time.Second

// search determines which offers can be installed together. It adds offers to a SAT solver as it reaches them: the
// requested bundles, then those that satisfy their needs, and so on.
type search struct {
	candidates *candidates
	present    []Installed // remain installed, sorted by name
	replaced   []Installed // are replaced
	onCluster  []property.GVK

	solver    *gini.Gini
	yes       z.Lit
	taken     map[claim]z.Lit // an offer has placed that claim
	pending   []*offer        // wanted, but their needs have not been added to the solver
	kept      []keptNeed
	remaining time.Duration // the remaining time
	gaveUp    bool
}

// claim is something that only one operator of a namespace can have: a name, a package, or a provided kind.
type claim struct {
	name, pkg string
	kind      property.GVK
}

// keptNeed is a need of a present operator. It is satisfied now, so it must remain satisfied.
type keptNeed struct {
	owner Installed
	*node
}

// node is a need of a bundle in the solver.
type node struct {
	need
	// lit can be true only if the need is satisfied.
	lit z.Lit

	// A need that is not a compound has offers: in order of preference, those that satisfy it, or, if it is negated,
	// those that must not be installed. by is the present operator that decides the need, if any.
	absent    bool
	offers    []*offer
	by        *Installed
	onCluster bool

	// A compound has parts. every is true if all of them are required.
	every bool
	parts []*node
}

func newSearch(m *candidates, in NamespaceState, replaced []Installed) *search {
	s := &search{
		candidates: m, replaced: replaced,
		solver: gini.NewVc(64, 256), taken: map[claim]z.Lit{}, remaining: solverTimeout,
	}
	for _, p := range in.Present {
		gone := func(r Installed) bool { return r.Name == p.Name || r.Package != "" && r.Package == p.Package }
		if !slices.ContainsFunc(replaced, gone) {
			s.present = append(s.present, p)
		}
	}
	slices.SortStableFunc(s.present, func(a, b Installed) int { return cmp.Compare(a.Name, b.Name) })
	s.yes = s.solver.Lit()
	s.clause(s.yes)
	for _, p := range s.present {
		for _, n := range needs(p.Properties) {
			if n.judge(s.before(), p.Name, false) == holds {
				if node := s.compile(n, offer{operator: p.operator()}, false); node.lit != s.yes {
					s.kept = append(s.kept, keptNeed{p, node})
				}
			}
		}
	}
	s.onCluster = in.OnCluster // only now, since the cluster still serves kinds that the update would remove
	return s
}

// before returns the operators of the namespace before the change.
func (s *search) before() []operator {
	var out []operator
	for _, i := range slices.Concat(s.present, s.replaced) {
		out = append(out, i.operator())
	}
	return out
}

func (s *search) clause(lits ...z.Lit) {
	for _, l := range lits {
		s.solver.Add(l)
	}
	s.solver.Add(z.LitNull)
}

// possible reports whether an offer can be installed with its dependencies.
func (s *search) possible(o *offer) bool {
	s.want(o)
	return s.consistent(o.chosen)
}

// consistent reports whether the literals are satisfiable together, and the needs of present operators remain satisfied.
func (s *search) consistent(lits ...z.Lit) bool {
	for _, k := range s.kept {
		lits = append(lits, k.lit)
	}
	return s.satisfiable(lits...)
}

// satisfiable reports whether the literals are satisfiable together, regardless of the needs of present operators. It
// returns false if the solver gives up.
func (s *search) satisfiable(lits ...z.Lit) bool {
	for len(s.pending) > 0 {
		o := s.pending[0]
		s.pending = s.pending[1:]
		for _, n := range o.needs() {
			node := s.compile(n, *o, false)
			s.clause(o.chosen.Not(), node.lit)
			o.nodes = append(o.nodes, node)
		}
	}
	if s.gaveUp {
		return false
	}
	s.solver.Assume(lits...)
	start := time.Now()
	answer := s.solver.Try(s.remaining)
	s.remaining -= time.Since(start)
	s.gaveUp = answer == 0
	return answer == 1
}

// want adds an offer as one that can be chosen, unless it is blocked.
func (s *search) want(o *offer) {
	s.place(o)
	if !o.wanted && o.blocked == "" {
		o.wanted = true
		s.pending = append(s.pending, o)
	}
}

// place adds an offer to the solver, and excludes others with the same claims.
func (s *search) place(o *offer) {
	if o.placed != z.LitNull {
		return
	}
	o.chosen, o.placed = s.solver.Lit(), s.solver.Lit()
	s.clause(o.chosen.Not(), o.placed)
	if !o.stays {
		o.blocked = s.blocked(o)
	}
	if o.blocked != "" {
		s.clause(o.placed.Not())
		return
	}
	claims := []claim{{name: o.name}, {pkg: o.pkg}}
	for _, k := range o.provides {
		if c := (claim{kind: k}); !slices.Contains(claims, c) {
			claims = append(claims, c)
		}
	}
	for _, c := range claims {
		before, ok := s.taken[c]
		if !ok {
			s.taken[c] = o.placed
			continue
		}
		now := s.solver.Lit()
		s.clause(o.placed.Not(), before.Not())
		s.clause(o.placed.Not(), now)
		s.clause(before.Not(), now)
		s.taken[c] = now
	}
}

// blocked returns why an offer conflicts with present operators, or the empty string.
func (s *search) blocked(o *offer) string {
	for _, p := range s.present {
		if p.Name == o.name {
			return fmt.Sprintf("%s cannot be installed again: %s", o.name, p.presence())
		}
		if p.Package != "" && p.Package == o.pkg {
			return fmt.Sprintf("%s cannot be installed: %s, which also belongs to package %s, and only its own Subscription updates it",
				o.name, p.presence(), o.pkg)
		}
	}
	for _, p := range s.present {
		for _, k := range p.Provides {
			if slices.Contains(o.provides, k) {
				return fmt.Sprintf("%s cannot be installed: it provides %s, and %s, which also provides it", o.name, kindText(k), p.presence())
			}
		}
	}
	return ""
}

// presence returns a clause that a ClusterServiceVersion is, or will be, in the namespace.
func (i Installed) presence() string {
	if i.Planned {
		return fmt.Sprintf("an older Subscription in the namespace will install %s", i.Name)
	}
	return fmt.Sprintf("the namespace has %s", i.Name)
}
