// Package testcatalog builds file-based catalogs and bundle images for tests to serve.
package testcatalog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	yamlreader "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Package is a package of OLM: an operator with its bundles in one channel.
type Package struct {
	Name    string
	Channel string
	// Bundles holds the bundles, oldest first.
	Bundles []Bundle
}

// Bundle is one version of an operator.
type Bundle struct {
	Version semver.Version
	CSV     *olm.ClusterServiceVersion
	Objects []*unstructured.Unstructured // including the CSV
}

// Supports reports whether the CSV supports an install mode.
func (b Bundle) Supports(mode olm.InstallModeType) bool {
	return slices.ContainsFunc(b.CSV.Spec.InstallModes, func(m olm.InstallMode) bool { return m.Type == mode && m.Supported })
}

// Newest returns the newest bundle. It panics if the package has none.
func (p Package) Newest() Bundle { return p.Bundles[len(p.Bundles)-1] }

// Load reads a folder of packages. Each is a folder of versions in registry+v1 format.
func Load(folder string) ([]Package, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out []Package
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		p, err := loadPackage(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("package %s: %w", e.Name(), err)
		}
		out = append(out, p)
	}
	return out, nil
}

func loadPackage(folder string) (Package, error) {
	out := Package{Name: filepath.Base(folder)}
	versions, err := filepath.Glob(filepath.Join(folder, "*", "manifests"))
	if err != nil {
		return out, err
	}
	for _, manifests := range versions {
		b, err := loadBundle(manifests)
		if err != nil {
			return out, fmt.Errorf("%s: %w", filepath.Base(filepath.Dir(manifests)), err)
		}
		out.Bundles = append(out.Bundles, b)
		if err := out.readNames(filepath.Dir(manifests), folder); err != nil {
			return out, err
		}
	}
	if len(out.Bundles) == 0 {
		return out, errors.New("it has no versions")
	}
	slices.SortFunc(out.Bundles, func(a, b Bundle) int { return a.Version.Compare(b.Version) })
	return out, nil
}

// readNames sets the names of the package and its channel from metadata/annotations.yaml or else package.yaml. Without
// either, the package keeps its name.
func (p *Package) readNames(bundle, folder string) error {
	var annotations struct {
		Annotations map[string]string `json:"annotations"`
	}
	if data, err := os.ReadFile(filepath.Join(bundle, "metadata", "annotations.yaml")); err == nil {
		if err := yaml.Unmarshal(data, &annotations); err != nil {
			return err
		}
	}
	var manifest struct {
		PackageName    string `json:"packageName"`
		DefaultChannel string `json:"defaultChannel"`
		Channels       []struct {
			Name string `json:"name"`
		} `json:"channels"`
	}
	if data, err := os.ReadFile(filepath.Join(folder, "package.yaml")); err == nil {
		if err := yaml.Unmarshal(data, &manifest); err != nil {
			return err
		}
	}
	const prefix = "operators.operatorframework.io.bundle."
	p.Name = cmp.Or(annotations.Annotations[prefix+"package.v1"], manifest.PackageName, p.Name)
	first, _, _ := strings.Cut(annotations.Annotations[prefix+"channels.v1"], ",")
	p.Channel = cmp.Or(annotations.Annotations[prefix+"channel.default.v1"], first, manifest.DefaultChannel)
	if p.Channel == "" && len(manifest.Channels) > 0 {
		p.Channel = manifest.Channels[0].Name
	}
	return nil
}

func loadBundle(manifests string) (Bundle, error) {
	files, err := os.ReadDir(manifests)
	if err != nil {
		return Bundle{}, err
	}
	var out Bundle
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(manifests, f.Name()))
		if err != nil {
			return out, err
		}
		objects, err := parse(data)
		if err != nil {
			return out, fmt.Errorf("%s: %w", f.Name(), err)
		}
		out.Objects = append(out.Objects, objects...)
	}
	for _, o := range out.Objects {
		if o.GetKind() != olm.ClusterServiceVersionKind {
			continue
		}
		out.CSV = &olm.ClusterServiceVersion{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, out.CSV); err != nil {
			return out, err
		}
	}
	if out.CSV == nil {
		return out, errors.New("it has no ClusterServiceVersion")
	}
	out.Version = out.CSV.Spec.Version.Version
	return out, nil
}

func parse(data []byte) (out []*unstructured.Unstructured, err error) {
	reader := yamlreader.NewYAMLReader(newBufio(data))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		raw, err := yaml.YAMLToJSON(document)
		if err != nil {
			return nil, err
		}
		if err := utiljson.Unmarshal(raw, &o.Object); err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}
