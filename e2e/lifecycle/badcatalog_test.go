package lifecycle

import (
	"context"
	"fmt"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// badCatalog is a catalog that cannot be read.
type badCatalog struct {
	reason string

	// set creates the catalog and returns its spec and a function that repairs it. mend is nil if the catalog stays broken.
	set func(t *testing.T, in setting) (spec olm.CatalogSourceSpec, mend func())

	want  string // the reason of Healthy
	words []string
}

// TestUnreachableCatalog verifies that an unavailable registry is reported, and read once it is available.
func TestUnreachableCatalog(t *testing.T) {
	checkBadCatalogs(t, map[string]badCatalog{
		"nobody": {
			reason: "No process listens at the address.",
			set: func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
				at := unusedAddress(t)
				return addressSpec(at), func() { serve(t, at, in.good) }
			},
			want: v1alpha1.ReasonUnreachable, words: []string{"127.0.0.1:", "refused"},
		},
		"mute": {
			reason: "The server accepts the connection and never responds.",
			set: func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
				at, end := unresponsiveServer(t)
				return addressSpec(at), func() { end(); serve(t, at, in.good) }
			},
			want: v1alpha1.ReasonUnreachable, words: []string{"127.0.0.1:", "does not answer"},
		},
		"noregistry": {
			reason: "No container registry listens at the address in the image reference.",
			set: func(t *testing.T, _ setting) (olm.CatalogSourceSpec, func()) {
				return imageSpec(unusedAddress(t) + "/catalog"), nil
			},
			want: v1alpha1.ReasonImagePullFailed, words: []string{"/catalog", "refused"},
		},
		"muteregistry": {
			reason: "The container registry accepts the connection and never responds.",
			set: func(t *testing.T, _ setting) (olm.CatalogSourceSpec, func()) {
				at, _ := unresponsiveServer(t)
				return imageSpec(at + "/catalog"), nil
			},
			want: v1alpha1.ReasonImagePullFailed, words: []string{"/catalog", "does not answer"},
		},
		"noimage": {
			reason: "The image does not exist in the registry until it is pushed.",
			set: func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
				return imageSpec(in.registry.host + "/" + in.name), func() { in.registry.push(t, in.name, catalogImage(t, in.good)) }
			},
			want: v1alpha1.ReasonImagePullFailed, words: []string{"/noimage", "404 Not Found (NAME_UNKNOWN)"},
		},
	})
}

// TestUnreadableCatalog verifies that invalid catalog contents are reported, and read once they are valid.
func TestUnreadableCatalog(t *testing.T) {
	checkBadCatalogs(t, map[string]badCatalog{
		"noyaml": {
			reason: "The content of the ConfigMap is not valid YAML.",
			set: func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: global, Name: in.namespace + "-noyaml"}}
				cm.Data = map[string]string{"catalog.yaml": "schema: olm.package\n\tname: {{ .Values.name }\n"}
				cluster.Create(t, cm)
				t.Cleanup(func() { _ = cluster.Client.Delete(context.Background(), cm) })
				return olm.CatalogSourceSpec{SourceType: olm.SourceTypeConfigmap, ConfigMap: cm.Name}, func() {
					cm.Data["catalog.yaml"] = catalogText(t, in.good)
					if err := cluster.Client.Update(t.Context(), cm); err != nil {
						t.Fatal(err)
					}
				}
			},
			want: v1alpha1.ReasonNotACatalog, words: []string{"catalog.yaml", "line 2"},
		},
		"nocatalog": {
			reason: "The image is not a catalog.",
			set:    withImage(func(*testing.T, setting) []testcatalog.Entry { return testcatalog.Files("bin/sh", "x") }),
			want:   v1alpha1.ReasonNotACatalog, words: []string{"/nocatalog", "configs"},
		},
		"upwards": {
			reason: "An entry of the image points outside its archive.",
			set: withImage(func(t *testing.T, in setting) []testcatalog.Entry {
				return testcatalog.Files("configs/a.yaml", catalogText(t, in.good), "configs/"+strings.Repeat("../", 30)+in.victim+"/x", "x")
			}),
			want: v1alpha1.ReasonNotACatalog, words: []string{"points outside", "../"},
		},
		"symlink": {
			reason: "An entry is below a symbolic link to a folder outside the image.",
			set: withImage(func(_ *testing.T, in setting) []testcatalog.Entry {
				return append([]testcatalog.Entry{{Name: "configs/out", Link: in.victim}}, testcatalog.Files("configs/out/x", "x")...)
			}),
			want: v1alpha1.ReasonNotACatalog, words: []string{"configs/out", "link"},
		},
		"relative": {
			reason: "An entry is below a relative symbolic link to a folder outside the image.",
			set: withImage(func(_ *testing.T, in setting) []testcatalog.Entry {
				return append([]testcatalog.Entry{{Name: "configs/out", Link: strings.Repeat("../", 30) + in.victim}}, testcatalog.Files("configs/out/x", "x")...)
			}),
			want: v1alpha1.ReasonNotACatalog, words: []string{"configs/out", "link"},
		},
		"hardlink": {
			reason: "A file of the catalog is a hard link to a file on the host.",
			set: withImage(func(*testing.T, setting) []testcatalog.Entry {
				return []testcatalog.Entry{{Name: "configs/passwd.yaml", Link: "/etc/passwd", Hard: true}}
			}),
			want: v1alpha1.ReasonNotACatalog, words: []string{"configs/passwd.yaml", "link"},
		},
		"folder": {
			reason: "The folder of the catalog is a symbolic link.",
			set: withImage(func(_ *testing.T, in setting) []testcatalog.Entry {
				return append([]testcatalog.Entry{{Name: "configs", Link: in.victim}}, testcatalog.Files("configs/x", "x")...)
			}),
			want: v1alpha1.ReasonNotACatalog, words: []string{"configs", "link"},
		},
	})
}

