package resolve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/internal/catalog"
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
			reason:   "Where the other one has no such version neither is.",
			subs:     []Subscription{of("odf", has(needsPackage("ocs", "1.0.0"))), of("ocs")},
			catalogs: pinned("1.2.0"),
		},
		"KindMoves": {
			reason:   "A kind may move from one package to another.",
			subs:     []Subscription{of("a", provides("Bar")), of("b")},
			catalogs: moving,
			want:     []string{"a.v2.0.0 from stable of olm/community for a.v1.0.0", "b.v2.0.0 from stable of olm/community for b.v1.0.0"},
		},
		"AThirdNeedsIt": {
			reason:   "What neither of them has installed keeps what it needs.",
			subs:     []Subscription{of("odf", has(needsPackage("ocs", "1.0.0"))), of("ocs")},
			catalogs: pinned("1.1.0"),
			present:  []Installed{installed("third.v1.0.0", has(needsPackage("ocs", "1.0.0")))},
		},
		"FirstInstall": {
			reason:   "A first install does not count as an update.",
			subs:     []Subscription{sub(Subscription{Package: "odf"}), of("ocs")},
			catalogs: pinned("1.1.0"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			solution, next, ok := Together(tc.subs, Surroundings{Catalogs: tc.catalogs, Present: tc.present})
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
				if !strings.HasPrefix(name, tc.subs[i].Package+".v") {
					t.Errorf("%s\nSubscription %s gets %s", tc.reason, tc.subs[i].Package, name)
				}
			}
		})
	}
}
