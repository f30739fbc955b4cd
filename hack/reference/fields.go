package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// described are the kinds of the page about fields: the file of the CustomResourceDefinition in config, and the fields
// at the root that are ours.
var described = []struct {
	file   string
	fields []string
}{
	{"crd/bases/operators.coreos.com_probes.yaml", []string{"spec", "status"}},
	{"crd/bases/operatorstatus.io_upgradeholds.yaml", []string{"spec", "status"}},
	{"crd/bases/operatorstatus.io_upgradeholdpolicies.yaml", []string{"spec", "status"}},
	{"crd/bases/operatorstatus.io_probepolicies.yaml", []string{"spec", "status"}},
	{"crd/bases/platform.openshift.io_platformoperators.yaml", []string{"spec", "status"}},
	{"lifecycle/crd/policy.operatorstatus.io_imagepolicies.yaml", []string{"spec", "status"}},
	{"lifecycle/crd/operators.coreos.com_subscriptions.yaml", []string{"status"}},
	{"lifecycle/crd/operators.coreos.com_clusterserviceversions.yaml", []string{"status"}},
}

// fieldsPage returns the page with the fields of our kinds, and of the status of those that are OLM's.
func fieldsPage(config string) (string, error) {
	var out strings.Builder
	out.WriteString(page("Fields", "`kubectl explain` has the same for the cluster that it asks. The spec of Subscriptions and ClusterServiceVersions is that "+
		"of OLM; their status has these fields where operator-status runs the loops. Beside OLM, it is OLM's, with [conditions](conditions.md) added."))
	for _, d := range described {
		data, err := os.ReadFile(filepath.Join(config, d.file)) // from the list above
		if err != nil {
			return "", err
		}
		crd := &apiextensions.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			return "", fmt.Errorf("%s: %w", d.file, err)
		}
		for _, version := range crd.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			fmt.Fprintf(&out, "\n## %s\n\n`%s/%s`. %s\n", crd.Spec.Names.Kind, crd.Spec.Group, version.Name, escape(oneLine(root.Description)))
			for _, name := range d.fields {
				field, found := root.Properties[name]
				if !found {
					return "", fmt.Errorf("%s has no %s", d.file, name)
				}
				out.WriteString("\n| Field | Type | Description |\n|---|---|---|\n" + strings.Join(rows(name, &field, slices.Contains(root.Required, name)), ""))
			}
		}
	}
	return out.String(), nil
}

// rows returns the rows of a table for a field and the fields in it.
func rows(path string, field *apiextensions.JSONSchemaProps, required bool) []string {
	element, suffix := field, ""
	for element.Items != nil && element.Items.Schema != nil {
		element, suffix = element.Items.Schema, suffix+"[]"
	}
	out := []string{fmt.Sprintf("| `%s` | %s | %s |\n", path, typeOf(field), cell(descriptionOf(field, element, required)))}
	if isCondition(element) {
		return out // its fields are those of every condition
	}
	for _, name := range slices.Sorted(maps.Keys(element.Properties)) {
		child := element.Properties[name]
		out = append(out, rows(path+suffix+"."+name, &child, slices.Contains(element.Required, name))...)
	}
	return out
}

// typeOf returns the type of a field for readers.
func typeOf(field *apiextensions.JSONSchemaProps) string {
	switch {
	case field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(field.Items.Schema)
	case field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(field.AdditionalProperties.Schema)
	case field.XIntOrString:
		return "integer or string"
	case isCondition(field):
		return "condition"
	case field.Format == "date-time":
		return "time"
	case field.Type == "":
		return "any"
	}
	return field.Type
}

// isCondition reports whether a field is a condition.
func isCondition(field *apiextensions.JSONSchemaProps) bool {
	for _, name := range []string{"type", "status", "reason", "lastTransitionTime"} {
		if _, found := field.Properties[name]; !found {
			return false
		}
	}
	return true
}

// descriptionOf returns the description of a field, its default, and the validations of the field and its elements.
func descriptionOf(field, element *apiextensions.JSONSchemaProps, required bool) string {
	parts := []string{oneLine(field.Description)}
	if parts[0] == "" {
		parts[0] = oneLine(element.Description)
	}
	if required {
		parts = append(parts, "Required.")
	}
	if len(element.Enum) > 0 {
		var values []string
		for _, v := range element.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if field.Default != nil {
		parts = append(parts, "Default: `"+string(field.Default.Raw)+"`.")
	}
	for _, rule := range slices.Concat(field.XValidations, element.XValidations) {
		if text := rule.Message + "."; !slices.Contains(parts, sentence(text)) {
			parts = append(parts, sentence(text))
		}
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}
