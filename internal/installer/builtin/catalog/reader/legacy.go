package reader

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// Keys of a ConfigMap in the format that OLM used before file-based catalogs. Each contains a YAML list.
const (
	keyCRDs     = "customResourceDefinitions"
	keyCSVs     = "clusterServiceVersions"
	keyPackages = "packages"
)

// legacy is a catalog in that format.
type legacy struct {
	crds     map[string][]legacyObject // by name: a name may have several states, for different ClusterServiceVersions
	csvs     map[string]legacyObject
	packages []legacyPackage
}

type legacyObject struct {
	manifest
	raw json.RawMessage
}

type legacyPackage struct {
	Name           string          `json:"packageName"`
	DefaultChannel string          `json:"defaultChannel"`
	Channels       []legacyChannel `json:"channels"`
}

type legacyChannel struct {
	Name       string `json:"name"`
	CurrentCSV string `json:"currentCSV"`
}

func isLegacy(files map[string][]byte) bool {
	_, csvs := files[keyCSVs]
	_, packages := files[keyPackages]
	return csvs && packages
}

func parseLegacy(files map[string][]byte) (*legacy, error) {
	var out legacy
	var err error
	if out.crds, err = legacyObjects(files, keyCRDs); err != nil {
		return nil, err
	}
	csvs, err := legacyObjects(files, keyCSVs)
	if err != nil {
		return nil, err
	}
	out.csvs = map[string]legacyObject{}
	for name, same := range csvs {
		if len(same) > 1 {
			return nil, catalog.Errorf(v1alpha1.ReasonNotACatalog, "key %s: %s appears twice", keyCSVs, name)
		}
		out.csvs[name] = same[0]
	}
	if err := parseKey(files, keyPackages, &out.packages); err != nil {
		return nil, err
	}
	return &out, nil
}

// parseKey decodes the list in a key.
func parseKey(files map[string][]byte, key string, into any) error {
	if err := yaml.Unmarshal(files[key], into); err != nil {
		return catalog.Errorf(v1alpha1.ReasonNotACatalog, "key %s is not a list of %s: %w", key, listsOf[key], inLine(err, 1))
	}
	return nil
}

var listsOf = map[string]string{keyCRDs: "objects", keyCSVs: "objects", keyPackages: "package manifests"}

// legacyObjects returns the objects of a key by name. Objects of the same name keep their order.
func legacyObjects(files map[string][]byte, key string) (map[string][]legacyObject, error) {
	var raws []json.RawMessage
	if err := parseKey(files, key, &raws); err != nil {
		return nil, err
	}
	out := map[string][]legacyObject{}
	for i, raw := range raws {
		o := legacyObject{raw: raw}
		if err := json.Unmarshal(raw, &o.manifest); err != nil {
			return nil, catalog.Errorf(v1alpha1.ReasonNotACatalog, "key %s: object %d: %w", key, i+1, err)
		}
		out[o.Metadata.Name] = append(out[o.Metadata.Name], o)
	}
	return out, nil
}

func (l *legacy) content() *catalog.Content {
	out := &catalog.Content{Packages: map[string]*catalog.Package{}, Invalid: map[string]string{}}
	for _, p := range l.packages {
		config, err := l.convert(p)
		if err == nil {
			out.Packages[p.Name], err = newPackage(config)
		}
		if err != nil {
			delete(out.Packages, p.Name)
			out.Invalid[p.Name] = catalog.Stable(err.Error())
		}
	}
	return out
}

