package resolve

import "slices"

// Together resolves several Subscriptions of a namespace that cannot be updated separately: packages that require each
// other's exact version, or between which a kind moves. It updates all of them, or ok is false. next has the name of
// each Subscription's new bundle, by index. in must not contain what they have installed.
func Together(subs []Subscription, in Surroundings) (out Solution, next []string, ok bool) {
	var replaced []Installed
	for _, sub := range subs {
		if sub.Installed == nil {
			return Solution{}, nil, false
		}
		replaced = append(replaced, *sub.Installed)
	}
	m := newCandidates(in.Catalogs, subs[0].Namespace)
	var wanted [][]*offer
	var channels []channelOffer
	for _, sub := range subs {
		from, problem := find(Inputs{sub, in})
		if problem != nil {
			return Solution{}, nil, false
		}
		line, cycle := order(from.channel)
		candidates, problem := from.candidates(Inputs{sub, in}, line)
		if cycle != "" || problem != nil || len(candidates) == 0 {
			return Solution{}, nil, false
		}
		var offers []*offer
		for _, c := range candidates {
			offers = append(offers, m.include(from, c))
		}
		wanted, channels = append(wanted, offers), append(channels, from)
	}
	s := newSearch(m, in, replaced)
	var asked []*node
	for _, offers := range wanted {
		asked = append(asked, s.oneOf(offers))
	}
	if !s.together(literals(asked)...) {
		return Solution{}, nil, false
	}
	next = make([]string, len(subs))
	for _, o := range s.choose(asked) {
		c := o.choice()
		if i := slices.IndexFunc(wanted, func(offers []*offer) bool { return slices.Contains(offers, o) }); i >= 0 {
			c.Replaces, c.Channel, next[i] = subs[i].Installed.Name, channels[i].channel.Name, o.name
		}
		out.Choices = append(out.Choices, c)
	}
	return out, next, !s.gaveUp && !slices.Contains(next, "")
}
