package reader

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

// inlinedTexts finds a bundle in a file-based catalog, and returns its inlined objects.
func inlinedTexts(r io.Reader, b *catalog.BundleRequest) (texts []text, found bool, err error) {
	err = declcfg.WalkMetasReader(r, func(meta *declcfg.Meta, err error) error {
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
