// Package imagepolicy computes the status of an ImagePolicy. It is pure.
package imagepolicy

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/operator-status/operator-status/api/policy/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/status/condition"
)

const (
	mostNamed      = 5    // limits the CatalogSources in a message
	longestMessage = 1024 // limits the message of a condition, in bytes
)

// Inputs holds everything that the status of a policy depends on, as read at one moment.
type Inputs struct {
	Policy *policyv1alpha1.ImagePolicy

	// Catalogs are those to whose images the policy applies.
	Catalogs []policyv1alpha1.MatchedCatalog

	// Problem with its spec, or nil.
	Problem *condition.Problem

	Now metav1.Time
}

// Compute returns the status of a policy.
func Compute(in Inputs) policyv1alpha1.ImagePolicyStatus {
	out := policyv1alpha1.ImagePolicyStatus{ObservedGeneration: in.Policy.Generation, Conditions: slices.Clone(in.Policy.Status.Conditions)}
	sorted := slices.SortedFunc(slices.Values(in.Catalogs), func(a, b policyv1alpha1.MatchedCatalog) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	out.Summary.Catalogs = int32(len(sorted))
	if len(sorted) > 0 {
		out.Catalogs = sorted[:min(len(sorted), policyv1alpha1.MaxCatalogs)]
	}
	for _, c := range []metav1.Condition{matched(sorted), valid(in.Problem)} {
		c.ObservedGeneration, c.LastTransitionTime = in.Policy.Generation, in.Now
		c.Message = messages.Clip(messages.Line(c.Message), longestMessage)
		meta.SetStatusCondition(&out.Conditions, c)
	}
	return out
}

func matched(catalogs []policyv1alpha1.MatchedCatalog) metav1.Condition {
	if len(catalogs) == 0 {
		return metav1.Condition{
			Type: policyv1alpha1.ConditionMatched, Status: metav1.ConditionFalse, Reason: policyv1alpha1.ReasonNoCatalogFound,
			Message: "It applies to the image of no CatalogSource",
		}
	}
	var named []string
	for _, c := range catalogs {
		named = append(named, fmt.Sprintf("%s of CatalogSource %s/%s", c.Image, c.Namespace, c.Name))
	}
	return metav1.Condition{
		Type: policyv1alpha1.ConditionMatched, Status: metav1.ConditionTrue, Reason: policyv1alpha1.ReasonCatalogsFound,
		Message: "It applies to " + messages.List(named, mostNamed, ", "),
	}
}

func valid(problem *condition.Problem) metav1.Condition {
	if problem != nil {
		return metav1.Condition{Type: policyv1alpha1.ConditionValid, Status: metav1.ConditionFalse, Reason: problem.Reason, Message: problem.Message}
	}
	return metav1.Condition{Type: policyv1alpha1.ConditionValid, Status: metav1.ConditionTrue, Reason: policyv1alpha1.ReasonValid}
}
