// Package preview compares two versions of an operator: their images, and the rights of their service accounts. It is pure.
package preview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/auth/rbac/validation"
)

// Version is a version of an operator, as far as a preview compares it.
type Version struct {
	// Name is that of its ClusterServiceVersion, or empty.
	Name string

	// Images are those of its workloads.
	Images []string

	// Rights are the rules for its service accounts, by the namespace in which they apply, or by AllNamespaces.
	Rights map[string][]rbacv1.PolicyRule
}

// MissingRoles returns the roles to which some objects bind service accounts, and that are not among these, without their rules.
func MissingRoles(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	known := map[string]bool{}
	for _, o := range objects {
		known[keyOf(o.GetKind(), o.GetNamespace(), o.GetName())] = true
	}
	var out []*unstructured.Unstructured
	for _, o := range objects {
		binding, err := bindingOf(o)
		if err != nil || binding == nil { // New returns the error
			continue
		}
		role := &unstructured.Unstructured{}
		role.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(binding.RoleRef.Kind))
		role.SetName(binding.RoleRef.Name)
		if role.GetKind() == "Role" {
			role.SetNamespace(o.GetNamespace())
		}
		if key := keyOf(role.GetKind(), role.GetNamespace(), role.GetName()); !known[key] {
			known[key], out = true, append(out, role)
		}
	}
	return out
}

// bindingOf returns a binding that has a service account among its subjects, or nil for another object.
func bindingOf(o *unstructured.Unstructured) (*rbacv1.RoleBinding, error) {
	if o.GetKind() != "ClusterRoleBinding" && o.GetKind() != "RoleBinding" {
		return nil, nil
	}
	out := &rbacv1.RoleBinding{} // a ClusterRoleBinding has the same fields
	if err := convert(o, out); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(out.Subjects, func(s rbacv1.Subject) bool { return s.Kind == rbacv1.ServiceAccountKind }) {
		return nil, nil
	}
	return out, nil
}

// AllNamespaces is the key of rights in all namespaces, and to objects without one.
const AllNamespaces = "all namespaces"

// New returns the version of an operator that consists of some objects. Roles count as far as these bind them to service accounts. Add
// MissingRoles before.
func New(objects []*unstructured.Unstructured) (Version, error) {
	out := Version{Rights: map[string][]rbacv1.PolicyRule{}}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, o := range objects {
		switch o.GetKind() {
		case "Role", "ClusterRole":
			role := &rbacv1.ClusterRole{} // a Role has the same fields
			if err := convert(o, role); err != nil {
				return out, err
			}
			roles[keyOf(o.GetKind(), o.GetNamespace(), o.GetName())] = role.Rules
		case "Deployment", "StatefulSet", "DaemonSet":
			if err := out.addImages(o); err != nil {
				return out, err
			}
		case "ClusterServiceVersion":
			if err := out.addCSV(o); err != nil {
				return out, err
			}
		}
	}
	for _, o := range objects {
		if err := out.bind(o, roles); err != nil {
			return out, err
		}
	}
	slices.Sort(out.Images)
	out.Images = slices.Compact(out.Images)
	return out, nil
}

// keyOf identifies a role. ClusterRoles have no namespace.
func keyOf(kind, namespace, name string) string {
	if kind == "ClusterRole" {
		namespace = ""
	}
	return kind + " " + namespace + "/" + name
}

