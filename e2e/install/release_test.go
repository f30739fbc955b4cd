package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/operator-status/operator-status/e2e/samples"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// current is the version of bundle/, and next the one that the test makes of it.
const current, next = "0.1.0", "0.2.0"

// bundleImage matches the manager's image in bundle/.
var bundleImage = regexp.MustCompile(`ghcr\.io/operator-status/operator-status:v[0-9.]+`)

// manager builds the manager as a version, and returns its image.
func manager(t *testing.T, version string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-X github.com/operator-status/operator-status/internal/manager.Version="+version, "-o", out, "./cmd/manager")
	build.Dir, build.Env = testcluster.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, output)
	}
	return catalogtest.PushProgram(t, catalogtest.RegistryOf(t, clusterDir), "operator-status", out)
}

// ours writes bundle/ as a version with an image to a folder of versions. Only the next version replaces another.
func ours(t *testing.T, folder, version, image string) {
	t.Helper()
	from := filepath.Join(testcluster.Root(), "bundle")
	for _, part := range []string{"manifests", "metadata"} {
		files, err := os.ReadDir(filepath.Join(from, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(from, part, file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			text := bundleImage.ReplaceAllString(string(content), image)
			if version != current {
				text = strings.ReplaceAll(text, "operator-status.v"+current, "operator-status.v"+version)
				text = strings.ReplaceAll(text, "  version: "+current+"\n", "  replaces: operator-status.v"+current+"\n  version: "+version+"\n")
			}
			write(t, filepath.Join(folder, version, part, file.Name()), text)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ourCatalog returns the image of a catalog with versions of operator-status, each with the image of its manager.
func ourCatalog(t *testing.T, managers map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for version, image := range managers {
		ours(t, filepath.Join(folder, "operator-status"), version, image)
	}
	return catalogOf(t, folder, "operator-status")
}

// sampleCatalog returns the image of a catalog with versions of the annotated sample operator, which runs image.
func sampleCatalog(t *testing.T, image string, versions ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, version := range versions {
		if err := samples.Write(filepath.Join(folder, samples.Annotated, version), samples.Annotated, version, image); err != nil {
			t.Fatal(err)
		}
	}
	return catalogOf(t, folder, samples.Annotated)
}

// catalogOf returns the image of a catalog with the versions of the package in a folder, whose bundles are images as well.
func catalogOf(t *testing.T, folder, pkg string) string {
	t.Helper()
	packages, err := testcatalog.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	registry := catalogtest.RegistryOf(t, clusterDir)
	images := map[string]string{}
	for _, b := range packages[0].Bundles {
		images[b.CSV.Name] = catalogtest.PushFolder(t, registry, pkg+"-bundle", filepath.Join(folder, pkg, b.Version.String()), "")
	}
	testcatalog.Refer(&config, func(bundle string) string { return images[bundle] })
	return push(t, pkg, config)
}

func push(t *testing.T, pkg string, config declcfg.DeclarativeConfig) string {
	t.Helper()
	text, err := testcatalog.YAML(config)
	if err != nil {
		t.Fatal(err)
	}
	configs := t.TempDir()
	write(t, filepath.Join(configs, pkg, "catalog.yaml"), text)
	return catalogtest.PushFolder(t, catalogtest.RegistryOf(t, clusterDir), pkg+"-catalog", configs, "configs")
}
