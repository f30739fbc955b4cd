package resolve

import (
	"slices"

	"github.com/go-air/gini/z"
)

// selection grows from the requested offers by their dependencies. Each choice is the preferred one of those that leave
// a solution, so it never has to backtrack.
type selection struct {
	*search
	agreed []z.Lit
	offers []*offer
	// either are needs with alternatives. They are decided last, since other choices may satisfy them.
	either []*node
}

// choose returns the offers that satisfy the requests, each followed by its dependencies. The requests must be
// satisfiable.
func (s *search) choose(asked []*node) []*offer {
	c := &selection{search: s}
	for _, n := range asked {
		c.agreed = append(c.agreed, n.lit)
	}
	for _, n := range asked {
		c.settle(n)
	}
	kept := s.kept
	for done := 0; done < len(c.offers) || len(kept) > 0 || len(c.either) > 0; {
		switch {
		case done < len(c.offers):
			for _, n := range c.offers[done].nodes {
				c.settle(n)
			}
			done++
		case len(kept) > 0: // the dependencies of the requests may satisfy it
			c.settle(kept[0].node)
			kept = kept[1:]
		default:
			next := c.either[0]
			c.either = c.either[1:]
			c.decide(next)
		}
	}
	return c.offers
}

// literals returns the literals of needs.
func literals(nodes []*node) []z.Lit {
	var out []z.Lit
	for _, n := range nodes {
		out = append(out, n.lit)
	}
	return out
}

// settle chooses an offer that satisfies a need.
func (c *selection) settle(n *node) {
	switch {
	case n.absent:
		c.agreed = append(c.agreed, n.lit)
	case n.every:
		for _, p := range n.parts {
			c.settle(p)
		}
	case len(n.parts) > 0:
		c.either = append(c.either, n)
	case !c.meets(n):
		for _, o := range n.offers {
			if o.blocked == "" && c.consistent(append(slices.Clip(c.agreed), o.chosen)...) {
				c.agreed = append(c.agreed, o.chosen)
				c.offers = append(c.offers, o)
				return
			}
		}
	}
}

// decide chooses an alternative that is satisfied already, or else the first satisfiable one, preferably one that needs no more offers.
func (c *selection) decide(n *node) {
	if slices.ContainsFunc(n.parts, c.meets) {
		return
	}
	more := func(p *node) bool { return !c.suffices(p) }
	for _, p := range slices.Concat(slices.DeleteFunc(slices.Clone(n.parts), more), n.parts) {
		if c.consistent(append(slices.Clip(c.agreed), p.lit)...) {
			c.agreed = append(c.agreed, p.lit)
			c.settle(p)
			return
		}
	}
}

// meets reports whether the current choices satisfy a need. It returns false for a need of absence, which is known only
// when everything is chosen.
func (c *selection) meets(n *node) bool {
	switch {
	case n.lit == c.yes:
		return true
	case n.absent:
		return false
	case len(n.parts) > 0 && n.every:
		return !slices.ContainsFunc(n.parts, func(p *node) bool { return !c.meets(p) })
	case len(n.parts) > 0:
		return slices.ContainsFunc(n.parts, c.meets)
	default:
		return slices.ContainsFunc(c.offers, func(o *offer) bool { return slices.Contains(n.offers, o) })
	}
}

// suffices reports whether the current choices satisfy a need if no offers are chosen that it excludes.
func (c *selection) suffices(n *node) bool {
	switch {
	case n.absent:
		return n.by == nil && !slices.ContainsFunc(c.offers, func(o *offer) bool { return slices.Contains(n.offers, o) })
	case len(n.parts) > 0 && n.every:
		return !slices.ContainsFunc(n.parts, func(p *node) bool { return !c.suffices(p) })
	case len(n.parts) > 0:
		return slices.ContainsFunc(n.parts, c.suffices)
	default:
		return c.meets(n)
	}
}
