package testcatalog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

func newBufio(data []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(data)) }

// Config returns a file-based catalog of packages, with the objects of their bundles inlined. Each version replaces the
// one before it, regardless of the CSV's `replaces`.
func Config(packages ...Package) (declcfg.DeclarativeConfig, error) {
	out := declcfg.DeclarativeConfig{}
	for _, p := range packages {
		out.Packages = append(out.Packages, declcfg.Package{Schema: declcfg.SchemaPackage, Name: p.Name, DefaultChannel: p.Channel})
		channel := declcfg.Channel{Schema: declcfg.SchemaChannel, Name: p.Channel, Package: p.Name}
		previous := ""
		for _, b := range p.Bundles {
			channel.Entries = append(channel.Entries, declcfg.ChannelEntry{Name: b.CSV.Name, Replaces: previous})
			previous = b.CSV.Name
			bundle, err := inlined(p, b)
			if err != nil {
				return out, err
			}
			out.Bundles = append(out.Bundles, bundle)
		}
		out.Channels = append(out.Channels, channel)
	}
	return out, nil
}

func inlined(p Package, b Bundle) (declcfg.Bundle, error) {
	out := declcfg.Bundle{Schema: declcfg.SchemaBundle, Name: b.CSV.Name, Package: p.Name}
	out.Properties = append(out.Properties, property.MustBuildPackage(p.Name, b.Version.String()))
	for _, d := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		_, group, _ := strings.Cut(d.Name, ".")
		out.Properties = append(out.Properties, property.MustBuildGVK(group, d.Version, d.Kind))
	}
	for _, d := range b.CSV.Spec.CustomResourceDefinitions.Required {
		_, group, _ := strings.Cut(d.Name, ".")
		out.Properties = append(out.Properties, property.MustBuildGVKRequired(group, d.Version, d.Kind))
	}
	for _, o := range b.Objects {
		raw, err := json.Marshal(o.Object)
		if err != nil {
			return out, err
		}
		out.Properties = append(out.Properties, property.MustBuildBundleObject(raw))
	}
	return out, nil
}

// Refer makes the bundles of a catalog refer to images instead of inlining their objects.
func Refer(config *declcfg.DeclarativeConfig, image func(bundle string) string) {
	inlined := func(p property.Property) bool { return p.Type == property.TypeBundleObject }
	for i := range config.Bundles {
		b := &config.Bundles[i]
		b.Image, b.Properties = image(b.Name), slices.DeleteFunc(b.Properties, inlined)
	}
}

// YAML returns a file-based catalog as YAML.
func YAML(config declcfg.DeclarativeConfig) (string, error) {
	var out strings.Builder
	err := declcfg.WriteYAML(config, &out)
	return out.String(), err
}

// Write writes a catalog of packages to catalog.json in a folder, replacing the file.
func Write(folder string, packages ...Package) error {
	config, err := Config(packages...)
	if err != nil {
		return err
	}
	return WriteConfig(folder, config)
}

// WriteConfig writes a catalog to catalog.json in a folder, replacing the file.
func WriteConfig(folder string, config declcfg.DeclarativeConfig) error {
	var buffer bytes.Buffer
	if err := declcfg.WriteJSON(config, &buffer); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "catalog.json"), buffer.Bytes(), 0o644)
}
