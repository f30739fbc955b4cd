package resolve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// TestTogether verifies that Subscriptions that cannot be updated separately are updated together, or not at all.
func TestTogether(t *testing.T) {
	pinned := func(second string) []catalog.Catalog {
		return sources(source("community",
			pkg("odf", channel("stable",
				bundle("odf.v1.0.0", has(needsPackage("ocs", "1.0.0"))),
				bundle("odf.v1.1.0", replaces("odf.v1.0.0"), has(needsPackage("ocs", second))))),
			pkg("ocs", channel("stable",
				bundle("ocs.v1.0.0"),
				bundle("ocs.v1.1.0", replaces("ocs.v1.0.0"))))))
	}
	moving := sources(source("community",
		pkg("a", channel("stable", bundle("a.v1.0.0", provides("Bar")), bundle("a.v2.0.0", replaces("a.v1.0.0"), has(needsKind("Bar"))))),
		pkg("b", channel("stable", bundle("b.v1.0.0"), bundle("b.v2.0.0", replaces("b.v1.0.0"), provides("Bar"))))))
	// chain pins x to y and y to z; w pins y, too, in a version that is never offered.
	chain := sources(source("community",
		pkg("x", channel("stable", bundle("x.v1.0.0"), bundle("x.v2.0.0", replaces("x.v1.0.0"), has(needsPackage("y", "2.0.0"))))),
		pkg("y", channel("stable", bundle("y.v1.0.0"), bundle("y.v2.0.0", replaces("y.v1.0.0"), has(needsPackage("z", "2.0.0"))))),
		pkg("z", channel("stable", bundle("z.v1.0.0"), bundle("z.v2.0.0", replaces("z.v1.0.0")))),
		pkg("w", channel("stable", bundle("w.v1.0.0"), bundle("w.v2.0.0", replaces("w.v1.0.0"), has(needsPackage("y", "3.0.0"))))),
		pkg("lone", channel("stable", bundle("lone.v1.0.0"), bundle("lone.v2.0.0", replaces("lone.v1.0.0"), has(needsPackage("nothing", "1.0.0")))))))
	of := func(pkg string, options ...option) Subscription {
		return sub(Subscription{Package: pkg, Installed: update(pkg+".v1.0.0", options...)})
	}
	for name, tc := range map[string]struct {
		reason   string
		subs     []Subscription
		catalogs []catalog.Catalog
		present  []Installed
		want     []string
	}{
		"LockStep": {
			reason:   "Packages that pin each other's version are updated in one plan.",
			subs:     []Subscription{of("odf", has(needsPackage("ocs", "1.0.0"))), of("ocs")},
			catalogs: pinned("1.1.0"),
			want:     []string{"odf.v1.1.0 from stable of olm/community for odf.v1.0.0", "ocs.v1.1.0 from stable of olm/community for ocs.v1.0.0"},
		},
		"NoSuchVersion": {
			reason:   "Nothing is updated if the other package lacks the required version.",
			subs:     []Subscription{of("odf", has(needsPackage("ocs", "1.0.0"))), of("ocs")},
			catalogs: pinned("1.2.0"),
		},
		"KindMoves": {
			reason:   "Two packages are updated together if a kind moves between them.",
			subs:     []Subscription{of("a", provides("Bar")), of("b")},
			catalogs: moving,
			want:     []string{"a.v2.0.0 from stable of olm/community for a.v1.0.0", "b.v2.0.0 from stable of olm/community for b.v1.0.0"},
		},
		"UnrelatedIsBlocked": {
			reason:   "An unrelated Subscription that cannot be updated does not block the others.",
			subs:     []Subscription{of("x", has(needsPackage("y", "1.0.0"))), of("y", has(needsPackage("z", "1.0.0"))), of("z"), of("lone")},
			catalogs: chain,
			want: []string{"x.v2.0.0 from stable of olm/community for x.v1.0.0", "y.v2.0.0 from stable of olm/community for y.v1.0.0",
				"z.v2.0.0 from stable of olm/community for z.v1.0.0"},
		},
		"AnotherIsBlocked": {
			reason:   "A Subscription that cannot be updated with any of the others is not updated.",
			subs:     []Subscription{of("w"), of("x", has(needsPackage("y", "1.0.0"))), of("y", has(needsPackage("z", "1.0.0"))), of("z")},
			catalogs: chain,
		},
		"EntangledStays": {
			reason:   "A related Subscription that cannot be updated stays as it is.",
			subs:     []Subscription{of("y", has(needsPackage("z", "1.0.0"))), of("w"), of("z")},
			catalogs: chain,
			want:     []string{"y.v2.0.0 from stable of olm/community for y.v1.0.0", "z.v2.0.0 from stable of olm/community for z.v1.0.0"},
		},
		"StayingKeepsItsNeeds": {
			reason:   "A Subscription that stays as it is keeps its dependencies, which may block an update.",
			subs:     []Subscription{of("y", has(needsPackage("z", "1.0.0"))), of("w", has(needsPackage("y", "1.0.0"))), of("z")},
			catalogs: chain,
		},
		"NoMoreThanNeeded": {
			reason:   "A Subscription that does not need an update is not updated.",
			subs:     []Subscription{of("y", has(needsPackage("z", "1.0.0"))), of("x"), of("z")},
			catalogs: chain,
			want:     []string{"y.v2.0.0 from stable of olm/community for y.v1.0.0", "z.v2.0.0 from stable of olm/community for z.v1.0.0"},
		},
		"AThirdNeedsIt": {
			reason:   "An operator without a Subscription keeps its dependencies, which may block an update.",
			subs:     []Subscription{of("odf", has(needsPackage("ocs", "1.0.0"))), of("ocs")},
			catalogs: pinned("1.1.0"),
			present:  []Installed{installed("third.v1.0.0", has(needsPackage("ocs", "1.0.0")))},
		},
		"FirstInstall": {
			reason:   "A first install is not resolved together with updates.",
			subs:     []Subscription{sub(Subscription{Package: "odf"}), of("ocs")},
			catalogs: pinned("1.1.0"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			solution, next, ok := Together(tc.subs[0], tc.subs[1:], NamespaceState{Catalogs: tc.catalogs, Present: tc.present})
			if ok != (tc.want != nil) {
				t.Fatalf("%s\nok is %t", tc.reason, ok)
			}
			if !ok {
				return
			}
			if diff := cmp.Diff(tc.want, answer(solution, nil).Choices); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			for i, name := range next {
				if name != "" && !strings.HasPrefix(name, tc.subs[i].Package+".v") {
					t.Errorf("%s\nSubscription %s gets %s", tc.reason, tc.subs[i].Package, name)
				}
			}
		})
	}
}
