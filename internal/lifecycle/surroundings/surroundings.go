// Package surroundings reads what is in a namespace, and on the cluster, that decides what can be installed there.
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
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

// AnnotationProperties on a ClusterServiceVersion holds the properties of its bundle, as OLM writes them.
const AnnotationProperties = "operatorframework.io/properties"

// CSVs are the ClusterServiceVersions of a namespace, but for copies, by name. They are to be read only: from a cache they
// come as it holds them.
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

// Installed is a ClusterServiceVersion as the resolver sees it.
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
		return out // nobody stamped it: it was not installed from a catalog
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

// Grants tell which ClusterServiceVersions an InstallPlan has installed whole: a *record.Store.
type Grants interface {
	Granted(ctx context.Context, csv types.NamespacedName) (bool, error)
}

// Incomplete reports whether a ClusterServiceVersion was written by an InstallPlan that was not applied whole, and never ran:
// nothing of it counts as installed, and the plan may have to be made again.
func Incomplete(ctx context.Context, grants Grants, csv *v1alpha1.ClusterServiceVersion) (bool, error) {
	if csv.Annotations[v1alpha1.AnnotationInstallPlan] == "" || csvchain.Ran(csv) {
		return false, nil
	}
	granted, err := grants.Granted(ctx, client.ObjectKeyFromObject(csv))
	return !granted, err
}

// Present are the newest ClusterServiceVersions of a namespace as the resolver sees them, but for those that are incomplete. One
// that was applied by hand, and that a Subscription has adopted, is of the package of that.
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

// OnCluster are the kinds that CustomResourceDefinitions serve.
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
