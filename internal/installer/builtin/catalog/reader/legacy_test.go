package reader

import (
	"testing"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

const legacyCSVs = `
- kind: ClusterServiceVersion
  metadata: {name: foo.v2, annotations: {olm.skipRange: "<2.0.0"}}
  spec:
    version: 2.0.0
    replaces: foo.v1
    skips: [foo.v1.1]
    customresourcedefinitions:
      owned: [{name: foos.example.com, version: v1, kind: Foo}]
      required: [{name: bars.example.com, version: v1, kind: Bar}]
- kind: ClusterServiceVersion
  metadata: {name: foo.v1}
  spec: {version: 1.0.0}
- kind: ClusterServiceVersion
  metadata: {name: lost.v1}
  spec: {version: 1.0.0, customresourcedefinitions: {owned: [{name: losts.example.com, version: v1, kind: Lost}]}}
`

const legacyPackages = `
- packageName: foo
  channels: [{name: stable, currentCSV: foo.v2}]
- packageName: none
  channels: [{name: stable, currentCSV: none.v1}]
- packageName: lost
  channels: [{name: stable, currentCSV: lost.v1}]
- packageName: two
  defaultChannel: slow
  channels: [{name: stable, currentCSV: foo.v1}, {name: fast, currentCSV: foo.v2}]
`

func TestLegacyConfigMap(t *testing.T) {
	files := bytesOf(map[string]string{
		keyCRDs: "- kind: CustomResourceDefinition\n  metadata: {name: foos.example.com}\n", keyCSVs: legacyCSVs, keyPackages: legacyPackages,
	})
	l, err := parseLegacy(files)
	if err != nil {
		t.Fatal(err)
	}
	v2 := &catalog.Bundle{
		Name: "foo.v2", Package: "foo", Version: semver.MustParse("2.0.0"), Provides: []property.GVK{{Group: "example.com", Version: "v1", Kind: "Foo"}},
		Properties: []property.Property{
			property.MustBuildPackage("foo", "2.0.0"), property.MustBuildGVK("example.com", "v1", "Foo"), property.MustBuildGVKRequired("example.com", "v1", "Bar"),
		},
	}
	v1 := &catalog.Bundle{Name: "foo.v1", Package: "foo", Version: semver.MustParse("1.0.0"),
		Properties: []property.Property{property.MustBuildPackage("foo", "1.0.0")}}
	want := &catalog.Content{
		Packages: map[string]*catalog.Package{"foo": {Name: "foo", DefaultChannel: "stable",
			Channels: map[string]*catalog.Channel{"stable": {Name: "stable", Entries: map[string]*catalog.Entry{
				"foo.v2": {Bundle: v2, Replaces: "foo.v1", Skips: []string{"foo.v1.1"}, SkipRange: "<2.0.0"},
				"foo.v1": {Bundle: v1},
			}}}}},
		Invalid: map[string]string{
			"none": "channel stable: its currentCSV none.v1 is not in clusterServiceVersions",
			"lost": "channel stable: lost.v1 owns CustomResourceDefinition losts.example.com, which is not in customResourceDefinitions",
			"two":  "its default channel slow does not exist (its channels: stable, fast)",
		},
	}
	if diff := cmp.Diff(want, l.content()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestLegacyCRDsOfOneName verifies that each ClusterServiceVersion gets the CustomResourceDefinition with the versions
// that it owns, if several have the same name.
func TestLegacyCRDsOfOneName(t *testing.T) {
	files := bytesOf(map[string]string{
		keyCRDs: `
- {kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {versions: [{name: v1}]}}
- {kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {versions: [{name: v1}, {name: v2}]}}
- {kind: CustomResourceDefinition, metadata: {name: foos.example.com}, spec: {versions: [{name: v3}]}}
`,
		keyCSVs: `
- {metadata: {name: old}, spec: {version: 1.0.0, customresourcedefinitions: {owned: [{name: foos.example.com, version: v1, kind: Foo}]}}}
- {metadata: {name: both}, spec: {version: 2.0.0, customresourcedefinitions: {owned: [{name: foos.example.com, version: v1, kind: Foo},
    {name: foos.example.com, version: v2, kind: Foo}]}}}
- {metadata: {name: new}, spec: {version: 3.0.0, customresourcedefinitions: {owned: [{name: foos.example.com, version: v3, kind: Foo}]}}}
`,
		keyPackages: "- {packageName: foo, defaultChannel: gone, channels: [{name: stable, currentCSV: new}]}\n",
	})
	l, err := parseLegacy(files)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.content().Packages["foo"]; got == nil || got.DefaultChannel != "stable" {
		t.Errorf("the only channel is not the default: got %v", got)
	}
	for csv, want := range map[string]int{"old": 1, "both": 1, "new": 2} {
		texts, err := l.texts(&catalog.BundleRequest{Name: csv})
		if err != nil {
			t.Fatal(err)
		}
		if len(texts) != 2 || string(texts[1].data) != string(l.crds["foos.example.com"][want].raw) {
			t.Errorf("%s: want the CustomResourceDefinition %d, got %s", csv, want, texts)
		}
	}
}

func TestLegacyConfigMapUnreadable(t *testing.T) {
	tests := map[string]struct {
		reason         string
		csvs, packages string
		want           string
	}{
		"not YAML": {
			reason: "The error of a key that is not YAML contains the key and the line.", csvs: "a\nb: c: d", packages: "[]",
			want: "NotACatalog: key clusterServiceVersions is not a list of objects: line 2: mapping values are not allowed in this context",
		},
		"no list": {
			reason: "The error of a key that is not a list contains the key.", csvs: "[]", packages: "{a: b}",
			want: "NotACatalog: key packages is not a list of package manifests: error unmarshaling JSON: while decoding JSON: " +
				"json: cannot unmarshal object into Go value of type []reader.legacyPackage",
		},
		"twice": {
			reason: "Two ClusterServiceVersions of one name are refused.", csvs: "[{metadata: {name: a}}, {metadata: {name: a}}]", packages: "[]",
			want: "NotACatalog: key clusterServiceVersions: a appears twice",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parseLegacy(bytesOf(map[string]string{keyCSVs: tc.csvs, keyPackages: tc.packages}))
			if diff := cmp.Diff(tc.want, errorText(err, "-")); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func bytesOf(texts map[string]string) map[string][]byte {
	out := map[string][]byte{}
	for name, text := range texts {
		out[name] = []byte(text)
	}
	return out
}
