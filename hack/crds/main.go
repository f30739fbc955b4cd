// Command crds writes the CustomResourceDefinitions of the built-in loops: OLM's own, so that what people apply today
// is accepted to the letter. Those of Subscriptions and ClusterServiceVersions get the status of the kinds that
// controller-gen made of the api folder, and columns that tell the story.
//
// Usage: crds GENERATED_FOLDER OUTPUT_FOLDER
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/operator-framework/api/crds"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: crds GENERATED_FOLDER OUTPUT_FOLDER")
	}
	generated, output := args[0], args[1]
	ours := []*apiextensions.CustomResourceDefinition{crds.Subscription(), crds.ClusterServiceVersion()}
	for _, crd := range ours {
		if err := takeStatus(crd, filepath.Join(generated, file(crd))); err != nil {
			return err
		}
	}
	for _, crd := range append(ours, crds.CatalogSource(), crds.InstallPlan(), crds.OperatorGroup(), crds.OperatorCondition()) {
		if err := write(crd, filepath.Join(output, file(crd))); err != nil {
			return err
		}
	}
	return nil
}

func file(crd *apiextensions.CustomResourceDefinition) string {
	return crd.Spec.Group + "_" + crd.Spec.Names.Plural + ".yaml"
}

// takeStatus gives OLM's definition the status and the description of ours, columns, and the label that says who
// runs the loops.
func takeStatus(crd *apiextensions.CustomResourceDefinition, path string) error {
	ours, err := ourVersion(path, crd)
	if err != nil {
		return err
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Name != ours.Name {
			continue
		}
		v.AdditionalPrinterColumns = columns[crd.Spec.Names.Kind]
		schema, source := v.Schema.OpenAPIV3Schema, ours.Schema.OpenAPIV3Schema
		schema.Description = source.Description
		schema.Properties["status"] = source.Properties["status"]
		for name, property := range schema.Properties["spec"].Properties {
			schema.Properties["spec"].Properties[name] = terse(property)
		}
		crd.Labels = map[string]string{v1alpha1.LabelLifecycle: v1alpha1.LifecycleBuiltin}
		return nil
	}
	return fmt.Errorf("OLM's CustomResourceDefinition %s has no version %s", crd.Name, ours.Name)
}

// terse leaves out the descriptions below a field of the spec: with those of the whole pod template the definition is
// longer than an annotation may be, in which `kubectl apply` keeps what it applied.
func terse(s apiextensions.JSONSchemaProps) apiextensions.JSONSchemaProps {
	for name, property := range s.Properties {
		property.Description = ""
		s.Properties[name] = terse(property)
	}
	if s.Items != nil && s.Items.Schema != nil {
		item := terse(*s.Items.Schema)
		item.Description = ""
		s.Items.Schema = &item
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		value := terse(*s.AdditionalProperties.Schema)
		value.Description = ""
		s.AdditionalProperties.Schema = &value
	}
	return s
}

// columns are what `kubectl get` prints, by kind. They stand here and not as markers on the kinds, since controller-gen
// mixes OLM's in.
var columns = map[string][]apiextensions.CustomResourceColumnDefinition{
	v1alpha1.SubscriptionKind: {
		{Name: "Package", Type: "string", JSONPath: ".spec.name"},
		{Name: "Source", Type: "string", JSONPath: ".spec.source"},
		{Name: "Channel", Type: "string", JSONPath: ".spec.channel"},
		{Name: "Installed", Type: "string", JSONPath: ".status.installedCSV"},
		{Name: "UpToDate", Type: "boolean", JSONPath: ".status.UpToDate"},
		{Name: "Message", Type: "string", JSONPath: ".status.message"},
	},
	v1alpha1.ClusterServiceVersionKind: {
		{Name: "Display", Type: "string", JSONPath: ".spec.displayName"},
		{Name: "Version", Type: "string", JSONPath: ".spec.version"},
		{Name: "Replaces", Type: "string", JSONPath: ".spec.replaces"},
		{Name: "Phase", Type: "string", JSONPath: ".status.phase"},
		{Name: "Upgradeable", Type: "string", JSONPath: `.status.conditions[?(@.type=="Upgradeable")].status`},
		{Name: "Message", Type: "string", JSONPath: ".status.message"},
	},
}

// ourVersion is the version of ours: the one whose status has a field that OLM's has not. controller-gen puts that of
// OLM's package beside it, in any order, since our types use it.
func ourVersion(path string, olms *apiextensions.CustomResourceDefinition) (*apiextensions.CustomResourceDefinitionVersion, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	known := statusOf(olms.Spec.Versions[0])
	for i := range crd.Spec.Versions {
		for field := range statusOf(crd.Spec.Versions[i]) {
			if _, ok := known[field]; !ok {
				return &crd.Spec.Versions[i], nil
			}
		}
	}
	return nil, fmt.Errorf("%s holds no status but OLM's", path)
}

func statusOf(v apiextensions.CustomResourceDefinitionVersion) map[string]apiextensions.JSONSchemaProps {
	return v.Schema.OpenAPIV3Schema.Properties["status"].Properties
}

// write leaves out the status, which an API server fills in.
func write(crd *apiextensions.CustomResourceDefinition, path string) error {
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": apiextensions.SchemeGroupVersion.String(),
		"kind":       "CustomResourceDefinition",
		"metadata":   metadata(crd),
		"spec":       crd.Spec,
	})
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.WriteFile(path, append([]byte("# Generated by make generate.\n"), data...), 0o644)
}

func metadata(crd *apiextensions.CustomResourceDefinition) map[string]any {
	out := map[string]any{"name": crd.Name}
	if len(crd.Labels) > 0 {
		out["labels"] = crd.Labels
	}
	if len(crd.Annotations) > 0 {
		out["annotations"] = crd.Annotations
	}
	return out
}
