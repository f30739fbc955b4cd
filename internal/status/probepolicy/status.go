// Package probepolicy computes the status of a ProbePolicy. It is pure.
package probepolicy

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/probepolicy"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Inputs holds everything that the status of a policy depends on, as read at one moment.
type Inputs struct {
	Policy *holdv1alpha1.ProbePolicy

	// Operators are those that serve one of its CustomResourceDefinitions.
	Operators []Operator

	// Problems are those of its expressions with the schemas of its CustomResourceDefinitions.
	Problems []condition.Problem

	Now metav1.Time
}

// Operator is an operator that may be one that the policy applies to.
type Operator struct {
	probepolicy.Operator

	// Name of its ClusterServiceVersion, or the one in spec.operator of its Probe.
	Name string

	// Probe is its Probe, or nil.
	Probe *v1alpha1.Probe
}

// appliesTo reports whether the policy determines a part of the Probe of an operator.
func (in Inputs) appliesTo(o Operator) bool {
	return (o.Probe == nil || o.Probe.IsGenerated()) && len(probepolicy.Resources(o.Operator, in.Policy)) > 0
}

// Compute returns the status.
func Compute(in Inputs) holdv1alpha1.ProbePolicyStatus {
	out := holdv1alpha1.ProbePolicyStatus{
		ObservedGeneration: in.Policy.Generation, Conditions: slices.Clone(in.Policy.Status.Conditions),
	}
	for _, o := range in.Operators {
		if !in.appliesTo(o) {
			continue
		}
		upgradeable := metav1.ConditionUnknown
		if o.Probe != nil {
			if c := meta.FindStatusCondition(o.Probe.Status.Conditions, v1alpha1.ConditionUpgradeable); c != nil {
				upgradeable = c.Status
			}
		}
		out.Summary.Operators++
		if upgradeable == metav1.ConditionFalse {
			out.Summary.NotUpgradeable++
		}
		out.Operators = append(out.Operators, holdv1alpha1.PolicyOperator{
			Installer: o.Installer, Namespace: o.Namespace, Name: o.Name, Upgradeable: upgradeable,
		})
	}
	slices.SortFunc(out.Operators, func(a, b holdv1alpha1.PolicyOperator) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Installer, b.Installer))
	})
	meta.SetStatusCondition(&out.Conditions, in.matched(out.Operators))
	meta.SetStatusCondition(&out.Conditions, in.valid())
	out.Operators = out.Operators[:min(len(out.Operators), holdv1alpha1.MaxPolicyOperators)]
	return out
}

// rank orders those that may not be updated first.
func rank(o holdv1alpha1.PolicyOperator) int {
	return slices.Index([]metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionTrue}, o.Upgradeable)
}

func (in Inputs) valid() metav1.Condition {
	out := metav1.Condition{
		Type: holdv1alpha1.ConditionValid, Status: metav1.ConditionTrue, Reason: holdv1alpha1.ReasonValid,
		ObservedGeneration: in.Policy.Generation, LastTransitionTime: in.Now,
	}
	if len(in.Problems) > 0 {
		out.Status, out.Reason, out.Message = metav1.ConditionFalse, holdv1alpha1.ReasonFieldNotFound, condition.Messages(in.Problems, mostNamed)
	}
	return out
}

// mostNamed limits the names in a message.
const mostNamed = 5

func (in Inputs) matched(operators []holdv1alpha1.PolicyOperator) metav1.Condition {
	out := metav1.Condition{
		Type: holdv1alpha1.ConditionMatched, Status: metav1.ConditionTrue, Reason: holdv1alpha1.ReasonOperatorsFound,
		ObservedGeneration: in.Policy.Generation, LastTransitionTime: in.Now,
	}
	var names []string
	if len(operators) > 0 {
		for _, o := range operators {
			names = append(names, o.Namespace+"/"+o.Name)
		}
		out.Message = "Applies to " + messages.List(names, mostNamed, ", ")
		return out
	}
	for _, r := range in.Policy.Spec.ProbeResources {
		names = append(names, r.CRDName())
	}
	out.Status, out.Reason = metav1.ConditionFalse, holdv1alpha1.ReasonNoOperatorFound
	out.Message = fmt.Sprintf("No operator without annotations and a Probe of its own serves %s", messages.List(names, mostNamed, ", "))
	if in.Policy.Spec.Match != nil {
		out.Message += " and is selected by spec.match"
	}
	return out
}
