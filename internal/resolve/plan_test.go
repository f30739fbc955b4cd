package resolve

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestPlan(t *testing.T) {
	const notSatisfiable = v1alpha1.ReasonConstraintsNotSatisfiable
	two := append(chain(), source("mirror", one("foo.v2.0.0")))
	cases := map[string]struct {
		reason    string
		names     []string
		preferred types.NamespacedName
		in        NamespaceState
		want      want
	}{
		"Vault": {
			reason: "A plan that names Vault brings etcd along.",
			names:  []string{"vault.v1.0.0"},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   chosen("vault.v1.0.0 from stable of olm/quay", "etcd.v0.9.0 from alpha of olm/quay"),
		},
		"VaultWithThatEtcd": {
			reason: "What the plan names goes before what would be preferred.",
			names:  []string{"vault.v1.0.0", "etcd.v0.6.1"},
			in:     NamespaceState{Catalogs: vaultAndEtcd()},
			want:   chosen("vault.v1.0.0 from stable of olm/quay", "etcd.v0.6.1 from alpha of olm/quay"),
		},
		"Nothing": {
			reason: "A plan without names needs nothing.",
			in:     NamespaceState{Catalogs: chain()},
		},
		"Present": {
			reason: "What is present already needs nothing.",
			names:  []string{"foo.v1.0.0"},
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0")}},
		},
		"Update": {
			reason: "A plan may name an update of what is present.",
			names:  []string{"foo.v2.0.0", "foo.v2.0.0"},
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0", provides("Foo"))}},
			want:   chosen("foo.v2.0.0 from stable of olm/community for foo.v1.0.0"),
		},
		"AnotherPackage": {
			reason: "A package may be continued by another, whose bundle replaces what is present by its name, though both provide the same.",
			names:  []string{"bar.v1.0.0"},
			in: NamespaceState{
				Catalogs: sources(source("community", one("foo.v1.0.0", provides("Foo")), one("bar.v1.0.0", provides("Foo"), replaces("foo.v1.0.0")))),
				Present:  []Installed{installed("foo.v1.0.0", provides("Foo"))},
			},
			want: chosen("bar.v1.0.0 from stable of olm/community for foo.v1.0.0"),
		},
		"NoUpdate": {
			reason: "It may not leap over steps that the catalog does not allow to leap over.",
			names:  []string{"foo.v3.0.0"},
			in:     NamespaceState{Catalogs: chain(), Present: []Installed{installed("foo.v1.0.0")}},
			want:   refused(notSatisfiable, "foo.v3.0.0 cannot be installed: the namespace has foo.v1.0.0, and foo.v3.0.0 does not replace it"),
		},
		"FirstCatalog": {
			reason: "The catalogs come in their order.",
			names:  []string{"foo.v2.0.0"},
			in:     NamespaceState{Catalogs: two},
			want:   chosen("foo.v2.0.0 from stable of olm/community"),
		},
		"PreferredCatalog": {
			reason:    "The preferred catalog comes before them.",
			names:     []string{"foo.v2.0.0"},
			preferred: key("mirror"),
			in:        NamespaceState{Catalogs: two},
			want:      chosen("foo.v2.0.0 from stable of olm/mirror"),
		},
		"NotFound": {
			reason: "A typo is named.",
			names:  []string{"foo.v2.0.o"},
			in:     NamespaceState{Catalogs: two},
			want:   refused(notSatisfiable, "No visible catalog has foo.v2.0.o: did you mean foo.v2.0.0?"),
		},
		"TwoOfOnePackage": {
			reason: "A package is installed once in a namespace.",
			names:  []string{"foo.v1.0.0", "foo.v2.0.0"},
			in:     NamespaceState{Catalogs: chain()},
			want:   refused(notSatisfiable, "foo.v1.0.0 and foo.v2.0.0 both belong to package foo"),
		},
		"Unmet": {
			reason: "An unmet dependency of a bundle in the plan is reported as for a Subscription.",
			names:  []string{"foo.v1.0.0"},
			in:     NamespaceState{Catalogs: sources(fooNeeding(that(needsKind("Bar"))))},
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