// TestOversizedCatalog verifies that a catalog that is too large for a manager is rejected before it is loaded.
func TestOversizedCatalog(t *testing.T) {
	checkBadCatalogs(t, map[string]badCatalog{
		"claims": {
			reason: "The image manifest claims a size of 10 GB.",
			set: func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
				huge, err := testcatalog.Oversized(10 << 30)
				if err != nil {
					t.Fatal(err)
				}
				return withPolling(imageSpec(in.registry.pushManifest(t, in.name, huge))), func() { in.registry.push(t, in.name, catalogImage(t, in.good)) }
			},
			want: v1alpha1.ReasonTooLarge, words: []string{"2GiB", "10GiB"},
		},
		"beside": {
			reason: "A file outside the catalog unpacks from 3 MB to 3 GB.",
			set: withImage(func(t *testing.T, in setting) []testcatalog.Entry {
				return append([]testcatalog.Entry{{Name: "var/zeros", Zeros: 3 << 10}}, testcatalog.Files("configs/a.yaml", catalogText(t, in.good))...)
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"2GiB", "unpacked"},
		},
		"hidden": {
			reason: "A lower layer unpacks to 3 GB, and an upper layer removes its files.",
			set: func(t *testing.T, in setting) (olm.CatalogSourceSpec, func()) {
				layers := [][]testcatalog.Entry{{{Name: "var/zeros", Zeros: 3 << 10}},
					append(testcatalog.Files("var/.wh.zeros", ""), testcatalog.Files("configs/a.yaml", "x")...)}
				return withPolling(imageSpec(in.registry.push(t, in.name, image(t, layers...)))), func() { in.registry.push(t, in.name, catalogImage(t, in.good)) }
			},
			want: v1alpha1.ReasonTooLarge, words: []string{"2GiB", "unpacked"},
		},
		"file": {
			reason: "One file of the catalog unpacks to 3 GB.",
			set: withImage(func(*testing.T, setting) []testcatalog.Entry {
				return []testcatalog.Entry{{Name: "configs/a.yaml", Zeros: 3 << 10}}
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"configs/a.yaml", "64MiB"},
		},
		"files": {
			reason: "Many files are within the size limit each and exceed it together.",
			set: withImage(func(*testing.T, setting) (out []testcatalog.Entry) {
				for i := range 20 {
					out = append(out, testcatalog.Entry{Name: fmt.Sprintf("configs/%d.yaml", i), Zeros: 60})
				}
				return out
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"512MiB"},
		},
		"names": {
			reason: "The names of many empty files would fill the memory.",
			set: withImage(func(*testing.T, setting) (out []testcatalog.Entry) {
				long := strings.Repeat("x", 1000<<10)
				for i := range 400 {
					out = append(out, testcatalog.Entry{Name: fmt.Sprintf("var/%s/%d", long, i)})
				}
				return append(out, testcatalog.Files("configs/a.yaml", "x")...)
			}),
			want: v1alpha1.ReasonNotACatalog, words: []string{"configs"},
		},
		"document": {
			reason: "A document of 60 MB would need a gigabyte of memory to parse.",
			set: withImage(func(*testing.T, setting) []testcatalog.Entry {
				return testcatalog.Files("configs/a.yaml", "schema: olm.package\nname: a\ndescription: "+strings.Repeat("a", 60<<20)+"\n")
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"192 MiB of memory"},
		},
		"values": {
			reason: "A few kilobytes unpack to 8 MB of YAML, which would need 600 MB of memory to parse.",
			set: withImage(func(*testing.T, setting) []testcatalog.Entry {
				return testcatalog.Files("configs/a.yaml", "schema: olm.package\nname: a\nvalues:\n"+strings.Repeat("- a\n", 2<<20))
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"192 MiB of memory"},
		},
		"json": {
			reason: "A few kilobytes unpack to JSON that would need 600 MB of memory to parse.",
			set: withImage(func(*testing.T, setting) []testcatalog.Entry {
				return testcatalog.Files("configs/a.json", `{"schema":"olm.channel","package":"a","name":"a","entries":[`+strings.Repeat("{},", 4<<20)+"{}]}")
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"192 MiB of memory"},
		},
		"aliases": {
			reason: "The aliases of a YAML document expand to 20 GB.",
			set: withImage(func(*testing.T, setting) []testcatalog.Entry {
				return testcatalog.Files("configs/a.yaml", "schema: olm.package\nname: a\na: &a "+strings.Repeat("x", 1<<20)+"\nvalues: ["+strings.Repeat("*a,",
					20000)+"]\n")
			}),
			want: v1alpha1.ReasonTooLarge, words: []string{"192 MiB of memory"},
		},
	})
}
