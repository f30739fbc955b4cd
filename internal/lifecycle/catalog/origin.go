package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"
)

// origin is where the content of a CatalogSource comes from.
type origin interface {
	// read reads the content, unless it is known already: then it returns known. It may return what it had before
	// together with the reason why it cannot be read now.
	read(ctx context.Context, known *reading) (*reading, error)

	// await returns when the content may have changed, or ctx is done.
	await(ctx context.Context)

	// close ends what the origin holds open. Readings stay in use.
	close()
}

// reading is what was read from an origin at one moment.
type reading struct {
	content *Content

	// from names what was read, as in "sha256:…".
	from string

	// configMap is the one that was read, where it was one.
	configMap *olm.ConfigMapResourceReference

	// texts gives the objects of a bundle as the origin has them; nil where they are in the bundle's image.
	texts func(ctx context.Context, b *Bundle) ([]text, error)

	// puller is for bundle images.
	puller puller

	// accepted is called when the reading becomes the one in use, and done when it no longer is. Both may be nil.
	accepted func() error
	done     func()
}

func (r *reading) release() {
	if r != nil && r.done != nil {
		r.done()
	}
}

// quiet is for origins that never tell of a change.
type quiet struct{}

func (quiet) await(ctx context.Context) { <-ctx.Done() }
func (quiet) close()                    {}

// inlinedTexts finds a bundle in a file-based catalog, and what is inlined there of its objects.
func inlinedTexts(r io.Reader, b *Bundle) (texts []text, found bool, err error) {
	checked := newChecked(r)
	defer func() { checked.done() }()
	err = declcfg.WalkMetasReader(checked, func(meta *declcfg.Meta, err error) error {
		if err != nil || found || meta.Schema != declcfg.SchemaBundle || meta.Package != b.Package || meta.Name != b.Name {
			return err
		}
		found = true
		texts, err = objectsOf(meta.Blob)
		return err
	})
	return texts, found, err
}

func objectsOf(blob []byte) ([]text, error) {
	var bundle declcfg.Bundle
	if err := json.Unmarshal(blob, &bundle); err != nil {
		return nil, err
	}
	var out []text
	for _, p := range bundle.Properties {
		if p.Type != property.TypeBundleObject {
			continue
		}
		var object property.BundleObject
		if err := json.Unmarshal(p.Value, &object); err != nil {
			return nil, fmt.Errorf("reading an %s: %w", property.TypeBundleObject, err)
		}
		out = append(out, text{name: property.TypeBundleObject + " " + strconv.Itoa(len(out)+1), data: object.Data})
	}
	return out, nil
}
