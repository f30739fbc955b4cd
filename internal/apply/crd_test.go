package apply

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// version returns a version of the definition of Foos whose spec.size must be at least least.
func version(name string, least float64) apiextensions.CustomResourceDefinitionVersion {
	return apiextensions.CustomResourceDefinitionVersion{
		Name: name, Served: true,
		Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
			Type: "object",
			Properties: map[string]apiextensions.JSONSchemaProps{"spec": {
				Type:       "object",
				Properties: map[string]apiextensions.JSONSchemaProps{"size": {Type: "integer", Minimum: &least}},
			}},
		}},
	}
}

func unserved(v apiextensions.CustomResourceDefinitionVersion) apiextensions.CustomResourceDefinitionVersion {
	v.Served = false
	return v
}

func without(v apiextensions.CustomResourceDefinitionVersion) apiextensions.CustomResourceDefinitionVersion {
	v.Schema = nil
	return v
}

func described(v apiextensions.CustomResourceDefinitionVersion) apiextensions.CustomResourceDefinitionVersion {
	v.Schema = v.Schema.DeepCopy()
	v.Schema.OpenAPIV3Schema.Description = "Foo is better described"
	return v
}

func foos(versions ...apiextensions.CustomResourceDefinitionVersion) *apiextensions.CustomResourceDefinition {
	return &apiextensions.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "foos.example.com"},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensions.NamespaceScoped,
			Names:    apiextensions.CustomResourceDefinitionNames{Kind: "Foo", ListKind: "FooList", Plural: "foos"},
			Versions: versions,
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
}

func foo(namespace, name string, size int64) *unstructured.Unstructured {
	out := object(`{"apiVersion":"example.com/v1","kind":"Foo","spec":{}}`)
	out.SetNamespace(namespace)
	out.SetName(name)
	_ = unstructured.SetNestedField(out.Object, size, "spec", "size")
	return out
}

func inJSON(t *testing.T, crd *apiextensions.CustomResourceDefinition) *unstructured.Unstructured {
	t.Helper()
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: out}
}

