package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

// quiet must run first, while no other catalog exists.
func quiet(t *testing.T, w *world) {
	namespace := w.Namespace(t, "quiet")
	address, _ := catalogtest.ServeGRPC(t, "", catalogtest.FBC("foo", "1.0.0"))
	image, digest := catalogtest.NewRegistry(t, "").Push(t, "catalog", nil, foo("1.0.0"))
	served, pulled := source(namespace, "served", addressSpec(address)), source(global, "pulled", imageSpec(image))
	pulled.Spec.Priority = -1
	w.Create(t, served, pulled)
	w.awaitHealthy(t, served, "True CatalogRead: Read 1 package from the registry at "+address)
	w.awaitHealthy(t, pulled, "True CatalogRead: Read 1 package from image "+image+" at "+digest)
	since := w.AwaitIdle(t, 500*time.Millisecond)
	for _, r := range w.Requests(t, since) {
		if r.Verb != "watch" {
			t.Errorf("a request without a change: %s", r)
		}
	}
	var visible []string
	for _, c := range w.store.Visible(namespace) {
		visible = append(visible, fmt.Sprintf("%s %v", c.Key, c.Healthy))
	}
	if diff := cmp.Diff([]string{namespace + "/served true", global + "/pulled true"}, visible); diff != "" {
		t.Errorf("visible catalogs: -want +got\n%s", diff)
	}
	w.delete(t, served)
	w.delete(t, pulled)
}

