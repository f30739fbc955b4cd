package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
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

func requirements(p ...property.Property) []property.Property {
	return p
}

// singleBundle returns a package with one bundle.
func singleBundle(name string, options ...option) *catalog.Package {
	b := bundle(name, options...)
	return pkg(b.Bundle.Package, channel("stable", b))
}

const (
	fooChosen = "foo.v1.0.0 from stable of olm/community"
	barChosen = "bar.v1.0.0 from stable of olm/community"
)

func TestDependencies(t *testing.T) {
	later := source("later", singleBundle("zeta.v1.0.0", provides("Bar")))
	first := source("first", singleBundle("alpha.v1.0.0", provides("Bar")))
	first.Priority = 10
	run(t, map[string]testCase{
		"Package": {
			reason: "The newest version of a required range is chosen.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", "<3.0.0")), pkg("bar", channel("stable",
				bundle("bar.v1.0.0"), bundle("bar.v2.0.0", replaces("bar.v1.0.0")), bundle("bar.v3.0.0", replaces("bar.v2.0.0"))))))},
			want: chosen(fooChosen, "bar.v2.0.0 from stable of olm/community"),
		},
		"SameCatalogFirst": {
			reason: "The bundle's own catalog takes precedence over catalogs of higher priority.",
			in:     NamespaceState{Catalogs: sources(first, fooNeeding(requirements(needsKind("Bar")), singleBundle("bar.v1.0.0", provides("Bar"))))},
			want:   chosen(fooChosen, barChosen),
		},
		"CatalogsByPriority": {
			reason: "Other catalogs are tried in order of priority.",
			in:     NamespaceState{Catalogs: sources(later, first, fooNeeding(requirements(needsKind("Bar"))))},
			want:   chosen(fooChosen, "alpha.v1.0.0 from stable of olm/first"),
		},
		"DefaultChannelFirst": {
			reason: "The default channel takes precedence over others, even with an older bundle.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", "")), pkg("bar",
				channel("stable", bundle("bar.v1.0.0")), channel("alpha", bundle("bar.v2.0.0")))))},
			want: chosen(fooChosen, barChosen),
		},
		"OtherChannel": {
			reason: "A version that the default channel lacks is chosen from another channel.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", ">1.0.0")), pkg("bar",
				channel("stable", bundle("bar.v1.0.0")), channel("alpha", bundle("bar.v1.0.0"), bundle("bar.v2.0.0")))))},
			want: chosen(fooChosen, "bar.v2.0.0 from alpha of olm/community"),
		},
		"Transitive": {
			reason: "Dependencies of dependencies are resolved.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar")),
				singleBundle("bar.v1.0.0", provides("Bar"), has(needsKind("Baz"))), singleBundle("baz.v1.0.0", provides("Baz"))))},
			want: chosen(fooChosen, barChosen, "baz.v1.0.0 from stable of olm/community"),
		},
		"Itself": {
			reason: "A bundle may require a kind or package that it provides itself.",
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", provides("Foo"),
				has(needsKind("Foo"), needsPackage("foo", "1.0.0"), constrains(`{"not":{"constraints":[{"package":{"packageName":"foo"}}]}}`))))},
			want: chosen(fooChosen),
		},
		"EachOther": {
			reason: "Two bundles may require each other.",
			in: NamespaceState{Catalogs: sources(source("community",
				singleBundle("foo.v1.0.0", provides("Foo"), has(needsKind("Bar"))), singleBundle("bar.v1.0.0", provides("Bar"), has(needsKind("Foo")))))},
			want: chosen(fooChosen, barChosen),
		},
		"EachOtherFromSkipped": {
			reason: "A skipped bundle that the Subscription requests by name satisfies the bundle that requires it.",
			sub:    Subscription{StartingCSV: "foo.v1.0.0"},
			in: NamespaceState{Catalogs: sources(source("community",
				pkg("foo", channel("stable", bundle("foo.v1.0.0", provides("Foo"), has(needsKind("Bar"))),
					bundle("foo.v2.0.0", skips("foo.v1.0.0")))),
				singleBundle("bar.v1.0.0", provides("Bar"), has(needsKind("Foo")))))},
			want: chosen(fooChosen, barChosen),
		},
		"Present": {
			reason: "An operator that is installed or planned satisfies a dependency without a bundle.",
			in: NamespaceState{
				Catalogs: sources(fooNeeding(requirements(needsKind("Bar"), needsPackage("baz", "<2.0.0")), singleBundle("bar.v1.0.0", provides("Bar")))),
				Present:  []Installed{installed("bar.v0.1.0", provides("Bar")), {Name: "baz.v1", Package: "baz", Planned: true}}},
			want: chosen(fooChosen),
		},
		"OnCluster": {
			reason: "A kind that the cluster serves satisfies a dependency if no bundle provides it.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar")))), OnCluster: kinds("Bar")},
			want:   chosen(fooChosen),
		},
		"OnClusterAndOffered": {
			reason: "A bundle that provides a kind takes precedence over a kind that the cluster serves.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar")), singleBundle("bar.v1.0.0", provides("Bar")))),
				OnCluster: kinds("Bar")},
			want: chosen(fooChosen, barChosen),
		},
		"OnClusterAndOfferedInVain": {
			reason: "A kind that the cluster serves is used if the bundle that provides it cannot be installed.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar")),
				singleBundle("bar.v1.0.0", provides("Bar"), has(needsKind("Baz"))))), OnCluster: kinds("Bar")},
			want: chosen(fooChosen),
		},
		"OneProvider": {
			reason: "A bundle that satisfies two dependencies is chosen over one that would conflict with it.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar"), needsKind("Baz")),
				singleBundle("bar.v1.0.0", provides("Bar")), singleBundle("both.v1.0.0", provides("Bar", "Baz"))))},
			want: chosen(fooChosen, "both.v1.0.0 from stable of olm/community"),
		},
		"OlderProviderFits": {
			reason: "A preferred dependency is skipped if it conflicts with the dependent.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", "")), pkg("bar", channel("stable",
				bundle("bar.v1.0.0"), bundle("bar.v2.0.0", replaces("bar.v1.0.0"), has(needsPackage("foo", ">=2.0.0")))))))},
			want: chosen(fooChosen, barChosen),
		},
		"Any": {
			reason: "The first alternative that can be installed is chosen.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(`{"any":{"constraints":[
				{"package":{"packageName":"nowhere"}}, {"package":{"packageName":"bar"}}, {"package":{"packageName":"baz"}}]}}`)),
				singleBundle("bar.v1.0.0"), singleBundle("baz.v1.0.0")))},
			want: chosen(fooChosen, barChosen),
		},
		"AnyIsThereAlready": {
			reason: "An alternative that another dependency requires anyway is preferred.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(
				constrains(`{"any":{"constraints":[{"package":{"packageName":"baz"}}, {"package":{"packageName":"bar"}}]}}`),
				constrains(`{"failureMessage":"why","package":{"name":"bar","versionRange":">=1.0.0"}}`)),
				singleBundle("bar.v1.0.0"), singleBundle("baz.v1.0.0")))},
			want: chosen(fooChosen, barChosen),
		},
		"AnyNeedsNoMore": {
			reason: "An alternative that is satisfied without another operator is preferred.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(`{"any":{"constraints":[
				{"package":{"packageName":"bar"}}, {"all":{"constraints":[
				{"not":{"constraints":[{"package":{"packageName":"baz"}}]}}, {"not":{"constraints":[{"package":{"packageName":"qux"}}]}}]}}]}}`)),
				singleBundle("bar.v1.0.0"), singleBundle("baz.v1.0.0")))},
			want: chosen(fooChosen),
		},
		"AllAndNot": {
			reason: "A compound constraint may require several operators and exclude another.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(`{"all":{"constraints":[
				{"package":{"packageName":"bar"}},
				{"gvk":{"group":"example.com","version":"v1","kind":"Baz"}},
				{"not":{"constraints":[{"package":{"packageName":"baz","versionRange":"<1.0.0"}}]}}]}}`)),
				singleBundle("bar.v1.0.0"), pkg("baz", channel("stable", bundle("baz.v0.9.0", provides("Baz"))),
					channel("fast", bundle("baz.v1.0.0", provides("Baz"))))))},
			want: chosen(fooChosen, barChosen, "baz.v1.0.0 from fast of olm/community"),
		},
		"Label": {
			reason: "A dependency by label is resolved.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(raw(typeLabelRequired, `{"label":"dns"}`)),
				singleBundle("bar.v1.0.0", has(raw(typeLabel, `{"label":"dns"}`))), singleBundle("baz.v1.0.0")))},
			want: chosen(fooChosen, barChosen),
		},
		"UnsupportedElsewhere": {
			reason: "A bundle with an unsupported constraint is skipped.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar")),
				singleBundle("bar.v1.0.0", provides("Bar"), has(constrains(`{"cel":{"rule":"true"}}`))), singleBundle("other.v1.0.0", provides("Bar"))))},
			want: chosen(fooChosen, "other.v1.0.0 from stable of olm/community"),
		},
		"UnknownProperty": {
			reason: "An unknown property is ignored.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(raw("olm.maxOpenShiftVersion", `"4.9"`), raw("x", `{`))))},
			want:   chosen(fooChosen),
		},
	})
}

// TestLabelsAreReadOnce verifies that the labels of the catalogs are read for the first need of a label, and not for each.
func TestLabelsAreReadOnce(t *testing.T) {
	labelled := func(names ...string) option {
		return func(e *catalog.Entry) {
			for _, name := range names {
				has(raw(typeLabel, `{"label":"`+name+`"}`))(e)
			}
		}
	}
	visible := sources(source("community", singleBundle("bar.v1.0.0", labelled("dns", "dns", "proxy")), singleBundle("baz.v1.0.0", labelled("dns"))))
	m := newCandidates(visible, "default")
	found := func(label string) []string {
		var out []string
		for _, o := range m.meeting(need{op: opLabel, label: label}) {
			out = append(out, o.name)
		}
		return out
	}
	want := []string{"bar.v1.0.0", "baz.v1.0.0"}
	if got := found("dns"); !slices.Equal(got, want) {
		t.Errorf("the label is found on %v; want %v", got, want)
	}
	visible[0].Content.Packages["bar"].Channels["stable"].Entries["bar.v1.0.0"].Bundle.Properties = nil
	if got := found("proxy"); !slices.Equal(got, want[:1]) {
		t.Errorf("the second label is found on %v; want %v, as read before", got, want[:1])
	}
}

func TestExplanations(t *testing.T) {
	const notSatisfiable = v1alpha1.ReasonConstraintsNotSatisfiable
	run(t, map[string]testCase{
		"Kind": {
			reason: "A kind that no bundle provides is reported.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("EtcdCluster.v1beta2"))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires kind EtcdCluster of etcd.database.coreos.com/v1beta2, "+
				"which no bundle in the visible catalogs provides and the cluster does not serve"),
		},
		"KindInAnotherVersion": {
			reason: "The message contains the available versions of the kind and the unread catalog.",
			in: NamespaceState{Catalogs: sources(catalog.Catalog{Key: key("away")},
				fooNeeding(requirements(needsKind("Bar.v2")), singleBundle("bar.v1.0.0", provides("Bar", "Bar.v1beta1"))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires kind Bar of example.com/v2, which no bundle in the visible catalogs provides "+
				"and the cluster does not serve; available: v1beta1 of package bar (CatalogSource olm/away has not been read)"),
		},
		"Package": {
			reason: "The message suggests a package of a similar name.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("brr", "")), singleBundle("bar.v1.0.0")))},
			want:   refused(notSatisfiable, "foo.v1.0.0 requires package brr, which no visible catalog has: did you mean bar?"),
		},
		"PackageVersion": {
			reason: "The message contains the available versions of the package.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", ">=3.0.0")),
				pkg("bar", channel("stable", bundle("bar.v1.0.0"), bundle("bar.v2.0.0")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar >=3.0.0, but the visible catalogs have only 2.0.0, 1.0.0"),
		},
		"PresentInAnotherVersion": {
			reason: "An installed operator is not updated for a Subscription other than its own.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", ">=2.0.0")),
				pkg("bar", channel("stable", bundle("bar.v1.0.0"), bundle("bar.v2.0.0"))))), Present: []Installed{installed("bar.v1.0.0")}},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar >=2.0.0, which bar.v2.0.0 would satisfy, but bar.v2.0.0 cannot be "+
				"installed: the namespace has bar.v1.0.0, which also belongs to package bar, and only its own Subscription updates it"),
		},
		"PlannedInAnotherVersion": {
			reason: "An operator that an older Subscription will install is not replaced by a newer one.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", ">=2.0.0")))),
				Present: []Installed{{Name: "bar.v1.0.0", Package: "bar", Planned: true}}},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar >=2.0.0, but an older Subscription in the namespace will install "+
				"bar.v1.0.0, and only its own Subscription updates it"),
		},
		"SameKindPresent": {
			reason: "Two operators that provide the same kind are rejected.",
			in: NamespaceState{Catalogs: sources(source("community", singleBundle("foo.v1.0.0", provides("Foo")))),
				Present: []Installed{installed("bar.v1.0.0", provides("Foo"))}},
			want: refused(notSatisfiable, "foo.v1.0.0 cannot be installed: it provides kind Foo of example.com/v1, and the namespace has "+
				"bar.v1.0.0, which also provides it"),
		},
		"Deep": {
			reason: "The message follows the dependencies to the cause.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", "")), singleBundle("bar.v1.0.0", has(needsPackage("baz", ""))),
				singleBundle("baz.v1.0.0", has(needsKind("Bar")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar, which bar.v1.0.0 would satisfy, but bar.v1.0.0 requires package baz, which "+
				"baz.v1.0.0 would satisfy, but baz.v1.0.0 requires kind Bar of example.com/v1, which no bundle in the visible catalogs provides and "+
				"the cluster does not serve"),
		},
		"CircleWithACause": {
			reason: "The message follows a cycle of dependencies once, and contains the cause beside it.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("a", ""), needsPackage("z", "")),
				singleBundle("a.v1.0.0", has(needsPackage("foo", ""))), singleBundle("z.v1.0.0", has(needsPackage("nowhere", "")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package z, which z.v1.0.0 would satisfy, but z.v1.0.0 requires package nowhere, "+
				"which no visible catalog has"),
		},
		"Clash": {
			reason: "Two dependencies that exclude each other are reported.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", ""), needsPackage("baz", "")),
				singleBundle("bar.v1.0.0", provides("Bar")), singleBundle("baz.v1.0.0", provides("Bar"))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires both package bar and package baz, but bar.v1.0.0 and baz.v1.0.0 both provide "+
				"kind Bar of example.com/v1"),
		},
		"ClashBelow": {
			reason: "A dependency that excludes its dependent is reported.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", "")), singleBundle("bar.v1.0.0", has(needsPackage("foo", "<1.0.0"))),
				pkg("foo-old", channel("stable"))), source("other", pkg("foo", channel("stable", bundle("foo.v0.1.0")))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires package bar, which bar.v1.0.0 would satisfy, but bar.v1.0.0 requires package foo <1.0.0, "+
				"which foo.v0.1.0 would satisfy, but foo.v1.0.0 and foo.v0.1.0 both belong to package foo"),
		},
		"Unsupported": {
			reason: "A CEL constraint is reported as unsupported.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(`{"failureMessage":"x","cel":{"rule":"properties.exists(p, true)"}}`))))},
			want:   refused(v1alpha1.ReasonUnsupportedConstraint, "foo.v1.0.0 has a constraint of type cel, which is not supported"),
		},
		"UnsupportedTurnedRound": {
			reason: "A negated CEL constraint is reported as unsupported.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar")), singleBundle("bar.v1.0.0", provides("Bar"),
				has(constrains(`{"not":{"constraints":[{"cel":{"rule":"true"}}]}}`)))))},
			want: refused(v1alpha1.ReasonUnsupportedConstraint, "foo.v1.0.0 requires kind Bar of example.com/v1, which bar.v1.0.0 would satisfy, but "+
				"bar.v1.0.0 has a constraint of type cel, which is not supported"),
		},
		"Unreadable": {
			reason: "A bundle with an invalid dependency is reported.",
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(needsPackage("bar", "recent"))))},
			want: refused(v1alpha1.ReasonBundleInvalid, `foo.v1.0.0 has an unreadable olm.package.required: "recent" is not a valid version range: `+
				`Could not get version from string: "recent"`),
		},
		"TooMany": {
			reason: "A bundle with more requirements than any needs is reported, and these are not resolved.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(
				`{"any":{"constraints":[`+strings.Repeat(`{"package":{"packageName":"bar"}},`, maxNeeds)+`{"package":{"packageName":"bar"}}]}}`)),
				singleBundle("bar.v1.0.0")))},
			want: refused(v1alpha1.ReasonBundleInvalid, "foo.v1.0.0 has 1001 requirements, and the limit is 1000"),
		},
		"FailureMessage": {
			reason: "The failure message of the constraint is quoted.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(
				`{"failureMessage":"Foo keeps its data in Bar","package":{"packageName":"bar"}}`))))},
			want: refused(notSatisfiable, `foo.v1.0.0 requires package bar ("Foo keeps its data in Bar"), which no visible catalog has`),
		},
		"Any": {
			reason: "A constraint of which no alternative is available is reported.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(
				`{"any":{"constraints":[{"package":{"packageName":"bar"}},{"gvk":{"group":"example.com","version":"v1","kind":"Bar"}}]}}`))))},
			want: refused(notSatisfiable, "foo.v1.0.0 requires one of (package bar; kind Bar of example.com/v1), but none is available: "+
				"foo.v1.0.0 requires package bar, which no visible catalog has"),
		},
		"Not": {
			reason: "An installed operator that the bundle excludes is reported.",
			in: NamespaceState{Catalogs: sources(fooNeeding(requirements(constrains(`{"not":{"constraints":[{"package":{"packageName":"bar"}}]}}`)))),
				Present: []Installed{installed("bar.v1.0.0")}},
			want: refused(notSatisfiable, "foo.v1.0.0 excludes package bar, but the namespace has bar.v1.0.0"),
		},
		"NeighbourForbids": {
			reason: "A bundle that an installed operator excludes is rejected.",
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0")), Present: []Installed{installed("bar.v1.0.0",
				has(constrains(`{"none":{"constraints":[{"package":{"packageName":"foo"}}]}}`)))}},
			want: refused(notSatisfiable, "foo.v1.0.0 cannot be installed: the namespace has bar.v1.0.0, which requires none of (package foo), and "+
				"that would no longer be satisfied"),
		},
	})
}
