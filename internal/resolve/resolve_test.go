package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/catalog"
)

// vaultAndEtcd returns the packages of OLM's original InstallPlan example: Vault stores its data in etcd.
func vaultAndEtcd() []catalog.Catalog {
	return sources(source("quay",
		pkg("vault", channel("stable",
			bundle("vault.v1.0.0", provides("VaultService"), has(needsKind("EtcdCluster.v1beta2"))))),
		pkg("etcd", channel("alpha",
			bundle("etcd.v0.6.1", provides("EtcdCluster.v1beta2")),
			bundle("etcd.v0.9.0", provides("EtcdCluster.v1beta2", "EtcdBackup.v1beta2"), replaces("etcd.v0.6.1"))))))
}

func foo(entries ...*catalog.Entry) []catalog.Catalog {
	return sources(source("community", pkg("foo", channel("stable", entries...))))
}

func chain() []catalog.Catalog {
	return foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")), bundle("foo.v3.0.0", replaces("foo.v2.0.0")))
}

func sub(s Subscription) Subscription {
	s.Namespace, s.Name = "default", "sub"
	if s.Package == "" {
		s.Package = "foo"
	}
	if s.Catalog == (types.NamespacedName{}) {
		s.Catalog = key("community")
	}
	return s
}

type testCase struct {
	reason string
	sub    Subscription
	in     NamespaceState
	want   want
}

func run(t *testing.T, cases map[string]testCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := answer(Resolve(Inputs{sub(c.sub), c.in}))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

func TestFirstInstall(t *testing.T) {
	run(t, map[string]testCase{
		"Vault": {
			reason: "The ClusterServiceVersion of Vault needs etcd's kind, so it brings etcd along.",
			sub:    Subscription{Package: "vault", Channel: "stable", Catalog: key("quay")},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   chosen("vault.v1.0.0 from stable of olm/quay", "etcd.v0.9.0 from alpha of olm/quay"),
		},
		"VaultBesideEtcd": {
			reason: "What is installed already is not installed again, nor updated behind its Subscription's back.",
			sub:    Subscription{Package: "vault", Catalog: key("quay")},
			in: NamespaceState{Catalogs: vaultAndEtcd(), Present: []Installed{
				installed("etcd.v0.6.1", provides("EtcdCluster.v1beta2"))}},
			want: chosen("vault.v1.0.0 from stable of olm/quay"),
		},
		"Newest": {
			reason: "A first install goes to the head of the channel at once.",
			in:     NamespaceState{Catalogs: chain()},
			want:   chosen("foo.v3.0.0 from stable of olm/community"),
		},
		"DefaultChannel": {
			reason: "Without a channel the package's default one is meant.",
			in: NamespaceState{Catalogs: sources(source("community", pkg("foo",
				channel("stable", bundle("foo.v1.0.0")), channel("alpha", bundle("foo.v2.0.0")))))},
			want: chosen("foo.v1.0.0 from stable of olm/community"),
		},
		"OnlyChannel": {
			reason: "Where there is but one channel it need not be called the default.",
			in: NamespaceState{Catalogs: sources(source("community", &catalog.Package{Name: "foo",
				Channels: map[string]*catalog.Channel{"stable": channel("stable", bundle("foo.v1.0.0"))}}))},
			want: chosen("foo.v1.0.0 from stable of olm/community"),
		},
		"StartingCSV": {
			reason: "startingCSV is where a first install begins.",
			sub:    Subscription{StartingCSV: "foo.v2.0.0"},
			in:     NamespaceState{Catalogs: chain()},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"StartingCSVSkipped": {
			reason: "An entry that others skip is installed where it is asked for by name.",
			sub:    Subscription{StartingCSV: "foo.v1.0.0"},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", skips("foo.v1.0.0")))},
			want:   chosen("foo.v1.0.0 from stable of olm/community"),
		},
		"OlderWhereNewerCannot": {
			reason: "An older bundle is better than none; the note explains why it is not the newest.",
			in: NamespaceState{Catalogs: foo(
				bundle("foo.v1.0.0"),
				bundle("foo.v2.0.0", replaces("foo.v1.0.0"), has(needsPackage("bar", ">=1.0.0"))))},
			want: want{
				Choices: []string{"foo.v1.0.0 from stable of olm/community"},
				Note: "foo.v2.0.0, the newest choice in channel stable of package foo, cannot be installed: " +
					"foo.v2.0.0 requires package bar >=1.0.0, which no visible catalog has"},
		},
		"SkippedIsNoChoice": {
			reason: "An entry was skipped for a reason.",
			in: NamespaceState{Catalogs: foo(
				bundle("foo.v1.0.0"),
				bundle("foo.v2.0.0", skips("foo.v1.0.0"), has(needsKind("Bar"))))},
			want: refused(v1alpha1.ReasonConstraintsNotSatisfiable,
				"foo.v2.0.0 requires kind Bar of example.com/v1, which no bundle in the visible catalogs provides and the cluster does not serve"),
		},
		"SeveralHeads": {
			reason: "Of several heads the highest version is the newest.",
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.9.0"), bundle("foo.v1.10.0"),
				bundle("foo.v1.8.0"), bundle("foo.v1.9.1", replaces("foo.v1.9.0")))},
			want: chosen("foo.v1.10.0 from stable of olm/community"),
		},
		"MissingReplaces": {
			reason: "Older bundles are often pruned from a catalog, and what they were replaced by is still there.",
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0")))},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"Deprecations": {
			reason: "An admin hears of what is deprecated before it is gone.",
			in: NamespaceState{Catalogs: sources(source("community", &catalog.Package{
				Name: "foo", DefaultChannel: "stable", Deprecation: "use bar",
				Channels: map[string]*catalog.Channel{"stable": {Name: "stable", Deprecation: "use fast\n",
					Entries: map[string]*catalog.Entry{"foo.v1.0.0": bundle("foo.v1.0.0", deprecated("a hole"))}}}}))},
			want: want{
				Choices:      []string{"foo.v1.0.0 from stable of olm/community"},
				Deprecations: Deprecations{Package: "use bar", Channel: "use fast", Bundle: "a hole"}},
		},
		"AlreadyThere": {
			reason: "A package is installed once in a namespace.",
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0")}},
			want: refused(v1alpha1.ReasonConstraintsNotSatisfiable, "foo.v3.0.0 cannot be installed: the namespace has foo.v1.0.0, "+
				"which also belongs to package foo, and only its own Subscription updates it; neither can 2 older choices"),
		},
	})
}