func badInput(t *testing.T, w *world) {
	namespace := w.Namespace(t, "bad")
	registry := catalogtest.NewRegistry(t, "")
	push := func(name string, labels map[string]string, entries []catalogtest.TarEntry) olm.CatalogSourceSpec {
		image, _ := registry.Push(t, name, labels, entries)
		return imageSpec(image)
	}
	large := strings.Repeat("# large\n", 10<<10)
	const anotherType = "grpc, configmap and internal"
	tests := map[string]struct {
		reason string
		spec   olm.CatalogSourceSpec
		want   string
		old    olm.ConditionReason
	}{
		"no-type": {
			reason: "An unknown source type is refused.",
			spec:   olm.CatalogSourceSpec{SourceType: "ftp"},
			want:   `False SpecInvalid: spec.sourceType "ftp" is none of ` + anotherType,
			old:    olm.CatalogSourceSpecInvalidError,
		},
		"no-origin": {
			reason: "A source type without a source is refused.",
			spec:   olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc},
			want:   "False SpecInvalid: spec.sourceType is grpc, so spec.image, or spec.address with the <host>:<port> of a registry, must be set",
			old:    olm.CatalogSourceSpecInvalidError,
		},
		"no-configmap": {
			reason: "A source type internal without a ConfigMap is refused.",
			spec:   olm.CatalogSourceSpec{SourceType: olm.SourceTypeInternal},
			want:   "False SpecInvalid: spec.sourceType is internal, so spec.configMap must be set",
			old:    olm.CatalogSourceSpecInvalidError,
		},
		"bad-image": {
			reason: "An invalid image reference is refused.",
			spec:   imageSpec("example.com/A:b:c"),
			want:   "False SpecInvalid: spec.image is not a valid image reference: could not parse reference: example.com/A:b:c",
			old:    olm.CatalogSourceSpecInvalidError,
		},
		"bad-address": {
			reason: "An address that is not a host and a port is refused.",
			spec:   addressSpec("unix:///tmp/socket"),
			want:   `False SpecInvalid: spec.address "unix:///tmp/socket" is not <host>:<port>`,
			old:    olm.CatalogSourceSpecInvalidError,
		},
		"unreachable": {
			reason: "An address that refuses connections is reported.",
			spec:   addressSpec("127.0.0.1:1"),
			want:   "False Unreachable: the registry at 127.0.0.1:1 cannot be read: dial tcp 127.0.0.1:1: connect: connection refused",
			old:    olm.CatalogSourceRegistryServerError,
		},
		"no-such-image": {
			reason: "An image that does not exist in the registry is reported.",
			spec:   imageSpec(registry.Host + "/none:v1"),
			want:   "False ImagePullFailed: pulling image " + registry.Host + "/none:v1: the registry returned 404 Not Found (NAME_UNKNOWN)",
			old:    olm.CatalogSourceRegistryServerError,
		},
		"not-a-catalog": {
			reason: "An image without a catalog is reported.",
			spec:   push("shell", nil, catalogtest.Files("bin/sh", "x")),
			want: "False NotACatalog: image " + registry.Host + "/shell has no files in folder /configs, where a file-based catalog is " +
				"expected unless label operators.operatorframework.io.index.configs.v1 names another",
			old: olm.CatalogSourceRegistryServerError,
		},
		"sqlite": {
			reason: "An sqlite index image is reported as unsupported.",
			spec: push("sqlite", map[string]string{"operators.operatorframework.io.index.database.v1": "/database/index.db"},
				catalogtest.Files("database/index.db", "x")),
			want: "False NotACatalog: image " + registry.Host + "/sqlite looks like an sqlite index image, which is not supported: " +
				"convert it to a file-based catalog with `opm migrate`",
			old: olm.CatalogSourceRegistryServerError,
		},
		"no-packages": {
			reason: "A file in the catalog's folder that has no packages is reported.",
			spec:   push("empty", nil, catalogtest.Files("configs/a.yaml", "hello")),
			want: "False NotACatalog: image " + registry.Host + "/empty, folder /configs: it contains no file-based catalog: " +
				"no olm.package can be read (a.yaml: a.yaml cannot be read: error unmarshaling JSON: while decoding JSON: " +
				"json: cannot unmarshal string into Go value of type map[string]interface {} at offset 7 (indicated by <==) \"hello\" <==)",
			old: olm.CatalogSourceRegistryServerError,
		},
		"outside": {
			reason: "An image with a path outside its archive is refused.",
			spec:   push("outside", nil, append(foo("1.0.0"), catalogtest.Files("configs/../../../etc/passwd", "x")...)),
			want:   "False NotACatalog: image " + registry.Host + `/outside: the image has a path that points outside its archive: "../../etc/passwd"`,
			old:    olm.CatalogSourceRegistryServerError,
		},
		"link": {
			reason: "A symbolic link is refused.",
			spec:   push("link", nil, []catalogtest.TarEntry{{Name: "configs", Link: "/etc"}}),
			want:   "False NotACatalog: image " + registry.Host + "/link: configs is a link, and links are not followed: replace it with the file",
			old:    olm.CatalogSourceRegistryServerError,
		},
		"hard-link": {
			reason: "A hard link is refused.",
			spec:   push("hard", nil, []catalogtest.TarEntry{{Name: "configs/a.yaml", Link: "/etc/passwd", Hard: true}}),
			want:   "False NotACatalog: image " + registry.Host + "/hard: configs/a.yaml is a link, and links are not followed: replace it with the file",
			old:    olm.CatalogSourceRegistryServerError,
		},
		"large-file": {
			reason: "The message of a file that is too large contains the limit.",
			spec:   push("large-file", nil, catalogtest.Files("configs/a.yaml", large)),
			want:   "False TooLarge: image " + registry.Host + "/large-file: configs/a.yaml is larger than the limit of 64KiB for a file",
			old:    olm.CatalogSourceRegistryServerError,
		},
		"large-image": {
			reason: "Files outside the catalog's folder count toward the limit of an unpacked image.",
			spec:   push("large-image", nil, append(catalogtest.Files("bin/sh", strings.Repeat("\x00", 2<<20)), foo("1.0.0")...)),
			want:   "False TooLarge: image " + registry.Host + "/large-image is larger than the limit of 1MiB, unpacked",
			old:    olm.CatalogSourceRegistryServerError,
		},
		"no-such-configmap": {
			reason: "A ConfigMap that does not exist is reported.",
			spec:   olm.CatalogSourceSpec{SourceType: olm.SourceTypeConfigmap, ConfigMap: "none"},
			want:   "False ConfigMapNotFound: ConfigMap " + namespace + "/none of spec.configMap not found",
			old:    olm.CatalogSourceConfigMapError,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cs := source(namespace, name, tc.spec)
			w.Create(t, cs)
			w.awaitHealthy(t, cs, tc.want)
			_, message, _ := strings.Cut(tc.want, ": ")
			if diff := cmp.Diff([]string{string(tc.old), message}, []string{string(cs.Status.Reason), cs.Status.Message}); diff != "" {
				t.Errorf("%s\nstatus.reason, status.message: -want +got\n%s", tc.reason, diff)
			}
		})
	}
	t.Run("neighbours", func(t *testing.T) {
		image, digest := registry.Push(t, "good", nil, foo("1.0.0"))
		cs := source(namespace, "good", imageSpec(image))
		w.Create(t, cs)
		w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from image "+image+" at "+digest)
	})
}
