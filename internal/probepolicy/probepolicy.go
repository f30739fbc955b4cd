// Package probepolicy applies ProbePolicies to the operators that own the CustomResourceDefinitions which the policies name. It is pure.
package probepolicy

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/expression"
)

// Added returns the resources that policies add to those that an operator declared with annotations, sorted by name. A policy adds
// those of its CustomResourceDefinitions that the operator owns and did not annotate. Those beyond the limit of a Probe are left out.
func Added(csv *v1alpha1.ClusterServiceVersion, declared []v1alpha1.ProbeResource, policies []holdv1alpha1.ProbePolicy) []v1alpha1.ProbeResource {
	var out []v1alpha1.ProbeResource
	for i := range policies {
		for _, r := range Resources(csv, declared, &policies[i]) {
			out = join(out, v1alpha1.ProbeResource{Name: r.CRDName(), Upgradeable: r.Upgradeable, Important: r.Important})
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.ProbeResource) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(len(out), max(v1alpha1.MaxProbeResources-len(declared), 0))]
}

// Settle returns the longest settle of the policies that add something, or nil.
func Settle(csv *v1alpha1.ClusterServiceVersion, declared []v1alpha1.ProbeResource, policies []holdv1alpha1.ProbePolicy) (out *metav1.Duration) {
	for i := range policies {
		s := policies[i].Spec.Settle
		if s != nil && (out == nil || s.Duration > out.Duration) && len(Resources(csv, declared, &policies[i])) > 0 {
			out = s
		}
	}
	return out
}

// Resources returns the resources of one policy that an operator owns and did not annotate.
func Resources(csv *v1alpha1.ClusterServiceVersion, declared []v1alpha1.ProbeResource, policy *holdv1alpha1.ProbePolicy) []v1alpha1.ProbeResource {
	var out []v1alpha1.ProbeResource
	for _, r := range policy.Spec.ProbeResources {
		isDeclared := slices.ContainsFunc(declared, func(d v1alpha1.ProbeResource) bool { return d.CRDName() == r.CRDName() })
		if !isDeclared && csvchain.Owns(csv, r.CRDName()) {
			out = append(out, r)
		}
	}
	if len(out) == 0 || !policy.Spec.Match.Matches(csv.Namespace, csvchain.PackageOf(csv).Name) {
		return nil
	}
	return out
}

// join adds a resource to others. Its expressions are joined to those of the same CustomResourceDefinition, unless they become too long.
func join(resources []v1alpha1.ProbeResource, r v1alpha1.ProbeResource) []v1alpha1.ProbeResource {
	for i, other := range resources {
		if other.Name != r.Name {
			continue
		}
		upgradeable, important := both(other.Upgradeable, r.Upgradeable), either(other.Important, r.Important)
		if isValid(upgradeable) && len(important) <= expression.MaxLength {
			resources[i].Upgradeable, resources[i].Important = upgradeable, important
			return resources
		}
	}
	return append(resources, r)
}

func isValid(upgradeable string) bool {
	_, err := expression.Parse(upgradeable)
	return upgradeable == "" || err == nil
}

// both returns an expression that is true if both are.
func both(a, b string) string {
	if a == "" || b == "" || a == b {
		return cmp.Or(a, b)
	}
	return grouped(a) + " && " + grouped(b)
}

func grouped(e string) string {
	if strings.Contains(e, "||") {
		return "(" + e + ")"
	}
	return e
}

// either returns the terms of both, each once.
func either(a, b string) string {
	if a == "" || b == "" {
		return cmp.Or(a, b)
	}
	joined := a + " || " + b
	parsed, err := expression.ParseAny(joined)
	if err != nil {
		return joined
	}
	var out []string
	for _, l := range parsed.Decisive(func(string) expression.Value { return expression.True }) {
		out = append(out, l.String())
	}
	return strings.Join(out, " || ")
}
