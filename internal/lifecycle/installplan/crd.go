package installplan

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// unsafe says why a CustomResourceDefinition must not replace the one that is there; empty where it may. A version in
// which custom resources are stored must stay, and each custom resource must be valid by the new schema.
func unsafe(ctx context.Context, c client.Reader, object *unstructured.Unstructured) (string, error) {
	actual := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(ctx, types.NamespacedName{Name: object.GetName()}, actual); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	desired := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, desired); err != nil {
		return fmt.Sprintf("it is no CustomResourceDefinition: %v", err), nil
	}
	for _, stored := range actual.Status.StoredVersions {
		if !slices.ContainsFunc(desired.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == stored }) {
			return fmt.Sprintf("it has no version %s, in which custom resources are stored (status.storedVersions)", stored), nil
		}
	}
	return invalidated(ctx, c, actual, desired)
}

// invalidated names the first custom resource that the new schemas would make invalid.
func invalidated(ctx context.Context, c client.Reader, actual, desired *apiextensionsv1.CustomResourceDefinition) (string, error) {
	for _, before := range actual.Spec.Versions {
		i := slices.IndexFunc(desired.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == before.Name })
		if i < 0 || !before.Served || sameSchema(before, desired.Spec.Versions[i]) {
			continue
		}
		validate, err := validator(desired.Spec.Versions[i])
		if err != nil {
			return fmt.Sprintf("the schema of version %s: %v", before.Name, err), nil
		}
		kind := schema.GroupVersionKind{Group: actual.Spec.Group, Version: before.Name, Kind: actual.Spec.Names.Kind}
		if why, err := firstInvalid(ctx, c, kind, validate); why != "" || err != nil {
			return why, err
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

func firstInvalid(ctx context.Context, c client.Reader, kind schema.GroupVersionKind, validate validation.SchemaValidator) (string, error) {
	if validate == nil {
		return "", nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for {
		err := c.List(ctx, list, client.Limit(pageSize), client.Continue(list.GetContinue()))
		if apierrors.IsNotFound(err) {
			return "", nil // it is not served yet, so there are none
		} else if err != nil {
			return "", fmt.Errorf("listing the %s: %w", kind.Kind, err)
		}
		for i := range list.Items {
			if errs := validation.ValidateCustomResource(nil, list.Items[i].Object, validate); len(errs) > 0 {
				return fmt.Sprintf("%s %s would be invalid: %s", kind.Kind, client.ObjectKeyFromObject(&list.Items[i]), errs[0]), nil
			}
		}
		if list.GetContinue() == "" {
			return "", nil
		}
	}
}

// pageSize is how many custom resources are held at once while they are checked.
const pageSize = 200

// scopeOf tells which kind a CustomResourceDefinition brings, and whether it is namespaced.
func scopeOf(crd *unstructured.Unstructured) (schema.GroupKind, bool) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	return schema.GroupKind{Group: group, Kind: kind}, scope == string(apiextensionsv1.NamespaceScoped)
}
