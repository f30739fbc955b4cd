package resolve

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/go-air/gini/z"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// offer is a bundle of a catalog. It is one offer even if it is in several channels.
type offer struct {
	operator
	catalog types.NamespacedName
	bundle  *catalog.Bundle
	parent  *catalog.Package
	channel *catalog.Channel // the preferred one of its channels

	// stays is true if it is no bundle but an operator that stays as it is, with the needs that it keeps.
	stays bool
	keeps []need

	// Its order of preference.
	listed   bool // in packages
	rank     int  // of the catalog
	sideline bool // not in the default channel
	position int  // in the channel

	// The state of the search.
	chosen  z.Lit // it is to be installed, and its needs are satisfied
	placed  z.Lit // it occupies its package, name and kinds
	blocked string
	wanted  bool
	nodes   []*node
}

func (o *offer) needs() []need {
	if o.stays {
		return o.keeps
	}
	return needs(o.properties)
}

func (o *offer) choice() Choice {
	return Choice{Bundle: o.bundle, Package: o.pkg, Channel: o.channel.Name, Catalog: o.catalog}
}

// candidates holds the offers of all visible catalogs, which are loaded when needed, and of operators that may stay.
type candidates struct {
	staying  []*offer
	catalogs []catalog.Catalog // in order of preference
	offers   map[offerKey]*offer
	asked    map[packageKey][]*offer // requested by name, even if their channel skips them
	packages map[packageKey][]*offer
	kinds    map[property.GVK][]*offer

	// providers lists the packages with a bundle that provides a kind; nil until needed.
	providers map[property.GVK][]packageKey

	// labelled lists the offers with a label, in order of preference; nil until needed.
	labelled map[string][]*offer
}

type packageKey struct {
	catalog types.NamespacedName
	pkg     string
}

type offerKey struct {
	packageKey
	name string
}

