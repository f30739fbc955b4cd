package reader

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/property"
	"sigs.k8s.io/yaml"
)

// manifest has the fields of an object in a bundle that a catalog uses.
type manifest struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		// Of a ClusterServiceVersion.
		Version                   string      `json:"version"` // also of an old CustomResourceDefinition
		Replaces                  string      `json:"replaces"`
		Skips                     []string    `json:"skips"`
		CustomResourceDefinitions definitions `json:"customresourcedefinitions"`
		APIServiceDefinitions     definitions `json:"apiservicedefinitions"`

		// Of a CustomResourceDefinition.
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name string `json:"name"`
		} `json:"versions"`
	} `json:"spec"`
}

type definitions struct {
	Owned    []definition `json:"owned"`
	Required []definition `json:"required"`
}

type definition struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// gvk returns the kind of a definition. For a CustomResourceDefinition, the group is only in the name.
func (d definition) gvk() property.GVK {
	out := property.GVK{Group: d.Group, Version: d.Version, Kind: d.Kind}
	if out.Group == "" {
		_, out.Group, _ = strings.Cut(d.Name, ".")
	}
	return out
}

// parseManifest decodes JSON or YAML.
func parseManifest(data []byte) (manifest, error) {
	var out manifest
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		if err := json.Unmarshal(data, &out); err == nil {
			return out, nil
		}
	}
	err := yaml.Unmarshal(data, &out)
	return out, err
}

const (
	kindCSV = "ClusterServiceVersion"
	kindCRD = "CustomResourceDefinition"
)

// provides returns the kinds that an object provides.
func (m manifest) provides() []property.GVK {
	var out []property.GVK
	switch m.Kind {
	case kindCSV:
		for _, d := range slices.Concat(m.Spec.CustomResourceDefinitions.Owned, m.Spec.APIServiceDefinitions.Owned) {
			out = append(out, d.gvk())
		}
	case kindCRD:
		for _, v := range m.Spec.Versions {
			out = append(out, property.GVK{Group: m.Spec.Group, Version: v.Name, Kind: m.Spec.Names.Kind})
		}
		if len(m.Spec.Versions) == 0 && m.Spec.Version != "" {
			out = append(out, property.GVK{Group: m.Spec.Group, Version: m.Spec.Version, Kind: m.Spec.Names.Kind})
		}
	}
	return out
}

// providedBy returns the kinds that the objects in a bundle's properties provide.
func providedBy(properties []property.Property) ([]property.GVK, error) {
	var out []property.GVK
	for _, p := range properties {
		switch p.Type {
		case property.TypeBundleObject:
			var object property.BundleObject
			if err := json.Unmarshal(p.Value, &object); err != nil {
				return nil, fmt.Errorf("reading an %s: %w", property.TypeBundleObject, err)
			}
			if m, err := parseManifest(object.Data); err == nil { // otherwise reported when the bundle is read
				out = append(out, m.provides()...)
			}
		case property.TypeCSVMetadata:
			var metadata struct {
				CRDs        definitions `json:"crdDescriptions"`
				APIServices definitions `json:"apiServiceDefinitions"`
			}
			if err := json.Unmarshal(p.Value, &metadata); err != nil {
				return nil, fmt.Errorf("reading the %s: %w", property.TypeCSVMetadata, err)
			}
			for _, d := range slices.Concat(metadata.CRDs.Owned, metadata.APIServices.Owned) {
				out = append(out, d.gvk())
			}
		}
	}
	return sorted(out), nil
}

// sorted sorts kinds and removes duplicates, in place.
func sorted(kinds []property.GVK) []property.GVK {
	slices.SortFunc(kinds, func(a, b property.GVK) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	return slices.Compact(kinds)
}
