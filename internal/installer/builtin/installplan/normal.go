package installplan

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// normal returns an object in the form that the Go type of its kind defines, if the scheme has one. Unknown fields are
// dropped: bundle authors write them, and server-side apply rejects them. Required fields that are missing are added
// with empty values. OLM does the same by decoding into Go types, which also ignores the case of field names:
// MinKubeVersion counts.
func normal(scheme *runtime.Scheme, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	gvk := o.GroupVersionKind()
	if !scheme.Recognizes(gvk) {
		return o, nil
	}
	typed, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err := decode(raw, typed); err != nil {
		return nil, fmt.Errorf("%s %s does not match the schema of its kind: %w", o.GetKind(), o.GetName(), err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
	}
	withoutNulls(fields)
	out := &unstructured.Unstructured{Object: fields}
	out.SetGroupVersionKind(gvk)
	return out, nil
}

// decode decodes an object, and converts a panic in the code of its type to an error: that of a CatalogSource panics for an
// empty updateStrategy.
func decode(raw []byte, into runtime.Object) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding panicked: %v", r)
		}
	}()
	return json.Unmarshal(raw, into)
}

// withoutNulls removes fields that are null.
func withoutNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			if field == nil {
				delete(value, name)
			} else {
				withoutNulls(field)
			}
		}
	case []any:
		for _, item := range value {
			withoutNulls(item)
		}
	}
}
