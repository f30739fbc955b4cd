package catalog

import (
	"encoding/json"
	"maps"
	"slices"
)

// A Request is for the content of a catalog or the objects of one of its bundles; the manager sends it to a reader
// process. Exactly one of Image, Address and Files sets the catalog. None is set if the objects of Bundle are in its
// own image or in the scratch file.
type Request struct {
	Limits Limits `json:"limits"`

	// Image of a file-based catalog. The first answer is its Resolved, as for a bundle's image; the others follow only
	// if the Verdict allows it.
	Image string `json:"image,omitempty"`

	// Address of a registry that is read by gRPC.
	Address string `json:"address,omitempty"`

	// Plaintext is true if the registry may be connected to without TLS. For the registry of an image, that is only
	// tried if TLS fails.
	Plaintext bool `json:"plaintext,omitempty"`

	// Files are the keys of a ConfigMap and their content.
	Files map[string][]byte `json:"files,omitempty"`

	// Bundle is the bundle to read; nil to read the catalog.
	Bundle *BundleRequest `json:"bundle,omitempty"`

	// PullSecrets are the usable pull secrets of the CatalogSource, and PullSecretProblems explains why others are not
	// usable.
	PullSecrets        []PullSecret `json:"pullSecrets,omitempty"`
	PullSecretProblems []string     `json:"pullSecretProblems,omitempty"`

	// RequireDigests rejects images that are referred to by tag.
	RequireDigests bool `json:"requireDigests,omitempty"`

	// Signatures is true if the answer must include the signatures of the image.
	Signatures bool `json:"signatures,omitempty"`
}

// BundleRequest requests the objects of a bundle.
type BundleRequest struct {
	Package string `json:"package"`
	Name    string `json:"name"`

	// Channel is a channel of the bundle; only set for gRPC registries.
	Channel string `json:"channel,omitempty"`

	// Image contains the objects if the catalog does not.
	Image string `json:"image,omitempty"`

	// Inlined is true if the catalog contains the objects.
	Inlined bool `json:"inlined,omitempty"`

	// Kept is the size in bytes of the stored copy of the bundle in the scratch file, or 0.
	Kept int64 `json:"kept,omitempty"`
}

// PullSecret is a Secret with credentials for registries, in the form of docker's config.json.
type PullSecret struct {
	// Name is the Secret's namespace and name.
	Name   string `json:"name"`
	Config string `json:"config"`
}

// A Verdict decides whether an image is read, once its digest is known.
type Verdict struct {
	Read bool `json:"read"`
}

// An Answer is one of several answers to a Request. The last one is Done or a Failure. Exactly one field is set.
type Answer struct {
	// Resolved is the result of resolving the image's reference.
	Resolved *Resolved `json:"resolved,omitempty"`

	// Package of the catalog.
	Package *Package `json:"package,omitempty"`

	// Invalid is a package that cannot be used.
	Invalid *InvalidPackage `json:"invalid,omitempty"`

	// Kept is the location of a bundle with its objects.
	Kept *KeptBundle `json:"kept,omitempty"`

	// Object of the bundle, as JSON.
	Object json.RawMessage `json:"object,omitempty"`

	Failure *Failure `json:"failure,omitempty"`
	Done    bool     `json:"done,omitempty"`
}

// Resolved is the result of resolving an image's reference.
type Resolved struct {
	// Digest of the image, or of its index if it is for several platforms.
	Digest string `json:"digest"`

	// Signatures of the image, if they were requested.
	Signatures []Signature `json:"signatures,omitempty"`

	// SignedBy lists the authorities that signed the image. It is set after verification, never by the reader process.
	SignedBy string `json:"-"`
}

// Signature is a signature that a registry has for an image, not verified yet. Exactly one of its fields is set.
type Signature struct {
	// Simple is a signature in the format of cosign before version 3. Its payload is a "simple signing" document of
	// containers/image.
	Simple *SignedPayload `json:"simple,omitempty"`

	// DSSE is the envelope of a Sigstore bundle, which cosign writes since version 3. Its payload is an in-toto
	// statement.
	DSSE *SignedPayload `json:"dsse,omitempty"`
}

// SignedPayload is a payload and its signature.
type SignedPayload struct {
	// Type of the payload. An envelope's signature covers it; otherwise it is empty.
	Type string `json:"type,omitempty"`

	Payload   []byte `json:"payload"`
	Signature []byte `json:"signature"`
}

// InvalidPackage is a package that cannot be used, and why.
type InvalidPackage struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// KeptBundle is the location of a bundle with its objects in the scratch file.
type KeptBundle struct {
	Package string `json:"package"`
	Name    string `json:"name"`
	Offset  int64  `json:"offset"`
	Size    int64  `json:"size"`
}

// Failure is the reason why a Request failed.
type Failure struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
}

// Answers yields the answers that describe the content, without Done.
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

// NewContent returns a Content without packages.
func NewContent() *Content {
	return &Content{Packages: map[string]*Package{}, Invalid: map[string]string{}}
}

// Add adds the package or invalid package of an answer.
func (c *Content) Add(a Answer) {
	switch {
	case a.Package != nil:
		c.Packages[a.Package.Name] = a.Package
	case a.Invalid != nil:
		c.Invalid[a.Invalid.Name] = a.Invalid.Message
	}
}

// packageJSON is the JSON form of a Package. It contains each bundle once, even if it is in several channels.
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
	Bundle    int      `json:"bundle"` // index in Bundles
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
