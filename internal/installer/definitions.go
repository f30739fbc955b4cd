package installer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operator"
)

// optIns is how the annotations begin with which an author opts in.
var optIns = strings.TrimSuffix(v1alpha1.AnnotationUpgradeable, ".Upgradeable")

// AddDefinitions adds the problems of CustomResourceDefinitions to the operators that have them: opt-ins without effect, and deletions.
// These come first, since an operator fails because of them.
func AddDefinitions(c Cluster, operators []operator.Operator, of func(operator.Operator) []string) {
	misspelt, terminating := misspelt(c), terminating(c)
	if len(misspelt)+len(terminating) == 0 {
		return
	}
	for i := range operators {
		op := &operators[i]
		var deleted []operator.Blocker
		for _, crd := range of(*op) {
			op.Notices = append(op.Notices, misspelt[crd]...)
			deleted = append(deleted, terminating[crd]...)
		}
		op.Blockers = append(deleted, op.Blockers...)
	}
}

// misspelt returns a notice for each annotation of a CustomResourceDefinition that begins as an opt-in of its author does, and has no
// effect, by the name of the CustomResourceDefinition. A policy warns its author, but not users who install it with a package.
func misspelt(c Cluster) map[string][]operator.Blocker {
	out := map[string][]operator.Blocker{}
	for crd := range each[metav1.PartialObjectMetadata](c) {
		for _, key := range slices.Sorted(maps.Keys(crd.Annotations)) {
			if key == v1alpha1.AnnotationUpgradeable || key == v1alpha1.AnnotationImportant || !strings.HasPrefix(strings.ToLower(key), optIns) {
				continue
			}
			out[crd.Name] = append(out[crd.Name], operator.Blocker{
				Impact: operator.Notice, By: "CustomResourceDefinition " + crd.Name, Reason: "UnknownAnnotation",
				Cause: fmt.Sprintf("Annotation %s of CustomResourceDefinition %s has no effect. Its author may mean %s or %s",
					key, crd.Name, v1alpha1.AnnotationUpgradeable, v1alpha1.AnnotationImportant),
				Steps: []operator.Step{{To: "To see it", Command: operator.Command("kubectl get customresourcedefinition %s -o yaml", crd.Name)}},
			})
		}
	}
	return out
}

// terminating returns the blockers of CustomResourceDefinitions that are being deleted, by their names. Their deletion waits for the
// finalizers of custom resources, while operators run on as if nothing had happened.
func terminating(c Cluster) map[string][]operator.Blocker {
	out := map[string][]operator.Blocker{}
	for crd := range each[metav1.PartialObjectMetadata](c) {
		if crd.DeletionTimestamp == nil {
			continue
		}
		out[crd.Name] = []operator.Blocker{{
			Impact: operator.Broken, By: "CustomResourceDefinition " + crd.Name, Reason: ReasonTerminating, Since: *crd.DeletionTimestamp,
			Cause: fmt.Sprintf("CustomResourceDefinition %s is being deleted with its custom resources, and no new ones can be created. "+
				"The deletion waits for the finalizers of those that are left", crd.Name),
			Steps: []operator.Step{
				{To: "To see them and their finalizers", Command: operator.Command("kubectl get %s -A -o yaml", crd.Name)},
				{To: "To remove the finalizers of one", Command: operator.Command(`kubectl patch %s -n NAMESPACE NAME --type=merge -p '{"metadata":{"finalizers":null}}'`, crd.Name)},
			},
		}}
	}
	return out
}

// UnreadOf returns those of some kinds that may not be read although the cluster has them, by their Plural. The API server denies a user
// without rights also the kinds that it does not have. Unless it was asked, that is known by their CustomResourceDefinitions.
func UnreadOf(c Cluster, kinds ...schema.GroupVersionKind) []string {
	var out []string
	for _, kind := range kinds {
		if plural := kind.Kind + "s"; slices.Contains(c.Unread, plural) && isDefined(c, kind) {
			out = append(out, plural)
		}
	}
	return out
}

// isDefined reports whether a kind is known to be served, or to have a CustomResourceDefinition.
func isDefined(c Cluster, kind schema.GroupVersionKind) bool {
	if slices.Contains(c.Served, kind) {
		return true
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	for crd := range each[metav1.PartialObjectMetadata](c) {
		if crd.Name == resource.GroupResource().String() {
			return true
		}
	}
	return false
}
