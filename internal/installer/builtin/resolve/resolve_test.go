package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
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
			reason: "A dependency by kind of a real bundle is resolved.",
			sub:    Subscription{Package: "vault", Channel: "stable", Catalog: key("quay")},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   chosen("vault.v1.0.0 from stable of olm/quay", "etcd.v0.9.0 from alpha of olm/quay"),
		},
		"VaultBesideEtcd": {
			reason: "An installed dependency is neither installed again nor updated.",
			sub:    Subscription{Package: "vault", Catalog: key("quay")},
			in: NamespaceState{Catalogs: vaultAndEtcd(), Present: []Installed{
				installed("etcd.v0.6.1", provides("EtcdCluster.v1beta2"))}},
			want: chosen("vault.v1.0.0 from stable of olm/quay"),
		},
		"Newest": {
			reason: "A first install chooses the head of the channel.",
			in:     NamespaceState{Catalogs: chain()},
			want:   chosen("foo.v3.0.0 from stable of olm/community"),
		},
		"DefaultChannel": {
			reason: "Without a channel the default channel is used.",
			in: NamespaceState{Catalogs: sources(source("community", pkg("foo",
				channel("stable", bundle("foo.v1.0.0")), channel("alpha", bundle("foo.v2.0.0")))))},
			want: chosen("foo.v1.0.0 from stable of olm/community"),
		},
		"OnlyChannel": {
			reason: "The only channel is used even if it is not set as default.",
			in: NamespaceState{Catalogs: sources(source("community", &catalog.Package{Name: "foo",
				Channels: map[string]*catalog.Channel{"stable": channel("stable", bundle("foo.v1.0.0"))}}))},
			want: chosen("foo.v1.0.0 from stable of olm/community"),
		},
		"StartingCSV": {
			reason: "A first install chooses the startingCSV.",
			sub:    Subscription{StartingCSV: "foo.v2.0.0"},
			in:     NamespaceState{Catalogs: chain()},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"StartingCSVSkipped": {
			reason: "A skipped startingCSV is installed.",
			sub:    Subscription{StartingCSV: "foo.v1.0.0"},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", skips("foo.v1.0.0")))},
			want:   chosen("foo.v1.0.0 from stable of olm/community"),
		},
		"OlderWhereNewerCannot": {
			reason: "An older bundle is chosen if the newest cannot be installed, and the note explains why.",
			in: NamespaceState{Catalogs: foo(
				bundle("foo.v1.0.0"),
				bundle("foo.v2.0.0", replaces("foo.v1.0.0"), has(needsPackage("bar", ">=1.0.0"))))},
			want: want{
				Choices: []string{"foo.v1.0.0 from stable of olm/community"},
				Note: "foo.v2.0.0, the newest choice in channel stable of package foo, cannot be installed: " +
					"foo.v2.0.0 requires package bar >=1.0.0, which no visible catalog has"},
		},
		"SkippedIsNoChoice": {
			reason: "A skipped bundle is not chosen instead of one that cannot be installed.",
			in: NamespaceState{Catalogs: foo(
				bundle("foo.v1.0.0"),
				bundle("foo.v2.0.0", skips("foo.v1.0.0"), has(needsKind("Bar"))))},
			want: refused(v1alpha1.ReasonConstraintsNotSatisfiable,
				"foo.v2.0.0 requires kind Bar of example.com/v1, which no bundle in the visible catalogs provides and the cluster does not serve"),
		},
		"SeveralHeads": {
			reason: "The highest version among several heads is chosen.",
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.9.0"), bundle("foo.v1.10.0"),
				bundle("foo.v1.8.0"), bundle("foo.v1.9.1", replaces("foo.v1.9.0")))},
			want: chosen("foo.v1.10.0 from stable of olm/community"),
		},
		"MissingReplaces": {
			reason: "A bundle may replace one that was pruned from the catalog.",
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0")))},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"Deprecations": {
			reason: "Deprecations of package, channel and bundle are reported.",
			in: NamespaceState{Catalogs: sources(source("community", &catalog.Package{
				Name: "foo", DefaultChannel: "stable", Deprecation: "use bar",
				Channels: map[string]*catalog.Channel{"stable": {Name: "stable", Deprecation: "use fast\n",
					Entries: map[string]*catalog.Entry{"foo.v1.0.0": bundle("foo.v1.0.0", deprecated("a hole"))}}}}))},
			want: want{
				Choices:      []string{"foo.v1.0.0 from stable of olm/community"},
				Deprecations: Deprecations{Package: "use bar", Channel: "use fast", Bundle: "a hole"}},
		},
		"AlreadyThere": {
			reason: "A second Subscription for an installed package is rejected.",
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0")}},
			want: refused(v1alpha1.ReasonConstraintsNotSatisfiable, "foo.v3.0.0 cannot be installed: the namespace has foo.v1.0.0, "+
				"which also belongs to package foo, and only its own Subscription updates it; neither can 2 older choices"),
		},
	})
}