func convert(o *unstructured.Unstructured, into any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return fmt.Errorf("%s %s is invalid: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// addImages adds the images of a workload.
func (v *Version) addImages(o *unstructured.Unstructured) error {
	for _, kind := range []string{"containers", "initContainers"} {
		containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", kind)
		if err != nil {
			return fmt.Errorf("%s %s is invalid: %w", o.GetKind(), o.GetName(), err)
		}
		for _, c := range containers {
			if fields, ok := c.(map[string]any); ok {
				if image, ok := fields["image"].(string); ok {
					v.Images = append(v.Images, image)
				}
			}
		}
	}
	return nil
}

// addCSV adds the images and rights of a ClusterServiceVersion. Its permissions are those in the namespaces that OLM gives it, which are
// spoken of as its own.
func (v *Version) addCSV(o *unstructured.Unstructured) error {
	csv := &olm.ClusterServiceVersion{}
	if err := convert(o, csv); err != nil {
		return err
	}
	v.Name = csv.Name
	v.addStrategy(csv.Spec.InstallStrategy.StrategySpec)
	return nil
}

// OfStrategy returns the version of an operator that the install strategy of a ClusterServiceVersion describes.
func OfStrategy(strategy olm.StrategyDetailsDeployment) Version {
	out := Version{Rights: map[string][]rbacv1.PolicyRule{}}
	out.addStrategy(strategy)
	return out
}

func (v *Version) addStrategy(strategy olm.StrategyDetailsDeployment) {
	for _, d := range strategy.DeploymentSpecs {
		for _, c := range slices.Concat(d.Spec.Template.Spec.Containers, d.Spec.Template.Spec.InitContainers) {
			v.Images = append(v.Images, c.Image)
		}
	}
	for _, p := range strategy.ClusterPermissions {
		v.Rights[AllNamespaces] = append(v.Rights[AllNamespaces], p.Rules...)
	}
	for _, p := range strategy.Permissions {
		v.Rights[TargetNamespaces] = append(v.Rights[TargetNamespaces], p.Rules...)
	}
}

// TargetNamespaces is the key of rights in the namespaces that an OperatorGroup selects.
const TargetNamespaces = "its target namespaces"

// bind adds the rights of a binding that has a service account among its subjects.
func (v *Version) bind(o *unstructured.Unstructured, roles map[string][]rbacv1.PolicyRule) error {
	binding, err := bindingOf(o)
	if err != nil || binding == nil {
		return err
	}
	scope := o.GetNamespace()
	if o.GetKind() == "ClusterRoleBinding" {
		scope = AllNamespaces
	}
	v.Rights[scope] = append(v.Rights[scope], roles[keyOf(binding.RoleRef.Kind, o.GetNamespace(), binding.RoleRef.Name)]...)
	return nil
}

// Changes are the differences between two versions, in words.
type Changes struct {
	ImagesRemoved, ImagesAdded []string
	RightsLost, RightsGained   []string
}

// Compare returns the differences.
func Compare(before, after Version) Changes {
	without := func(all, some []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(some, s) })
	}
	return Changes{
		ImagesRemoved: without(before.Images, after.Images), ImagesAdded: without(after.Images, before.Images),
		RightsLost: before.beyond(after), RightsGained: after.beyond(before),
	}
}

// Images returns the changes of images, each with its sign.
func (c Changes) Images() []string { return signed(c.ImagesRemoved, c.ImagesAdded) }

// Rights returns the changes of rights, each with its sign.
func (c Changes) Rights() []string { return signed(c.RightsLost, c.RightsGained) }

func signed(lost, gained []string) []string {
	var out []string
	for _, s := range lost {
		out = append(out, "- "+s)
	}
	for _, s := range gained {
		out = append(out, "+ "+s)
	}
	return out
}

// beyond returns the rights that another version does not have: those in all namespaces first.
func (v Version) beyond(other Version) []string {
	scopes := slices.SortedFunc(maps.Keys(v.Rights), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	var out []string
	for _, scope := range scopes {
		_, rules := validation.Covers(slices.Concat(other.Rights[AllNamespaces], other.Rights[scope]), v.Rights[scope])
		for _, right := range merged(rules) {
			out = append(out, right+" in "+scope)
		}
	}
	return out
}

func rank(scope string) int {
	if scope == AllNamespaces {
		return 0
	}
	return 1
}

// merged returns rules of one verb and resource each in words, those with the same verbs in one.
func merged(rules []rbacv1.PolicyRule) []string {
	verbs := map[string][]string{}
	for _, r := range rules {
		object := strings.Join(r.NonResourceURLs, ", ")
		if len(r.Resources) > 0 {
			object = strings.TrimSuffix(r.Resources[0]+"."+r.APIGroups[0], ".")
		}
		if len(r.ResourceNames) > 0 {
			object += " " + r.ResourceNames[0]
		}
		if !slices.Contains(verbs[object], r.Verbs[0]) {
			verbs[object] = append(verbs[object], r.Verbs[0])
		}
	}
	objects := map[string][]string{}
	for _, object := range slices.Sorted(maps.Keys(verbs)) {
		slices.Sort(verbs[object])
		same := strings.Join(verbs[object], ", ")
		objects[same] = append(objects[same], object)
	}
	var out []string
	for _, same := range slices.Sorted(maps.Keys(objects)) {
		out = append(out, same+" "+strings.Join(objects[same], ", "))
	}
	return out
}