func newCandidates(visible []catalog.Catalog, namespace string) *candidates {
	sorted := slices.SortedStableFunc(slices.Values(visible), func(a, b catalog.Catalog) int {
		return cmp.Or(
			cmp.Compare(b.Priority, a.Priority),
			compareBool(a.Key.Namespace != namespace, b.Key.Namespace != namespace), // catalogs of the namespace are preferred
			cmp.Compare(a.Key.Namespace, b.Key.Namespace),
			cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return &candidates{
		catalogs: sorted,
		offers:   map[offerKey]*offer{},
		asked:    map[packageKey][]*offer{},
		packages: map[packageKey][]*offer{},
		kinds:    map[property.GVK][]*offer{},
	}
}

// include adds an entry that is requested by name, even if its channel skips it.
func (m *candidates) include(from channelOffer, e *entry) *offer {
	key := packageKey{from.catalog, from.name}
	o := m.offer(key, from.pkg, from.channel, e)
	m.asked[key] = append(m.asked[key], o)
	return o
}

func (m *candidates) offer(key packageKey, pkg *catalog.Package, ch *catalog.Channel, e *entry) *offer {
	k := offerKey{key, e.name}
	if o, ok := m.offers[k]; ok {
		return o
	}
	o := &offer{
		operator: operator{e.name, key.pkg, e.Bundle.Version, e.Bundle.Provides, e.Bundle.Properties},
		catalog:  key.catalog, bundle: e.Bundle, parent: pkg, channel: ch,
		rank: slices.IndexFunc(m.catalogs, func(c catalog.Catalog) bool { return c.Key == key.catalog }),
	}
	m.offers[k] = o
	return o
}

// ofPackage returns the offers of a package in a catalog: those of the default channel first, then by channel, newest
// first.
func (m *candidates) ofPackage(c catalog.Catalog, name string) []*offer {
	key := packageKey{c.Key, name}
	if out, ok := m.packages[key]; ok {
		return out
	}
	var out []*offer
	if pkg := c.Content.Packages[name]; pkg != nil && c.Content.Invalid[name] == "" {
		preferred := defaultChannel(pkg)
		for _, ch := range channels(pkg, preferred) {
			line, _ := order(ch)
			for i, e := range line {
				if o := m.offer(key, pkg, ch, e); !e.skipped && !o.listed {
					o.listed, o.channel, o.sideline, o.position = true, ch, ch.Name != preferred, i
					out = append(out, o)
				}
			}
		}
	}
	for _, o := range m.asked[key] {
		if !o.listed {
			o.listed, o.sideline, o.position = true, true, len(out)
			out = append(out, o)
		}
	}
	m.packages[key] = out
	return out
}

// channels returns the channels of a package: the preferred one first, then by name.
func channels(pkg *catalog.Package, preferred string) []*catalog.Channel {
	var out []*catalog.Channel
	if ch := pkg.Channels[preferred]; ch != nil {
		out = append(out, ch)
	}
	for _, name := range slices.Sorted(maps.Keys(pkg.Channels)) {
		if ch := pkg.Channels[name]; ch != nil && name != preferred {
			out = append(out, ch)
		}
	}
	return out
}

// meeting returns all offers that satisfy a need that is not a compound, in order of preference.
func (m *candidates) meeting(n need) []*offer {
	return m.withStaying(n, m.offered(n))
}

// offered returns the offers of catalogs that satisfy a need that is not a compound, in order of preference.
func (m *candidates) offered(n need) []*offer {
	if n.op == opLabel {
		if m.labelled == nil {
			m.indexLabels()
		}
		return m.labelled[n.label]
	}
	if out, ok := m.kinds[n.kind]; ok && n.op == opKind {
		return out
	}
	var out []*offer
	for _, c := range m.readable() {
		for _, name := range m.suspects(c, n) {
			for _, o := range m.ofPackage(c, name) {
				if n.met(o.operator) {
					out = append(out, o)
				}
			}
		}
	}
	slices.SortStableFunc(out, byPreference)
	if n.op == opKind {
		m.kinds[n.kind] = out
	}
	return out
}

// byPreference compares two offers of catalogs. The preferred one is first.
func byPreference(a, b *offer) int {
	return cmp.Or(
		cmp.Compare(a.rank, b.rank),
		compareBool(a.sideline, b.sideline),
		cmp.Compare(a.pkg, b.pkg),
		cmp.Compare(a.channel.Name, b.channel.Name),
		cmp.Compare(a.position, b.position),
		cmp.Compare(a.name, b.name))
}

// withStaying returns offers with those that stay and satisfy the need in front.
func (m *candidates) withStaying(n need, offers []*offer) []*offer {
	if len(m.staying) == 0 {
		return offers
	}
	var out []*offer
	for _, o := range m.staying {
		if n.met(o.operator) {
			out = append(out, o)
		}
	}
	return append(out, offers...)
}

// suspects returns the packages of a catalog that may have offers that satisfy a need for a package or a kind.
func (m *candidates) suspects(c catalog.Catalog, n need) []string {
	if n.op == opPackage {
		return []string{n.pkg}
	}
	if m.providers == nil {
		m.indexKinds()
	}
	var out []string
	for _, p := range m.providers[n.kind] {
		if p.catalog == c.Key {
			out = append(out, p.pkg)
		}
	}
	return out
}

// indexKinds fills providers.
func (m *candidates) indexKinds() {
	m.providers = map[property.GVK][]packageKey{}
	var kinds []property.GVK // of one package: few, and mostly the same in all bundles
	for _, c := range m.readable() {
		for name, pkg := range c.Content.Packages {
			kinds = kinds[:0]
			for b := range bundles(pkg) {
				for _, k := range b.Provides {
					if !slices.Contains(kinds, k) {
						kinds = append(kinds, k)
					}
				}
			}
			for _, k := range kinds {
				m.providers[k] = append(m.providers[k], packageKey{c.Key, name})
			}
		}
	}
}

// indexLabels fills labelled.
func (m *candidates) indexLabels() {
	m.labelled = map[string][]*offer{}
	hasLabel := func(b *catalog.Bundle) bool { return len(labels(b.Properties)) > 0 }
	for _, c := range m.readable() {
		for _, name := range packagesWith(c.Content, hasLabel) {
			for _, o := range m.ofPackage(c, name) {
				for _, label := range labels(o.properties) {
					if known := m.labelled[label]; len(known) == 0 || known[len(known)-1] != o {
						m.labelled[label] = append(known, o)
					}
				}
			}
		}
	}
	for _, offers := range m.labelled {
		slices.SortStableFunc(offers, byPreference)
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// preferredBy moves the offers that stay, and then those of the owner's catalog, to the front.
func preferredBy(owner types.NamespacedName, offers []*offer) []*offer {
	out := make([]*offer, 0, len(offers))
	for _, own := range []bool{true, false} {
		for _, o := range offers {
			if (o.stays || o.catalog == owner) == own {
				out = append(out, o)
			}
		}
	}
	return out
}

// readable returns the catalogs with content.
func (m *candidates) readable() []catalog.Catalog {
	return slices.DeleteFunc(slices.Clone(m.catalogs), func(c catalog.Catalog) bool { return c.Content == nil })
}

// packagesWith returns the sorted names of the packages that have such a bundle.
func packagesWith(content *catalog.Content, such func(*catalog.Bundle) bool) []string {
	var out []string
	for name, pkg := range content.Packages {
		for b := range bundles(pkg) {
			if such(b) {
				out = append(out, name)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// bundles yields the bundles of all channels of a package; a bundle may be yielded more than once.
func bundles(pkg *catalog.Package) iter.Seq[*catalog.Bundle] {
	return func(yield func(*catalog.Bundle) bool) {
		if pkg == nil {
			return
		}
		for _, ch := range pkg.Channels {
			if ch == nil {
				continue
			}
			for _, e := range ch.Entries {
				if e != nil && e.Bundle != nil && !yield(e.Bundle) {
					return
				}
			}
		}
	}
}
