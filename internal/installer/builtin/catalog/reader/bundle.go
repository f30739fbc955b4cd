package reader

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/messages"
)

// Labels of a bundle image. The same keys are annotations in its metadata/annotations.yaml.
const (
	labelBundleMediaType = "operators.operatorframework.io.bundle.mediatype.v1"
	labelBundleManifests = "operators.operatorframework.io.bundle.manifests.v1"

	mediaTypeRegistryV1 = "registry+v1"
	defaultManifests    = "manifests/"
	annotationsFile     = "metadata/annotations.yaml"
)

// text is a file of a bundle, or an object that is inlined in a catalog.
type text struct {
	name string
	data []byte
}

// decodeBundle decodes the objects of a bundle.
func decodeBundle(texts []text, limits catalog.Limits) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	var total int64
	for _, t := range texts {
		if total += int64(len(t.data)); total > limits.Bundle {
			return nil, catalog.Errorf(v1alpha1.ReasonTooLarge, "its objects are larger than the limit of %s", messages.Size(limits.Bundle))
		}
		objects, err := decodeObjects(t)
		if err != nil {
			return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "%w", err)
		}
		out = append(out, objects...)
	}
	return out, nil
}

// decodeObjects decodes the objects of a YAML or JSON text.
func decodeObjects(t text) ([]*unstructured.Unstructured, error) {
	documents, err := split(t.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	var out []*unstructured.Unstructured
	for _, d := range documents {
		o, err := decodeObject(t.name, d)
		if err != nil {
			return nil, err
		}
		if o != nil {
			out = append(out, o)
		}
	}
	return out, nil
}

// decodeObject decodes an object. It returns nil for a document of only comments.
func decodeObject(file string, d document) (*unstructured.Unstructured, error) {
	json, err := yaml.YAMLToJSON(d.data)
	if err != nil {
		return nil, fmt.Errorf("%s is not YAML: %w", file, inLine(err, d.line))
	}
	var content any
	if err := utiljson.Unmarshal(json, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if content == nil {
		return nil, nil
	}
	fields, ok := content.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s contains no object at line %d", file, d.line)
	}
	o := &unstructured.Unstructured{Object: fields}
	if o.GetAPIVersion() == "" {
		o.SetAPIVersion(assumed[o.GetKind()])
	}
	switch {
	case o.GetKind() == "" || o.GetAPIVersion() == "":
		return nil, fmt.Errorf("%s: the object at line %d has no kind or apiVersion", file, d.line)
	case o.GetName() == "":
		return nil, fmt.Errorf("%s: the %s at line %d has no name", file, o.GetKind(), d.line)
	}
	return o, nil
}

// assumed is the apiVersion, by kind, of objects without one. OLM decodes these kinds into Go types and ignores
// apiVersion, and published bundles rely on that.
var assumed = map[string]string{
	"ConfigMap": "v1", "Secret": "v1", "Service": "v1", "ServiceAccount": "v1",
	"ClusterRole": rbacv1, "ClusterRoleBinding": rbacv1, "Role": rbacv1, "RoleBinding": rbacv1,
}

const rbacv1 = "rbac.authorization.k8s.io/v1"

// document is a document of a YAML text.
type document struct {
	line int // the first line, counted from 1
	data []byte
}

// split returns the documents of a YAML text that are not empty.
func split(data []byte) ([]document, error) {
	var out []document
	current := document{line: 1}
	lines := bufio.NewReader(bytes.NewReader(data))
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(bytes.TrimSpace(rest), []byte("#"))) {
			out = append(out, current)
			current = document{line: n + 1}
		} else {
			current.data = append(current.data, line...)
		}
		if errors.Is(err, io.EOF) {
			out = append(out, current)
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(out, func(d document) bool { return len(bytes.TrimSpace(d.data)) == 0 }), nil
}

var lineOfDocument = regexp.MustCompile(`line (\d+)`)

// inLine makes the line numbers in an error about a document refer to the whole text.
func inLine(err error, first int) error {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	return errors.New(lineOfDocument.ReplaceAllStringFunc(text, func(found string) string {
		n, err := strconv.Atoi(strings.TrimPrefix(found, "line "))
		if err != nil {
			return found
		}
		return fmt.Sprintf("line %d", n+first-1)
	}))
}

// bundleImage reads the manifests of a bundle image.
func (p puller) bundleImage(ctx context.Context, r *resolved) ([]text, error) {
	image := r.image
	content, config, err := p.open(r)
	if err != nil {
		return nil, err
	}
	files, err := p.bundleFiles(ctx, image, content)
	if err != nil {
		return nil, err
	}
	labels, err := bundleLabels(image, config.Config.Labels, files)
	if err != nil {
		return nil, err
	}
	folder := cmp.Or(labels[labelBundleManifests], defaultManifests)
	var out []text
	for _, name := range slices.Sorted(maps.Keys(files)) {
		inside, ok := file{path: name}.below(folder)
		if !ok || !isManifest(inside) {
			continue
		}
		if files[name] == nil {
			return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle image %s: %s is a link, and links are not followed: replace it with the file", image, name)
		}
		out = append(out, text{name: name, data: files[name]})
	}
	if len(out) == 0 {
		return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "image %s has no manifests in its folder %s", image, folder)
	}
	return out, nil
}

