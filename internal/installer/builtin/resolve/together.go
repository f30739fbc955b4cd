package resolve

import "slices"

// Together resolves a Subscription that cannot be updated alone: its package and another one require each other's exact
// version, or a kind moves between them. It updates as few of the others along with it as possible; ok is false if it
// cannot be updated with any of them. next has the name of each Subscription's new bundle, first that of sub, and is
// empty for those that stay as they are. in.Present must exclude the ClusterServiceVersions of all of them.
func Together(sub Subscription, others []Subscription, in NamespaceState) (out Solution, next []string, ok bool) {
	all := append([]Subscription{sub}, others...)
	var replaced []Installed
	for _, each := range all {
		if each.Installed == nil {
			return Solution{}, nil, false
		}
		replaced = append(replaced, *each.Installed)
	}
	m := newCandidates(in.Catalogs, sub.Namespace)
	moves := make([][]*offer, len(all))
	channels := make([]channelOffer, len(all))
	for i, each := range all {
		moves[i], channels[i] = m.updates(Inputs{each, in})
	}
	if len(moves[0]) == 0 {
		return Solution{}, nil, false
	}
	for _, each := range others {
		m.staying = append(m.staying, stay(*each.Installed, slices.Concat(in.Present, replaced)))
	}
	s := newSearch(m, in, replaced)
	asked := []*node{s.oneOf(moves[0])}
	for i, offers := range moves[1:] {
		asked = append(asked, s.oneOf(append([]*offer{m.staying[i]}, offers...)))
	}
	if !s.consistent(literals(asked)...) {
		return Solution{}, nil, false
	}
	next = make([]string, len(all))
	for _, o := range s.choose(asked) {
		if o.stays {
			continue
		}
		c := o.choice()
		if i := slices.IndexFunc(moves, func(offers []*offer) bool { return slices.Contains(offers, o) }); i >= 0 {
			c.Replaces, c.Channel, next[i] = all[i].Installed.Name, channels[i].channel.Name, o.name
		}
		out.Choices = append(out.Choices, c)
	}
	return out, next, !s.gaveUp
}

// updates returns the offers that a Subscription can be updated to, newest first, or none.
func (m *candidates) updates(in Inputs) ([]*offer, channelOffer) {
	from, problem := find(in)
	if problem != nil {
		return nil, from
	}
	line, cycle := order(from.channel)
	allowed, problem := from.allowed(in.Subscription, line)
	if cycle != "" || problem != nil {
		return nil, from
	}
	entries, problem := from.candidates(in, allowed)
	if problem != nil {
		return nil, from
	}
	var out []*offer
	for _, e := range entries {
		out = append(out, m.include(from, e))
	}
	return out, from
}

// stay returns the offer that an installed operator stays. It keeps the operator's satisfied needs.
func stay(i Installed, before []Installed) *offer {
	var operators []operator
	for _, b := range before {
		operators = append(operators, b.operator())
	}
	out := &offer{operator: i.operator(), stays: true}
	for _, n := range needs(i.Properties) {
		if n.judge(operators, i.Name, false) == holds {
			out.keeps = append(out.keeps, n)
		}
	}
	return out
}
