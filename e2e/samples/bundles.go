// Package samples has two operators that do the same and opt in differently: annotated annotates its
// CustomResourceDefinition, direct writes its Probe. Both are real: they migrate Foos, and hold their updates meanwhile.
//
// Their bundles in registry+v1 form are in the folders annotated/bundle and direct/bundle. They refer to images that
// are not published; Write replaces the references. Both own the same CustomResourceDefinition, so only one of them can be
// installed at a time.
package samples

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// Names of the sample operators, of their packages, and of the folders of their main packages.
const (
	Annotated = "annotated"
	Direct    = "direct"
)

// Versions of each sample, oldest first. Each replaces the one before it.
func Versions() []string { return []string{"1.0.0", "1.1.0"} }

// CSV returns the name of the ClusterServiceVersion of a version.
func CSV(sample, version string) string { return sample + ".v" + version }

// Account returns the name of the service account and of the Deployment of a sample.
func Account(sample string) string { return sample + "-operator" }

//go:embed annotated/bundle direct/bundle
var bundles embed.FS

// Write writes the bundle of a version of a sample to a folder, in registry+v1 form, with image as the image of the
// operator. The image in the repository is kept if image is empty.
func Write(folder, sample, version, image string) error {
	root := sample + "/bundle/" + version
	placeholder := sample + ":v" + version
	return fs.WalkDir(bundles, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("version %s of sample %s not found: %w", version, sample, err)
		}
		target := filepath.Join(folder, strings.TrimPrefix(path, root))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := bundles.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(content)
		if image != "" {
			text = strings.ReplaceAll(text, "image: "+placeholder+"\n", "image: "+image+"\n")
		}
		return os.WriteFile(target, []byte(text), 0o644)
	})
}

// Package returns versions of a sample as a package for a catalog, oldest first, with the images that image returns for
// them. A nil image keeps those in the repository.
func Package(sample string, image func(version string) string, versions ...string) (testcatalog.Package, error) {
	folder, err := os.MkdirTemp("", "samples")
	if err != nil {
		return testcatalog.Package{}, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system cleans up temporary folders
	for _, v := range versions {
		reference := ""
		if image != nil {
			reference = image(v)
		}
		if err := Write(filepath.Join(folder, sample, v), sample, v, reference); err != nil {
			return testcatalog.Package{}, err
		}
	}
	packages, err := testcatalog.Load(folder)
	if err != nil {
		return testcatalog.Package{}, err
	}
	return packages[0], nil
}
