package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// Plan returns the bundles for an InstallPlan that only lists the names of ClusterServiceVersions: those bundles, from
// the preferred catalog if it has them, and their dependencies. A name that is present already needs nothing. If
// another version of its package is present, the bundle must be an update of that or, if the installation of that has never
// started, of the one that runs in its place.
func Plan(names []string, namespace string, preferred types.NamespacedName, in NamespaceState) (Solution, *Problem) {
	m := newCandidates(in.Catalogs, namespace)
	var wanted []requested
	var replaced []Installed
	for _, name := range unique(names) {
		if slices.ContainsFunc(in.Present, func(p Installed) bool { return p.Name == name }) {
			continue
		}
		w, problem := m.find(name, preferred, in.Present)
		if problem != nil {
			return Solution{}, problem
		}
		wanted = append(wanted, w)
		if w.replaces != nil {
			replaced = append(replaced, *w.replaces)
		}
	}
	if len(wanted) == 0 {
		return Solution{}, nil
	}
	s := newSearch(m, in, replaced)
	var asked []*node
	var agreed assumptions
	for _, w := range wanted {
		n := s.oneOf(w.offers)
		asked = append(asked, n)
		if !s.consistent(append(slices.Clip(agreed.lits), n.lit)...) {
			return Solution{}, s.planProblem(agreed, w)
		}
		agreed = agreed.with(w.offers[0], n.lit)
	}
	var out Solution
	for _, o := range s.choose(asked) {
		c := o.choice()
		if i := slices.IndexFunc(wanted, func(w requested) bool { return w.replaces != nil && slices.Contains(w.offers, o) }); i >= 0 {
			c.Replaces = wanted[i].replaces.Name
		}
		out.Choices = append(out.Choices, c)
	}
	if s.gaveUp {
		return Solution{}, timedOut(wanted[0].offers[0].name)
	}
	return out, nil
}

// planProblem returns why a bundle cannot be installed together with those that were named before it.
func (s *search) planProblem(agreed assumptions, w requested) *Problem {
	t := s.explain(agreed, w.offers[0])
	if s.gaveUp {
		return timedOut(w.offers[0].name)
	}
	return &Problem{Reason: t.reason, Message: clip(t.String())}
}

// requested is a bundle that was requested by name: the offers with that name, in order of preference, and the
// ClusterServiceVersion that they replace, or nil.
type requested struct {
	offers   []*offer
	replaces *Installed
}

// find returns the offers with a name.
func (m *candidates) find(name string, preferred types.NamespacedName, present []Installed) (requested, *Problem) {
	var out requested
	var instead *Installed // bundles of that name would have to replace it, but do not
	for _, c := range m.preferring(preferred) {
		for _, pkg := range packagesWith(c.Content, func(b *catalog.Bundle) bool { return b.Name == name }) {
			for _, from := range channelsWith(c, pkg, name) {
				e := &entry{Entry: from.channel.Entries[name], name: name}
				p := samePackage(present, pkg)
				if p == nil {
					p = e.replacesByName(present)
				}
				if p != nil && !e.updates(p.Name, p.Version) && !e.overtakes(*p) {
					instead = p
					continue
				}
				o := m.include(from, e)
				if len(out.offers) == 0 || pkg == out.offers[0].pkg && !slices.Contains(out.offers, o) {
					out.offers, out.replaces = append(out.offers, o), p
				}
			}
		}
	}
	switch {
	case len(out.offers) > 0:
		return out, nil
	case instead != nil:
		return out, &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: clip(fmt.Sprintf(
			"%s cannot be installed: %s, and %s does not replace it", name, instead.presence(), name))}
	default:
		return out, &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable, Message: clip(fmt.Sprintf(
			"No visible catalog has %s%s", name, didYouMean(name, m.names())))}
	}
}

// preferring returns the catalogs with content, the preferred one first.
func (m *candidates) preferring(preferred types.NamespacedName) []catalog.Catalog {
	out := m.readable()
	slices.SortStableFunc(out, func(a, b catalog.Catalog) int { return compareBool(a.Key != preferred, b.Key != preferred) })
	return out
}

// channelsWith returns the channels of a package that have an entry with a name, in order of preference.
func channelsWith(c catalog.Catalog, pkg, name string) []channelOffer {
	var out []channelOffer
	p := c.Content.Packages[pkg]
	for _, ch := range channels(p, defaultChannel(p)) {
		if e := ch.Entries[name]; e != nil && e.Bundle != nil {
			out = append(out, channelOffer{c.Key, pkg, p, ch})
		}
	}
	return out
}

// samePackage returns the present ClusterServiceVersion of a package, or nil. During an update, it returns the newer of
// two.
func samePackage(present []Installed, pkg string) *Installed {
	var out *Installed
	for i, p := range present {
		if p.Package == pkg && (out == nil || cmp.Or(p.Version.Compare(out.Version), cmp.Compare(p.Name, out.Name)) > 0) {
			out = &present[i]
		}
	}
	return out
}

// replacesByName returns the present ClusterServiceVersion that an entry replaces or skips by name, or nil. The package
// may be a different one, since a package may continue another.
func (e *entry) replacesByName(present []Installed) *Installed {
	i := slices.IndexFunc(present, func(p Installed) bool { return p.Name == e.Replaces || slices.Contains(e.Skips, p.Name) })
	if i < 0 {
		return nil
	}
	return &present[i]
}

// names returns the names of all bundles.
func (m *candidates) names() []string {
	var out []string
	for _, c := range m.readable() {
		for _, pkg := range c.Content.Packages {
			for b := range bundles(pkg) {
				out = append(out, b.Name)
			}
		}
	}
	return out
}
