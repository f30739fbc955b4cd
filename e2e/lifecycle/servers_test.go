package lifecycle

import (
	"context"
	"io"
	stdlog "log"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/name"
	containers "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/cache"
	"github.com/operator-framework/operator-registry/pkg/server"
	"google.golang.org/grpc"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// registry is a container registry on loopback without authentication, which accepts any repository.
type registry struct{ host string }

func newRegistry(t testing.TB) registry {
	t.Helper()
	s := httptest.NewServer(containers.New(containers.Logger(stdlog.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return registry{strings.TrimPrefix(s.URL, "http://")}
}

// push pushes an image and returns its reference.
func (r registry) push(t testing.TB, repository string, image v1.Image) string {
	t.Helper()
	reference, err := name.ParseReference(r.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image); err != nil {
		t.Fatalf("pushing %s: %v", reference, err)
	}
	return r.host + "/" + repository
}

// pushManifest pushes the manifest of an image, without its layers, and returns its reference.
func (r registry) pushManifest(t testing.TB, repository string, image v1.Image) string {
	t.Helper()
	reference, err := name.ParseReference(r.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Put(reference, image); err != nil {
		t.Fatalf("pushing the manifest of %s: %v", reference, err)
	}
	return r.host + "/" + repository
}

func image(t testing.TB, layers ...[]testcatalog.Entry) v1.Image {
	t.Helper()
	return imageWithLabels(t, nil, layers...)
}

func imageWithLabels(t testing.TB, labels map[string]string, layers ...[]testcatalog.Entry) v1.Image {
	t.Helper()
	out, err := testcatalog.Image(labels, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func catalogImage(t testing.TB, packages ...testcatalog.Package) v1.Image {
	t.Helper()
	return image(t, testcatalog.Files("configs/catalog.yaml", catalogText(t, packages...)))
}

func catalogText(t testing.TB, packages ...testcatalog.Package) string {
	t.Helper()
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := testcatalog.YAML(config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// serve serves a catalog of packages over gRPC at an address until the test ends.
func serve(t testing.TB, address string, packages ...testcatalog.Package) {
	t.Helper()
	content, err := cache.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"catalog.yaml": {Data: []byte(catalogText(t, packages...))}}
	if err := cache.LoadOrRebuild(context.Background(), content, files); err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, server.NewRegistryServer(content))
	listener := listen(t, address)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener) // returns after Stop
	}()
	t.Cleanup(func() { s.Stop(); <-done })
}

// unresponsiveServer accepts connections at a new address and never responds, until end is called or the test ends.
func unresponsiveServer(t testing.TB) (address string, end func()) {
	t.Helper()
	listener := listen(t, "127.0.0.1:0") // the kernel accepts the connections, and no code does
	end = func() { _ = listener.Close() }
	t.Cleanup(end)
	return listener.Addr().String(), end
}

// unusedAddress returns an address that nothing listens on.
func unusedAddress(t testing.TB) string {
	t.Helper()
	address, end := unresponsiveServer(t)
	end()
	return address
}

func listen(t testing.TB, address string) net.Listener {
	t.Helper()
	out, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