func TestCheckCRD(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "foos"}, "")
	away := errors.New("away")
	cases := map[string]struct {
		reason  string
		actual  *apiextensions.CustomResourceDefinition // nil if it does not exist
		there   []client.Object
		desired *apiextensions.CustomResourceDefinition
		listing error
		want    string
		lists   int // how often custom resources are listed
		fails   error
	}{
		"New": {reason: "A new CRD invalidates no custom resource.", desired: foos(version("v1", 5))},
		"Same": {reason: "Custom resources are not listed if the schema does not change, since there may be very many.",
			actual: foos(version("v1", 5)), there: []client.Object{foo("default", "small", 1)}, desired: foos(version("v1", 5))},
		"Wider": {reason: "A wider schema is accepted if all custom resources stay valid.",
			actual: foos(version("v1", 2)), there: []client.Object{foo("default", "small", 2)}, desired: foos(version("v1", 1)), lists: 1},
		"Narrower": {reason: "The message contains the custom resource that would be invalid, and the validation error.",
			actual: foos(version("v1", 1)), there: []client.Object{foo("default", "large", 9), foo("default", "small", 1)}, desired: foos(version("v1", 2)), lists: 1,
			want: `Foo default/small would be invalid: spec.size: Invalid value: spec.size in body should be greater than or equal to 2`},
		"NarrowerThanAny": {reason: "A narrower schema is accepted if no custom resource exists.",
			actual: foos(version("v1", 1)), desired: foos(version("v1", 2)), lists: 1},
		"NarrowerInAnyNamespace": {reason: "Custom resources of all namespaces are validated.",
			actual: foos(version("v1", 1)), there: []client.Object{foo("elsewhere", "small", 1)}, desired: foos(version("v1", 2)), lists: 1,
			want: `Foo elsewhere/small would be invalid: spec.size: Invalid value: spec.size in body should be greater than or equal to 2`},
		"Described": {reason: "A change of a description is accepted.",
			actual: foos(version("v1", 1)), there: []client.Object{foo("default", "small", 1)}, desired: foos(described(version("v1", 1))), lists: 1},
		"StoredVersionDropped": {reason: "A CRD without a stored version is refused, since its custom resources could no longer be read.",
			actual: foos(version("v1", 1)), desired: foos(version("v2", 1)),
			want: "it has no version v1, in which custom resources are stored (status.storedVersions)"},
		"StoredVersionUnserved": {reason: "A stored version may become unserved, since its custom resources can still be read.",
			actual: foos(version("v1", 1)), desired: foos(unserved(version("v1", 1)), version("v2", 1))},
		"OtherVersionDropped": {reason: "A version may be removed if no custom resource is stored in it.",
			actual: foos(version("v1", 1), version("v1beta1", 1)), desired: foos(version("v1", 1))},
		"NewVersion": {reason: "The schema of a new version is not checked, since no custom resource is stored in it.",
			actual: foos(version("v1", 1)), there: []client.Object{foo("default", "small", 1)}, desired: foos(version("v1", 1), version("v2", 9))},
		"UnservedVersion": {reason: "The schema of a version that is not served is not checked, since its custom resources cannot be listed.",
			actual: foos(version("v1", 1), unserved(version("v2", 1))), there: []client.Object{foo("default", "small", 1)},
			desired: foos(version("v1", 1), version("v2", 9))},
		"SchemaTakenAway": {reason: "The removal of a schema is accepted, since every custom resource is valid without one.",
			actual: foos(version("v1", 1)), there: []client.Object{foo("default", "small", 1)}, desired: foos(without(version("v1", 1)))},
		"SchemaAdded": {reason: "A first schema is checked against the custom resources.",
			actual: foos(without(version("v1", 1))), there: []client.Object{foo("default", "small", 1)}, desired: foos(version("v1", 2)), lists: 1,
			want: `Foo default/small would be invalid: spec.size: Invalid value: spec.size in body should be greater than or equal to 2`},
		"NotServedYet": {reason: "A CRD whose kind is not served yet is accepted, since it has no custom resources.",
			actual: foos(version("v1", 1)), desired: foos(version("v1", 2)), listing: gone, lists: 1},
		"CannotList": {reason: "An error to list the custom resources is returned, and the CRD is not applied.",
			actual: foos(version("v1", 1)), desired: foos(version("v1", 2)), listing: away, lists: 1, fails: away},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			lists := 0
			there := tc.there
			if tc.actual != nil {
				there = append(there, tc.actual)
			}
			c := cluster(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				lists++
				if tc.listing != nil {
					return tc.listing
				}
				return c.List(ctx, list, options...)
			}}, there...)
			got, err := CheckCRD(t.Context(), c, inJSON(t, tc.desired), all)
			if !errors.Is(err, tc.fails) || (err != nil) != (tc.fails != nil) {
				t.Fatalf("%s\nerror %v; want %v", tc.reason, err, tc.fails)
			}
			if got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", tc.reason, got, tc.want)
			}
			if lists != tc.lists {
				t.Errorf("%s\nlisted %d times; want %d", tc.reason, lists, tc.lists)
			}
		})
	}
}

// TestCheckCRDPages verifies that custom resources are listed page by page, to the last page.
func TestCheckCRDPages(t *testing.T) {
	pages := 0
	c := cluster(t, interceptor.Funcs{List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		in := (&client.ListOptions{}).ApplyOptions(options)
		if in.Limit != pageSize || in.Continue != []string{"", "a", "b"}[pages] {
			t.Errorf("page %d: limit %d, continue %q", pages, in.Limit, in.Continue)
		}
		out := list.(*unstructured.UnstructuredList)
		out.Items = []unstructured.Unstructured{*foo("default", "large", 9)}
		if pages == 2 {
			out.Items = []unstructured.Unstructured{*foo("default", "small", 1)}
		}
		out.SetContinue([]string{"a", "b", ""}[pages])
		pages++
		return nil
	}}, foos(version("v1", 1)))
	got, err := CheckCRD(t.Context(), c, inJSON(t, foos(version("v1", 2))), all)
	if err != nil || !strings.HasPrefix(got, "Foo default/small would be invalid") || pages != 3 {
		t.Errorf("%q, %v after %d pages; want the one on the last of 3", got, err, pages)
	}
}