func TestUpdate(t *testing.T) {
	run(t, map[string]testCase{
		"OneStep": {
			reason: "An update goes step by step along replaces; the status can name where it leads.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: chain()},
			want:   want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v3.0.0"},
		},
		"Settled": {
			reason: "What is installed is the newest.",
			sub:    Subscription{Installed: update("foo.v3.0.0")},
			in:     NamespaceState{Catalogs: chain()},
		},
		"StartingCSVIsHistory": {
			reason: "startingCSV means nothing once something is installed, even if it has left the channel.",
			sub:    Subscription{StartingCSV: "foo.v0.1.0", Installed: update("foo.v3.0.0")},
			in:     NamespaceState{Catalogs: chain()},
		},
		"Skips": {
			reason: "A bundle that skips the installed one replaces it, whatever its replaces field contains.",
			sub:    Subscription{Installed: update("foo.v2.0.0")},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")),
				bundle("foo.v3.0.0", replaces("foo.v1.0.0"), skips("foo.v2.0.0")))},
			want: want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v3.0.0"},
		},
		"SkipRange": {
			reason: "A skipRange leaps over the steps between.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")),
				bundle("foo.v3.0.0", replaces("foo.v2.0.0"), skipRange(">=1.0.0 <3.0.0")))},
			want: want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v3.0.0"},
		},
		"SkipRangeFromOutside": {
			reason: "A skipRange takes up what the channel has never had.",
			sub:    Subscription{Installed: update("foo.v1.5.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v3.0.0", skipRange("<3.0.0")))},
			want:   want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v1.5.0"}, Newest: "foo.v3.0.0"},
		},
		"BadSkipRange": {
			reason: "A skipRange that makes no sense skips nothing.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0")), bundle("foo.v3.0.0", skipRange("newer")))},
			want:   want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"Unreachable": {
			reason: "Nothing to do is not the same as nothing newer.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v3.0.0", replaces("foo.v2.0.0")))},
			want: want{Note: "Channel stable of package foo offers foo.v3.0.0, but foo.v1.0.0 is not in it and cannot be updated to it: " +
				"no bundle in the channel replaces or skips foo.v1.0.0"},
		},
		"UnreachableInChannel": {
			reason: "What is in the channel may be a dead end too.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v3.0.0"))},
			want: want{Note: "Channel stable of package foo offers foo.v3.0.0, but foo.v1.0.0 cannot be updated to it: " +
				"no bundle in the channel replaces or skips foo.v1.0.0"},
		},
		"NoDowngrade": {
			reason: "A range of versions never leads back to an older one.",
			sub:    Subscription{Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", skipRange("<=2.0.0")))},
			want: want{Note: "The newest bundle of channel stable of package foo is foo.v1.0.0, which is older than foo.v2.0.0; " +
				"the installed version is kept until the channel offers a replacement"},
		},
		"OlderByName": {
			reason: "But an author who names what is replaced means it, whatever the version.",
			sub:    Subscription{Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0"), bundle("foo.v1.9.9", replaces("foo.v2.0.0")))},
			want:   want{Choices: []string{"foo.v1.9.9 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v1.9.9"},
		},
		"OlderChannel": {
			reason: "If the newest bundle of the channel is older than the installed one, it is not reported as running.",
			sub:    Subscription{Channel: "stable", Installed: update("foo.v2.0.0")},
			in: NamespaceState{Catalogs: sources(source("community",
				pkg("foo", channel("stable", bundle("foo.v1.5.0")), channel("candidate", bundle("foo.v2.0.0")))))},
			want: want{Note: "The newest bundle of channel stable of package foo is foo.v1.5.0, which is older than foo.v2.0.0; " +
				"the installed version is kept until the channel offers a replacement"},
		},
		"ChannelSwitch": {
			reason: "Another channel is entered by the same rule.",
			sub:    Subscription{Channel: "fast", Installed: update("foo.v1.0.0")},
			in: NamespaceState{Catalogs: sources(source("community", pkg("foo", channel("stable", bundle("foo.v1.0.0")),
				channel("fast", bundle("foo.v2.0.0", replaces("foo.v1.0.0"))))))},
			want: want{Choices: []string{"foo.v2.0.0 from fast of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"OlderStepWhereNewerCannot": {
			reason: "Of several updates the newest that can be installed is taken.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")),
				bundle("foo.v3.0.0", replaces("foo.v2.0.0"), skipRange("<3.0.0"), has(needsKind("Bar"))))},
			want: want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v3.0.0",
				Note: "foo.v3.0.0, the newest choice in channel stable of package foo, cannot be installed: foo.v3.0.0 requires " +
					"kind Bar of example.com/v1, which no bundle in the visible catalogs provides and the cluster does not serve"},
		},
		"CannotUpdate": {
			reason: "An update that is not possible is reported, with the installed bundle.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"), has(needsPackage("bar", ""))))},
			want: want{Newest: "foo.v2.0.0", Problem: &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable,
				Message: "foo.v1.0.0 cannot be updated to foo.v2.0.0: foo.v2.0.0 requires package bar, which no visible catalog has"}},
		},
		"SameKinds": {
			reason: "An update may provide what the one that it replaces provides.",
			sub:    Subscription{Installed: update("foo.v1.0.0", provides("Foo"))},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"), provides("Foo")))},
			want:   want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"InFlight": {
			reason: "A predecessor that has not been collected yet is not in the way.",
			sub:    Subscription{Installed: update("foo.v2.0.0", provides("Foo"))},
			in: NamespaceState{
				Catalogs: foo(bundle("foo.v3.0.0", replaces("foo.v2.0.0"), provides("Foo"))),
				Present:  []Installed{installed("foo.v1.0.0", provides("Foo"))}},
			want: want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v3.0.0"},
		},
		"NeighbourNeedsIt": {
			reason: "An update does not take away what a neighbour needs, though the kind stays on the cluster.",
			sub:    Subscription{Installed: update("foo.v1.0.0", provides("Foo"))},
			in: NamespaceState{
				Catalogs:  foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"), provides("Foo.v2"))),
				Present:   []Installed{installed("bar.v1.0.0", has(needsKind("Foo")))},
				OnCluster: kinds("Foo")},
			want: want{Newest: "foo.v2.0.0", Problem: &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable,
				Message: "foo.v1.0.0 cannot be updated to foo.v2.0.0: foo.v2.0.0 cannot be installed: the namespace has bar.v1.0.0, " +
					"which requires kind Foo of example.com/v1, and that would no longer be satisfied"}},
		},
		"NeighbourGetsAnother": {
			reason: "What an update takes away may come from elsewhere.",
			sub:    Subscription{Installed: update("foo.v1.0.0", provides("Foo"))},
			in: NamespaceState{
				Catalogs: append(foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"))),
					source("other", pkg("old-foo", channel("stable", bundle("old-foo.v1.0.0", provides("Foo")))))),
				Present: []Installed{installed("bar.v1.0.0", has(needsKind("Foo")))}},
			want: want{Newest: "foo.v2.0.0", Choices: []string{
				"foo.v2.0.0 from stable of olm/community for foo.v1.0.0", "old-foo.v1.0.0 from stable of olm/other"}},
		},
		"NeighbourIsBrokenAlready": {
			reason: "A neighbour that lacks something already holds nothing up.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in: NamespaceState{
				Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"))),
				Present:  []Installed{installed("bar.v1.0.0", has(needsKind("Foo"), constrains(`{"cel":{"rule":"true"}}`)))}},
			want: want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"DeprecatedAndSettled": {
			reason: "What is installed may be deprecated.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", deprecated("a hole")))},
			want:   want{Deprecations: Deprecations{Bundle: "a hole"}},
		},
	})
}

