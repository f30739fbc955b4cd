package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/operator-framework/api/crds"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

const folder = "../../config/lifecycle/crd"

// maxAnnotations is the limit for all annotations of an object in bytes. `kubectl apply` stores the object in one.
const maxAnnotations = 256 << 10

func olms() []*apiextensions.CustomResourceDefinition {
	return []*apiextensions.CustomResourceDefinition{
		crds.Subscription(), crds.ClusterServiceVersion(), crds.CatalogSource(), crds.InstallPlan(), crds.OperatorGroup(), crds.OperatorCondition(),
	}
}

// generated returns the CustomResourceDefinition in config/lifecycle for one of OLM's, and the text of its file.
func generated(t *testing.T, of *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinition, []byte) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, file(of)))
	if err != nil {
		t.Fatal(err)
	}
	out := &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, out); err != nil {
		t.Fatal(err)
	}
	return out, data
}

// isOurs reports whether a kind has our own status.
func isOurs(crd *apiextensions.CustomResourceDefinition) bool {
	return crd.Spec.Names.Kind == v1alpha1.SubscriptionKind || crd.Spec.Names.Kind == v1alpha1.ClusterServiceVersionKind
}

func TestGeneratedDefinitions(t *testing.T) {
	var want []string
	for _, olm := range olms() {
		want = append(want, file(olm))
		t.Run(olm.Spec.Names.Kind, func(t *testing.T) {
			got, data := generated(t, olm)
			applied, err := yaml.YAMLToJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(applied) + len("kubectl.kubernetes.io/last-applied-configuration"); n >= maxAnnotations {
				t.Errorf("the definition has %d bytes, more than the %d of the annotation of `kubectl apply`", n, maxAnnotations)
			}
			label := got.Labels[v1alpha1.LabelLifecycle]
			if isOurs(got) && label != v1alpha1.LifecycleBuiltin {
				t.Errorf("labels are %v, want the lifecycle label on our CustomResourceDefinition", got.Labels)
			}
			if !isOurs(got) && label != "" {
				t.Errorf("labels are %v, want no lifecycle label on OLM's CustomResourceDefinition", got.Labels)
			}
			if isOurs(got) {
				return
			}
			if diff := cmp.Diff(olm.Spec, got.Spec); diff != "" {
				t.Errorf("OLM's own is not to be touched (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(olm.ObjectMeta, got.ObjectMeta); diff != "" {
				t.Errorf("OLM's own is not to be touched (-want +got):\n%s", diff)
			}
		})
	}
	found, err := filepath.Glob(filepath.Join(folder, "operators*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

// TestSpecMatchesOLM verifies that the definitions accept every manifest that OLM's accept: only the status differs.
func TestSpecMatchesOLM(t *testing.T) {
	words := cmpopts.IgnoreFields(apiextensions.JSONSchemaProps{}, "Description")
	for _, olm := range olms()[:2] {
		t.Run(olm.Spec.Names.Kind, func(t *testing.T) {
			got, _ := generated(t, olm)
			for i := range olm.Spec.Versions {
				olm.Spec.Versions[i].AdditionalPrinterColumns = nil
				delete(olm.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties, "status")
			}
			for i := range got.Spec.Versions {
				got.Spec.Versions[i].AdditionalPrinterColumns = nil
				delete(got.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties, "status")
			}
			if diff := cmp.Diff(olm.Spec, got.Spec, words); diff != "" {
				t.Errorf("the definition differs from OLM's outside the status (-OLM's +ours):\n%s", diff)
			}
			if diff := cmp.Diff(olm.Annotations, got.Annotations); diff != "" {
				t.Errorf("annotations differ (-OLM's +ours):\n%s", diff)
			}
		})
	}
}

// TestDescriptions verifies that `kubectl explain` still describes the fields of a spec.
func TestDescriptions(t *testing.T) {
	for _, olm := range olms()[:2] {
		got, _ := generated(t, olm)
		theirs := olm.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
		for name, property := range got.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties {
			if want := theirs.Properties[name].Description; property.Description != want {
				t.Errorf("%s: spec.%s is described as %q; want %q", olm.Name, name, property.Description, want)
			}
		}
	}
}

func TestStatus(t *testing.T) {
	for _, tc := range []struct {
		olm    *apiextensions.CustomResourceDefinition
		status any
	}{
		{crds.Subscription(), v1alpha1.SubscriptionStatus{}},
		{crds.ClusterServiceVersion(), v1alpha1.ClusterServiceVersionStatus{}},
	} {
		t.Run(tc.olm.Spec.Names.Kind, func(t *testing.T) {
			got, _ := generated(t, tc.olm)
			if n := len(got.Spec.Versions); n != 1 {
				t.Fatalf("the definition has %d versions, want 1", n)
			}
			v := got.Spec.Versions[0]
			if v.Subresources == nil || v.Subresources.Status == nil {
				t.Error("status is not a subresource")
			}
			schema := v.Schema.OpenAPIV3Schema.Properties["status"]
			for _, missing := range missingFields("status", schema, reflect.TypeOf(tc.status)) {
				t.Errorf("%s is not in the schema: the API server would prune it", missing)
			}
			known := fieldsOf(reflect.TypeOf(tc.status))
			for name := range schema.Properties {
				if _, ok := known[name]; !ok {
					t.Errorf("status.%s is in the schema, but not in the Go type", name)
				}
			}
			for field := range tc.olm.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties {
				if _, ok := known[field]; !ok {
					t.Errorf("status.%s of OLM is missing", field)
				}
			}
		})
	}
}

// missingFields returns the paths of the fields of a type that a schema does not have, recursively.
func missingFields(path string, schema apiextensions.JSONSchemaProps, of reflect.Type) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields,
		of == reflect.TypeFor[metav1.Time](), reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]()):
		return nil
	case of.Kind() == reflect.Slice:
		if schema.Items == nil || schema.Items.Schema == nil {
			return []string{path + "[]"}
		}
		return missingFields(path+"[]", *schema.Items.Schema, of.Elem())
	case of.Kind() == reflect.Map:
		if schema.AdditionalProperties == nil || schema.AdditionalProperties.Schema == nil {
			return []string{path + "{}"}
		}
		return missingFields(path+"{}", *schema.AdditionalProperties.Schema, of.Elem())
	case of.Kind() != reflect.Struct:
		return nil
	}
	var out []string
	for name, field := range fieldsOf(of) {
		property, ok := schema.Properties[name]
		if !ok {
			out = append(out, path+"."+name)
			continue
		}
		out = append(out, missingFields(path+"."+name, property, field)...)
	}
	slices.Sort(out)
	return out
}