// TestCheckCRDGarbage verifies that an object that is not a CustomResourceDefinition is reported, not retried.
func TestCheckCRDGarbage(t *testing.T) {
	bad := object(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foos.example.com"}}`)
	bad.Object["spec"] = "none"
	got, err := CheckCRD(t.Context(), cluster(t, interceptor.Funcs{}, foos(version("v1", 1))), bad, all)
	if err != nil || !strings.HasPrefix(got, "it is not a valid CustomResourceDefinition: ") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestDefinitions(t *testing.T) {
	wide := foos(version("v1", 1))
	wide.Name, wide.Spec.Group, wide.Spec.Scope = "foos.wide.com", "wide.com", apiextensions.ClusterScoped
	d := NewDefinitions([]*unstructured.Unstructured{object(`{"apiVersion":"v1","kind":"ConfigMap"}`),
		inJSON(t, foos(version("v1", 2), unserved(version("v0", 1)))), inJSON(t, wide)})
	for name, tc := range map[string]struct {
		reason string
		object string
		why    string // part of it
		ok     bool
	}{
		"Valid":    {"An object that satisfies the schema is valid.", `{"apiVersion":"example.com/v1","kind":"Foo","spec":{"size":2}}`, "", true},
		"Invalid":  {"An object that violates the schema is invalid.", `{"apiVersion":"example.com/v1","kind":"Foo","spec":{"size":1}}`, "spec.size", true},
		"Unserved": {"An object of a version that is not served is invalid.", `{"apiVersion":"example.com/v0","kind":"Foo"}`, "does not serve version v0", true},
		"Other":    {"The kind of an object without a definition is unknown.", `{"apiVersion":"example.com/v1","kind":"Bar"}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			why, ok := d.Validate(object(tc.object))
			if !strings.Contains(why, tc.why) || (why == "") != (tc.why == "") || ok != tc.ok {
				t.Errorf("%s\ngot %q, %t", tc.reason, why, ok)
			}
		})
	}
	for kind, want := range map[schema.GroupKind][2]bool{
		{Group: "example.com", Kind: "Foo"}: {true, true}, {Group: "wide.com", Kind: "Foo"}: {false, true}, {Kind: "Foo"}: {false, false},
	} {
		if namespaced, ok := d.Namespaced(kind); [2]bool{namespaced, ok} != want {
			t.Errorf("%s: namespaced %t, known %t", kind, namespaced, ok)
		}
	}
}

// all names all custom resources.
func all(types.NamespacedName) bool { return true }

// TestCheckCRDReveals verifies that the answer never quotes the value of a field, and names only permitted objects.
func TestCheckCRDReveals(t *testing.T) {
	const secret = "hunter2"
	schemas := map[string]string{
		"Enum":    `{"type": "string", "enum": ["x"]}`,
		"Pattern": `{"type": "string", "pattern": "^x$"}`,
		"Length":  `{"type": "string", "maxLength": 2}`,
		"Format":  `{"type": "string", "format": "date"}`,
		"Type":    `{"type": "integer"}`,
		"Object":  `{"type": "object", "required": ["x"]}`,
	}
	for name, schema := range schemas {
		t.Run(name, func(t *testing.T) {
			versioned := func(schema string) *apiextensions.CustomResourceDefinition {
				v := version("v1", 1)
				password := apiextensions.JSONSchemaProps{}
				if err := json.Unmarshal([]byte(schema), &password); err != nil {
					t.Fatal(err)
				}
				spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
				spec.Properties["password"] = password
				return foos(v)
			}
			resource := foo("victim", "prod", 1)
			if err := unstructured.SetNestedField(resource.Object, secret, "spec", "password"); err != nil {
				t.Fatal(err)
			}
			c := cluster(t, interceptor.Funcs{}, versioned(`{"type": "string"}`), resource)
			got, err := CheckCRD(t.Context(), c, inJSON(t, versioned(schema)), func(o types.NamespacedName) bool { return o.Namespace == "default" })
			if err != nil || !strings.HasPrefix(got, "an existing Foo would be invalid: spec.password: ") {
				t.Errorf("%q, %v", got, err)
			}
			for _, word := range []string{secret, "prod", "victim"} {
				if strings.Contains(got, word) {
					t.Errorf("%q reveals %s", got, word)
				}
			}
		})
	}
}
