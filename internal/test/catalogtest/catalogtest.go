// Package catalogtest serves catalogs for tests: from container registries, by gRPC and as files.
package catalogtest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/server"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// CSV returns a ClusterServiceVersion that owns Foos, as JSON.
func CSV(name, version string) string {
	return fmt.Sprintf(`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion","metadata":{"name":%q},`+
		`"spec":{"version":%q,"customresourcedefinitions":{"owned":[{"name":"foos.example.com","version":"v1","kind":"Foo"}]}}}`, name, version)
}

// CRD is the CustomResourceDefinition of Foos, as YAML.
const CRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  names: {kind: Foo, plural: foos}
  versions:
  - name: v1
`

// FBC returns a file-based catalog of one package with one channel, stable, and a bundle with objects for each version.
func FBC(packageName string, versions ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "---\nschema: olm.package\nname: %s\ndefaultChannel: stable\n", packageName)
	fmt.Fprintf(&out, "---\nschema: olm.channel\npackage: %s\nname: stable\nentries:\n", packageName)
	for i, v := range versions {
		fmt.Fprintf(&out, "- name: %s.v%s\n", packageName, v)
		if i > 0 {
			fmt.Fprintf(&out, "  replaces: %s.v%s\n", packageName, versions[i-1])
		}
	}
	for _, v := range versions {
		name := packageName + ".v" + v
		out.WriteString(BundleYAML(packageName, name, v, "", CSV(name, v), CRD))
	}
	return out.String()
}

// BundleYAML returns an olm.bundle with an image or objects, as YAML.
func BundleYAML(packageName, name, version, image string, objects ...string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "---\nschema: olm.bundle\npackage: %s\nname: %s\nimage: %q\nproperties:\n", packageName, name, image)
	fmt.Fprintf(&out, "- type: olm.package\n  value: {packageName: %s, version: %s}\n", packageName, version)
	for _, o := range objects {
		fmt.Fprintf(&out, "- type: olm.bundle.object\n  value: {data: %s}\n", base64.StdEncoding.EncodeToString([]byte(o)))
	}
	return out.String()
}

// Registry is a container registry on loopback that accepts any repository.
type Registry struct {
	Host string

	// Password of the user "puller"; if empty, no authentication is needed.
	Password string

	server *httptest.Server
	broken atomic.Value // string: the digest of a layer whose download breaks off

	replaced atomic.Value // the replacement of a layer
}

// NewRegistry starts a Registry that serves until the test ends.
func NewRegistry(t testing.TB, password string) *Registry {
	t.Helper()
	out := &Registry{Password: password}
	images := registry.New(registry.Logger(stdlog.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); password != "" && (user != "puller" || given != password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if broken, _ := out.broken.Load().(string); broken != "" && strings.HasSuffix(r.URL.Path, broken) && r.Method == http.MethodGet {
			w = cut{w}
		}
		if other, ok := out.replaced.Load().(replacement); ok && strings.HasSuffix(r.URL.Path, other.digest) && r.Method == http.MethodGet {
			_, _ = w.Write(other.data)
			return
		}
		images.ServeHTTP(w, r)
	}))
	out.server = s
	t.Cleanup(s.Close)
	out.Host = strings.TrimPrefix(s.URL, "http://")
	return out
}

// DockerConfig returns the content of a pull secret for the registry.
func (r *Registry) DockerConfig() string {
	auth := base64.StdEncoding.EncodeToString([]byte("puller:" + r.Password))
	return fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, r.Host, auth)
}

// TarEntry is an entry of a layer's archive. Its name is not normalized.
type TarEntry struct {
	Name, Content, Link string
	Hard                bool
	Executable          bool
}

// Files returns the entries of regular files: "path", "content", ….
func Files(pairs ...string) []TarEntry {
	var out []TarEntry
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, TarEntry{Name: pairs[i], Content: pairs[i+1]})
	}
	return out
}

// Push pushes an image to the registry and returns its reference and digest.
func (r *Registry) Push(t testing.TB, repository string, labels map[string]string, layers ...[]TarEntry) (image, digest string) {
	t.Helper()
	image = path.Join(r.Host, repository)
	content := Image(t, labels, layers...)
	if err := remote.Write(r.reference(t, image), content, r.auth()); err != nil {
		t.Fatal(err)
	}
	return image, digestOf(t, content)
}

func (r *Registry) reference(t testing.TB, image string) name.Reference {
	t.Helper()
	out, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (r *Registry) auth() remote.Option {
	return remote.WithAuth(authn.FromConfig(authn.AuthConfig{Username: "puller", Password: r.Password}))
}

func digestOf(t testing.TB, of interface{ Digest() (v1.Hash, error) }) string {
	t.Helper()
	digest, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// Image returns an image with layers of those entries.
func Image(t testing.TB, labels map[string]string, layers ...[]TarEntry) v1.Image {
	t.Helper()
	image, err := mutate.Config(empty.Image, v1.Config{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	for _, entries := range layers {
		data := Archive(t, entries)
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
		if err != nil {
			t.Fatal(err)
		}
		if image, err = mutate.AppendLayers(image, layer); err != nil {
			t.Fatal(err)
		}
	}
	return image
}

// Archive returns a tar archive of those entries.
func Archive(t testing.TB, entries []TarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		header := &tar.Header{Name: e.Name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(e.Content))}
		switch {
		case e.Executable:
			header.Mode = 0o755
		case e.Link != "" && e.Hard:
			header.Typeflag, header.Linkname = tar.TypeLink, e.Link
		case e.Link != "":
			header.Typeflag, header.Linkname = tar.TypeSymlink, e.Link
		}
		if err := w.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.Content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// ServeGRPC serves a file-based catalog as opm does, at address or, if that is empty, at a free port. It ends with stop
// or the test.
func ServeGRPC(t testing.TB, address string, catalog string) (at string, stop func()) {
	t.Helper()
	return serve(t, address, registryOf(t, catalog))
}

// ServeGRPCWithTLS serves a file-based catalog at a free port with TLS until the test ends. It returns the server's
// certificate in PEM form.
func ServeGRPCWithTLS(t testing.TB, catalog string) (at, certificate string) {
	t.Helper()
	lender := httptest.NewTLSServer(nil) // its certificate is valid for loopback
	defer lender.Close()
	at, _ = serve(t, "", registryOf(t, catalog), grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: lender.TLS.Certificates})))
	return at, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw}))
}

func registryOf(t testing.TB, catalog string) func(*grpc.Server) {
	t.Helper()
	store, err := cache.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.LoadOrRebuild(context.Background(), store, fstest.MapFS{"catalog.yaml": {Data: []byte(catalog)}}); err != nil {
		t.Fatal(err)
	}
	return func(s *grpc.Server) { api.RegisterRegistryServer(s, server.NewRegistryServer(store)) }
}

func serve(t testing.TB, address string, register func(*grpc.Server), options ...grpc.ServerOption) (at string, stop func()) {
	t.Helper()
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	register(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener) // returns after stop
	}()
	stop = func() { s.Stop(); <-done }
	t.Cleanup(stop)
	return listener.Addr().String(), stop
}

// Close stops the registry before the test ends.
func (r *Registry) Close() { r.server.CloseClientConnections(); r.server.Close() }

// PushList pushes an image index to the registry: an attestation first, then an image for another platform.
func (r *Registry) PushList(t testing.TB, repository string, layers ...[]TarEntry) (image, digest string) {
	t.Helper()
	image = path.Join(r.Host, repository)
	list := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: Image(t, nil, Files("attestation", "x")),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}},
		mutate.IndexAddendum{Add: Image(t, nil, layers...), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "s390x"}}},
	)
	if err := remote.WriteIndex(r.reference(t, image), list, r.auth()); err != nil {
		t.Fatal(err)
	}
	return image, digestOf(t, list)
}

// PushBroken pushes an image to the registry whose first layer breaks off when it is pulled. That layer is the last
// that is read, since the reader starts with the uppermost.
func (r *Registry) PushBroken(t testing.TB, repository string, layers ...[]TarEntry) (image string) {
	t.Helper()
	layers = append(layers, Files("padding", strings.Repeat("0123456789", 1000)))
	image, _ = r.Push(t, repository, nil, layers...)
	content, err := Image(t, nil, layers...).Layers()
	if err != nil {
		t.Fatal(err)
	}
	r.broken.Store(digestOf(t, content[0]))
	return image
}

// PushFalse pushes an image to the registry whose layer, when pulled, does not match its digest, although its unpacked
// content is the same.
func (r *Registry) PushFalse(t testing.TB, repository string, layer []TarEntry) (image string) {
	t.Helper()
	image, _ = r.Push(t, repository, nil, layer)
	content, err := Image(t, nil, layer).Layers()
	if err != nil {
		t.Fatal(err)
	}
	packed, err := content[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	data[9] ^= 1 // the OS field of the gzip header, which does not affect the content
	r.replaced.Store(replacement{digestOf(t, content[0]), data})
	return image
}

// replacement is the content that a registry sends instead of a layer.
type replacement struct {
	digest string
	data   []byte
}

// cut writes only the first half of each write.
type cut struct{ http.ResponseWriter }

func (c cut) Write(p []byte) (int, error) {
	_, err := c.ResponseWriter.Write(p[:len(p)/2])
	return len(p), err
}

// ServeNothing accepts connections and never responds.
func ServeNothing(t testing.TB) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// ServeOther serves gRPC without the registry service.
func ServeOther(t testing.TB) (address string) {
	t.Helper()
	address, _ = serve(t, "", func(*grpc.Server) {})
	return address
}

// ImageOf returns an image with one layer, whose data need not be an archive.
func ImageOf(data []byte) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil })
	if err != nil {
		return nil, err
	}
	return mutate.AppendLayers(empty.Image, layer)
}
