package catalogtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// RegistryOf returns the address of the registry of a devcluster with a real node, which has a folder.
func RegistryOf(t testing.TB, devcluster string) string {
	t.Helper()
	address, err := os.ReadFile(filepath.Join(devcluster, "registry", "address"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(address))
}

// PushProgram pushes an image with a static program and nothing else to a registry on loopback, and returns its
// reference by digest.
func PushProgram(t testing.TB, registry, repository, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Base(program)
	image := Image(t, nil, []TarEntry{{Name: base, Content: string(content), Executable: true}})
	return pushTo(t, registry, repository, image, v1.Config{User: "65532:65532", Entrypoint: []string{"/" + base}})
}

// PushFolder pushes an image with the files of a folder, below a folder of the image, and returns its reference by digest.
func PushFolder(t testing.TB, registry, repository, folder, below string) string {
	t.Helper()
	var entries []TarEntry
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		entries = append(entries, TarEntry{Name: filepath.Join(below, relative), Content: string(content)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pushTo(t, registry, repository, Image(t, nil, entries), v1.Config{})
}

func pushTo(t testing.TB, registry, repository string, image v1.Image, config v1.Config) string {
	t.Helper()
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, Config: config, RootFS: rootFS(t, image)})
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(registry+"/"+repository+"@"+digestOf(t, image), name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image, remote.WithContext(t.Context())); err != nil {
		t.Fatalf("pushing %s: %v", reference, err)
	}
	return reference.String()
}

func rootFS(t testing.TB, image v1.Image) v1.RootFS {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return file.RootFS
}
