// Package images pushes images to the registry of a cluster with real nodes: the manager, the sample operator, their
// bundles and catalogs.
package images

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/operator-status/operator-status/e2e/samples"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// Current is the version of bundle/.
const Current = "0.1.0"

// Next is the version that tests make of it.
const Next = "0.2.0"

// released matches the manager's image in bundle/.
var released = regexp.MustCompile(`ghcr\.io/operator-status/operator-status:v[0-9.]+`)

// Registry is where images are pushed to.
type Registry struct {
	// Address is that of the registry, for this machine and for containerd.
	Address string

	// PulledFrom is the address at which pods reach it; it is part of the references to catalogs and bundles.
	PulledFrom string
}

// Of returns the registry of a devcluster, which has a folder.
func Of(t testing.TB, devcluster string) Registry {
	t.Helper()
	address := catalogtest.RegistryOf(t, devcluster)
	return Registry{Address: address, PulledFrom: address}
}

// Manager builds the manager as a version and returns its image.
func (r Registry) Manager(t testing.TB, version string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", out,
		"-ldflags", "-X github.com/operator-status/operator-status/internal/manager.Version="+version, "./cmd/manager")
	build.Dir, build.Env = testcluster.Root(), append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, output)
	}
	return catalogtest.PushProgram(t, r.Address, "operator-status", out)
}

// Sample builds the annotated sample operator and returns its image.
func (r Registry) Sample(t testing.TB) string {
	t.Helper()
	return catalogtest.PushProgram(t, r.Address, samples.Annotated, samples.Build(t, samples.Annotated))
}

// Catalog returns the image of a catalog with versions of operator-status, for each of which managers has the image.
func (r Registry) Catalog(t testing.TB, managers map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for version, image := range managers {
		writeBundle(t, filepath.Join(folder, "operator-status", version), version, image)
	}
	return r.catalog(t, folder, "operator-status")
}

// Packages returns the image of a catalog with packages, and with the contents of their bundles.
func (r Registry) Packages(t testing.TB, packages []testcatalog.Package) string {
	t.Helper()
	configs := t.TempDir()
	if err := testcatalog.Write(filepath.Join(configs, "packages"), packages...); err != nil {
		t.Fatal(err)
	}
	return r.push(t, "packages-catalog", configs, "configs")
}

// SampleCatalog returns the image of a catalog with versions of the annotated sample operator, which run an image.
func (r Registry) SampleCatalog(t testing.TB, image string, versions ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, version := range versions {
		if err := samples.Write(filepath.Join(folder, samples.Annotated, version), samples.Annotated, version, image); err != nil {
			t.Fatal(err)
		}
	}
	return r.catalog(t, folder, samples.Annotated)
}

// catalog returns the image of a catalog with the package in a folder, whose bundles are images as well.
func (r Registry) catalog(t testing.TB, folder, pkg string) string {
	t.Helper()
	packages, err := testcatalog.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	bundles := map[string]string{}
	for _, b := range packages[0].Bundles {
		bundles[b.CSV.Name] = r.push(t, pkg+"-bundle", filepath.Join(folder, pkg, b.Version.String()), "")
	}
	testcatalog.Refer(&config, func(bundle string) string { return bundles[bundle] })
	text, err := testcatalog.YAML(config)
	if err != nil {
		t.Fatal(err)
	}
	configs := t.TempDir()
	write(t, filepath.Join(configs, pkg, "catalog.yaml"), text)
	return r.push(t, pkg+"-catalog", configs, "configs")
}

// push pushes a folder, and returns the reference of its image for pods.
func (r Registry) push(t testing.TB, repository, folder, below string) string {
	t.Helper()
	return strings.Replace(catalogtest.PushFolder(t, r.Address, repository, folder, below), r.Address, r.PulledFrom, 1)
}

// writeBundle writes bundle/ to a folder, as a version with an image. Every version but the current one replaces that.
func writeBundle(t testing.TB, folder, version, image string) {
	t.Helper()
	for _, part := range []string{"manifests", "metadata"} {
		files, err := filepath.Glob(filepath.Join(testcluster.Root(), "bundle", part, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := released.ReplaceAllString(string(content), image)
			if version != Current {
				text = strings.NewReplacer(
					"operator-status.v"+Current, "operator-status.v"+version,
					"\n  version: "+Current+"\n", "\n  replaces: operator-status.v"+Current+"\n  version: "+version+"\n",
				).Replace(text)
			}
			write(t, filepath.Join(folder, part, filepath.Base(file)), text)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
