package reader

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"github.com/operator-framework/operator-registry/pkg/api"

	"github.com/operator-status/operator-status/internal/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

// graph is a catalog with channels that share a bundle, and with deprecations.
const graph = `schema: olm.package
name: bar
defaultChannel: stable
---
schema: olm.channel
package: bar
name: stable
entries: [{name: bar.v1}, {name: bar.v2, replaces: bar.v1, skips: [bar.v1.1], skipRange: "<2.0.0"}]
---
schema: olm.channel
package: bar
name: fast
entries: [{name: bar.v2}]
---
schema: olm.deprecations
package: bar
entries:
- {reference: {schema: olm.package}, message: gone soon}
- {reference: {schema: olm.channel, name: fast}, message: too fast}
- {reference: {schema: olm.bundle, name: bar.v1}, message: too old}
`

const extraProperties = `- type: olm.gvk
  value: {"group":"example.com","kind":"Bar","version":"v1"}
- type: olm.package.required
  value: {"packageName":"foo","versionRange":">=1.0.0"}
- type: olm.gvk.required
  value: {"group":"example.com","kind":"Foo","version":"v1"}
`

func TestGRPCReadsWhatTheFilesSay(t *testing.T) {
	text := graph + catalogtest.BundleYAML("bar", "bar.v1", "1.0.0", "example.com/bar:1") + extraProperties +
		catalogtest.BundleYAML("bar", "bar.v2", "2.0.0", "example.com/bar:2") + extraProperties
	want, err := readFiles(map[string]string{"catalog.yaml": text}, catalog.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	if want.Packages["bar"] == nil {
		t.Fatal(want.Invalid)
	}
	address, _ := catalogtest.ServeGRPC(t, "", text)
	answers, err := ask(t, catalog.Request{Limits: catalog.DefaultLimits, Address: address, Plaintext: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Collect(want.Answers), answers); diff != "" {
		t.Errorf("The content of a catalog should not depend on how it is read.\n-files +registry\n%s", diff)
	}
}

func TestAPIProperties(t *testing.T) {
	gvk := []*api.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Foo", Plural: "foos"}}
	tests := map[string]struct {
		reason string
		in     *api.Bundle
		want   []property.Property
	}{
		"an old registry": {
			reason: "Before there were properties, fields of their own had the same content.",
			in: &api.Bundle{PackageName: "foo", Version: "1.0.0", ProvidedApis: gvk, RequiredApis: gvk,
				Dependencies: []*api.Dependency{{Type: "olm.package", Value: `{"packageName":"bar","version":">1.0.0"}`}, {Type: "olm.constraint", Value: "{}"}}},
			want: []property.Property{
				property.MustBuildPackage("foo", "1.0.0"),
				property.MustBuildGVK("example.com", "v1", "Foo"),
				property.MustBuildGVKRequired("example.com", "v1", "Foo"),
				property.MustBuildPackageRequired("bar", ">1.0.0"),
				{Type: "olm.constraint", Value: []byte("{}")},
			},
		},
		"a new registry": {
			reason: "Fields that repeat properties are ignored, and objects are left out.",
			in: &api.Bundle{PackageName: "foo", Version: "1.0.0", ProvidedApis: gvk, RequiredApis: gvk, Properties: []*api.Property{
				{Type: "olm.package", Value: `{"packageName":"foo","version":"1.0.0"}`},
				{Type: "olm.gvk", Value: `{}`}, {Type: "olm.gvk.required", Value: `{}`}, {Type: "olm.bundle.object", Value: `{}`},
			}},
			want: []property.Property{
				property.MustBuildPackage("foo", "1.0.0"), {Type: "olm.gvk", Value: []byte("{}")}, {Type: "olm.gvk.required", Value: []byte("{}")},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, apiProperties(tc.in)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestGRPCCycle(t *testing.T) {
	b := newBuilder(catalog.DefaultLimits)
	channels := map[channelKey]*declcfg.Channel{}
	for _, in := range []*api.Bundle{
		{PackageName: "foo", ChannelName: "stable", CsvName: "a", Version: "1.0.0", Replaces: "b"},
		{PackageName: "foo", ChannelName: "stable", CsvName: "b", Version: "1.1.0", Replaces: "a"},
	} {
		if err := addAPIBundle(b, channels, in); err != nil {
			t.Fatal(err)
		}
	}
	d := b.drafts["foo"]
	d.Channels = append(d.Channels, *channels[channelKey{"foo", "stable"}])
	_, err := newPackage(d.DeclarativeConfig)
	if err == nil || err.Error() != "channel stable: its bundles replace each other in a circle: a → b → a" {
		t.Errorf("A registry that does not check its graphs cannot make the resolver go in circles: %v", err)
	}
}
