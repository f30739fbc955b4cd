// Package surroundings reads the objects in a namespace and on the cluster that determine what can be installed there.
package surroundings

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-framework/operator-registry/alpha/property"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/resolve"
)

// AnnotationProperties on a CSV holds the properties of its bundle, in OLM's format.
const AnnotationProperties = "operatorframework.io/properties"

// CSVs returns the CSVs of a namespace by name, except copies. They may be shared with the cache: callers must not
// modify them.
func CSVs(ctx context.Context, c client.Reader, namespace string) (map[string]*v1alpha1.ClusterServiceVersion, error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ClusterServiceVersions of namespace %s: %w", namespace, err)
	}
	out := make(map[string]*v1alpha1.ClusterServiceVersion, len(list.Items))
	for i := range list.Items {
		if csv := &list.Items[i]; !csv.IsCopied() {
			out[csv.Name] = csv
		}
	}
	return out, nil
}

// Installed returns a CSV in the form that the resolver uses.
func Installed(csv *v1alpha1.ClusterServiceVersion) resolve.Installed {
	out := resolve.Installed{Name: csv.Name, Version: csv.Spec.Version.Version}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if _, group, ok := strings.Cut(d.Name, "."); ok {
			out.Provides = append(out.Provides, property.GVK{Group: group, Version: d.Version, Kind: d.Kind})
		}
	}
	var stamped struct {
		Properties []property.Property `json:"properties"`
	}
	if err := json.Unmarshal([]byte(csv.Annotations[AnnotationProperties]), &stamped); err != nil {
		return out // no readable annotation: the CSV was not installed from a catalog
	}
	out.Properties = stamped.Properties
	for _, p := range stamped.Properties {
		var pkg property.Package
		if p.Type == property.TypePackage && json.Unmarshal(p.Value, &pkg) == nil {
			out.Package = pkg.PackageName
		}
	}
	return out
}

// Grants reports which CSVs an InstallPlan has installed completely. *record.Store implements it.
type Grants interface {
	Granted(ctx context.Context, csv types.NamespacedName) (bool, error)
}

// Incomplete reports whether a CSV was written by an InstallPlan that was not applied completely, and never ran. Such a
// CSV does not count as installed, and the plan may have to be created again.
func Incomplete(ctx context.Context, grants Grants, csv *v1alpha1.ClusterServiceVersion) (bool, error) {
	if csv.Annotations[v1alpha1.AnnotationInstallPlan] == "" || csvchain.Ran(csv) {
		return false, nil
	}
	granted, err := grants.Granted(ctx, client.ObjectKeyFromObject(csv))
	return !granted, err
}

// Present returns the newest CSVs of a namespace in the form that the resolver uses, except incomplete ones. A CSV that
// was applied by hand gets the package of the Subscription that adopted it, if any.
func Present(ctx context.Context, grants Grants, csvs map[string]*v1alpha1.ClusterServiceVersion, subs []v1alpha1.Subscription) ([]resolve.Installed, error) {
	complete := map[string]*v1alpha1.ClusterServiceVersion{}
	for name, csv := range csvs {
		if incomplete, err := Incomplete(ctx, grants, csv); err != nil {
			return nil, err
		} else if !incomplete {
			complete[name] = csv
		}
	}
	var out []resolve.Installed
	for _, csv := range csvchain.Newest(complete) {
		installed := Installed(csv)
		for i := range subs {
			if sub := &subs[i]; installed.Package == "" && sub.Spec != nil && (sub.Status.CurrentCSV == csv.Name || sub.Status.InstalledCSV == csv.Name) {
				installed.Package = sub.Spec.Package
			}
		}
		out = append(out, installed)
	}
	return out, nil
}

// OnCluster returns the kinds that CustomResourceDefinitions serve.
func OnCluster(ctx context.Context, c client.Reader) ([]property.GVK, error) {
	list := &apiextensions.CustomResourceDefinitionList{}
	if err := c.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the CustomResourceDefinitions: %w", err)
	}
	var out []property.GVK
	for _, crd := range list.Items {
		for _, v := range crd.Spec.Versions {
			if v.Served {
				out = append(out, property.GVK{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
			}
		}
	}
	return out, nil
}
