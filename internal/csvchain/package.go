package csvchain

import (
	"encoding/json"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// AnnotationProperties is the annotation with the properties of a ClusterServiceVersion's bundle.
const AnnotationProperties = "operatorframework.io/properties"

// Package is the package that a ClusterServiceVersion was installed from.
type Package struct {
	Name    string `json:"packageName"`
	Version string `json:"version"`
}

// PackageOf returns the package in the annotation of a ClusterServiceVersion, or the zero value if it is missing or invalid.
func PackageOf(csv *v1alpha1.ClusterServiceVersion) Package {
	var annotation struct {
		Properties []struct {
			Type  string          `json:"type"`
			Value json.RawMessage `json:"value"`
		} `json:"properties"`
	}
	if err := json.Unmarshal([]byte(csv.Annotations[AnnotationProperties]), &annotation); err != nil {
		return Package{}
	}
	for _, property := range annotation.Properties {
		var out Package
		if property.Type == "olm.package" && json.Unmarshal(property.Value, &out) == nil {
			return out
		}
	}
	return Package{}
}

// Owns reports whether a ClusterServiceVersion owns a CustomResourceDefinition.
func Owns(csv *v1alpha1.ClusterServiceVersion, crd string) bool {
	return slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d olm.CRDDescription) bool { return d.Name == crd })
}
