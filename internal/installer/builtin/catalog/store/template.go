package store

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	catalogsourcestatus "github.com/operator-status/operator-status/internal/status/catalogsource"
)

// annotationImageTemplate is OLM's annotation of a CatalogSource: the image to read, with variables that depend on the
// cluster.
const annotationImageTemplate = "olm.catalogImageTemplate"

var imageVariables = regexp.MustCompile(`\{kube_(major|minor|patch)_version\}`)

// templateOf returns the image that the annotation resolves to on a cluster, or nil without the annotation.
func templateOf(cs *olm.CatalogSource, kubernetes version.Info) *catalogsourcestatus.Template {
	text := cs.Annotations[annotationImageTemplate]
	if text == "" {
		return nil
	}
	values := versionNumbers(kubernetes)
	var unresolved []string
	out := &catalogsourcestatus.Template{Image: imageVariables.ReplaceAllStringFunc(text, func(variable string) string {
		value, ok := values[variable]
		if !ok {
			unresolved = append(unresolved, strconv.Quote(variable))
			return "missing"
		}
		return value
	})}
	const problem = "cannot construct catalog image reference, because "
	_, err := catalog.ParseImage(out.Image)
	switch {
	case len(unresolved) > 0:
		out.Problem = fmt.Sprintf(problem+"variable(s) %s could not be resolved: the API server's version is %q", strings.Join(unresolved, ", "), kubernetes)
	case err != nil:
		out.Problem = fmt.Sprintf(problem+"one or more template(s) has improper syntax: %v", err)
	}
	return out
}

// versionNumbers returns the values of the variables, or nil for a version that is not semantic. It parses the full
// version, since the field Minor may be "31+", and no field has the patch.
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
