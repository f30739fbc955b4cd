package csvchain

import (
	"encoding/json"
	"fmt"
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

// Property is a property of a bundle, as in its catalog.
type Property struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// typePackage is the type of the property that has the package of a bundle.
const typePackage = "olm.package"

// PropertiesOf returns the properties in the annotation of a ClusterServiceVersion. It has none if it was not installed from a catalog.
func PropertiesOf(csv *v1alpha1.ClusterServiceVersion) ([]Property, error) {
	text, found := csv.Annotations[AnnotationProperties]
	if !found {
		return nil, nil
	}
	var annotation struct {
		Properties []Property `json:"properties"`
	}
	if err := json.Unmarshal([]byte(text), &annotation); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AnnotationProperties, err)
	}
	return annotation.Properties, nil
}

// PackageIn returns the first valid package among properties, or the zero value.
func PackageIn(properties []Property) Package {
	for _, p := range properties {
		var out Package
		if p.Type == typePackage && json.Unmarshal(p.Value, &out) == nil {
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

// SubscriptionOf returns the Subscription of a ClusterServiceVersion, or nil: the one that it was installed for, or else the oldest that reports
// it as installed. The order of subs does not matter.
func SubscriptionOf(csv *v1alpha1.ClusterServiceVersion, subs []v1alpha1.Subscription) *v1alpha1.Subscription {
	pkg := PackageOf(csv).Name
	var oldest *v1alpha1.Subscription
	for i := range subs {
		sub := &subs[i]
		switch {
		case sub.Spec == nil:
		case sub.Name == csv.Annotations[v1alpha1.AnnotationSubscription] && (pkg == "" || sub.Spec.Package == pkg):
			return sub
		case sub.Status.InstalledCSV == csv.Name && (oldest == nil || v1alpha1.Older(sub, oldest)):
			oldest = sub
		}
	}
	return oldest
}

// Owns reports whether a ClusterServiceVersion owns a CustomResourceDefinition.
func Owns(csv *v1alpha1.ClusterServiceVersion, crd string) bool {
	return slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d olm.CRDDescription) bool { return d.Name == crd })
}