// convert converts a package manifest to a file-based catalog. A channel consists of the ClusterServiceVersions that its
// currentCSV reaches by replaces and skips.
func (l *legacy) convert(p legacyPackage) (declcfg.DeclarativeConfig, error) {
	var out declcfg.DeclarativeConfig
	if len(p.Channels) == 1 { // as in OLM, regardless of the manifest's default
		p.DefaultChannel = p.Channels[0].Name
	}
	out.Packages = []declcfg.Package{{Name: p.Name, DefaultChannel: p.DefaultChannel}}
	bundles := map[string]bool{}
	for _, c := range p.Channels {
		if _, ok := l.csvs[c.CurrentCSV]; !ok {
			return out, fmt.Errorf("channel %s: its currentCSV %s is not in %s", c.Name, c.CurrentCSV, keyCSVs)
		}
		entries := l.entries(c.CurrentCSV)
		out.Channels = append(out.Channels, declcfg.Channel{Name: c.Name, Package: p.Name, Entries: entries})
		for _, e := range entries {
			if bundles[e.Name] {
				continue
			}
			bundles[e.Name] = true
			bundle, err := l.bundle(p.Name, l.csvs[e.Name])
			if err != nil {
				return out, fmt.Errorf("channel %s: %w", c.Name, err)
			}
			out.Bundles = append(out.Bundles, bundle)
		}
	}
	if err := defaultChannelThere(&out); err != nil {
		return out, err
	}
	return out, nil
}

// entries returns the entries of a channel with that head.
func (l *legacy) entries(newest string) []declcfg.ChannelEntry {
	var out []declcfg.ChannelEntry
	seen := map[string]bool{}
	for next := []string{newest}; len(next) > 0; next = next[1:] {
		csv, ok := l.csvs[next[0]]
		if !ok || seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		out = append(out, declcfg.ChannelEntry{
			Name: csv.Metadata.Name, Replaces: csv.Spec.Replaces, Skips: csv.Spec.Skips,
			SkipRange: csv.Metadata.Annotations[annotationSkipRange],
		})
		next = append(next, csv.Spec.Replaces)
		next = append(next, csv.Spec.Skips...)
	}
	return out
}

// annotationSkipRange of a ClusterServiceVersion is the range of versions that it can replace.
const annotationSkipRange = "olm.skipRange"

func (l *legacy) bundle(packageName string, csv legacyObject) (declcfg.Bundle, error) {
	out := declcfg.Bundle{Name: csv.Metadata.Name, Package: packageName}
	out.Properties = append(out.Properties, property.MustBuildPackage(packageName, csv.Spec.Version))
	for _, gvk := range sorted(csv.provides()) {
		out.Properties = append(out.Properties, property.MustBuildGVK(gvk.Group, gvk.Version, gvk.Kind))
	}
	for _, d := range slices.Concat(csv.Spec.CustomResourceDefinitions.Required, csv.Spec.APIServiceDefinitions.Required) {
		gvk := d.gvk()
		out.Properties = append(out.Properties, property.MustBuildGVKRequired(gvk.Group, gvk.Version, gvk.Kind))
	}
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		if _, ok := l.crds[owned.Name]; !ok {
			return out, fmt.Errorf("%s owns CustomResourceDefinition %s, which is not in %s", csv.Metadata.Name, owned.Name, keyCRDs)
		}
	}
	return out, nil
}

// texts returns the ClusterServiceVersion of a bundle and the CustomResourceDefinitions that it owns.
func (l *legacy) texts(b *catalog.BundleRequest) ([]text, error) {
	csv, ok := l.csvs[b.Name]
	if !ok {
		return nil, notOffered(b)
	}
	out := []text{{name: b.Name, data: csv.raw}}
	versions := map[string][]string{} // owned once per version
	for _, owned := range csv.Spec.CustomResourceDefinitions.Owned {
		versions[owned.Name] = append(versions[owned.Name], owned.Version)
	}
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		if crds := l.crds[name]; len(crds) > 0 {
			out = append(out, text{name: name, data: serving(crds, versions[name]).raw})
		}
	}
	return out, nil
}

// serving returns the CustomResourceDefinition with the most of those versions; of several, the last one, since in OLM
// a later definition of a version replaces an earlier one.
func serving(crds []legacyObject, versions []string) legacyObject {
	var out legacyObject
	most := -1
	for _, crd := range crds {
		n := 0
		for _, v := range crd.Spec.Versions {
			if slices.Contains(versions, v.Name) {
				n++
			}
		}
		if n >= most {
			out, most = crd, n
		}
	}
	return out
}
