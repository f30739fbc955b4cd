// Package annotations turns the annotations of CustomResourceDefinitions into the Probe of their operator.
package annotations

import (
	"cmp"
	"fmt"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// FieldOwner is the field manager of the Probes that are made from annotations.
const FieldOwner = "operator-status"

// Probe returns the Probe that the annotations of CustomResourceDefinitions ask for, or nil. It is named after the
// ClusterServiceVersion that owns them.
//
// An invalid expression is left out of the Probe, because validation would reject it, and returned as a Problem. The
// other annotations still apply.
func Probe(csv *v1alpha1.ClusterServiceVersion, crds []*apiextensions.CustomResourceDefinition) (*v1alpha1.Probe, []condition.Problem) {
	resources, problems := Resources(crds)
	if len(resources) == 0 {
		return nil, nil
	}
	if cut := len(resources) - v1alpha1.MaxProbeResources; cut > 0 {
		problems = append(problems, condition.Problem{Reason: v1alpha1.ReasonTooManyResources, Message: fmt.Sprintf(
			"%d CustomResourceDefinitions of %s are annotated and a Probe holds %d: the last %d by name are not read",
			len(resources), csv.Name, v1alpha1.MaxProbeResources, cut)})
		resources = resources[:v1alpha1.MaxProbeResources]
	}
	return ProbeOf(csv, v1alpha1.ManagerCRDAnnotations, resources), problems
}

// Resources returns the resources that the annotations of CustomResourceDefinitions ask for, sorted by name, and the Problems with
// invalid expressions.
func Resources(crds []*apiextensions.CustomResourceDefinition) (out []v1alpha1.ProbeResource, problems []condition.Problem) {
	for _, crd := range crds {
		resource, invalid, annotated := resourceOf(crd)
		if annotated {
			out = append(out, resource)
			problems = append(problems, invalid...)
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.ProbeResource) int { return cmp.Compare(a.Name, b.Name) })
	return out, problems
}

// ProbeOf returns the Probe of an operator with these resources, or nil without resources.
func ProbeOf(csv *v1alpha1.ClusterServiceVersion, manager v1alpha1.ProbeManager, resources []v1alpha1.ProbeResource) *v1alpha1.Probe {
	if len(resources) == 0 {
		return nil
	}
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       csv.Namespace,
			Name:            csv.Name,
			OwnerReferences: []metav1.OwnerReference{ownerReference(csv)},
		},
		Spec: &v1alpha1.ProbeSpec{Manager: manager, ProbeResources: resources},
	}
}

// Differences describes how the annotations of CustomResourceDefinitions differ from the declared ones, in one sentence
// each, sorted.
func Differences(declared []v1alpha1.ProbeResource, crds []*apiextensions.CustomResourceDefinition) []string {
	var out []string
	for _, crd := range crds {
		var was v1alpha1.ProbeResource
		for _, r := range declared {
			if r.CRDName() == crd.Name {
				was = r
			}
		}
		for _, a := range []struct{ name, was string }{{v1alpha1.AnnotationUpgradeable, was.Upgradeable}, {v1alpha1.AnnotationImportant, was.Important}} {
			if is := crd.Annotations[a.name]; is != a.was {
				out = append(out, fmt.Sprintf("annotation %s of CustomResourceDefinition %s is %q instead of %q", a.name, crd.Name, is, a.was))
			}
		}
	}
	slices.Sort(out)
	return out
}

// BundleProbe returns the Probe that the CustomResourceDefinitions in a bundle will get once they are installed, or nil.
func BundleProbe(csv *v1alpha1.ClusterServiceVersion, objects []*unstructured.Unstructured) *v1alpha1.Probe {
	var crds []*apiextensions.CustomResourceDefinition
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" && slices.Contains(CRDNames(csv), o.GetName()) {
			crds = append(crds, &apiextensions.CustomResourceDefinition{
				ObjectMeta: metav1.ObjectMeta{Name: o.GetName(), Annotations: o.GetAnnotations()},
			})
		}
	}
	out, _ := Probe(csv, crds)
	return out
}

// resourceOf reads the annotations of one CustomResourceDefinition.
func resourceOf(crd *apiextensions.CustomResourceDefinition) (out v1alpha1.ProbeResource, problems []condition.Problem, annotated bool) {
	out.Name = crd.Name
	for _, a := range []struct {
		name  string
		parse func(string) (*expression.Expression, error)
		field *string
	}{
		{v1alpha1.AnnotationUpgradeable, expression.Parse, &out.Upgradeable},
		{v1alpha1.AnnotationImportant, expression.ParseAny, &out.Important},
	} {
		text, ok := crd.Annotations[a.name]
		if !ok {
			continue
		}
		annotated = true
		if _, err := a.parse(text); err != nil {
			problems = append(problems, condition.Problem{Reason: v1alpha1.ReasonInvalidExpression, Message: fmt.Sprintf(
				"Annotation %s of CustomResourceDefinition %s is not a valid expression: %v", a.name, crd.Name, err)})
			continue
		}
		*a.field = text
	}
	return out, problems, annotated
}

// IsAnnotated reports whether a CustomResourceDefinition has an annotation for the Probe of its operator.
func IsAnnotated(crd metav1.Object) bool {
	_, upgradeable := crd.GetAnnotations()[v1alpha1.AnnotationUpgradeable]
	_, important := crd.GetAnnotations()[v1alpha1.AnnotationImportant]
	return upgradeable || important
}

// InvalidUpgradeable reports whether the annotation with the upgradeable expression exists and is invalid.
func InvalidUpgradeable(crd *apiextensions.CustomResourceDefinition) bool {
	text, ok := crd.Annotations[v1alpha1.AnnotationUpgradeable]
	if !ok {
		return false
	}
	_, err := expression.Parse(text)
	return err != nil
}

// ownerReference returns the reference of a Probe to its ClusterServiceVersion. It does not block the owner's deletion,
// because that requires the permission to update the owner's finalizers on clusters such as OpenShift.
func ownerReference(csv *v1alpha1.ClusterServiceVersion) metav1.OwnerReference {
	out := metav1.NewControllerRef(csv, v1alpha1.GroupVersion.WithKind(v1alpha1.ClusterServiceVersionKind))
	out.BlockOwnerDeletion = new(false)
	return *out
}

// OwnedByCSV reports whether a Probe was made for a ClusterServiceVersion: the current one or an earlier one of its
// name.
func OwnedByCSV(probe *v1alpha1.Probe) bool {
	owner := metav1.GetControllerOf(probe)
	return owner != nil && owner.Kind == v1alpha1.ClusterServiceVersionKind && owner.Name == probe.Name
}

// CRDNames returns the names of the CustomResourceDefinitions that a ClusterServiceVersion owns, sorted, each once.
func CRDNames(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		out = append(out, d.Name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