// fieldsOf returns the fields of a struct by their JSON names.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") || name == "" && f.Anonymous {
			maps.Copy(out, fieldsOf(f.Type))
		} else if name != "-" {
			out[name] = f.Type
		}
	}
	return out
}

// TestColumns verifies that the printer columns refer to existing fields.
func TestColumns(t *testing.T) {
	for _, olm := range olms()[:2] {
		got, _ := generated(t, olm)
		columns := got.Spec.Versions[0].AdditionalPrinterColumns
		if len(columns) == 0 {
			t.Errorf("%s has no columns", got.Name)
		}
		for _, c := range columns {
			path, _, _ := strings.Cut(strings.TrimPrefix(c.JSONPath, "."), "[")
			schema := *got.Spec.Versions[0].Schema.OpenAPIV3Schema
			for name := range strings.SplitSeq(path, ".") {
				property, ok := schema.Properties[name]
				if !ok {
					t.Errorf("column %s of %s refers to %s, which does not exist", c.Name, got.Name, c.JSONPath)
				}
				schema = property
			}
		}
	}
}

func TestTerse(t *testing.T) {
	item := &apiextensions.JSONSchemaProps{Description: "d", Properties: map[string]apiextensions.JSONSchemaProps{"a": {Type: "string"}}}
	in := apiextensions.JSONSchemaProps{
		Description: "kept",
		Properties: map[string]apiextensions.JSONSchemaProps{
			"description": {Description: "d", Type: "string"},
			"list":        {Description: "d", Items: &apiextensions.JSONSchemaPropsOrArray{Schema: item.DeepCopy()}},
			"map":         {Description: "d", AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: item.DeepCopy()}},
		},
	}
	bare := &apiextensions.JSONSchemaProps{Properties: map[string]apiextensions.JSONSchemaProps{"a": {Type: "string"}}}
	want := apiextensions.JSONSchemaProps{
		Description: "kept",
		Properties: map[string]apiextensions.JSONSchemaProps{
			"description": {Type: "string"},
			"list":        {Items: &apiextensions.JSONSchemaPropsOrArray{Schema: bare}},
			"map":         {AdditionalProperties: &apiextensions.JSONSchemaPropsOrBool{Allows: true, Schema: bare}},
		},
	}
	if diff := cmp.Diff(want, terse(in)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRun verifies that missing arguments or files are an error and nothing is written.
func TestRun(t *testing.T) {
	for name, args := range map[string][]string{"NoArguments": nil, "OneArgument": {t.TempDir()}, "NothingGenerated": {t.TempDir(), t.TempDir()}} {
		if err := run(args); err == nil {
			t.Errorf("run with %s returned no error", name)
		}
		if len(args) == 2 {
			if written, err := os.ReadDir(args[1]); err != nil || len(written) > 0 {
				t.Errorf("run with %s wrote %v (%v), want nothing", name, written, err)
			}
		}
	}
}

// TestOurVersion verifies that our version is found beside OLM's, which controller-gen adds, in any order.
func TestOurVersion(t *testing.T) {
	version := func(fields ...string) apiextensions.CustomResourceDefinitionVersion {
		status := map[string]apiextensions.JSONSchemaProps{}
		for _, f := range fields {
			status[f] = apiextensions.JSONSchemaProps{Type: "string"}
		}
		return apiextensions.CustomResourceDefinitionVersion{
			Name: fmt.Sprint("v", len(fields)),
			Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
				Properties: map[string]apiextensions.JSONSchemaProps{"status": {Properties: status}},
			}},
		}
	}
	olm, mine := version("state"), version("state", "UpToDate")
	base := &apiextensions.CustomResourceDefinition{}
	base.Spec.Versions = []apiextensions.CustomResourceDefinitionVersion{olm}
	for name, tc := range map[string]struct {
		versions []apiextensions.CustomResourceDefinitionVersion
		want     string
	}{
		"OursFirst": {[]apiextensions.CustomResourceDefinitionVersion{mine, olm}, "v2"},
		"OursLast":  {[]apiextensions.CustomResourceDefinitionVersion{olm, mine}, "v2"},
		"OLMsAlone": {[]apiextensions.CustomResourceDefinitionVersion{olm}, ""},
	} {
		data, err := yaml.Marshal(&apiextensions.CustomResourceDefinition{Spec: apiextensions.CustomResourceDefinitionSpec{Versions: tc.versions}})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "crd.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ourVersion(path, base)
		if (err != nil) != (tc.want == "") || got != nil && got.Name != tc.want {
			t.Errorf("%s: %v, %v; want %q", name, got, err, tc.want)
		}
	}
}
