package operatorgroup

import (
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Overlap reports whether two OperatorGroups with these target namespaces share a namespace.
func Overlap(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return slices.Contains(a, metav1.NamespaceAll) || slices.Contains(b, metav1.NamespaceAll) ||
		slices.ContainsFunc(a, func(n string) bool { return slices.Contains(b, n) })
}

// ProvidedAPIs returns the APIs that the operator of a ClusterServiceVersion provides, as Kind.version.group, sorted.
func ProvidedAPIs(csv *v1alpha1.ClusterServiceVersion) []string {
	var out []string
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if _, group, ok := strings.Cut(d.Name, "."); ok {
			out = append(out, d.Kind+"."+d.Version+"."+group)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AnnotatedAPIs returns the APIs in the annotation olm.providedAPIs of an OperatorGroup. They are set by an
// administrator only if the spec has staticProvidedAPIs; otherwise they are copied from its ClusterServiceVersions.
func AnnotatedAPIs(group *operatorsv1.OperatorGroup) []string {
	var out []string
	for api := range strings.SplitSeq(group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey], ",") {
		if api = strings.TrimSpace(api); api != "" {
			out = append(out, api)
		}
	}
	return out
}

// inactiveReasons are the reasons why a ClusterServiceVersion is not an active member of its OperatorGroup.
var inactiveReasons = []olm.ConditionReason{
	v1alpha1.CSVReasonNoOperatorGroup, v1alpha1.CSVReasonTooManyOperatorGroups, v1alpha1.CSVReasonNoTargetNamespaces,
	v1alpha1.CSVReasonInvalidInstallModes, v1alpha1.CSVReasonUnsupportedOperatorGroup,
	v1alpha1.CSVReasonInterOperatorGroupOwnerConflict, v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
}

// Member reports whether a ClusterServiceVersion is an active member of the OperatorGroup of its namespace, which then
// provides its APIs. It is false until the ClusterServiceVersion has a phase.
func Member(csv *v1alpha1.ClusterServiceVersion) bool {
	return !csv.IsCopied() && csv.Status.Phase != olm.CSVPhaseNone && !slices.Contains(inactiveReasons, csv.Status.Reason)
}

// InConflict reports whether a ClusterServiceVersion was rejected because of the APIs that OperatorGroups provide.
func InConflict(csv *v1alpha1.ClusterServiceVersion) bool {
	return csv.Status.Reason == v1alpha1.CSVReasonInterOperatorGroupOwnerConflict ||
		csv.Status.Reason == v1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs
}
