package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CheckCRD returns why a CustomResourceDefinition must not replace the existing one, or the empty string if it may. Every
// version in status.storedVersions must stay, and every existing custom resource must be valid against the new schemas.
// Custom resources are listed with the permissions of c. The answer names the first that would not be, if named allows
// it, and the field, but never its value: a reader of the answer may not be allowed to read the custom resource.
func CheckCRD(ctx context.Context, c client.Reader, object *unstructured.Unstructured, named func(types.NamespacedName) bool) (string, error) {
	actual := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, types.NamespacedName{Name: object.GetName()}, actual); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	desired := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, desired); err != nil {
		return fmt.Sprintf("it is not a valid CustomResourceDefinition: %v", err), nil
	}
	for _, stored := range actual.Status.StoredVersions {
		if !slices.ContainsFunc(desired.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored }) {
			return fmt.Sprintf("it has no version %s, in which custom resources are stored (status.storedVersions)", stored), nil
		}
	}
	return invalidated(ctx, c, actual, desired, named)
}

// invalidated describes the first custom resource that the new schemas would make invalid.
func invalidated(ctx context.Context, c client.Reader, actual, desired *apiextensionsv1.CustomResourceDefinition,
	named func(types.NamespacedName) bool) (string, error) {
	for _, before := range actual.Spec.Versions {
		i := slices.IndexFunc(desired.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == before.Name })
		if i < 0 || !before.Served || sameSchema(before, desired.Spec.Versions[i]) {
			continue
		}
		validate, err := validator(desired.Spec.Versions[i])
		if err != nil {
			return fmt.Sprintf("the schema of version %s is invalid: %v", before.Name, err), nil
		}
		kind := schema.GroupVersionKind{Group: actual.Spec.Group, Version: before.Name, Kind: actual.Spec.Names.Kind}
		invalid, why, err := firstInvalid(ctx, c, kind, validate)
		switch {
		case err != nil:
			return "", err
		case why != "" && named(invalid):
			return fmt.Sprintf("%s %s would be invalid: %s", kind.Kind, strings.TrimPrefix(invalid.String(), "/"), why), nil
		case why != "":
			return fmt.Sprintf("an existing %s would be invalid: %s", kind.Kind, why), nil
		}
	}
	return "", nil
}

func sameSchema(a, b apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return equality.Semantic.DeepEqual(a.Schema, b.Schema)
}

func validator(v apiextensionsv1.CustomResourceDefinitionVersion) (validation.SchemaValidator, error) {
	if v.Schema == nil {
		return nil, nil
	}
	internal := &apiextensions.CustomResourceValidation{}
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, internal, nil); err != nil {
		return nil, err
	}
	out, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	return out, err
}

// firstInvalid returns the first custom resource that is invalid, and why.
func firstInvalid(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, validate validation.SchemaValidator) (
	types.NamespacedName, string, error) {
	if validate == nil {
		return types.NamespacedName{}, "", nil
	}
	for next := ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := c.List(ctx, list, client.Limit(pageSize), client.Continue(next))
		if apierrors.IsNotFound(err) {
			return types.NamespacedName{}, "", nil // not served yet, so no custom resource exists
		} else if err != nil {
			return types.NamespacedName{}, "", fmt.Errorf("listing the %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			if errs := validation.ValidateCustomResource(nil, list.Items[i].Object, validate); len(errs) > 0 {
				return client.ObjectKeyFromObject(&list.Items[i]), withoutValue(errs[0]), nil
			}
		}
		if next = list.GetContinue(); next == "" {
			return types.NamespacedName{}, "", nil
		}
	}
}

// withoutValue describes the error of a field without quoting its value.
func withoutValue(e *field.Error) string {
	out := fmt.Sprintf("%s: %s", e.Field, e.Type)
	if value := fmt.Sprint(e.BadValue); e.Detail != "" && (value == "" || !strings.Contains(e.Detail, value)) {
		out += ": " + e.Detail
	}
	return out
}

// Definitions holds the CustomResourceDefinitions of a plan by the kind that they define.
type Definitions map[schema.GroupKind]*apiextensionsv1.CustomResourceDefinition

// NewDefinitions returns the CustomResourceDefinitions among the objects of a plan. Objects that do not decode are
// skipped, since the API server rejects them anyway.
func NewDefinitions(objects []*unstructured.Unstructured) Definitions {
	out := Definitions{}
	for _, o := range objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err == nil {
			out[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = crd
		}
	}
	return out
}

// Named returns the CustomResourceDefinition with that name, or nil.
func (d Definitions) Named(name string) *apiextensionsv1.CustomResourceDefinition {
	for _, crd := range d {
		if crd.Name == name {
			return crd
		}
	}
	return nil
}

// Validate returns why a custom resource is invalid against the schema of its definition, or the empty string if it is
// valid. Use it before the API server serves the definition. ok is false if none of the definitions defines its kind.
func (d Definitions) Validate(o *unstructured.Unstructured) (why string, ok bool) {
	kind := o.GroupVersionKind()
	crd := d[kind.GroupKind()]
	if crd == nil {
		return "", false
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == kind.Version && v.Served
	})
	if i < 0 {
		return fmt.Sprintf("CustomResourceDefinition %s does not serve version %s", crd.Name, kind.Version), true
	}
	validate, err := validator(crd.Spec.Versions[i])
	if err != nil {
		return fmt.Sprintf("the schema of CustomResourceDefinition %s is invalid: %v", crd.Name, err), true
	}
	if validate == nil {
		return "", true
	}
	if errs := validation.ValidateCustomResource(nil, o.Object, validate); len(errs) > 0 {
		return errs.ToAggregate().Error(), true
	}
	return "", true
}

// Namespaced reports whether a kind is namespaced. ok is false if none of the definitions defines it.
func (d Definitions) Namespaced(kind schema.GroupKind) (namespaced, ok bool) {
	crd := d[kind]
	if crd == nil {
		return false, false
	}
	return crd.Spec.Scope == apiextensionsv1.NamespaceScoped, true
}

// pageSize is how many custom resources are listed per request, which bounds memory.
const pageSize = 200