// isManifest reports whether a path may be that of a manifest. Hidden files and other formats are ignored.
func isManifest(name string) bool {
	return !strings.HasPrefix(path.Base(name), ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// bundleFiles returns the regular files and links of a bundle image by path. The content of a link is nil.
func (p puller) bundleFiles(ctx context.Context, image string, content v1.Image) (map[string][]byte, error) {
	out := map[string][]byte{}
	u := unpacker{paths: p.limits.BundleFiles, bytes: p.limits.Bundle}
	u.take = func(f file, r io.Reader) (err error) {
		if f.isLink() {
			out[f.path] = nil // an error only if it is a manifest
			return nil
		}
		out[f.path], err = io.ReadAll(r)
		return err
	}
	err := u.unpack(ctx, content)
	if why, ok := errors.AsType[unfit](err); ok {
		return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle image %s: %w", image, why)
	}
	switch {
	case errors.Is(err, errTooMuch):
		return nil, catalog.Errorf(v1alpha1.ReasonTooLarge, "bundle image %s is larger than the limit of %s", image, messages.Size(p.limits.Bundle))
	case errors.Is(err, errTooMany):
		return nil, catalog.Errorf(v1alpha1.ReasonTooLarge, "bundle image %s has more files than the limit of %d", image, p.limits.BundleFiles)
	case err != nil:
		return nil, pullFailure(image, err)
	}
	return out, nil
}

// bundleLabels returns the labels and annotations of a bundle image; a label takes precedence. It returns an Error if
// the image is not a bundle of a supported media type.
func bundleLabels(image string, labels map[string]string, files map[string][]byte) (map[string]string, error) {
	var metadata struct {
		Annotations map[string]string `json:"annotations"`
	}
	if data, ok := files[annotationsFile]; ok {
		if err := yaml.Unmarshal(data, &metadata); err != nil {
			return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "bundle image %s: %s is not YAML: %w", image, annotationsFile, inLine(err, 1))
		}
	}
	out := maps.Clone(metadata.Annotations)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, labels)
	switch of := out[labelBundleMediaType]; of {
	case mediaTypeRegistryV1:
		return out, nil
	case "":
		return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "image %s is not a bundle: neither its labels nor %s have %s", image, annotationsFile,
			labelBundleMediaType)
	default:
		return nil, catalog.Errorf(v1alpha1.ReasonBundleInvalid, "image %s is a bundle of media type %s: only %s is supported", image, of, mediaTypeRegistryV1)
	}
}
