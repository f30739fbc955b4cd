package reader

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

var registryV1 = map[string]string{labelBundleMediaType: mediaTypeRegistryV1}

// errorText returns the reason and the text of an error, without the name of the registry.
func errorText(err error, host string) string {
	if err == nil {
		return ""
	}
	e := catalog.AsError(err, "no reason")
	return e.Reason + ": " + strings.ReplaceAll(e.Error(), host, "example.com")
}

func TestBundleImage(t *testing.T) {
	const annotations = "annotations:\n  " + labelBundleMediaType + ": registry+v1\n  " + labelBundleManifests + ": yaml/\n"
	csv := catalogtest.CSV("foo.v1.0.0", "1.0.0")
	limits := catalog.DefaultLimits
	limits.Bundle, limits.BundleFiles = 20<<10, 5
	tests := map[string]struct {
		reason string
		labels map[string]string
		layers [][]catalogtest.TarEntry
		want   []string // kind and name of each object
		err    string
	}{
		"a bundle": {
			reason: "Objects are returned in the order of their files and of the documents in a file.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/foo.csv.yaml", csv, "manifests/b.yaml",
				"# nothing\n---\n"+catalogtest.CRD+"---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n", "manifests/README.md", "# Foo", "tests/t.yaml", "{")},
			want: []string{"CustomResourceDefinition foos.example.com", "Service s", "ClusterServiceVersion foo.v1.0.0"},
		},
		"assumed": {
			reason: "A Service without an apiVersion is accepted, since OLM accepts it and such bundles are published.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", "kind: Service\nmetadata: {name: s}\n", "manifests/foo.csv.yaml", csv)},
			want:   []string{"Service s", "ClusterServiceVersion foo.v1.0.0"},
		},
		"labels in a file": {
			reason: "The labels of an image built without them are read from metadata/annotations.yaml.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("./metadata/annotations.yaml", annotations, "/yaml/foo.csv.json", csv)},
			want:   []string{"ClusterServiceVersion foo.v1.0.0"},
		},
		"layers": {
			reason: "A layer replaces and removes files of the layers below it.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{
				catalogtest.Files("manifests/a.yaml", "old", "manifests/b.yaml", "gone", "manifests/sub/c.yaml", "gone"),
				catalogtest.Files("manifests/a.yaml", csv, "manifests/.wh.b.yaml", "", "manifests/sub/.wh..wh..opq", ""),
			},
			want: []string{"ClusterServiceVersion foo.v1.0.0"},
		},
		"no bundle": {
			reason: "An image without the label or annotation of the media type is not a bundle.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("bin/sh", "x")},
			err: "BundleInvalid: image example.com/no-bundle is not a bundle: neither its labels nor " +
				"metadata/annotations.yaml have operators.operatorframework.io.bundle.mediatype.v1",
		},
		"other media type": {
			reason: "A media type other than registry+v1 is refused, as by OLM.",
			labels: map[string]string{labelBundleMediaType: "helm+v3"},
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", csv)},
			err:    "BundleInvalid: image example.com/other-media-type is a bundle of media type helm+v3: only registry+v1 is supported",
		},
		"no manifests": {
			reason: "The error contains the folder in which manifests are expected.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifest/a.yaml", csv)},
			err:    "BundleInvalid: image example.com/no-manifests has no manifests in its folder manifests/",
		},
		"not YAML": {
			reason: "The error contains the file and the line in the file, also of a later document.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", "# 1\n---\nkind: A\napiVersion: v1\n  metadata: {}\n", "manifests/csv.yaml", csv)},
			err:    "BundleInvalid: manifests/a.yaml is not YAML: line 5: mapping values are not allowed in this context",
		},
		"annotations are not YAML": {
			reason: "Invalid YAML in metadata/annotations.yaml is reported.",
			layers: [][]catalogtest.TarEntry{catalogtest.Files("metadata/annotations.yaml", "a: b: c", "manifests/csv.yaml", csv)},
			err:    "BundleInvalid: bundle image example.com/annotations-are-not-yaml: metadata/annotations.yaml is not YAML: mapping values are not allowed in this context",
		},
		"no object": {
			reason: "A document that is not an object is refused.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", "- a\n", "manifests/csv.yaml", csv)},
			err:    "BundleInvalid: manifests/a.yaml contains no object at line 1",
		},
		"no kind": {
			reason: "An object without a kind is refused.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", "---\n\nmetadata: {name: a}\n", "manifests/csv.yaml", csv)},
			err:    "BundleInvalid: manifests/a.yaml: the object at line 2 has no kind or apiVersion",
		},
		"no apiVersion": {
			reason: "An object without an apiVersion is refused if its kind is not among those that OLM decodes by name.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", "kind: Deployment\nmetadata: {name: a}\n", "manifests/csv.yaml", csv)},
			err:    "BundleInvalid: manifests/a.yaml: the object at line 1 has no kind or apiVersion",
		},
		"no name": {
			reason: "An object without a name is refused, since its state could not be read later.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", "apiVersion: v1\nkind: Service\nmetadata: {generateName: a}\n", "manifests/csv.yaml",
				csv)},
			err: "BundleInvalid: manifests/a.yaml: the Service at line 1 has no name",
		},
		"outside its archive": {
			reason: "An image with a path outside its archive is refused.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", csv, "manifests/../../../etc/passwd", "x")},
			err:    `BundleInvalid: bundle image example.com/outside-its-archive: the image has a path that points outside its archive: "../../etc/passwd"`,
		},
		"a link": {
			reason: "A link in the folder of the manifests is refused.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{{{Name: "manifests/a.yaml", Link: "/etc/passwd"}}},
			err:    "BundleInvalid: bundle image example.com/a-link: manifests/a.yaml is a link, and links are not followed: replace it with the file",
		},
		"too large": {
			reason: "The limit applies to the unpacked size, and the error contains it.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", csv, "manifests/b.yaml", strings.Repeat(" ", 30<<10))},
			err:    "TooLarge: bundle image example.com/too-large is larger than the limit of 20KiB",
		},
		"too many files": {
			reason: "The error contains the limit of files.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("1", "", "2", "", "3", "", "4", "", "5", "", "6", "")},
			err:    "TooLarge: bundle image example.com/too-many-files has more files than the limit of 5",
		},
		"YAML that grows": {
			reason: "YAML whose aliases expand to many values is refused by the parser.",
			labels: registryV1,
			layers: [][]catalogtest.TarEntry{catalogtest.Files("manifests/a.yaml", bomb())},
			err:    "BundleInvalid: manifests/a.yaml is not YAML: document contains excessive aliasing",
		},
	}
	registry := catalogtest.NewRegistry(t, "")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			image, _ := registry.Push(t, strings.ToLower(strings.ReplaceAll(name, " ", "-")), tc.labels, tc.layers...)
			answers, err := ask(t, catalog.Request{Limits: limits, Bundle: &catalog.BundleRequest{Name: "foo.v1.0.0", Image: image}})
			var got []string
			for _, o := range answers {
				if o.Resolved != nil {
					continue
				}
				var m manifest
				if err := json.Unmarshal(o.Object, &m); err != nil {
					t.Fatal(err)
				}
				got = append(got, m.Kind+" "+m.Metadata.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.err, errorText(err, registry.Host)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// bomb returns YAML with nested aliases that expand exponentially.
func bomb() string {
	var out strings.Builder
	out.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&out, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	return out.String()
}

func TestObjectsKeepNumbers(t *testing.T) {
	got, err := decodeObjects(text{data: []byte("apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: {replicas: 3, share: 0.5}\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"replicas": int64(3), "share": 0.5}
	if diff := cmp.Diff(want, got[0].Object["spec"]); diff != "" {
		t.Errorf("An integer is decoded as one, since the API server refuses floats.\n-want +got\n%s", diff)
	}
}
