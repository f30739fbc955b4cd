package reader

import (
	"bytes"
	"maps"
	"slices"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
)

const reasonBundleInvalid = v1alpha1.ReasonBundleInvalid

// configMapContent reads a catalog in a ConfigMap: either file-based, with each key a file, or in the older format of
// OLM.
func configMapContent(files map[string][]byte, limits catalog.Limits) (*catalog.Content, error) {
	if isLegacy(files) {
		l, err := parseLegacy(files)
		if err != nil {
			return nil, err
		}
		return l.content(), nil
	}
	b := newBuilder(limits)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := b.readFile(name, bytes.NewReader(files[name])); err != nil {
			return nil, err
		}
	}
	return b.content()
}

// configMapTexts returns the objects of a bundle in a ConfigMap.
func configMapTexts(files map[string][]byte, b *catalog.BundleRequest) ([]text, error) {
	if isLegacy(files) {
		l, err := parseLegacy(files)
		if err != nil {
			return nil, catalog.Errorf(reasonBundleInvalid, "the ConfigMap: %w", err)
		}
		return l.texts(b)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		texts, found, err := inlinedTexts(bytes.NewReader(files[name]), b)
		if found && err != nil {
			return nil, catalog.Errorf(reasonBundleInvalid, "key %s of the ConfigMap: %w", name, err)
		}
		if found {
			return texts, nil
		}
	}
	return nil, notOffered(b)
}
