package resolve

import (
	"slices"

	"github.com/go-air/gini/z"
)

// verdict is whether a need is satisfied. It is unknown if a part of the need cannot be evaluated.
type verdict int8

const (
	fails   verdict = -1
	unknown verdict = 0
	holds   verdict = 1
)

// judge returns whether the operators satisfy a need of owner, which is one of them, or the negation of the need. The
// owner can satisfy its own need, but never violates a negated one. compile follows the same rule.
func (n need) judge(operators []operator, owner string, negated bool) verdict {
	switch n.op {
	case opFault:
		return unknown
	case opAll:
		return n.judgeParts(operators, owner, negated, !negated)
	case opAny:
		return n.judgeParts(operators, owner, negated, negated)
	case opNone:
		return n.judgeParts(operators, owner, !negated, !negated)
	default:
		meets := func(o operator) bool { return n.met(o) && (!negated || o.name != owner) }
		if slices.ContainsFunc(operators, meets) != negated {
			return holds
		}
		return fails
	}
}

// judgeParts evaluates a compound that requires every part, or at least one. negated applies to each part.
func (n need) judgeParts(operators []operator, owner string, negated, every bool) verdict {
	out, join := fails, func(a, b verdict) verdict { return max(a, b) }
	if every {
		out, join = holds, func(a, b verdict) verdict { return min(a, b) }
	}
	for _, p := range n.parts {
		out = join(out, p.judge(operators, owner, negated))
	}
	return out
}

// compile adds a need, or its negation, to the solver.
func (s *search) compile(n need, owner offer, negated bool) *node {
	switch n.op {
	case opFault:
		return &node{need: n, lit: s.yes.Not()}
	case opAll:
		return s.compound(n, owner, negated, !negated)
	case opAny:
		return s.compound(n, owner, negated, negated)
	case opNone:
		return s.compound(n, owner, !negated, !negated)
	default:
		if negated {
			return s.absent(n, owner)
		}
		return s.provided(n, owner)
	}
}

// compound adds a need of every part, or of at least one. negated applies to each part.
func (s *search) compound(n need, owner offer, negated, every bool) *node {
	out := &node{need: n, lit: s.solver.Lit(), every: every}
	var lits []z.Lit
	for _, p := range n.parts {
		part := s.compile(p, owner, negated)
		out.parts = append(out.parts, part)
		lits = append(lits, part.lit)
	}
	if !every {
		s.clause(append(lits, out.lit.Not())...)
		return out
	}
	for _, l := range lits {
		s.clause(out.lit.Not(), l)
	}
	return out
}

// provided adds the need of an operator. If no offer satisfies it, a kind on the cluster does.
func (s *search) provided(n need, owner offer) *node {
	for i, p := range s.present {
		if n.met(p.operator()) {
			return &node{need: n, lit: s.yes, by: &s.present[i]}
		}
	}
	out := s.oneOf(preferredBy(owner.catalog, s.candidates.meeting(n)))
	out.need = n
	if out.onCluster = !owner.stays && n.op == opKind && slices.Contains(s.onCluster, n.kind); out.onCluster {
		out.lit = s.solver.Lit()
	}
	return out
}

// oneOf adds the need of one of several offers.
func (s *search) oneOf(offers []*offer) *node {
	out := &node{lit: s.solver.Lit(), offers: offers}
	lits := []z.Lit{out.lit.Not()}
	for _, o := range offers {
		s.want(o)
		lits = append(lits, o.chosen)
	}
	s.clause(lits...)
	return out
}

// absent adds the need that no such operator exists, except the owner.
func (s *search) absent(n need, owner offer) *node {
	out := &node{need: n, absent: true}
	for i, p := range s.present {
		if p.Name != owner.name && n.met(p.operator()) {
			out.lit, out.by = s.yes.Not(), &s.present[i]
			return out
		}
	}
	out.lit = s.solver.Lit()
	for _, o := range s.candidates.meeting(n) {
		if o.name == owner.name && o.catalog == owner.catalog {
			continue
		}
		s.place(o)
		out.offers = append(out.offers, o)
		s.clause(out.lit.Not(), o.placed.Not())
	}
	return out
}
