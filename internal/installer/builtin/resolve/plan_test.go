package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestPlan(t *testing.T) {
	const notSatisfiable = v1alpha1.ReasonConstraintsNotSatisfiable
	two := append(chain(), source("mirror", singleBundle("foo.v2.0.0")))
	cases := map[string]struct {
		reason    string
		names     []string
		preferred types.NamespacedName
		in        NamespaceState
		want      want
	}{
		"Vault": {
			reason: "The dependencies of a bundle in the plan are added.",
			names:  []string{"vault.v1.0.0"},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   chosen("vault.v1.0.0 from stable of olm/quay", "etcd.v0.9.0 from alpha of olm/quay"),
		},
		"VaultWithThatEtcd": {
			reason: "A bundle in the plan takes precedence over a preferred one.",
			names:  []string{"vault.v1.0.0", "etcd.v0.6.1"},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   chosen("vault.v1.0.0 from stable of olm/quay", "etcd.v0.6.1 from alpha of olm/quay"),
		},
		"Nothing": {
			reason: "A plan without names is empty.",
			in:     NamespaceState{Catalogs: chain()},
		},
		"Present": {
			reason: "An installed bundle is not planned.",
			names:  []string{"foo.v1.0.0"},
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0")}},
		},
		"Update": {
			reason: "An installed bundle is updated to the one in the plan.",
			names:  []string{"foo.v2.0.0", "foo.v2.0.0"},
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0", provides("Foo"))}},
			want:   chosen("foo.v2.0.0 from stable of olm/community for foo.v1.0.0"),
		},
		"AnotherPackage": {
			reason: "A bundle of another package may replace an installed one by name, though both provide the same kind.",
			names:  []string{"bar.v1.0.0"},
			in: NamespaceState{
				Catalogs: sources(source("community", singleBundle("foo.v1.0.0", provides("Foo")), singleBundle("bar.v1.0.0", provides("Foo"), replaces("foo.v1.0.0")))),
				Present:  []Installed{installed("foo.v1.0.0", provides("Foo"))},
			},
			want: chosen("bar.v1.0.0 from stable of olm/community for foo.v1.0.0"),
		},
		"NoUpdate": {
			reason: "An update to a bundle that does not replace the installed one is rejected.",
			names:  []string{"foo.v3.0.0"},
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0")}},
			want:   refused(notSatisfiable, "foo.v3.0.0 cannot be installed: the namespace has foo.v1.0.0, and foo.v3.0.0 does not replace it"),
		},
		"InPlaceOfOneThatNeverBegan": {
			reason: "A version whose installation has never started is followed by one that can replace the running one.",
			names:  []string{"foo.v3.0.0"},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v3.0.0", replaces("foo.v1.0.0"))),
				Present: []Installed{*neverBegun("foo.v2.0.0", "foo.v1.0.0")}},
			want: chosen("foo.v3.0.0 from stable of olm/community for foo.v2.0.0"),
		},
		"OlderThanOneThatNeverBegan": {
			reason: "It is not followed by an older version, even if that can replace the running one.",
			names:  []string{"foo.v1.5.0"},
			in: NamespaceState{Catalogs: foo(bundle("foo.v1.0.0"), bundle("foo.v1.5.0", replaces("foo.v1.0.0"))),
				Present: []Installed{*neverBegun("foo.v2.0.0", "foo.v1.0.0")}},
			want: refused(notSatisfiable, "foo.v1.5.0 cannot be installed: the namespace has foo.v2.0.0, and foo.v1.5.0 does not replace it"),
		},
		"FirstCatalog": {
			reason: "The first catalog that has the bundle is used.",
			names:  []string{"foo.v2.0.0"},
			in:     NamespaceState{Catalogs: two},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"PreferredCatalog": {
			reason:    "The preferred catalog takes precedence over the others.",
			names:     []string{"foo.v2.0.0"},
			preferred: key("mirror"),
			in:        NamespaceState{Catalogs: two},
			want:      chosen("foo.v2.0.0 from stable of olm/mirror"),
		},
		"NotFound": {
			reason: "The message suggests a bundle of a similar name.",
			names:  []string{"foo.v2.0.o"},
			in:     NamespaceState{Catalogs: two},
			want:   refused(notSatisfiable, "No visible catalog has foo.v2.0.o: did you mean foo.v2.0.0?"),
		},
		"TwoOfOnePackage": {
			reason: "Two bundles of one package are rejected.",
			names:  []string{"foo.v1.0.0", "foo.v2.0.0"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(notSatisfiable, "foo.v1.0.0 and foo.v2.0.0 both belong to package foo"),
		},
		"Unmet": {
			reason: "An unmet dependency of a bundle in the plan is reported as for a Subscription.",
			names:  []string{"foo.v1.0.0"},
			in:     NamespaceState{Catalogs: sources(fooNeeding(requirements(needsKind("Bar"))))},
			want: refused(notSatisfiable,
				"foo.v1.0.0 requires kind Bar of example.com/v1, which no bundle in the visible catalogs provides and the cluster does not serve"),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := answer(Plan(c.names, "default", c.preferred, c.in))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
