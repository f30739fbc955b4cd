package probe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/status/condition"
)

// Expressions are the expressions that a Probe evaluates for one resource. Each may be nil.
type Expressions struct {
	Upgradeable *expression.Expression
	Important   *expression.Expression

	// Invalid is true if the upgradeable expression cannot be parsed. The custom resources are then unknown.
	Invalid bool
}

// Terms returns the condition types and comparisons in the expressions, sorted, each once.
func (e Expressions) Terms() []string {
	var out []string
	if e.Upgradeable != nil {
		out = append(out, e.Upgradeable.Terms()...)
	}
	if e.Important != nil {
		out = append(out, e.Important.Terms()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Judge evaluates the expressions for the conditions of a custom resource. A condition that was observed before the last
// change of the custom resource is unknown for its new state. It still blocks an update, which might interrupt the work
// that it reports.
func (e Expressions) Judge(conditions []observed.Condition) observed.Verdict {
	lookup := lookupIn(conditions)
	out := observed.Verdict{Unknown: e.Invalid}
	if e.Upgradeable != nil {
		out.Blocks = e.Upgradeable.Evaluate(lookup) == expression.False
		if !out.Blocks && e.Upgradeable.Evaluate(lookupIn(current(conditions))) == expression.Unknown {
			out.Unknown, out.Unreadable = true, len(e.unreadable(conditions)) > 0
		}
	}
	out.Important = e.Important != nil && e.Important.Evaluate(lookup) == expression.True
	return out
}

// current returns the conditions with those Unknown that were observed before the last change of the custom resource.
func current(conditions []observed.Condition) []observed.Condition {
	out := slices.Clone(conditions)
	for i := range out {
		if out[i].Stale {
			out[i].Status = observed.Unknown
		}
	}
	return out
}

// unreadable returns the terms that the upgradeable expression needs and whose conditions or fields cannot be read, and
// status.conditions if it needs conditions and parts of that are none.
func (e Expressions) unreadable(conditions []observed.Condition) (out []string) {
	terms := e.Upgradeable.Terms()
	for _, c := range conditions {
		if c.Status != observed.Unreadable {
			continue
		}
		if needed := slices.Contains(terms, c.Type) || c.Type == "" && slices.ContainsFunc(terms, expression.IsConditionType); needed {
			out = append(out, cmp.Or(c.Type, "status.conditions"))
		}
	}
	return out
}

// Explain returns the conditions that decided, as messages and as reasons.
func (e Expressions) Explain(conditions []observed.Condition) (out observed.Explanation) {
	lookup := lookupIn(conditions)
	var decisive []expression.Literal
	if e.Upgradeable != nil && e.Upgradeable.Evaluate(lookup) == expression.False {
		literals := e.Upgradeable.Decisive(lookup)
		out.Blocks = sentence(conditions, literals)
		decisive = append(decisive, literals...)
	}
	if e.Important != nil && e.Important.Evaluate(lookup) == expression.True {
		literals := e.Important.Decisive(lookup)
		out.Important = sentence(conditions, literals)
		decisive = append(decisive, literals...)
	}
	out.Reasons = inOrderOf(conditions, decisive)
	if e.Judge(conditions).Unreadable {
		names := e.unreadable(conditions)
		out.Unreadable = strings.Join(names, ", ")
		out.Reasons = append(out.Reasons, names...)
	}
	return out
}

func lookupIn(conditions []observed.Condition) func(conditionType string) expression.Value {
	return func(conditionType string) expression.Value {
		for _, c := range conditions {
			if c.Type == conditionType {
				return valueOf(c.Status)
			}
		}
		return expression.Unknown
	}
}

// sentence returns the values of the terms of the literals: "Migrating is True, status.phase is not "Running"".
func sentence(conditions []observed.Condition, literals []expression.Literal) string {
	var out []string
	for _, c := range conditions {
		if slices.ContainsFunc(literals, func(l expression.Literal) bool { return l.Term == c.Type }) {
			out = append(out, expression.Say(c.Type, valueOf(c.Status)))
		}
	}
	return strings.Join(out, ", ")
}

// inOrderOf returns the literals as text, each once, in the order of their conditions.
func inOrderOf(conditions []observed.Condition, literals []expression.Literal) []string {
	var out []string
	for _, c := range conditions {
		for _, l := range literals {
			if l.Term == c.Type && !slices.Contains(out, l.String()) {
				out = append(out, l.String())
			}
		}
	}
	return out
}

func valueOf(s observed.Status) expression.Value {
	switch s {
	case observed.True:
		return expression.True
	case observed.False:
		return expression.False
	default:
		return expression.Unknown
	}
}

// Parse parses the expressions of a spec and returns a Problem for each invalid one. The API server rejects these, but
// Probes may have been stored before it did.
func Parse(spec v1alpha1.ProbeResource) (out Expressions, problems []condition.Problem) {
	read := func(field, text string, parse func(string) (*expression.Expression, error)) *expression.Expression {
		if text == "" {
			return nil
		}
		e, err := parse(text)
		if err != nil {
			problems = append(problems, condition.Problem{Reason: v1alpha1.ReasonInvalidExpression, Message: fmt.Sprintf(
				"Field %s of probe resource %s is not a valid expression: %v", field, spec.CRDName(), err)})
		}
		return e
	}
	out.Upgradeable = read("upgradeable", spec.Upgradeable, expression.Parse)
	out.Important = read("important", spec.Important, expression.ParseAny)
	out.Invalid = spec.Upgradeable != "" && out.Upgradeable == nil
	return out, problems
}
