package csvchain

import (
	"encoding/json"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// AnnotationProperties is the annotation with the properties of a ClusterServiceVersion's bundle.
const AnnotationProperties = "operatorframework.io/properties"

// Package is the package that a ClusterServiceVersion was installed from.
type Package struct {
	Name    string `json:"packageName"`
	Version string `json:"version"`
}

// PropertiesOf returns the properties in the annotation of a ClusterServiceVersion. It has none if it was not installed from a catalog.
func PropertiesOf(csv *v1alpha1.ClusterServiceVersion) ([]property.Property, error) {
	text, found := csv.Annotations[AnnotationProperties]
	if !found {
		return nil, nil
	}
	var annotation struct {
		Properties []property.Property `json:"properties"`
	}
	if err := json.Unmarshal([]byte(text), &annotation); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AnnotationProperties, err)
	}
	return annotation.Properties, nil
}

// PackageIn returns the first valid package among properties, or the zero value.
func PackageIn(properties []property.Property) Package {
	for _, p := range properties {
		var out Package
		if p.Type == property.TypePackage && json.Unmarshal(p.Value, &out) == nil {
			return out
		}
	}
	return Package{}
}

// PackageOf returns the package in the annotation of a ClusterServiceVersion, or the zero value if it is missing or invalid.
func PackageOf(csv *v1alpha1.ClusterServiceVersion) Package {
	properties, err := PropertiesOf(csv)
	if err != nil {
		return Package{}
	}
	return PackageIn(properties)
}

// Owns reports whether a ClusterServiceVersion owns a CustomResourceDefinition.
func Owns(csv *v1alpha1.ClusterServiceVersion, crd string) bool {
	return slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d olm.CRDDescription) bool { return d.Name == crd })
}
