// Package probepolicy applies ProbePolicies to the operators that serve the CustomResourceDefinitions which the policies name. It is pure.
package probepolicy

import (
	"cmp"
	"slices"
	"strings"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/installer/controllers"
)

// Operator is an operator that policies may apply to.
type Operator struct {
	Installer holdv1alpha1.Installer

	// Namespace that it was installed in, from a package, if that is known.
	Namespace, Package string

	// Definitions are the names of the CustomResourceDefinitions that it serves.
	Definitions []string

	// Annotated are the resources that it declared with annotations.
	Annotated []v1alpha1.ProbeResource
}

// OfCSV returns the operator of a ClusterServiceVersion that declared resources with annotations. more are the names of
// CustomResourceDefinitions that it serves and does not own.
func OfCSV(csv *v1alpha1.ClusterServiceVersion, annotated []v1alpha1.ProbeResource, more []string) Operator {
	return Operator{
		Installer: holdv1alpha1.InstallerOLM, Namespace: csv.Namespace, Package: csvchain.PackageOf(csv).Name, Annotated: annotated,
		Definitions: append(namesOf(csv.Spec.CustomResourceDefinitions.Owned), more...),
	}
}

func namesOf(described []olm.CRDDescription) []string {
	var out []string
	for _, d := range described {
		out = append(out, d.Name)
	}
	return out
}

// Unowned returns those of some CustomResourceDefinitions that the operator of a ClusterServiceVersion serves if they exist, although it does
// not own them, since it creates them itself: it owns another one of the API group, and the permissions of one of its service accounts let
// that report on their custom resources. Permissions alone say little: many operators have all on an API group that they only use.
func Unowned(csv *v1alpha1.ClusterServiceVersion, definitions []string) []string {
	owned, required := namesOf(csv.Spec.CustomResourceDefinitions.Owned), namesOf(csv.Spec.CustomResourceDefinitions.Required)
	groups := Groups(owned)
	candidates := slices.DeleteFunc(slices.Clone(definitions), func(name string) bool {
		return slices.Contains(owned, name) || slices.Contains(required, name) || !slices.Contains(groups, GroupOf(name))
	})
	if len(candidates) == 0 {
		return nil
	}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	var rules []rbacv1.PolicyRule
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		rules = append(rules, p.Rules...)
	}
	out := controllers.ReportedWith(rules, candidates)
	slices.Sort(out)
	return slices.Compact(out)
}

// Groups returns the API groups of CustomResourceDefinitions, sorted.
func Groups(definitions []string) []string {
	var out []string
	for _, name := range definitions {
		out = append(out, GroupOf(name))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// GroupOf returns the API group in the name of a CustomResourceDefinition.
func GroupOf(definition string) string {
	_, group, _ := strings.Cut(definition, ".")
	return group
}

// Added returns the resources that policies add to those that an operator declared with annotations, sorted by name. A policy adds
// those of its CustomResourceDefinitions that the operator serves and did not annotate. Those beyond the limit of a Probe are left out.
func Added(op Operator, policies []holdv1alpha1.ProbePolicy) []v1alpha1.ProbeResource {
	var out []v1alpha1.ProbeResource
	for i := range policies {
		for _, r := range Resources(op, &policies[i]) {
			out = join(out, v1alpha1.ProbeResource{Name: r.CRDName(), Upgradeable: r.Upgradeable, Important: r.Important})
		}
	}
	slices.SortStableFunc(out, func(a, b v1alpha1.ProbeResource) int { return cmp.Compare(a.Name, b.Name) })
	return out[:min(len(out), max(v1alpha1.MaxProbeResources-len(op.Annotated), 0))]
}

// Settle returns the longest settle of the policies that add something, or nil.
func Settle(op Operator, policies []holdv1alpha1.ProbePolicy) (out *metav1.Duration) {
	for i := range policies {
		s := policies[i].Spec.Settle
		if s != nil && (out == nil || s.Duration > out.Duration) && len(Resources(op, &policies[i])) > 0 {
			out = s
		}
	}
	return out
}

// YieldAfter returns the longest yieldAfter of the policies that add something, or nil if one of them, or the author of the operator, has
// none.
func YieldAfter(op Operator, policies []holdv1alpha1.ProbePolicy) (out *metav1.Duration) {
	if len(op.Annotated) > 0 {
		return nil
	}
	for i := range policies {
		after := policies[i].Spec.YieldAfter
		switch {
		case len(Resources(op, &policies[i])) == 0:
		case after == nil:
			return nil
		case out == nil || after.Duration > out.Duration:
			out = after
		}
	}
	return out
}

// AlertAfter returns the shortest alertAfter of the policies that add something, or nil.
func AlertAfter(op Operator, policies []holdv1alpha1.ProbePolicy) (out *metav1.Duration) {
	for i := range policies {
		after := policies[i].Spec.AlertAfter
		if after != nil && (out == nil || after.Duration < out.Duration) && len(Resources(op, &policies[i])) > 0 {
			out = after
		}
	}
	return out
}

// Resources returns the resources of one policy that an operator serves and did not annotate.
func Resources(op Operator, policy *holdv1alpha1.ProbePolicy) []v1alpha1.ProbeResource {
	if !policy.Spec.Match.Matches(op.Installer, op.Namespace, op.Package) {
		return nil
	}
	var out []v1alpha1.ProbeResource
	for _, r := range policy.Spec.ProbeResources {
		isAnnotated := slices.ContainsFunc(op.Annotated, func(d v1alpha1.ProbeResource) bool { return d.CRDName() == r.CRDName() })
		if !isAnnotated && slices.Contains(op.Definitions, r.CRDName()) {
			out = append(out, r)
		}
	}
	return out
}

// DefinitionsIn returns the names of the CustomResourceDefinitions that policies name, sorted.
func DefinitionsIn(policies []holdv1alpha1.ProbePolicy) []string {
	var out []string
	for i := range policies {
		out = append(out, Named(policies[i].Spec.ProbeResources)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
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