func TestUpdate(t *testing.T) {
	run(t, map[string]testCase{
		"OneStep": {
			reason: "An update follows replaces step by step, and the newest bundle is reported.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: chain()},
			want:   want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v3.0.0"},
		},
		"Settled": {
			reason: "The newest bundle is not updated.",
			sub:    Subscription{Installed: update("foo.v3.0.0")},
			in:     NamespaceState{Catalogs: chain()},
		},
		"StartingCSVIsHistory": {
			reason: "startingCSV is ignored after the first install, even if the channel no longer has it.",
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
			reason: "A skipRange skips the bundles between.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")),
				bundle("foo.v3.0.0", replaces("foo.v2.0.0"), skipRange(">=1.0.0 <3.0.0")))},
			want: want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v3.0.0"},
		},
		"SkipRangeFromOutside": {
			reason: "A skipRange applies to an installed bundle that is not in the channel.",
			sub:    Subscription{Installed: update("foo.v1.5.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v3.0.0", skipRange("<3.0.0")))},
			want:   want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v1.5.0"}, Newest: "foo.v3.0.0"},
		},
		"BadSkipRange": {
			reason: "An invalid skipRange is ignored.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0")), bundle("foo.v3.0.0", skipRange("newer")))},
			want:   want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"Unreachable": {
			reason: "A newer bundle without an update path from the installed one is reported.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v3.0.0", replaces("foo.v2.0.0")))},
			want: want{Note: "Channel stable of package foo offers foo.v3.0.0, but foo.v1.0.0 is not in it and cannot be updated to it: " +
				"no bundle in the channel replaces or skips foo.v1.0.0"},
		},
		"UnreachableInChannel": {
			reason: "A newer bundle is reported if the installed one is in the channel without an update path.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v3.0.0"))},
			want: want{Note: "Channel stable of package foo offers foo.v3.0.0, but foo.v1.0.0 cannot be updated to it: " +
				"no bundle in the channel replaces or skips foo.v1.0.0"},
		},
		"NoDowngrade": {
			reason: "A skipRange does not lead to an older version.",
			sub:    Subscription{Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", skipRange("<=2.0.0")))},
			want: want{Note: "The newest bundle of channel stable of package foo is foo.v1.0.0, which is older than foo.v2.0.0; " +
				"the installed version is kept until the channel offers a replacement"},
		},
		"OlderByName": {
			reason: "A bundle that replaces the installed one by name is chosen even if its version is older.",
			sub:    Subscription{Installed: update("foo.v2.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0"), bundle("foo.v1.9.9", replaces("foo.v2.0.0")))},
			want:   want{Choices: []string{"foo.v1.9.9 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v1.9.9"},
		},
		"OlderChannel": {
			reason: "If the newest bundle of the channel is older than the installed one, it is reported as older.",
			sub:    Subscription{Channel: "stable", Installed: update("foo.v2.0.0")},
			in: NamespaceState{Catalogs: sources(source("community",
				pkg("foo", channel("stable", bundle("foo.v1.5.0")), channel("candidate", bundle("foo.v2.0.0")))))},
			want: want{Note: "The newest bundle of channel stable of package foo is foo.v1.5.0, which is older than foo.v2.0.0; " +
				"the installed version is kept until the channel offers a replacement"},
		},
		"ChannelSwitch": {
			reason: "An update to another channel follows the same rules.",
			sub:    Subscription{Channel: "fast", Installed: update("foo.v1.0.0")},
			in: NamespaceState{Catalogs: sources(source("community", pkg("foo", channel("stable", bundle("foo.v1.0.0")),
				channel("fast", bundle("foo.v2.0.0", replaces("foo.v1.0.0"))))))},
			want: want{Choices: []string{"foo.v2.0.0 from fast of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"OlderStepWhereNewerCannot": {
			reason: "The newest update that can be installed is chosen.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v2.0.0", replaces("foo.v1.0.0")),
				bundle("foo.v3.0.0", replaces("foo.v2.0.0"), skipRange("<3.0.0"), has(needsKind("Bar"))))},
			want: want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v3.0.0",
				Note: "foo.v3.0.0, the newest choice in channel stable of package foo, cannot be installed: foo.v3.0.0 requires " +
					"kind Bar of example.com/v1, which no bundle in the visible catalogs provides and the cluster does not serve"},
		},
		"CannotUpdate": {
			reason: "An update that cannot be installed is reported with the installed bundle.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"), has(needsPackage("bar", ""))))},
			want: want{Newest: "foo.v2.0.0", Problem: &Problem{Reason: v1alpha1.ReasonConstraintsNotSatisfiable,
				Message: "foo.v1.0.0 cannot be updated to foo.v2.0.0: foo.v2.0.0 requires package bar, which no visible catalog has"}},
		},
		"WithdrawnBeforeItBegan": {
			reason: "A version whose installation has never started and that the catalog no longer has is followed by one that can replace the running one.",
			sub:    Subscription{Installed: neverBegun("foo.v2.0.0", "foo.v1.0.0")},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v3.0.0", replaces("foo.v1.0.0")))},
			want:   want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v3.0.0"},
		},
		"SameKinds": {
			reason: "An update may provide the same kinds as the bundle that it replaces.",
			sub:    Subscription{Installed: update("foo.v1.0.0", provides("Foo"))},
			in:     NamespaceState{Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"), provides("Foo")))},
			want:   want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"InFlight": {
			reason: "A predecessor that was not deleted yet does not conflict with an update.",
			sub:    Subscription{Installed: update("foo.v2.0.0", provides("Foo"))},
			in: NamespaceState{
				Catalogs: foo(bundle("foo.v3.0.0", replaces("foo.v2.0.0"), provides("Foo"))),
				Present:  []Installed{installed("foo.v1.0.0", provides("Foo"))}},
			want: want{Choices: []string{"foo.v3.0.0 from stable of olm/community for foo.v2.0.0"}, Newest: "foo.v3.0.0"},
		},
		"NeighbourNeedsIt": {
			reason: "An update that removes a kind which another operator requires is rejected, even if the cluster serves it.",
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
			reason: "An update may remove a kind that another bundle provides instead.",
			sub:    Subscription{Installed: update("foo.v1.0.0", provides("Foo"))},
			in: NamespaceState{
				Catalogs: append(foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"))),
					source("other", pkg("old-foo", channel("stable", bundle("old-foo.v1.0.0", provides("Foo")))))),
				Present: []Installed{installed("bar.v1.0.0", has(needsKind("Foo")))}},
			want: want{Newest: "foo.v2.0.0", Choices: []string{
				"foo.v2.0.0 from stable of olm/community for foo.v1.0.0", "old-foo.v1.0.0 from stable of olm/other"}},
		},
		"NeighbourIsBrokenAlready": {
			reason: "An operator whose dependencies are unmet already does not block an update.",
			sub:    Subscription{Installed: update("foo.v1.0.0")},
			in: NamespaceState{
				Catalogs: foo(bundle("foo.v2.0.0", replaces("foo.v1.0.0"))),
				Present:  []Installed{installed("bar.v1.0.0", has(needsKind("Foo"), constrains(`{"cel":{"rule":"true"}}`)))}},
			want: want{Choices: []string{"foo.v2.0.0 from stable of olm/community for foo.v1.0.0"}, Newest: "foo.v2.0.0"},
		},
		"DeprecatedAndSettled": {
			reason: "The deprecation of the installed bundle is reported.",
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
			reason: "The message suggests a CatalogSource of a similar name.",
			sub:    Subscription{Catalog: key("comunity")},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonCatalogSourceNotFound, "CatalogSource olm/comunity not found: did you mean olm/community?"),
		},
		"Unread": {
			reason: "A catalog that was not read yet is reported.",
			in:     NamespaceState{Catalogs: sources(unread)},
			want: refused(v1alpha1.ReasonCatalogSourceUnreadable,
				"CatalogSource olm/community has not been read yet: see its status"),
		},
		"NoPackage": {
			reason: "The message suggests a package of a similar name.",
			sub:    Subscription{Package: "vualt", Catalog: key("quay")},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   refused(v1alpha1.ReasonPackageNotFound, "CatalogSource olm/quay has no package vualt: did you mean vault?"),
		},
		"PackageElsewhere": {
			reason: "The message contains another catalog that has the package.",
			sub:    Subscription{Package: "vault"},
			in:     NamespaceState{Catalogs: append(chain(), vaultAndEtcd()...)},
			want:   refused(v1alpha1.ReasonPackageNotFound, "CatalogSource olm/community has no package vault; CatalogSource olm/quay has it"),
		},
		"PackageUnlikeAny": {
			reason: "Nothing is suggested if no package has a similar name.",
			sub:    Subscription{Package: "kubernetes"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonPackageNotFound, "CatalogSource olm/community has no package kubernetes"),
		},
		"InvalidPackage": {
			reason: "The message contains the error of an invalid package.",
			in:     NamespaceState{Catalogs: sources(bad)},
			want: refused(v1alpha1.ReasonPackageInvalid,
				`Package foo of CatalogSource olm/community is invalid: channel "stable" has two heads`),
		},
		"NoChannel": {
			reason: "The message lists the channels of the package.",
			sub:    Subscription{Package: "vault", Channel: "stabel"},
			in: NamespaceState{Catalogs: sources(source("community", pkg("vault",
				channel("stable", bundle("vault.v1.0.0")), channel("beta", bundle("vault.v1.0.0")))))},
			want: refused(v1alpha1.ReasonChannelNotFound, "Package vault has no channel stabel: it has beta, stable"),
		},
		"NoDefaultChannel": {
			reason: "The message lists the channels of a package without a valid default channel.",
			in: NamespaceState{Catalogs: sources(source("community", &catalog.Package{Name: "foo", DefaultChannel: "gone",
				Channels: map[string]*catalog.Channel{"a": channel("a"), "b": channel("b")}}))},
			want: refused(v1alpha1.ReasonPackageInvalid, "Package foo of CatalogSource olm/community is invalid: it has no valid default channel, "+
				"so spec.channel of the Subscription must be one of a, b"),
		},
		"EmptyChannel": {
			reason: "A channel without entries is reported.",
			in:     NamespaceState{Catalogs: foo()},
			want:   refused(v1alpha1.ReasonPackageInvalid, "Package foo of CatalogSource olm/community is invalid: its channel stable is empty"),
		},
		"NotInChannel": {
			reason: "The message suggests a bundle of a similar name.",
			sub:    Subscription{StartingCSV: "foo.v1.0.O"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(v1alpha1.ReasonCSVNotInChannel, "Channel stable of package foo has no foo.v1.0.O: did you mean foo.v1.0.0?"),
		},
		"NotInChannelAtAll": {
			reason: "The message lists the bundles of the channel if none has a similar name.",
			sub:    Subscription{StartingCSV: "something-else"},
			in:     NamespaceState{Catalogs: chain()},
			want: refused(v1alpha1.ReasonCSVNotInChannel,
				"Channel stable of package foo has no something-else: it has foo.v1.0.0, foo.v2.0.0, foo.v3.0.0"),
		},
		"Cycle": {
			reason: "A replacement cycle is reported.",
			in:     NamespaceState{Catalogs: cycle},
			want: refused(v1alpha1.ReasonReplacesCycle, "Channel stable of package foo has a replacement cycle and therefore no head: "+
				"foo.v3.0.0 replaces foo.v2.0.0, foo.v2.0.0 replaces foo.v1.0.0, foo.v1.0.0 replaces foo.v3.0.0"),
		},
		"ReplacesItself": {
			reason: "A bundle that replaces itself is reported as a cycle.",
			in:     NamespaceState{Catalogs: foo(bundle("foo.v1.0.0", replaces("foo.v1.0.0")))},
			want: refused(v1alpha1.ReasonReplacesCycle, "Channel stable of package foo has a replacement cycle and therefore no head: "+
				"foo.v1.0.0 replaces foo.v1.0.0"),
		},
	})
}
