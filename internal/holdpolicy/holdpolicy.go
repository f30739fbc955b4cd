// Package holdpolicy determines the UpgradeHolds of an UpgradeHoldPolicy. It is pure.
package holdpolicy

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Operator is an operator that a policy may select.
type Operator struct {
	holdv1alpha1.OperatorReference

	// Package that OLM installed it from, or empty.
	Package string
}

// Subscribed returns the operator of a Subscription.
func Subscribed(sub *v1alpha1.Subscription) Operator {
	out := Operator{OperatorReference: holdv1alpha1.SubscribedOperator(sub.Namespace, sub.Name)}
	if sub.Spec != nil {
		out.Package = sub.Spec.Package
	}
	return out
}

// Changes are those that make the UpgradeHolds of a policy the ones that it determines.
type Changes struct {
	Create, Update, Delete []*holdv1alpha1.UpgradeHold

	// Kept are those that do not change.
	Kept []*holdv1alpha1.UpgradeHold
}

// Compare compares the UpgradeHolds that a policy created with the operators that it selects, each of which has one. namespace is that of
// operator-status, in which updates cannot be held.
func Compare(policy *holdv1alpha1.UpgradeHoldPolicy, operators []Operator, own []*holdv1alpha1.UpgradeHold, namespace string) Changes {
	var out Changes
	terms := termsOf(policy)
	wanted := map[holdv1alpha1.OperatorReference]bool{}
	for _, o := range operators {
		if selects(policy, o, namespace) {
			wanted[o.OperatorReference] = true
		}
	}
	for _, h := range own {
		switch of := h.Spec.Operator; {
		case !wanted[of]: // also a second one
			out.Delete = append(out.Delete, h)
			continue
		case metav1.IsControlledBy(h, policy) && equality.Semantic.DeepEqual(h.Spec.HoldTerms, terms):
			out.Kept = append(out.Kept, h)
		default:
			changed := h.DeepCopy()
			changed.OwnerReferences = ownedBy(policy) // that of an earlier policy of the name would be garbage
			terms.DeepCopyInto(&changed.Spec.HoldTerms)
			out.Update = append(out.Update, changed)
		}
		delete(wanted, h.Spec.Operator)
	}
	for of := range wanted {
		out.Create = append(out.Create, newHold(policy, of))
	}
	slices.SortFunc(out.Create, func(a, b *holdv1alpha1.UpgradeHold) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func selects(policy *holdv1alpha1.UpgradeHoldPolicy, o Operator, namespace string) bool {
	reserved := o.Namespace == namespace || slices.Contains(holdv1alpha1.ReservedNamespaces, o.Namespace)
	return !reserved && policy.Spec.Selects(o.Installer, o.Namespace, o.Package)
}

// Missing returns the UpgradeHolds that policies determine for operators, and that do not exist yet: an update must not begin meanwhile.
func Missing(policies []holdv1alpha1.UpgradeHoldPolicy, operators []Operator, actual []holdv1alpha1.UpgradeHold, namespace string) []holdv1alpha1.UpgradeHold {
	var out []holdv1alpha1.UpgradeHold
	for i := range policies {
		policy := &policies[i]
		for _, o := range operators {
			exists := func(h holdv1alpha1.UpgradeHold) bool {
				return h.Spec.Operator == o.OperatorReference && h.Policy() == policy.Name
			}
			if policy.DeletionTimestamp.IsZero() && selects(policy, o, namespace) && !slices.ContainsFunc(actual, exists) {
				out = append(out, *newHold(policy, o.OperatorReference))
			}
		}
	}
	return out
}

// newHold returns the UpgradeHold of an operator. It is deleted with its policy.
func newHold(policy *holdv1alpha1.UpgradeHoldPolicy, of holdv1alpha1.OperatorReference) *holdv1alpha1.UpgradeHold {
	out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: of.HoldNameFor(policy.Name)}}
	out.OwnerReferences = ownedBy(policy)
	out.Spec.Operator = of
	out.Spec.HoldTerms = termsOf(policy)
	return out
}

// termsOf returns a copy of the terms of a policy as they are read back: a time that is written loses fractions of a second.
func termsOf(policy *holdv1alpha1.UpgradeHoldPolicy) holdv1alpha1.HoldTerms {
	out := *policy.Spec.HoldTerms.DeepCopy()
	for _, t := range []*metav1.Time{out.From, out.Until} {
		if t != nil {
			*t = t.Rfc3339Copy()
		}
	}
	return out
}

func ownedBy(policy *holdv1alpha1.UpgradeHoldPolicy) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(policy, holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldPolicyKind))}
}
