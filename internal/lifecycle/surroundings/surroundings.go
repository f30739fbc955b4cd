// Package surroundings reads what is in a namespace, and on the cluster, that decides what can be installed there.
package surroundings

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/operator-registry/alpha/property"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/resolve"
)

// AnnotationProperties on a ClusterServiceVersion holds the properties of its bundle, as OLM writes them.
const AnnotationProperties = "operatorframework.io/properties"

// Group is the OperatorGroup of a namespace; where there is not exactly one, the problem says so.
func Group(ctx context.Context, c client.Reader, namespace string) (*operatorsv1.OperatorGroup, *resolve.Problem, error) {
	list := &operatorsv1.OperatorGroupList{}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, nil, fmt.Errorf("listing the OperatorGroups of namespace %s: %w", namespace, err)
	}
	switch len(list.Items) {
	case 0:
		return nil, &resolve.Problem{Reason: v1alpha1.ReasonOperatorGroupMissing, Message: fmt.Sprintf(
			"Namespace %s has no OperatorGroup, which says what namespaces its operators look after: create one", namespace)}, nil
	case 1:
		return &list.Items[0], nil, nil
	}
	var names []string
	for _, g := range list.Items {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	return nil, &resolve.Problem{Reason: v1alpha1.ReasonTooManyOperatorGroups, Message: fmt.Sprintf(
		"Namespace %s has %d OperatorGroups and may have one: delete all but one of %s", namespace, len(names), strings.Join(names, ", "))}, nil
}

// Targets are the namespaces that the operators of an OperatorGroup look after, sorted; the empty one means all.
func Targets(ctx context.Context, c client.Reader, group *operatorsv1.OperatorGroup) ([]string, error) {
	spec := group.Spec
	if len(spec.TargetNamespaces) > 0 {
		out := slices.Clone(spec.TargetNamespaces)
		slices.Sort(out)
		return slices.Compact(out), nil
	}
	if spec.Selector == nil || len(spec.Selector.MatchLabels)+len(spec.Selector.MatchExpressions) == 0 {
		return []string{metav1.NamespaceAll}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(spec.Selector)
	if err != nil {
		return nil, nil //nolint:nilerr // one that selects nothing that can be told selects none
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
	if err := c.List(ctx, list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing the namespaces that OperatorGroup %s/%s selects: %w", group.Namespace, group.Name, err)
	}
	var out []string
	for _, n := range list.Items {
		out = append(out, n.Name)
	}
	slices.Sort(out)
	return out, nil
}

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

// Newest are those that no other replaces, sorted by name.
func Newest(csvs map[string]*v1alpha1.ClusterServiceVersion) []*v1alpha1.ClusterServiceVersion {
	replaced := map[string]bool{}
	for _, csv := range csvs {
		if csv.Spec.Replaces != csv.Name {
			replaced[csv.Spec.Replaces] = true
		}
	}
	var out []*v1alpha1.ClusterServiceVersion
	for _, csv := range csvs {
		if !replaced[csv.Name] {
			out = append(out, csv)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.ClusterServiceVersion) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Running is the ClusterServiceVersion that does the work while that one is being installed: going back along
// `replaces`, the newest that has Succeeded, or else the oldest that is there. It is nil at a first install.
func Running(csvs map[string]*v1alpha1.ClusterServiceVersion, from string) *v1alpha1.ClusterServiceVersion {
	var out *v1alpha1.ClusterServiceVersion
	for seen := map[string]bool{}; csvs[from] != nil && !seen[from]; from = csvs[from].Spec.Replaces {
		seen[from] = true
		out = csvs[from]
		if Ran(out) {
			return out
		}
	}
	return out
}

// Ran is true for a ClusterServiceVersion that has Succeeded, be it long ago. OLM tells that by its conditions.
func Ran(csv *v1alpha1.ClusterServiceVersion) bool {
	succeeded := func(t v1alpha1.ClusterServiceVersionTransition) bool { return t.Phase == olm.CSVPhaseSucceeded }
	was := func(c v1alpha1.ClusterServiceVersionCondition) bool {
		return c.Type == "" && c.Phase == olm.CSVPhaseSucceeded
	}
	return csv.Status.Phase == olm.CSVPhaseSucceeded || slices.ContainsFunc(csv.Status.LastTransitions, succeeded) ||
		slices.ContainsFunc(csv.Status.Conditions, was)
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
