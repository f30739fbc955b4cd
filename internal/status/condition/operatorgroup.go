package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// OperatorGroupProblem explains why nothing can be installed in a namespace with OperatorGroups of these names. It is nil for exactly one.
func OperatorGroupProblem(namespace string, groups ...string) *Problem {
	switch len(groups) {
	case 0:
		return &Problem{Reason: v1alpha1.ReasonOperatorGroupMissing, Message: fmt.Sprintf(
			"Namespace %s has no OperatorGroup, which selects the namespaces that its operators watch: create one", namespace)}
	case 1:
		return nil
	}
	return &Problem{Reason: v1alpha1.ReasonTooManyOperatorGroups, Message: fmt.Sprintf(
		"Namespace %s has %d OperatorGroups, but only one is allowed: delete all but one of %s", namespace, len(groups),
		strings.Join(slices.Sorted(slices.Values(groups)), ", "))}
}
