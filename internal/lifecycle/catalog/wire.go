package catalog

import (
	"encoding/json"
	"maps"
	"slices"
)

// A Request is what the process that reads catalogs is asked for: what is in a catalog, or in one of its bundles. Exactly one of
// Image, Address and Files names the catalog; with a Bundle whose objects are in its own image, or in the scratch file, none does.
type Request struct {
	Limits Limits `json:"limits"`

	// Image of a file-based catalog. The answer begins with what it resolves to, as that for a bundle's image does, and goes on if a
	// Verdict asks for it.
	Image string `json:"image,omitempty"`

	// Address of a registry that is read by gRPC.
	Address string `json:"address,omitempty"`

	// Plaintext is whether the registry is connected to without TLS: that of an image only if TLS fails.
	Plaintext bool `json:"plaintext,omitempty"`

	// Files of a ConfigMap, by their names.
	Files map[string][]byte `json:"files,omitempty"`

	// Bundle is the one whose objects are asked for; nil for the catalog.
	Bundle *BundleRequest `json:"bundle,omitempty"`

	// PullSecrets are those that the CatalogSource names, and PullSecretProblems the reasons others of them cannot be used.
	PullSecrets        []PullSecret `json:"pullSecrets,omitempty"`
	PullSecretProblems []string     `json:"pullSecretProblems,omitempty"`

	// RequireDigests rejects images that are referred to by a tag.
	RequireDigests bool `json:"requireDigests,omitempty"`

	// Signatures asks for those that the registry has for the image.
	Signatures bool `json:"signatures,omitempty"`
}

// BundleRequest asks for the objects of a bundle.
type BundleRequest struct {
	Package string `json:"package"`
	Name    string `json:"name"`

	// Channel is one that the bundle is in.
	Channel string `json:"channel,omitempty"`

	// Image holds the objects where the catalog does not.
	Image string `json:"image,omitempty"`

	// Inlined is whether the catalog holds them.
	Inlined bool `json:"inlined,omitempty"`

	// Kept is how many bytes of the scratch file are what was kept of the bundle when the catalog was read; 0 for none.
	Kept int64 `json:"kept,omitempty"`
}

// PullSecret is the text of a Secret with credentials for registries, in the form of docker's config.json.
type PullSecret struct {
	// Name is the Secret's namespace and name.
	Name   string `json:"name"`
	Config string `json:"config"`
}

// A Verdict says whether an image is to be read, once its digest is known.
type Verdict struct {
	Read bool `json:"read"`
}

// An Answer is one of several to a Request, the last of which is Done or a Failure. Exactly one of its fields is set.
type Answer struct {
	// Resolved is what the image's reference stands for.
	Resolved *Resolved `json:"resolved,omitempty"`

	// Package that the catalog offers.
	Package *Package `json:"package,omitempty"`

	// Invalid package.
	Invalid *InvalidPackage `json:"invalid,omitempty"`

	// Kept is a bundle with its objects.
	Kept *KeptBundle `json:"kept,omitempty"`

	// Object of the bundle.
	Object json.RawMessage `json:"object,omitempty"`

	Failure *Failure `json:"failure,omitempty"`
	Done    bool     `json:"done,omitempty"`
}

// Resolved is what an image's reference stands for.
type Resolved struct {
	// Digest of the image, or of the list of images for several platforms.
	Digest string `json:"digest"`

	// Signatures of it, if they were asked for.
	Signatures []Signature `json:"signatures,omitempty"`

	signedBy string // set once they are verified
}

// InvalidPackage is a package that makes no sense, and why.
type InvalidPackage struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// KeptBundle is where the scratch file has a bundle with its objects.
type KeptBundle struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Offset  int64  `json:"offset"`
	Size    int64  `json:"size"`
}

// Failure is the reason a Request cannot be answered.
type Failure struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Answers are the answers by which a process tells the content of a catalog, up to Done.
func (c *Content) Answers(yield func(Answer) bool) {
	for _, name := range slices.Sorted(maps.Keys(c.Packages)) {
		if !yield(Answer{Package: c.Packages[name]}) {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Invalid)) {
		if !yield(Answer{Invalid: &InvalidPackage{name, c.Invalid[name]}}) {
			return
		}
	}
}

// newContent returns a Content that offers nothing yet.
func newContent() *Content {
	return &Content{Packages: map[string]*Package{}, Invalid: map[string]string{}}
}

// add takes up what an answer tells.
func (c *Content) add(a Answer) {
	switch {
	case a.Package != nil:
		c.Packages[a.Package.Name] = a.Package
	case a.Invalid != nil:
		c.Invalid[a.Invalid.Name] = a.Invalid.Message
	}
}

// packageJSON is a Package with each of its bundles once, however many channels it is in.
type packageJSON struct {
	Name           string        `json:"name"`
	DefaultChannel string        `json:"defaultChannel,omitempty"`
	Deprecation    string        `json:"deprecation,omitempty"`
	Bundles        []*Bundle     `json:"bundles,omitempty"`
	Channels       []channelJSON `json:"channels,omitempty"`
}

type channelJSON struct {
	Name        string      `json:"name"`
	Deprecation string      `json:"deprecation,omitempty"`
	Entries     []entryJSON `json:"entries,omitempty"`
}

type entryJSON struct {
	Bundle    int      `json:"bundle"` // its place among the Bundles
	Replaces  string   `json:"replaces,omitempty"`
	Skips     []string `json:"skips,omitempty"`
	SkipRange string   `json:"skipRange,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (p *Package) MarshalJSON() ([]byte, error) {
	out := packageJSON{Name: p.Name, DefaultChannel: p.DefaultChannel, Deprecation: p.Deprecation}
	places := map[*Bundle]int{}
	for _, name := range slices.Sorted(maps.Keys(p.Channels)) {
		in := p.Channels[name]
		channel := channelJSON{Name: name, Deprecation: in.Deprecation}
		for _, bundle := range slices.Sorted(maps.Keys(in.Entries)) {
			e := in.Entries[bundle]
			place, ok := places[e.Bundle]
			if !ok {
				place = len(out.Bundles)
				places[e.Bundle] = place
				out.Bundles = append(out.Bundles, e.Bundle)
			}
			channel.Entries = append(channel.Entries, entryJSON{place, e.Replaces, e.Skips, e.SkipRange})
		}
		out.Channels = append(out.Channels, channel)
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *Package) UnmarshalJSON(data []byte) error {
	var in packageJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*p = Package{Name: in.Name, DefaultChannel: in.DefaultChannel, Deprecation: in.Deprecation, Channels: map[string]*Channel{}}
	for _, c := range in.Channels {
		channel := &Channel{Name: c.Name, Deprecation: c.Deprecation, Entries: map[string]*Entry{}}
		for _, e := range c.Entries {
			if e.Bundle < 0 || e.Bundle >= len(in.Bundles) || in.Bundles[e.Bundle] == nil {
				continue
			}
			b := in.Bundles[e.Bundle]
			channel.Entries[b.Name] = &Entry{Bundle: b, Replaces: e.Replaces, Skips: e.Skips, SkipRange: e.SkipRange}
		}
		p.Channels[c.Name] = channel
	}
	return nil
}
