package reader

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// newPackage converts the blobs of a package.
func newPackage(config declcfg.DeclarativeConfig) (*catalog.Package, error) {
	out := &catalog.Package{Channels: map[string]*catalog.Channel{}}
	for _, p := range config.Packages {
		out.Name, out.DefaultChannel = p.Name, p.DefaultChannel
	}
	bundles := map[string]*catalog.Bundle{}
	for _, b := range config.Bundles {
		bundle, err := newBundle(b)
		if err != nil {
			return nil, fmt.Errorf("bundle %s: %w", b.Name, err)
		}
		bundles[b.Name] = bundle
	}
	for _, c := range config.Channels {
		if cycle := replacesCycle(c.Entries); cycle != nil {
			return nil, fmt.Errorf("channel %s: its bundles have a replacement cycle: %s", c.Name, strings.Join(cycle, " → "))
		}
		channel := &catalog.Channel{Name: c.Name, Entries: map[string]*catalog.Entry{}}
		for _, e := range c.Entries {
			if bundles[e.Name] == nil {
				return nil, fmt.Errorf("channel %s: bundle %s not found", c.Name, e.Name)
			}
			channel.Entries[e.Name] = &catalog.Entry{Bundle: bundles[e.Name], Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange}
		}
		out.Channels[c.Name] = channel
	}
	for _, d := range config.Deprecations {
		for _, e := range d.Entries {
			deprecate(out, bundles, e)
		}
	}
	return out, nil
}

func newBundle(b declcfg.Bundle) (*catalog.Bundle, error) {
	out := &catalog.Bundle{Name: b.Name, Package: b.Package, Image: b.Image, Inlined: b.Objects != nil, Properties: b.Properties}
	for _, p := range b.Properties {
		switch p.Type {
		case property.TypePackage:
			var of property.Package
			if err := json.Unmarshal(p.Value, &of); err != nil {
				return nil, fmt.Errorf("reading its %s property: %w", p.Type, err)
			}
			version, err := semver.ParseTolerant(of.Version)
			if err != nil {
				return nil, fmt.Errorf("%q is not a semantic version: %w", of.Version, err)
			}
			out.Version = version
		case property.TypeGVK:
			var gvk property.GVK
			if err := json.Unmarshal(p.Value, &gvk); err != nil {
				return nil, fmt.Errorf("reading an %s property: %w", p.Type, err)
			}
			out.Provides = append(out.Provides, gvk)
		}
	}
	out.Provides = sorted(out.Provides)
	return out, nil
}

func deprecate(p *catalog.Package, bundles map[string]*catalog.Bundle, d declcfg.DeprecationEntry) {
	switch d.Reference.Schema {
	case declcfg.SchemaPackage:
		p.Deprecation = d.Message
	case declcfg.SchemaChannel:
		if c := p.Channels[d.Reference.Name]; c != nil {
			c.Deprecation = d.Message
		}
	case declcfg.SchemaBundle:
		if b := bundles[d.Reference.Name]; b != nil {
			b.Deprecation = d.Message
		}
	}
}

// replacesCycle returns the names of entries that replace each other in a cycle, starting and ending with the same name,
// or nil.
func replacesCycle(entries []declcfg.ChannelEntry) []string {
	replaces := map[string]string{}
	for _, e := range entries {
		replaces[e.Name] = e.Replaces
	}
	done := map[string]bool{}
	for _, start := range slices.Sorted(maps.Keys(replaces)) {
		var chain []string
		for name := start; name != "" && !done[name]; name = replaces[name] {
			if i := slices.Index(chain, name); i >= 0 {
				return append(chain[i:], name)
			}
			chain = append(chain, name)
		}
		for _, name := range chain {
			done[name] = true
		}
	}
	return nil
}

// validate validates a package of a file-based catalog as strictly as opm does, with clearer messages for common
// mistakes. It sorts channels and bundles, so the same catalog causes the same message.
func validate(name string, config *declcfg.DeclarativeConfig) error {
	slices.SortFunc(config.Channels, func(a, b declcfg.Channel) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(config.Bundles, func(a, b declcfg.Bundle) int { return cmp.Compare(a.Name, b.Name) })
	switch len(config.Packages) {
	case 0:
		return errors.New("it has channels or bundles, but no olm.package")
	case 1:
	default:
		return fmt.Errorf("it has %d olm.package objects", len(config.Packages))
	}
	for _, check := range []func(*declcfg.DeclarativeConfig) error{bundlesOnce, defaultChannelThere, oneHead} {
		if err := check(config); err != nil {
			return err
		}
	}
	if _, err := declcfg.ConvertToModel(*config); err != nil {
		return errors.New(plain(name, err.Error()))
	}
	return nil
}

func bundlesOnce(config *declcfg.DeclarativeConfig) error {
	for i := 1; i < len(config.Bundles); i++ {
		if config.Bundles[i].Name == config.Bundles[i-1].Name {
			return fmt.Errorf("bundle %s appears twice", config.Bundles[i].Name)
		}
	}
	return nil
}

func defaultChannelThere(config *declcfg.DeclarativeConfig) error {
	want := config.Packages[0].DefaultChannel
	var names []string
	for _, c := range config.Channels {
		if c.Name == want {
			return nil
		}
		names = append(names, c.Name)
	}
	switch {
	case len(names) == 0:
		return errors.New("it has no channel")
	case want == "":
		return fmt.Errorf("it has no default channel (its channels: %s)", messages.List(names, 5, ", "))
	}
	return fmt.Errorf("its default channel %s does not exist (its channels: %s)", want, messages.List(names, 5, ", "))
}

// oneHead returns an error unless each channel has exactly one head, which no other bundle replaces or skips.
func oneHead(config *declcfg.DeclarativeConfig) error {
	for _, c := range config.Channels {
		if cycle := replacesCycle(c.Entries); cycle != nil {
			return fmt.Errorf("channel %s: its bundles have a replacement cycle: %s", c.Name, strings.Join(cycle, " → "))
		}
		passed := map[string]bool{}
		for _, e := range c.Entries {
			passed[e.Replaces] = true
			for _, s := range e.Skips {
				passed[s] = true
			}
		}
		var heads []string
		for _, e := range c.Entries {
			if !passed[e.Name] {
				heads = append(heads, e.Name)
			}
		}
		slices.Sort(heads)
		switch {
		case len(c.Entries) == 0:
			return fmt.Errorf("channel %s has no entry", c.Name)
		case len(heads) == 0:
			return fmt.Errorf("channel %s has no head: each bundle is replaced or skipped by another", c.Name)
		case len(heads) > 1:
			return fmt.Errorf("channel %s has %d heads, which no other bundle replaces or skips: %s", c.Name, len(heads), messages.List(heads, 5, ", "))
		}
	}
	return nil
}

// plain converts the tree in an error of declcfg to a sorted list in one line.
func plain(packageName, tree string) string {
	const perLevel = 4 // runes
	var path, out []string
	for line := range strings.Lines(tree) {
		text := strings.TrimLeft(line, "│├└─ ")
		level := (len([]rune(line)) - len([]rune(text))) / perLevel
		text = strings.TrimSpace(text)
		path = append(path[:min(level, len(path))], strings.TrimSuffix(text, ":"))
		if text != "" && !strings.HasSuffix(text, ":") {
			out = append(out, strings.Join(path[min(2, len(path)-1):], ": "))
		}
	}
	slices.Sort(out)
	text := messages.List(slices.Compact(out), 3, "; ")
	return strings.TrimPrefix(text, fmt.Sprintf("invalid package %q: ", packageName))
}
