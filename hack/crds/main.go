// Command crds writes the CustomResourceDefinitions of the built-in loops: OLM's own, so every manifest that OLM
// accepts is accepted. Those of Subscriptions and ClusterServiceVersions get the status that controller-gen generated
// from the api folder, and printer columns for it.
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

// takeStatus sets our status schema, description, printer columns and lifecycle label in one of OLM's definitions.
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

// terse removes the descriptions below a field of the spec. With those of the pod template, the definition would exceed
// the size limit of the annotation in which `kubectl apply` stores it.
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

// columns holds the printer columns by kind. They are not markers on the types, because controller-gen would add OLM's.
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

// ourVersion returns the version whose status has a field that OLM's does not have. controller-gen adds OLM's version,
// in any order, because our types use its package.
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
	return nil, fmt.Errorf("%s has no version with a status other than OLM's", path)
}

func statusOf(v apiextensions.CustomResourceDefinitionVersion) map[string]apiextensions.JSONSchemaProps {
	return v.Schema.OpenAPIV3Schema.Properties["status"].Properties
}

// write writes a definition without its status, which the API server sets.
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
