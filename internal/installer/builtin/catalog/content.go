// Package catalog describes the content of catalogs: packages, channels and bundles.
package catalog

import (
	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/types"
)

// Catalog is one CatalogSource as the resolver sees it at one moment.
type Catalog struct {
	// Key is the namespace and name of the CatalogSource.
	Key types.NamespacedName

	// Priority of the CatalogSource. A higher priority is preferred; Store.Visible orders equal ones.
	Priority int

	// Tried is true if reading has been attempted since this process started, even without success.
	Tried bool

	// Healthy is true if the last attempt to read the content succeeded.
	Healthy bool

	// Message explains why the catalog is not healthy, or is empty.
	Message string

	// Content is the content in use, or nil.
	Content *Content
}

// Content is the content of a catalog as read at one moment. It is shared and immutable.
type Content struct {
	// Packages by name.
	Packages map[string]*Package

	// Invalid holds, by name, why packages are invalid.
	Invalid map[string]string
}

// Package is one package of a catalog.
type Package struct {
	Name           string
	DefaultChannel string
	// Channels by name.
	Channels map[string]*Channel
	// Deprecation is the deprecation message of the package, or empty.
	Deprecation string
}

// Channel is a graph of bundles that replace each other.
type Channel struct {
	Name string
	// Entries by the name of the bundle.
	Entries map[string]*Entry
	// Deprecation is the deprecation message of the channel, or empty.
	Deprecation string
}

// Entry is an entry of a channel: a bundle and its upgrade edges.
type Entry struct {
	Bundle   *Bundle
	Replaces string
	Skips    []string
	// SkipRange is the range of versions that the bundle can replace, or empty.
	SkipRange string
}

// Bundle is one version of an operator. Its objects stay in the catalog or the bundle image until they are needed.
type Bundle struct {
	// Name is the name of its ClusterServiceVersion.
	Name    string         `json:"name"`
	Package string         `json:"package"`
	Version semver.Version `json:"version"`
	// Image contains the objects if the catalog does not.
	Image string `json:"image,omitempty"`
	// Inlined is true if the catalog contains the objects.
	Inlined bool `json:"inlined,omitempty"`
	// Provides lists the kinds of its custom resource definitions and API services.
	Provides []property.GVK `json:"provides,omitempty"`
	// Properties are those that the resolver uses: requirements, constraints, and the packages and kinds that it
	// provides. Properties that carry objects (olm.bundle.object, olm.csv.metadata) are left out.
	Properties []property.Property `json:"properties,omitempty"`
	// Deprecation is the deprecation message of the bundle, or empty.
	Deprecation string `json:"deprecation,omitempty"`
}

// bytesPerBundle estimates the memory that a Bundle or an Entry uses in addition to its strings.
const bytesPerBundle = 300

// Size estimates the memory that a content uses, in bytes.
func (c *Content) Size() (bytes int64) {
	if c == nil {
		return 0
	}
	counted := map[*Bundle]bool{}
	for _, p := range c.Packages {
		for _, channel := range p.Channels {
			for _, e := range channel.Entries {
				bytes += bytesPerBundle + int64(len(e.Replaces)+len(e.SkipRange))
				for _, s := range e.Skips {
					bytes += int64(len(s))
				}
				if !counted[e.Bundle] {
					counted[e.Bundle] = true
					bytes += e.Bundle.size()
				}
			}
		}
	}
	return bytes
}

func (b *Bundle) size() int64 {
	out := bytesPerBundle + len(b.Name) + len(b.Image) + len(b.Deprecation)
	for _, p := range b.Properties {
		out += len(p.Type) + len(p.Value)
	}
	return int64(out)
}
