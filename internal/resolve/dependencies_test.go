package resolve

import (
	"testing"

	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/catalog"
)

func kinds(names ...string) []property.GVK {
	var out []property.GVK
	for _, n := range names {
		out = append(out, kind(n))
	}
	return out
}

// fooNeeding returns a catalog with other packages and package foo, whose only bundle has the properties.
func fooNeeding(p []property.Property, packages ...*catalog.Package) catalog.Catalog {
	return source("community", append(packages, pkg("foo", channel("stable", bundle("foo.v1.0.0", has(p...)))))...)
}

func that(p ...property.Property) []property.Property {
	return p
}

// one returns a package with one bundle.
func one(name string, options ...option) *catalog.Package {
	b := bundle(name, options...)
	return pkg(b.Bundle.Package, channel("stable", b))
}

const (
	fooChosen = "foo.v1.0.0 from stable of olm/community"
	barChosen = "bar.v1.0.0 from stable of olm/community"
)

func TestDependencies(t *testing.T) {
	later := source("later", one("zeta.v1.0.0", provides("Bar")))
	first := source("first", one("alpha.v1.0.0", provides("Bar")))
	first.Priority = 10
	run(t, map[string]testCase{
		"Package": {
			reason: "The newest version in the range.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", "<3.0.0")), pkg("bar", channel("stable",
				bundle("bar.v1.0.0"), bundle("bar.v2.0.0", replaces("bar.v1.0.0")), bundle("bar.v3.0.0", replaces("bar.v2.0.0"))))))},
			want: chosen(fooChosen, "bar.v2.0.0 from stable of olm/community"),
		},
		"SameCatalogFirst": {
			reason: "A bundle's own catalog comes before those of higher priority.",
			in:     NamespaceState{Catalogs: sources(first, fooNeeding(that(needsKind("Bar")), one("bar.v1.0.0", provides("Bar"))))},
			want:   chosen(fooChosen, barChosen),
		},
		"CatalogsByPriority": {
			reason: "Then the catalogs come in their order.",
			in:     NamespaceState{Catalogs: sources(later, first, fooNeeding(that(needsKind("Bar"))))},
			want:   chosen(fooChosen, "alpha.v1.0.0 from stable of olm/first"),
		},
		"DefaultChannelFirst": {
			reason: "The default channel comes before others, even with an older bundle.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", "")), pkg("bar",
				channel("stable", bundle("bar.v1.0.0")), channel("alpha", bundle("bar.v2.0.0")))))},
			want: chosen(fooChosen, barChosen),
		},
		"OtherChannel": {
			reason: "What the default channel does not have, another may.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", ">1.0.0")), pkg("bar",
				channel("stable", bundle("bar.v1.0.0")), channel("alpha", bundle("bar.v1.0.0"), bundle("bar.v2.0.0")))))},
			want: chosen(fooChosen, "bar.v2.0.0 from alpha of olm/community"),
		},
		"Transitive": {
			reason: "What is needed may need something itself.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar")),
				one("bar.v1.0.0", provides("Bar"), has(needsKind("Baz"))), one("baz.v1.0.0", provides("Baz"))))},
			want: chosen(fooChosen, barChosen, "baz.v1.0.0 from stable of olm/community"),
		},
		"Itself": {
			reason: "A bundle may need what it provides.",
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", provides("Foo"),
				has(needsKind("Foo"), needsPackage("foo", "1.0.0"), constrains(`{"not":{"constraints":[{"package":{"packageName":"foo"}}]}}`))))},
			want: chosen(fooChosen),
		},
		"EachOther": {
			reason: "Two bundles may need each other.",
			in: NamespaceState{Catalogs: sources(source("community",
				one("foo.v1.0.0", provides("Foo"), has(needsKind("Bar"))), one("bar.v1.0.0", provides("Bar"), has(needsKind("Foo")))))},
			want: chosen(fooChosen, barChosen),
		},
		"EachOtherFromSkipped": {
			reason: "What was asked for by name counts for those that need it.",
			sub:    Subscription{StartingCSV: "foo.v1.0.0"},
			in: NamespaceState{Catalogs: sources(source("community",
				pkg("foo", channel("stable", bundle("foo.v1.0.0", provides("Foo"), has(needsKind("Bar"))),
					bundle("foo.v2.0.0", skips("foo.v1.0.0")))),
				one("bar.v1.0.0", provides("Bar"), has(needsKind("Foo")))))},
			want: chosen(fooChosen, barChosen),
		},
		"Present": {
			reason: "What is present, or planned by an older Subscription, needs no bundle.",
			in: NamespaceState{
				Catalogs: sources(fooNeeding(that(needsKind("Bar"), needsPackage("baz", "<2.0.0")), one("bar.v1.0.0", provides("Bar")))),
				Present:  []Installed{installed("bar.v0.1.0", provides("Bar")), {Name: "baz.v1", Package: "baz", Planned: true}}},
			want: chosen(fooChosen),
		},
		"OnCluster": {
			reason: "A kind that nothing offers, but the cluster has, will do.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar")))), OnCluster: kinds("Bar")},
			want:   chosen(fooChosen),
		},
		"OnClusterAndOffered": {
			reason: "An operator for the namespace is better than one somewhere.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar")), one("bar.v1.0.0", provides("Bar")))),
				OnCluster: kinds("Bar")},
			want: chosen(fooChosen, barChosen),
		},
		"OnClusterAndOfferedInVain": {
			reason: "An operator somewhere is better than none.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar")),
				one("bar.v1.0.0", provides("Bar"), has(needsKind("Baz"))))), OnCluster: kinds("Bar")},
			want: chosen(fooChosen),
		},
		"OneProvider": {
			reason: "Where one bundle of two needs would do for one only, the other does for both.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar"), needsKind("Baz")),
				one("bar.v1.0.0", provides("Bar")), one("both.v1.0.0", provides("Bar", "Baz"))))},
			want: chosen(fooChosen, "both.v1.0.0 from stable of olm/community"),
		},
		"OlderProviderFits": {
			reason: "A preferred dependency that spoils the whole is passed over.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", "")), pkg("bar", channel("stable",
				bundle("bar.v1.0.0"), bundle("bar.v2.0.0", replaces("bar.v1.0.0"), has(needsPackage("foo", ">=2.0.0")))))))},
			want: chosen(fooChosen, barChosen),
		},
		"Any": {
			reason: "Of alternatives the first that can be had.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(constrains(`{"any":{"constraints":[
				{"package":{"packageName":"nowhere"}}, {"package":{"packageName":"bar"}}, {"package":{"packageName":"baz"}}]}}`)),
				one("bar.v1.0.0"), one("baz.v1.0.0")))},
			want: chosen(fooChosen, barChosen),
		},
		"AnyIsThereAlready": {
			reason: "An alternative that is needed anyway adds nothing.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(
				constrains(`{"any":{"constraints":[{"package":{"packageName":"baz"}}, {"package":{"packageName":"bar"}}]}}`),
				constrains(`{"failureMessage":"why","package":{"name":"bar","versionRange":">=1.0.0"}}`)),
				one("bar.v1.0.0"), one("baz.v1.0.0")))},
			want: chosen(fooChosen, barChosen),
		},
		"AllAndNot": {
			reason: "A constraint may be met by several operators, and forbid another.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(constrains(`{"all":{"constraints":[
				{"package":{"packageName":"bar"}},
				{"gvk":{"group":"example.com","version":"v1","kind":"Baz"}},
				{"not":{"constraints":[{"package":{"packageName":"baz","versionRange":"<1.0.0"}}]}}]}}`)),
				one("bar.v1.0.0"), pkg("baz", channel("stable", bundle("baz.v0.9.0", provides("Baz"))),
					channel("fast", bundle("baz.v1.0.0", provides("Baz"))))))},
			want: chosen(fooChosen, barChosen, "baz.v1.0.0 from fast of olm/community"),
		},
		"Label": {
			reason: "An operator may be needed by its label.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(raw(typeLabelRequired, `{"label":"dns"}`)),
				one("bar.v1.0.0", has(raw(typeLabel, `{"label":"dns"}`))), one("baz.v1.0.0")))},
			want: chosen(fooChosen, barChosen),
		},
		"UnsupportedElsewhere": {
			reason: "A bundle with a constraint that is not evaluated is passed over.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar")),
				one("bar.v1.0.0", provides("Bar"), has(constrains(`{"cel":{"rule":"true"}}`))), one("other.v1.0.0", provides("Bar"))))},
			want: chosen(fooChosen, "other.v1.0.0 from stable of olm/community"),
		},
		"UnknownProperty": {
			reason: "A property that is no requirement asks for nothing.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(raw("olm.maxOpenShiftVersion", `"4.9"`), raw("x", `{`))))},
			want:   chosen(fooChosen),
		},
	})
}

func TestExplanations(t *testing.T) {
	const notSatisfiable = v1alpha1.ReasonConstraintsNotSatisfiable
	run(t, map[string]testCase{
		"Kind": {
			reason: "Nothing provides it.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("EtcdCluster.v1beta2"))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires kind EtcdCluster of etcd.database.coreos.com/v1beta2, "+
				"which no bundle in the visible catalogs provides and the cluster does not serve"),
		},
		"KindInAnotherVersion": {
			reason: "A hint at what there is instead, and at what is not known.",
			in: NamespaceState{Catalogs: sources(catalog.Catalog{Key: key("away")},
				fooNeeding(that(needsKind("Bar.v2")), one("bar.v1.0.0", provides("Bar", "Bar.v1beta1"))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires kind Bar of example.com/v2, which no bundle in the visible catalogs provides "+
				"and the cluster does not serve; available: v1beta1 of package bar (CatalogSource olm/away has not been read)"),
		},
		"Package": {
			reason: "A typo in a bundle.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("brr", "")), one("bar.v1.0.0")))},
			want:   refused(notSatisfiable, "foo.v1.0.0 requires package brr, which no visible catalog has: did you mean bar?"),
		},
		"PackageVersion": {
			reason: "The package is there, in other versions.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", ">=3.0.0")),
				pkg("bar", channel("stable", bundle("bar.v1.0.0"), bundle("bar.v2.0.0")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar >=3.0.0, but the visible catalogs have only 2.0.0, 1.0.0"),
		},
		"PresentInAnotherVersion": {
			reason: "What is present is not updated behind its Subscription's back.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", ">=2.0.0")),
				pkg("bar", channel("stable", bundle("bar.v1.0.0"), bundle("bar.v2.0.0"))))), Present: []Installed{installed("bar.v1.0.0")}},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar >=2.0.0, which bar.v2.0.0 would satisfy, but bar.v2.0.0 cannot be "+
				"installed: the namespace has bar.v1.0.0, which also belongs to package bar, and only its own Subscription updates it"),
		},
		"PlannedInAnotherVersion": {
			reason: "No more is that which an older Subscription is to install.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", ">=2.0.0")))),
				Present: []Installed{{Name: "bar.v1.0.0", Package: "bar", Planned: true}}},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar >=2.0.0, but an older Subscription in the namespace will install "+
				"bar.v1.0.0, and only its own Subscription updates it"),
		},
		"SameKindPresent": {
			reason: "Two operators do not provide one kind.",
			in: NamespaceState{Catalogs: sources(source("community", one("foo.v1.0.0", provides("Foo")))),
				Present: []Installed{installed("bar.v1.0.0", provides("Foo"))}},
			want: refused(notSatisfiable, "foo.v1.0.0 cannot be installed: it provides kind Foo of example.com/v1, and the namespace has "+
				"bar.v1.0.0, which also provides it"),
		},
		"Deep": {
			reason: "The explanation leads to the cause.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", "")), one("bar.v1.0.0", has(needsPackage("baz", ""))),
				one("baz.v1.0.0", has(needsKind("Bar")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar, which bar.v1.0.0 would satisfy, but bar.v1.0.0 requires package baz, which "+
				"baz.v1.0.0 would satisfy, but baz.v1.0.0 requires kind Bar of example.com/v1, which no bundle in the visible catalogs provides and "+
				"the cluster does not serve"),
		},
		"CircleWithACause": {
			reason: "The explanation does not go in circles, and does not stop where it would.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("a", ""), needsPackage("z", "")),
				one("a.v1.0.0", has(needsPackage("foo", ""))), one("z.v1.0.0", has(needsPackage("nowhere", "")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package z, which z.v1.0.0 would satisfy, but z.v1.0.0 requires package nowhere, "+
				"which no visible catalog has"),
		},
		"Clash": {
			reason: "Two needs that exclude each other.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", ""), needsPackage("baz", "")),
				one("bar.v1.0.0", provides("Bar")), one("baz.v1.0.0", provides("Bar"))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires both package bar and package baz, but bar.v1.0.0 and baz.v1.0.0 both provide "+
				"kind Bar of example.com/v1"),
		},
		"ClashBelow": {
			reason: "A need that excludes who needs it.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", "")), one("bar.v1.0.0", has(needsPackage("foo", "<1.0.0"))),
				pkg("foo-old", channel("stable"))), source("other", pkg("foo", channel("stable", bundle("foo.v0.1.0")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar, which bar.v1.0.0 would satisfy, but bar.v1.0.0 requires package foo <1.0.0, "+
				"which foo.v0.1.0 would satisfy, but foo.v1.0.0 and foo.v0.1.0 both belong to package foo"),
		},
		"Unsupported": {
			reason: "CEL is not evaluated: the constraint is reported as unsupported.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(constrains(`{"failureMessage":"x","cel":{"rule":"properties.exists(p, true)"}}`))))},
			want:   refused(v1alpha1.ReasonUnsupportedConstraint, "foo.v1.0.0 has a constraint of type cel, which is not supported"),
		},
		"UnsupportedTurnedRound": {
			reason: "What is not known is not known the other way round either.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar")), one("bar.v1.0.0", provides("Bar"),
				has(constrains(`{"not":{"constraints":[{"cel":{"rule":"true"}}]}}`)))))},
			want: refused(v1alpha1.ReasonUnsupportedConstraint, "foo.v1.0.0 requires kind Bar of example.com/v1, which bar.v1.0.0 would satisfy, but "+
				"bar.v1.0.0 has a constraint of type cel, which is not supported"),
		},
		"Unreadable": {
			reason: "A bundle that cannot be read is named.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(needsPackage("bar", "recent"))))},
			want: refused(v1alpha1.ReasonBundleInvalid, `foo.v1.0.0 has an unreadable olm.package.required: "recent" is not a valid version range: `+
				`Could not get version from string: "recent"`),
		},
		"FailureMessage": {
			reason: "The author's own words are quoted.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(constrains(
				`{"failureMessage":"Foo keeps its data in Bar","package":{"packageName":"bar"}}`))))},
			want: refused(notSatisfiable, `foo.v1.0.0 requires package bar ("Foo keeps its data in Bar"), which no visible catalog has`),
		},
		"Any": {
			reason: "No alternative can be had.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(constrains(
				`{"any":{"constraints":[{"package":{"packageName":"bar"}},{"gvk":{"group":"example.com","version":"v1","kind":"Bar"}}]}}`))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires one of (package bar; kind Bar of example.com/v1), but none is available: "+
				"foo.v1.0.0 requires package bar, which no visible catalog has"),
		},
		"Not": {
			reason: "Something is there that must not be.",
			in: NamespaceState{Catalogs: sources(fooNeeding(that(constrains(`{"not":{"constraints":[{"package":{"packageName":"bar"}}]}}`)))),
				Present: []Installed{installed("bar.v1.0.0")}},
			want: refused(notSatisfiable, "foo.v1.0.0 excludes package bar, but the namespace has bar.v1.0.0"),
		},
		"NeighbourForbids": {
			reason: "A neighbour may forbid what comes after it.",
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0")), Present: []Installed{installed("bar.v1.0.0",
				has(constrains(`{"none":{"constraints":[{"package":{"packageName":"foo"}}]}}`)))}},
			want: refused(notSatisfiable, "foo.v1.0.0 cannot be installed: the namespace has bar.v1.0.0, which requires none of (package foo), and "+
				"that would no longer be satisfied"),
		},
	})
}
