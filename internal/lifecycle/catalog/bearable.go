package catalog

import (
	"bytes"
	"sync"

	yamlv2 "go.yaml.in/yaml/v2"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// A parser can need a hundred times the memory of what it parses, where that is nothing but short values, and any amount
// where a long one is repeated by aliases. So documents are looked at before they are parsed.
const (
	// largestDocument is how many bytes one document of a catalog or a bundle may have: a bundle with its objects inlined,
	// and what is said of it.
	largestDocument = 10 << 20

	// mostValues is about how many values it may have. The largest CustomResourceDefinition that fits into a cluster has
	// half of that.
	mostValues = 300_000
)

// bearable says why a document in YAML or JSON is too much to be parsed.
func bearable(document []byte) error {
	switch {
	case len(document) > largestDocument:
		return failure(v1alpha1.ReasonTooLarge, "a document in it is larger than the limit of %s", size(largestDocument))
	case values(document) > mostValues:
		return failure(v1alpha1.ReasonTooLarge, "a document in it has more values than the limit of %d", mostValues)
	case bytes.IndexByte(document, '*') < 0 || bytes.IndexByte(document, '&') < 0:
		return nil
	}
	var content any
	if err := yamlv2.Unmarshal(document, &content); err != nil {
		return nil //nolint:nilerr // whoever parses it has better words for that
	}
	if left := largestDocument; !spell(content, &left) {
		return failure(v1alpha1.ReasonTooLarge, "a document in it is larger than the limit of %s once its aliases are written out", size(largestDocument))
	}
	return nil
}

// values is about how many values a document has, and not fewer: each needs a line, a comma, a bracket or an indicator of
// its own.
func values(document []byte) int {
	n := 0
	for i, c := range document {
		switch c {
		case '\n', '\r', ',', '[', '{', 0x85, 0xa8, 0xa9: // the last three end what YAML takes for line breaks besides
			n++
		case ':', '-', '?':
			if i+1 < len(document) && (document[i+1] == ' ' || document[i+1] == '\t') {
				n++
			}
		}
	}
	return n
}

// spell counts the bytes of a value that is written out, and says whether there were as many left.
func spell(value any, left *int) bool {
	*left -= 2 // brackets, or a comma and a quote
	switch value := value.(type) {
	case string:
		*left -= len(value)
	case []any:
		for _, v := range value {
			if !spell(v, left) {
				return false
			}
		}
	case map[any]any:
		for k, v := range value {
			if !spell(k, left) || !spell(v, left) {
				return false
			}
		}
	}
	return *left >= 0
}

// turn is whose turn it is to parse a heavy document: so that several catalogs at once take no more memory than one.
var turn sync.Mutex

// takeTurn waits until a document may be parsed. Call done when it has been.
func takeTurn(document []byte) (done func()) {
	const light, fewValues = 1 << 20, 20_000
	if len(document) < light && values(document) < fewValues {
		return func() {}
	}
	turn.Lock()
	return turn.Unlock
}
