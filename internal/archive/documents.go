package archive

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// readManifests adds the objects of a file up to the first document that cannot be read.
func (a *Archive) readManifests(name string, text []byte) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		objects, err := nextObjects(documents)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			a.skip(name, err, a.kindsIn(text)...)
			return
		}
		for _, o := range objects {
			a.add(name, o, schema.GroupVersionKind{})
		}
	}
}

// nextObjects returns the objects of the next document. Its error is io.EOF after the last one.
func nextObjects(documents utilyaml.Reader) ([]json.RawMessage, error) {
	document, err := documents.Read()
	if err != nil {
		return nil, err
	}
	return objectsIn(document)
}

// objectsIn returns the objects of a document, in JSON. In YAML it has one, and in JSON any number, one after the other.
func objectsIn(document []byte) ([]json.RawMessage, error) {
	if out, ok := inJSON(document); ok {
		return out, nil
	}
	out, err := fromYAML(document)
	if err != nil {
		return nil, err
	}
	return []json.RawMessage{out}, nil
}

// inJSON returns the objects of a text in JSON. It reports false for any other text.
func inJSON(text []byte) ([]json.RawMessage, bool) {
	var out []json.RawMessage
	for objects := json.NewDecoder(bytes.NewReader(text)); ; {
		var o json.RawMessage
		err := objects.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out, true
		}
		if err != nil || !bytes.HasPrefix(o, []byte("{")) {
			return nil, false
		}
		out = append(out, o)
	}
}

// Of YAML: the anchor of a value, and an alias that repeats this value. Either may also be a part of a text.
var (
	anchor = regexp.MustCompile(`&[\w-]+`)
	alias  = regexp.MustCompile(`\*[\w-]`)
)

// fromYAML converts a document in YAML to JSON. It refuses aliases, of which a few bytes stand for very many.
func fromYAML(document []byte) ([]byte, error) {
	if !utf8.Valid(document) {
		return nil, errors.New("it is not in UTF-8")
	}
	if anchor.Match(document) && alias.Match(document) {
		// The parser does not report aliases, but it refuses them without an anchor: no alias has the anchors' new names.
		suffix := rand.Text()[:8]
		if _, err := yaml.YAMLToJSON(anchor.ReplaceAll(document, []byte("${0}"+suffix))); err != nil {
			return nil, fmt.Errorf("it is not YAML without aliases, which Kubernetes does not write: %w", err)
		}
	}
	return yaml.YAMLToJSON(document)
}
