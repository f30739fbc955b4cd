package main

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// The packages of the demo's catalog and the only channel of each.
const (
	fooPackage  = "foo-operator"
	barPackage  = "bar-operator"
	channelName = "stable"
)

// offered is a package in the catalog with its versions, oldest first. Each replaces the one before it.
type offered struct {
	name     string
	versions []string
}

func in(name string, versions ...string) offered { return offered{name, versions} }

// fileBasedCatalog returns a catalog of packages as YAML. Manifests are inlined, so no image needs to be pulled.
func fileBasedCatalog(packages ...offered) (string, error) {
	catalog := declcfg.DeclarativeConfig{}
	for _, p := range packages {
		channel := declcfg.Channel{Schema: declcfg.SchemaChannel, Name: channelName, Package: p.name}
		replaces := ""
		for _, version := range p.versions {
			b, err := p.bundle(version)
			if err != nil {
				return "", err
			}
			catalog.Bundles = append(catalog.Bundles, b)
			channel.Entries = append(channel.Entries, declcfg.ChannelEntry{Name: b.Name, Replaces: replaces})
			replaces = b.Name
		}
		catalog.Channels = append(catalog.Channels, channel)
		catalog.Packages = append(catalog.Packages,
			declcfg.Package{Schema: declcfg.SchemaPackage, Name: p.name, DefaultChannel: channelName})
	}
	var out strings.Builder
	if err := declcfg.WriteYAML(catalog, &out); err != nil {
		return "", fmt.Errorf("writing the catalog: %w", err)
	}
	return out.String(), nil
}

// bundle returns a version of a package with the manifests in its folder.
func (p offered) bundle(version string) (declcfg.Bundle, error) {
	out := declcfg.Bundle{
		Schema:     declcfg.SchemaBundle,
		Name:       p.name + ".v" + version,
		Package:    p.name,
		Properties: []property.Property{property.MustBuildPackage(p.name, version)},
	}
	files, err := fs.Glob(scenes, "story/"+p.name+"/"+version+"/*.yaml")
	if err != nil {
		return out, fmt.Errorf("looking for the manifests of %s: %w", out.Name, err)
	}
	for _, file := range files {
		objects, err := manifestsIn(strings.TrimPrefix(file, "story/"))
		if err != nil {
			return out, err
		}
		for _, o := range objects {
			manifest, err := o.MarshalJSON()
			if err != nil {
				return out, fmt.Errorf("reading %s: %w", file, err)
			}
			out.Properties = append(out.Properties, property.MustBuildBundleObject(manifest))
		}
	}
	return out, nil
}
