package reader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func readFiles(files map[string]string, limits catalog.Limits) (*catalog.Content, error) {
	root := fstest.MapFS{}
	for name, data := range files {
		root[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return Read(context.Background(), root, limits)
}

func TestReadContent(t *testing.T) {
	got, err := readFiles(map[string]string{"foo/catalog.yaml": `
schema: olm.package
name: foo
defaultChannel: stable
---
schema: olm.channel
package: foo
name: stable
entries:
- name: foo.v1.0.0
- name: foo.v1.1.0
  replaces: foo.v1.0.0
  skips: [foo.v1.0.1]
  skipRange: ">=1.0.0 <1.1.0"
---
schema: olm.deprecations
package: foo
entries:
- reference: {schema: olm.bundle, name: foo.v1.0.0}
  message: too old
- reference: {schema: olm.channel, name: stable}
  message: use fast
- reference: {schema: olm.package}
  message: use bar
` + catalogtest.BundleYAML("foo", "foo.v1.0.0", "1.0.0", "example.com/foo:1.0.0") + `
- type: olm.gvk
  value: {group: example.com, version: v1, kind: Foo}
- type: olm.csv.metadata
  value: {displayName: Foo}
` + catalogtest.BundleYAML("foo", "foo.v1.1.0", "1.1.0", "", catalogtest.CSV("foo.v1.1.0", "1.1.0"), catalogtest.CRD)}, catalog.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	gvk := property.GVK{Group: "example.com", Version: "v1", Kind: "Foo"}
	bundle := func(name, version, image, deprecation string) *catalog.Bundle {
		return &catalog.Bundle{
			Name: name, Package: "foo", Version: semver.MustParse(version), Image: image, Inlined: image == "", Provides: []property.GVK{gvk},
			Properties: []property.Property{
				property.MustBuildPackage("foo", version),
				property.MustBuildGVK("example.com", "v1", "Foo"),
			},
			Deprecation: deprecation,
		}
	}
	want := &catalog.Content{Invalid: map[string]string{}, Packages: map[string]*catalog.Package{"foo": {
		Name: "foo", DefaultChannel: "stable", Deprecation: "use bar",
		Channels: map[string]*catalog.Channel{"stable": {Name: "stable", Deprecation: "use fast", Entries: map[string]*catalog.Entry{
			"foo.v1.0.0": {Bundle: bundle("foo.v1.0.0", "1.0.0", "example.com/foo:1.0.0", "too old")},
			"foo.v1.1.0": {
				Bundle: bundle("foo.v1.1.0", "1.1.0", "", ""), Replaces: "foo.v1.0.0",
				Skips: []string{"foo.v1.0.1"}, SkipRange: ">=1.0.0 <1.1.0",
			},
		}}},
	}}}
	// Values of properties are compared as JSON, regardless of their format.
	asJSON := cmp.Transformer("json", func(p property.Property) string {
		return p.Type + strings.Join(strings.Fields(canonical(t, p.Value)), "")
	})
	if diff := cmp.Diff(want, got, asJSON); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestReadInvalid(t *testing.T) {
	graph := func(entries string) string {
		return "schema: olm.package\nname: bad\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: bad\nname: stable\nentries:\n" + entries +
			catalogtest.BundleYAML("bad", "a", "1.0.0", "example.com/a") + catalogtest.BundleYAML("bad", "b", "2.0.0", "example.com/b")
	}
	tests := map[string]struct {
		reason string
		bad    string
		want   string
	}{
		"cycle": {
			reason: "The error contains each bundle of a replacement cycle.",
			bad:    graph("- {name: a, replaces: b}\n- {name: b, replaces: a}\n"),
			want:   "channel stable: its bundles have a replacement cycle: a → b → a",
		},
		"replaces itself": {
			reason: "A bundle that replaces itself is a cycle.",
			bad:    graph("- {name: a, replaces: a}\n- {name: b, replaces: a}\n"),
			want:   "channel stable: its bundles have a replacement cycle: a → a",
		},
		"two heads": {
			reason: "The error contains all heads of a channel, sorted.",
			bad:    graph("- {name: b}\n- {name: a}\n"),
			want:   "channel stable has 2 heads, which no other bundle replaces or skips: a, b",
		},
		"no head": {
			reason: "A channel whose bundles skip each other has no head.",
			bad:    graph("- {name: a, skips: [b]}\n- {name: b, skips: [a]}\n"),
			want:   "channel stable has no head: each bundle is replaced or skipped by another",
		},
		"empty channel": {
			reason: "A channel without entries is refused.",
			bad:    graph("") + "---\nschema: olm.channel\npackage: bad\nname: fast\nentries: []\n",
			want:   "channel fast has no entry",
		},
		"unknown default channel": {
			reason: "The error lists the channels that exist.",
			bad:    strings.Replace(graph("- {name: a}\n- {name: b, replaces: a}\n"), "defaultChannel: stable", "defaultChannel: fast", 1),
			want:   "its default channel fast does not exist (its channels: stable)",
		},
		"no default channel": {
			reason: "A package without a default channel is refused, since a Subscription may leave the channel out.",
			bad:    strings.Replace(graph("- {name: a}\n- {name: b, replaces: a}\n"), "defaultChannel: stable", "", 1),
			want:   "it has no default channel (its channels: stable)",
		},
		"no channel": {
			reason: "A package without a channel is refused.",
			bad:    "schema: olm.package\nname: bad\ndefaultChannel: stable\n",
			want:   "it has no channel",
		},
		"no package": {
			reason: "A bundle without an olm.package is refused.",
			bad:    catalogtest.BundleYAML("bad", "a", "1.0.0", "example.com/a"),
			want:   "it has channels or bundles, but no olm.package",
		},
		"two packages": {
			reason: "A package with two olm.package objects is refused.",
			bad:    graph("- {name: a}\n- {name: b, replaces: a}\n") + "---\nschema: olm.package\nname: bad\ndefaultChannel: stable\n",
			want:   "it has 2 olm.package objects",
		},
		"two bundles": {
			reason: "Two bundles of one name are refused.",
			bad:    graph("- {name: a}\n- {name: b, replaces: a}\n") + catalogtest.BundleYAML("bad", "a", "1.0.1", "example.com/a2"),
			want:   "bundle a appears twice",
		},
		"missing bundle": {
			reason: "A channel entry without a bundle is refused.",
			bad:    graph("- {name: a}\n- {name: b, replaces: a}\n- {name: c, replaces: b}\n"),
			want:   `no olm.bundle blobs found in package "bad" for olm.channel entries [c]`,
		},
		"bad version": {
			reason: "A bundle with an invalid version is refused, as by opm.",
			bad:    strings.Replace(graph("- {name: a}\n- {name: b, replaces: a}\n"), "version: 1.0.0", "version: one", 1),
			want:   `error parsing bundle "a" version "one": No Major.Minor.Patch elements found`,
		},
		"neither image nor objects": {
			reason: "A bundle with neither an image nor objects is refused.",
			bad:    strings.Replace(graph("- {name: a}\n- {name: b, replaces: a}\n"), "example.com/a", "", 1),
			want:   `invalid channel "stable": invalid bundle "a": bundle image must be set`,
		},
		"deprecation of nothing": {
			reason: "A deprecation of a bundle that does not exist is refused.",
			bad: graph("- {name: a}\n- {name: b, replaces: a}\n") +
				"---\nschema: olm.deprecations\npackage: bad\nentries: [{reference: {schema: olm.bundle, name: c}, message: old}]\n",
			want: `cannot deprecate bundle "c" for package "bad": bundle not found`,
		},
		"not YAML from a line on": {
			reason: "A package is refused if a later document of its file is not YAML.",
			bad:    graph("- {name: a}\n- {name: b, replaces: a}\n") + "---\n\tno: yaml\n",
			want:   "bad/catalog.yaml cannot be read: error converting YAML to JSON: yaml: found character that cannot start any token",
		},
		"nothing but what is not YAML": {
			reason: "The package of a file that is not YAML is taken from its folder.",
			bad:    "{{{",
			want:   "bad/catalog.yaml cannot be read: json: offset 2: invalid character '{' looking for beginning of object key string",
		},
		"no schema": {
			reason: "An object without a schema is refused, as by opm.",
			bad:    "package: bad\nname: a\n",
			want:   "bad/catalog.yaml: bad/a has no schema",
		},
		"fields of a wrong type": {
			reason: "The error contains the schema and the name of an object with a field of a wrong type.",
			bad:    "schema: olm.channel\npackage: bad\nname: stable\nentries: 7\n",
			want:   `bad/catalog.yaml: olm.channel "stable": json: cannot unmarshal number into Go struct field Channel.entries of type []declcfg.ChannelEntry`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := readFiles(map[string]string{"bad/catalog.yaml": tc.bad, "good/catalog.yaml": catalogtest.FBC("good", "1.0.0")}, catalog.DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"bad": tc.want}, got.Invalid); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if len(got.Packages) != 1 || got.Packages["good"] == nil {
				t.Errorf("an invalid package affects another one: %v", got.Packages)
			}
		})
	}
}

func TestReadNothing(t *testing.T) {
	small := catalog.DefaultLimits
	small.Kept = 100
	tests := map[string]struct {
		reason  string
		files   map[string]string
		limits  catalog.Limits
		want    string
		because string
	}{
		"no file": {
			reason: "An empty folder is an error, not a catalog that no longer has packages.",
			limits: catalog.DefaultLimits,
			want:   "it contains no file-based catalog: no olm.package", because: v1alpha1.ReasonNotACatalog,
		},
		"other files": {
			reason: "The error contains the files found instead.",
			files:  map[string]string{"README.md": "# Hello: world: again"},
			limits: catalog.DefaultLimits,
			want: "it contains no file-based catalog: no olm.package can be read " +
				"(README.md: README.md cannot be read: an object has no schema)", because: v1alpha1.ReasonNotACatalog,
		},
		"too much to keep": {
			reason: "The memory for the metadata of bundles is limited.",
			files:  map[string]string{"catalog.yaml": catalogtest.FBC("foo", "1.0.0", "1.1.0", "1.2.0")},
			limits: small,
			want:   "the metadata of its bundles is larger than the limit of 100B", because: v1alpha1.ReasonTooLarge,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := readFiles(tc.files, tc.limits)
			got, ok := errors.AsType[*catalog.Error](err)
			if !ok {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff([]string{tc.because, tc.want}, []string{got.Reason, got.Error()}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func canonical(t testing.TB, raw []byte) string {
	t.Helper()
	m, err := decodeObjects(text{name: "property", data: append([]byte("{apiVersion: v1, kind: P, metadata: {name: p}, value: "), append(raw, '}')...)})
	if err != nil {
		t.Fatal(err)
	}
	return mustJSON(t, m[0].Object["value"])
}

func FuzzRead(f *testing.F) {
	f.Add(catalogtest.FBC("foo", "1.0.0", "1.1.0"))
	f.Add("{\"schema\":\"olm.bundle\"}---\nschema: olm.channel")
	f.Fuzz(func(_ *testing.T, data string) {
		_, _ = readFiles(map[string]string{"catalog.yaml": data}, catalog.DefaultLimits) // must not panic
	})
}
