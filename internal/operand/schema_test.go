package operand

import (
	"context"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

const schemaCRD = `
spec:
  versions:
  - name: v1beta1
    served: true
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {old: {type: string}}}}}}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              port: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              labels: {type: object, additionalProperties: {type: string}}
          status:
            type: object
            properties:
              phase: {type: string, enum: [Running, Failed]}
              ready: {type: integer}
              nodes: {type: array, items: {type: object, properties: {state: {type: string}}}}
`

func TestMismatch(t *testing.T) {
	cases := map[string]struct {
		reason string
		term   string
		want   string
	}{
		"Field":      {"A field that exists can be compared.", `status.ready >= 3`, ""},
		"Metadata":   {"All objects have the same metadata.", `metadata.labels[a] == "b"`, ""},
		"Condition":  {"A condition needs a list of conditions.", `Ready`, "there is no field status.conditions"},
		"Reason":     {"So does its reason.", `Ready.reason == "b"`, "there is no field status.conditions"},
		"Settled":    {"An observed generation can be that of the status or of a condition.", `Settled`, "there is no field status.observedGeneration"},
		"Misspelt":   {"A field that does not exist is named.", `status.phse == "Running"`, "there is no field status.phse"},
		"Below":      {"A text has no fields.", `status.phase.name == "Running"`, "there is no field status.phase.name"},
		"NoStatus":   {"The version that is read counts.", `status.old == "Running"`, "there is no field status.old"},
		"Element":    {"Elements of a list have fields.", `status.nodes[0].state == "Up"`, ""},
		"NotInList":  {"The fields of elements are checked, too.", `status.nodes[0].stat == "Up"`, "there is no field status.nodes[0].stat"},
		"NoList":     {"An object has no elements.", `spec[0].port == 1`, "there is no field spec[0]"},
		"Member":     {"A map has any member.", `spec.labels[a.b/c] == "Up"`, ""},
		"Open":       {"A field of any type has any member.", `spec.free.a[0].b == "Up"`, ""},
		"IntOrText":  {"A field of two types can be compared.", `spec.port == "http"`, ""},
		"Object":     {"An object cannot be compared.", `status.nodes == "Up"`, "status.nodes is an array"},
		"Enum":       {"A value of an enumeration can be compared.", `status.phase in ("Running", "Failed")`, ""},
		"NotInEnum":  {"A value that the field never has is named.", `status.phase != "Ready"`, `the field is never "Ready", it is one of "Running", "Failed"`},
		"SomeInEnum": {"One value that the field can have is enough.", `status.phase in ("Ready", "Running")`, ""},
		"NoneInEnum": {"None is not.", `status.phase in ("Ready", "Up")`, `the field is never "Ready" or "Up", it is one of "Running", "Failed"`},
		"SecondPath": {"The second field is checked, too.", `status.ready < spec.size`, "there is no field spec.size"},
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(schemaCRD), crd); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := ""
			if tc.want != "" {
				want = "in version v1 " + tc.want
			}
			if got := mismatch(crd, tc.term); got != want {
				t.Errorf("%s\n%s: got %q, want %q", tc.reason, tc.term, got, want)
			}
		})
	}
}

// TestSchemasAsked verifies that a CustomResourceDefinition is read once for all condition types, and once for each comparison.
func TestSchemasAsked(t *testing.T) {
	crd := &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict([]byte(schemaCRD), crd); err != nil {
		t.Fatal(err)
	}
	crd.Name, crd.UID, crd.Generation = "foos.example.com", "a", 1
	scheme := runtime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	asked := 0
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(crd.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			asked++
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	schemas := NewSchemas(live)
	for range 3 {
		for _, term := range []string{"Ready", "Migrating", `status.phase == "Running"`, "Degraded"} {
			if _, err := schemas.Problems(t.Context(), crd, []string{term}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if asked != 2 {
		t.Errorf("it was read %d times, want 2", asked)
	}
}
