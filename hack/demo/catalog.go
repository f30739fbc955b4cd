package main

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// The only package of the story's catalog, and its only channel.
const (
	packageName = "foo-operator"
	channelName = "stable"
)

// fileBasedCatalog offers versions of foo-operator, the oldest first, each in place of the one before it. Their
// manifests are in it, so that there is no image to pull.
func fileBasedCatalog(versions ...string) (string, error) {
	channel := declcfg.Channel{Schema: declcfg.SchemaChannel, Name: channelName, Package: packageName}
	catalog := declcfg.DeclarativeConfig{
		Packages: []declcfg.Package{{Schema: declcfg.SchemaPackage, Name: packageName, DefaultChannel: channelName}},
	}
	replaces := ""
	for _, version := range versions {
		b, err := bundle(version)
		if err != nil {
			return "", err
		}
		catalog.Bundles = append(catalog.Bundles, b)
		channel.Entries = append(channel.Entries, declcfg.ChannelEntry{Name: b.Name, Replaces: replaces})
		replaces = b.Name
	}
	catalog.Channels = []declcfg.Channel{channel}
	var out strings.Builder
	if err := declcfg.WriteYAML(catalog, &out); err != nil {
		return "", fmt.Errorf("writing the catalog: %w", err)
	}
	return out.String(), nil
}

// bundle is a version of foo-operator, with the manifests of its folder.
func bundle(version string) (declcfg.Bundle, error) {
	out := declcfg.Bundle{
		Schema:     declcfg.SchemaBundle,
		Name:       csvOf(version).Name,
		Package:    packageName,
		Properties: []property.Property{property.MustBuildPackage(packageName, version)},
	}
	files, err := fs.Glob(scenes, "story/foo-operator/"+version+"/*.yaml")
	if err != nil {
		return out, fmt.Errorf("looking for the manifests of %s: %w", out.Name, err)
	}
	for _, file := range files {
		objects, err := scene(strings.TrimPrefix(file, "story/"))
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
