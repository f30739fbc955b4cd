package store

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// annotationImageTemplate is OLM's annotation of a CatalogSource: the image to read, with variables that depend on the
// cluster.
const annotationImageTemplate = "olm.catalogImageTemplate"

var imageVariables = regexp.MustCompile(`\{kube_(major|minor|patch)_version\}`)

// template is the image that the annotation of a CatalogSource resolves to on a cluster.
type template struct {
	// image is the annotation with its variables replaced. It is also set if there is a problem, to show the partial
	// result.
	image string

	// problem is why the image cannot be pulled; empty if there is none. Its wording is OLM's.
	problem string
}

// templateOf returns nil for a CatalogSource without the annotation.
func templateOf(cs *olm.CatalogSource, kubernetes version.Info) *template {
	text := cs.Annotations[annotationImageTemplate]
	if text == "" {
		return nil
	}
	values := versionNumbers(kubernetes)
	var unresolved []string
	out := &template{image: imageVariables.ReplaceAllStringFunc(text, func(variable string) string {
		value, ok := values[variable]
		if !ok {
			unresolved = append(unresolved, strconv.Quote(variable))
			return "missing"
		}
		return value
	})}
	const problem = "cannot construct catalog image reference, because "
	_, err := name.ParseReference(out.image)
	switch {
	case len(unresolved) > 0:
		out.problem = fmt.Sprintf(problem+"variable(s) %s could not be resolved: the API server's version is %q", strings.Join(unresolved, ", "), kubernetes)
	case err != nil:
		out.problem = fmt.Sprintf(problem+"one or more template(s) has improper syntax: %v", err)
	}
	return out
}

// versionNumbers returns the values of the variables; nil if the version is not semantic. It parses the full version,
// since the field Minor may be "31+", and there is no field for the patch.
func versionNumbers(kubernetes version.Info) map[string]string {
	v, err := utilversion.ParseSemantic(kubernetes.String())
	if err != nil {
		return nil
	}
	number := func(n uint) string { return strconv.FormatUint(uint64(n), 10) }
	return map[string]string{
		"{kube_major_version}": number(v.Major()),
		"{kube_minor_version}": number(v.Minor()),
		"{kube_patch_version}": number(v.Patch()),
	}
}

// imageTemplate sets the conditions about the annotation, and removes them if there is none. OLM writes the image into
// the spec. Here, the spec is left to its field managers; the image is in the message of ResolvedImage.
func imageTemplate(in Inputs, out *olm.CatalogSourceStatus) {
	t := templateOf(in.CatalogSource, in.Kubernetes)
	if t == nil {
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionTemplatesHaveResolved)
		meta.RemoveStatusCondition(&out.Conditions, v1alpha1.ConditionResolvedImage)
		return
	}
	c := metav1.Condition{
		Type: v1alpha1.ConditionTemplatesHaveResolved, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllTemplatesResolved,
		Message:            "catalog image reference was successfully resolved",
		ObservedGeneration: in.CatalogSource.Generation,
		LastTransitionTime: metav1.NewTime(in.Now),
	}
	if t.problem != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1alpha1.ReasonUnableToResolve, t.problem
	}
	meta.SetStatusCondition(&out.Conditions, c)
	c.Type, c.Message = v1alpha1.ConditionResolvedImage, t.image
	meta.SetStatusCondition(&out.Conditions, c)
}
