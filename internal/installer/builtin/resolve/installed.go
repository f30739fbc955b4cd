package resolve

import (
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

// InstalledOf returns a CSV in the form that the resolver uses.
func InstalledOf(csv *v1alpha1.ClusterServiceVersion) Installed {
	out := Installed{Name: csv.Name, Version: csv.Spec.Version.Version}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if _, group, ok := strings.Cut(d.Name, "."); ok {
			out.Provides = append(out.Provides, property.GVK{Group: group, Version: d.Version, Kind: d.Kind})
		}
	}
	properties, err := csvchain.PropertiesOf(csv)
	if err != nil {
		return out // it was not installed from a catalog
	}
	for _, p := range properties {
		out.Properties = append(out.Properties, property.Property(p))
	}
	out.Package = csvchain.PackageIn(properties).Name
	return out
}

// InPlaceOf returns the CSV that runs in place of the newest one of its chain, if the installation of that waits, or failed
// before it started, or nil.
func InPlaceOf(head *v1alpha1.ClusterServiceVersion, csvs map[string]*v1alpha1.ClusterServiceVersion) *Installed {
	if csvchain.InstallStarted(head) || head.Status.Phase != olm.CSVPhasePending && head.Status.Phase != olm.CSVPhaseFailed {
		return nil
	}
	running := csvchain.Running(csvs, head.Spec.Replaces)
	if running == nil || !csvchain.Ran(running) {
		return nil
	}
	out := InstalledOf(running)
	return &out
}

// Served returns the kinds that CustomResourceDefinitions serve.
func Served(crds []apiextensions.CustomResourceDefinition) []property.GVK {
	var out []property.GVK
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				out = append(out, property.GVK{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
			}
		}
	}
	return out
}
