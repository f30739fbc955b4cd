package real

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// push pushes an image with a static program and nothing else to the cluster's registry, and returns its reference by
// digest.
func push(t *testing.T, repository, program string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(clusterDir, "registry", "address"))
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return layerOf(program) })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		t.Fatal(err)
	}
	image, err = mutate.Config(image, v1.Config{User: "65532:65532", Entrypoint: []string{"/" + filepath.Base(program)}})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(strings.TrimSpace(string(text))+"/"+repository+"@"+digest.String(), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image, remote.WithContext(t.Context())); err != nil {
		t.Fatalf("pushing %s: %v", reference, err)
	}
	return reference.String()
}

// layerOf returns a layer with one program.
func layerOf(program string) (io.ReadCloser, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := archive.WriteHeader(&tar.Header{Name: filepath.Base(program), Mode: 0o755, Size: int64(len(content))}); err != nil {
		return nil, err
	}
	if _, err := archive.Write(content); err != nil {
		return nil, err
	}
	return io.NopCloser(&out), archive.Close()
}
