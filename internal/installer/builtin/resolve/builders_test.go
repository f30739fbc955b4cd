package resolve

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/property"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

type option func(*catalog.Entry)

// bundle returns an entry of a channel. The package and version are taken from the name, such as vault.v1.0.0.
func bundle(name string, options ...option) *catalog.Entry {
	pkg, version, _ := strings.Cut(name, ".v")
	e := &catalog.Entry{Bundle: &catalog.Bundle{Name: name, Package: pkg, Version: semver.MustParse(version)}}
	for _, o := range options {
		o(e)
	}
	return e
}

func replaces(name string) option {
	return func(e *catalog.Entry) { e.Replaces = name }
}

func skips(names ...string) option {
	return func(e *catalog.Entry) { e.Skips = names }
}

func skipRange(versions string) option {
	return func(e *catalog.Entry) { e.SkipRange = versions }
}

func provides(kinds ...string) option {
	return func(e *catalog.Entry) {
		for _, k := range kinds {
			e.Bundle.Provides = append(e.Bundle.Provides, kind(k))
		}
	}
}

func has(p ...property.Property) option {
	return func(e *catalog.Entry) { e.Bundle.Properties = append(e.Bundle.Properties, p...) }
}

func deprecated(why string) option {
	return func(e *catalog.Entry) { e.Bundle.Deprecation = why }
}

// kind parses Kind or Kind.v1beta2. The group is etcd.database.coreos.com if the kind starts with Etcd, otherwise
// example.com.
func kind(name string) property.GVK {
	name, version, ok := strings.Cut(name, ".")
	if !ok {
		version = "v1"
	}
	group := "example.com"
	if strings.HasPrefix(name, "Etcd") {
		group = "etcd.database.coreos.com"
	}
	return property.GVK{Group: group, Version: version, Kind: name}
}

func needsKind(name string) property.Property {
	k := kind(name)
	return property.MustBuildGVKRequired(k.Group, k.Version, k.Kind)
}

func needsPackage(name, versions string) property.Property {
	return property.MustBuildPackageRequired(name, versions)
}

func raw(propertyType, value string) property.Property {
	return property.Property{Type: propertyType, Value: json.RawMessage(value)}
}

func constrains(value string) property.Property {
	return raw(property.TypeConstraint, value)
}

func channel(name string, entries ...*catalog.Entry) *catalog.Channel {
	ch := &catalog.Channel{Name: name, Entries: map[string]*catalog.Entry{}}
	for _, e := range entries {
		ch.Entries[e.Bundle.Name] = e
	}
	return ch
}

// pkg returns a package. Its first channel is the default channel.
func pkg(name string, channels ...*catalog.Channel) *catalog.Package {
	p := &catalog.Package{Name: name, Channels: map[string]*catalog.Channel{}}
	for i, ch := range channels {
		if i == 0 {
			p.DefaultChannel = ch.Name
		}
		p.Channels[ch.Name] = ch
	}
	return p
}

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "olm", Name: name}
}

func source(name string, packages ...*catalog.Package) catalog.Catalog {
	content := &catalog.Content{Packages: map[string]*catalog.Package{}, Invalid: map[string]string{}}
	for _, p := range packages {
		content.Packages[p.Name] = p
	}
	return catalog.Catalog{Key: key(name), Healthy: true, Content: content}
}

func sources(c ...catalog.Catalog) []catalog.Catalog {
	return c
}

func installed(name string, options ...option) Installed {
	b := bundle(name, options...).Bundle
	return Installed{Name: name, Package: b.Package, Version: b.Version, Provides: b.Provides, Properties: b.Properties}
}

func update(name string, options ...option) *Installed {
	i := installed(name, options...)
	return &i
}

// neverBegun returns a version whose installation has never started, and the one that runs in its place.
func neverBegun(name, running string) *Installed {
	out := update(name)
	out.Running = update(running)
	return out
}

// want is the expected result. Each choice is one line.
type want struct {
	Choices      []string
	Newest, Note string
	Beyond       string
	Deprecations Deprecations
	Problem      *Problem
}

func answer(s Solution, p *Problem) want {
	out := want{Newest: s.Newest, Beyond: s.Beyond, Note: s.Note, Deprecations: s.Deprecations, Problem: p}
	for _, c := range s.Choices {
		line := fmt.Sprintf("%s from %s of %s", c.Bundle.Name, c.Channel, c.Catalog)
		if c.Replaces != "" {
			line += " for " + c.Replaces
		}
		out.Choices = append(out.Choices, line)
	}
	return out
}

func chosen(choices ...string) want {
	return want{Choices: choices}
}

func refused(reason, message string) want {
	return want{Problem: &Problem{Reason: reason, Message: message}}
}