func TestNotFound(t *testing.T) {
	cycle := foo(bundle("foo.v1.0.0", replaces("foo.v3.0.0")), bundle("foo.v2.0.0", replaces("foo.v1.0.0")),
		bundle("foo.v3.0.0", replaces("foo.v2.0.0")))
	unread := catalog.Catalog{Key: key("community")}
	bad := source("community")
	bad.Content.Invalid["foo"] = `channel "stable" has two heads`
	run(t, map[string]testCase{
		"NoCatalog": {
			reason: "The CatalogSource is not there, but one of a name like it.",
			sub:    Subscription{Catalog: key("comunity")},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonCatalogSourceNotFound, "CatalogSource olm/comunity not found: did you mean olm/community?"),
		},
		"Unread": {
			reason: "The packages of a catalog that has not been read are not known.",
			in:     NamespaceState{Catalogs: sources(unread)},
			want: refused(v1alpha1.ReasonCatalogSourceUnreadable,
				"CatalogSource olm/community has not been read yet: see its status"),
		},
		"NoPackage": {
			reason: "A typo is named.",
			sub:    Subscription{Package: "vualt", Catalog: key("quay")},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   refused(v1alpha1.ReasonPackageNotFound, "CatalogSource olm/quay has no package vualt: did you mean vault?"),
		},
		"PackageElsewhere": {
			reason: "The package is there, but in another catalog.",
			sub:    Subscription{Package: "vault"},
			in:     NamespaceState{Catalogs: append(chain(), vaultAndEtcd()...)},
			want:   refused(v1alpha1.ReasonPackageNotFound, "CatalogSource olm/community has no package vault; CatalogSource olm/quay has it"),
		},
		"PackageUnlikeAny": {
			reason: "Nothing is guessed where nothing is like it.",
			sub:    Subscription{Package: "kubernetes"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonPackageNotFound, "CatalogSource olm/community has no package kubernetes"),
		},
		"InvalidPackage": {
			reason: "What the catalog's reader found wrong is quoted.",
			in:     NamespaceState{Catalogs: sources(bad)},
			want: refused(v1alpha1.ReasonPackageInvalid,
				`Package foo of CatalogSource olm/community is invalid: channel "stable" has two heads`),
		},
		"NoChannel": {
			reason: "The channels that are there are named.",
			sub:    Subscription{Package: "vault", Channel: "stabel"},
			in: NamespaceState{Catalogs: sources(source("community", pkg("vault",
				channel("stable", bundle("vault.v1.0.0")), channel("beta", bundle("vault.v1.0.0")))))},
			want: refused(v1alpha1.ReasonChannelNotFound, "Package vault has no channel stabel: it has beta, stable"),
		},
		"NoDefaultChannel": {
			reason: "Without a default channel there has to be one in the Subscription.",
			in: NamespaceState{Catalogs: sources(source("community", &catalog.Package{Name: "foo", DefaultChannel: "gone",
				Channels: map[string]*catalog.Channel{"a": channel("a"), "b": channel("b")}}))},
			want: refused(v1alpha1.ReasonPackageInvalid, "Package foo of CatalogSource olm/community is invalid: it has no valid default channel, "+
				"so spec.channel of the Subscription must be one of a, b"),
		},
		"EmptyChannel": {
			reason: "A channel without entries has nothing to install.",
			in:     NamespaceState{Catalogs: foo()},
			want:   refused(v1alpha1.ReasonPackageInvalid, "Package foo of CatalogSource olm/community is invalid: its channel stable is empty"),
		},
		"NotInChannel": {
			reason: "A startingCSV with a typo.",
			sub:    Subscription{StartingCSV: "foo.v1.0.O"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonCSVNotInChannel, "Channel stable of package foo has no foo.v1.0.O: did you mean foo.v1.0.0?"),
		},
		"NotInChannelAtAll": {
			reason: "A startingCSV like none that there is.",
			sub:    Subscription{StartingCSV: "something-else"},
			in:     NamespaceState{Catalogs: chain()},
			want: refused(v1alpha1.ReasonCSVNotInChannel,
				"Channel stable of package foo has no something-else: it has foo.v1.0.0, foo.v2.0.0, foo.v3.0.0"),
		},
		"Cycle": {
			reason: "In a circle none is the newest.",
			in:     NamespaceState{Catalogs: cycle},
			want: refused(v1alpha1.ReasonReplacesCycle, "Channel stable of package foo has a replacement cycle and therefore no head: "+
				"foo.v3.0.0 replaces foo.v2.0.0, foo.v2.0.0 replaces foo.v1.0.0, foo.v1.0.0 replaces foo.v3.0.0"),
		},
		"ReplacesItself": {
			reason: "The smallest circle.",
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", replaces("foo.v1.0.0")))},
			want: refused(v1alpha1.ReasonReplacesCycle, "Channel stable of package foo has a replacement cycle and therefore no head: "+
				"foo.v1.0.0 replaces foo.v1.0.0"),
		},
	})
}
