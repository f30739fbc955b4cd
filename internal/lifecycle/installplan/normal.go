package installplan

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// normal is an object as its kind defines it, where the scheme knows that: without fields that there are none of, which
// authors write and which an apply would be refused for, and with those that are required, if empty. OLM does the same
// by reading what it installs into Go types, which takes a field's name whatever its case: MinKubeVersion counts.
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
	if err := json.Unmarshal(raw, typed); err != nil {
		return nil, fmt.Errorf("%s %s is not as its kind is defined: %w", o.GetKind(), o.GetName(), err)
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

// withoutNulls removes fields that say nothing.
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
