// Package catalog reads catalogs: what packages they offer, and what is in a bundle.
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

	// Priority of the CatalogSource: higher is preferred, then by name.
	Priority int

	// Tried is true once it has been looked at, be it in vain, since this process began.
	Tried bool

	// Healthy is true where the content was read when it was last looked at.
	Healthy bool

	// Message says why it is not healthy; empty where it is.
	Message string

	// Content is what was read last; nil where it never was.
	Content *Content
}

// Content is what a catalog offered when it was read. It is shared and never changes.
type Content struct {
	// Packages by name.
	Packages map[string]*Package

	// Invalid tells of packages that make no sense, by name, why.
	Invalid map[string]string
}

// Package is what a catalog offers under one name.
type Package struct {
	Name           string
	DefaultChannel string
	// Channels by name.
	Channels map[string]*Channel
	// Deprecation is what its author says of that; empty where it is not deprecated.
	Deprecation string
}

// Channel is a graph of bundles that replace each other.
type Channel struct {
	Name string
	// Entries by the name of the bundle.
	Entries map[string]*Entry
	// Deprecation is what its author says of that; empty where it is not deprecated.
	Deprecation string
}

// Entry is a bundle's place in a channel.
type Entry struct {
	Bundle   *Bundle
	Replaces string
	Skips    []string
	// SkipRange is a range of versions that the bundle can replace; empty for none.
	SkipRange string
}

// Bundle is one version of one operator. Its objects stay in the catalog until they are asked for.
type Bundle struct {
	// Name is that of its ClusterServiceVersion.
	Name    string         `json:"name"`
	Package string         `json:"package"`
	Version semver.Version `json:"version"`
	// Image holds the objects where the catalog does not.
	Image string `json:"image,omitempty"`
	// Inlined is whether the catalog holds them.
	Inlined bool `json:"inlined,omitempty"`
	// Provides are the kinds that its custom resource definitions and API services bring.
	Provides []property.GVK `json:"provides,omitempty"`
	// Properties are what a resolver reads: requirements and constraints, and the packages and kinds it provides.
	// Those that carry objects (olm.bundle.object, olm.csv.metadata) are left out.
	Properties []property.Property `json:"properties,omitempty"`
	// Deprecation is what its author says of that; empty where it is not deprecated.
	Deprecation string `json:"deprecation,omitempty"`
}
