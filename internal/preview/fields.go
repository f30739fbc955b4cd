package preview

import (
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// Field is the path of a field in the schema of custom resources. Elements of lists and values of maps have the name anyElement.
type Field []string

const anyElement = "[]"

// String returns for example spec.containers[].image.
func (f Field) String() string {
	return strings.ReplaceAll(strings.Join(f, "."), "."+anyElement, anyElement)
}

// In reports whether a custom resource has the field.
func (f Field) In(object any) bool {
	if len(f) == 0 {
		return object != nil
	}
	has := func(element any) bool { return f[1:].In(element) }
	switch o := object.(type) {
	case map[string]any:
		if f[0] != anyElement {
			return has(o[f[0]])
		}
		return slices.ContainsFunc(slices.Collect(maps.Values(o)), has)
	case []any:
		return f[0] == anyElement && slices.ContainsFunc(o, has)
	}
	return false
}

// Dropped returns the fields that one schema has and another prunes, without those inside them, those of every object, and those of the
// status, which operators write anew.
func Dropped(before, after *apiextensionsv1.JSONSchemaProps) []Field {
	return slices.DeleteFunc(dropped(nil, before, after), func(f Field) bool { return slices.Contains(kept, f[0]) })
}

var kept = []string{"apiVersion", "kind", "metadata", "status"}

func dropped(at Field, before, after *apiextensionsv1.JSONSchemaProps) []Field {
	if before == nil || after == nil || ptr.Deref(after.XPreserveUnknownFields, false) || after.XEmbeddedResource {
		return nil
	}
	var out []Field
	inside := func(name string, before, after *apiextensionsv1.JSONSchemaProps) {
		path := append(slices.Clone(at), name)
		switch {
		case before == nil:
		case after == nil:
			out = append(out, path)
		default:
			out = append(out, dropped(path, before, after)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		p := before.Properties[name]
		inside(name, &p, property(after, name))
	}
	inside(anyElement, items(before), items(after))
	return out
}

// property returns the schema of a property, or nil if it is pruned.
func property(s *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	if s.AdditionalProperties != nil {
		return valuesOf(s)
	}
	return nil
}

// items returns the schema of the elements of a list or the values of a map, or nil.
func items(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if s.Items != nil {
		return s.Items.Schema
	}
	return valuesOf(s)
}

// valuesOf returns the schema of the values of a map. One without schema keeps all.
func valuesOf(s *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	switch a := s.AdditionalProperties; {
	case a == nil:
		return nil
	case a.Schema != nil:
		return a.Schema
	default:
		return &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}
	}
}
