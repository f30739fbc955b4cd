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

// patience is how long the solver may take in all. Catalogs of this world take it milliseconds; one that is made to be
// hard must not keep its neighbours waiting.
const patience = 5 * time.Second

// search looks for offers that can be installed together. It hands to a SAT solver what it comes across: the bundles
// that were asked for, those that meet their needs, and so on.
type search struct {
	market    *market
	present   []Installed // what stays, by name
	replaced  []Installed // what goes
	onCluster []property.GVK

	solver   *gini.Gini
	yes      z.Lit
	taken    map[claim]z.Lit // some offer so far has placed that claim
	pending  []*offer        // wanted, but their needs are not known to the solver yet
	kept     []keptNeed
	patience time.Duration // what is left of it
	gaveUp   bool
}

// claim is what at most one operator of a namespace can have: a name, a package, or a kind that it provides.
type claim struct {
	name, pkg string
	kind      property.GVK
}

// keptNeed is a need of what is present. It was met, so it has to stay so.
type keptNeed struct {
	owner Installed
	*node
}

// node is a need of a bundle, as the solver knows it.
type node struct {
	need
	// lit can be true only where the need is met.
	lit z.Lit

	// A need that is no compound has offers: those that meet it, the preferred ones first, or, where it is turned
	// round by a none, those that have to stay away. by is what is present that decides it.
	absent    bool
	offers    []*offer
	by        *Installed
	onCluster bool

	// A compound has parts: all of them, or one.
	every bool
	parts []*node
}

func newSearch(m *market, in Surroundings, replaced []Installed) *search {
	s := &search{
		market: m, replaced: replaced,
		solver: gini.NewVc(64, 256), taken: map[claim]z.Lit{}, patience: patience,
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
	s.onCluster = in.OnCluster // only now: what an update takes away is still on the cluster
	return s
}

// before are the operators of the namespace as it is.
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

// possible is true where an offer can be installed with what it needs.
func (s *search) possible(o *offer) bool {
	s.want(o)
	return s.together(o.chosen)
}

// together is true where all of that can be had, and what is present keeps what it needs.
func (s *search) together(lits ...z.Lit) bool {
	for _, k := range s.kept {
		lits = append(lits, k.lit)
	}
	return s.satisfiable(lits...)
}

// satisfiable is true where all of that can be had, whatever becomes of what is present.
func (s *search) satisfiable(lits ...z.Lit) bool {
	for len(s.pending) > 0 {
		o := s.pending[0]
		s.pending = s.pending[1:]
		for _, n := range needs(o.properties) {
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
	answer := s.solver.Try(s.patience)
	s.patience -= time.Since(start)
	s.gaveUp = answer == 0
	return answer == 1
}

// want makes an offer one that can be chosen.
func (s *search) want(o *offer) {
	s.place(o)
	if !o.wanted && o.blocked == "" {
		o.wanted = true
		s.pending = append(s.pending, o)
	}
}

// place tells the solver of an offer, and that nothing else can have what it claims.
func (s *search) place(o *offer) {
	if o.placed != z.LitNull {
		return
	}
	o.chosen, o.placed = s.solver.Lit(), s.solver.Lit()
	s.clause(o.chosen.Not(), o.placed)
	if o.blocked = s.blocked(o); o.blocked != "" {
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

// blocked tells why an offer cannot be installed beside what is present; empty where it can.
func (s *search) blocked(o *offer) string {
	for _, p := range s.present {
		if p.Name == o.name {
			return fmt.Sprintf("%s cannot be installed once more: %s", o.name, p.there())
		}
		if p.Package != "" && p.Package == o.pkg {
			return fmt.Sprintf("%s cannot be installed: %s, which is of package %s too, and only its own Subscription updates it",
				o.name, p.there(), o.pkg)
		}
	}
	for _, p := range s.present {
		for _, k := range p.Provides {
			if slices.Contains(o.provides, k) {
				return fmt.Sprintf("%s cannot be installed: it provides %s, and %s, which does so too", o.name, kindText(k), p.there())
			}
		}
	}
	return ""
}

// there says that a ClusterServiceVersion is in the namespace.
func (i Installed) there() string {
	if i.Planned {
		return fmt.Sprintf("an older Subscription of the namespace is to install %s", i.Name)
	}
	return fmt.Sprintf("the namespace has %s", i.Name)
}
