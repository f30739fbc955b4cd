// Package expression reads boolean expressions over condition types, such as
//
//	!Migrating && (Ready || example.com/Done)
//
// and evaluates them in Kleene's three-valued logic: a condition that is absent or Unknown is neither true nor false,
// and an expression is unknown only where its unknown parts could still decide it either way.
//
// && binds tighter than ||. The language is the one of the operator-status enhancement, and its values are those of
// the conditions on a custom resource.
package expression

import (
	"slices"
)

// Value is a truth value. The zero Value is Unknown.
type Value uint8

// The three truth values.
const (
	Unknown Value = iota
	False
	True
)

// String is the value as a condition's status spells it.
func (v Value) String() string {
	switch v {
	case True:
		return "True"
	case False:
		return "False"
	default:
		return "Unknown"
	}
}

// Not is Kleene's negation: unknown stays unknown.
func (v Value) Not() Value {
	switch v {
	case True:
		return False
	case False:
		return True
	default:
		return Unknown
	}
}

// Literal is a condition type, or its negation, as it acts in an expression: !(A || B) acts through !A and !B.
type Literal struct {
	Type    string
	Negated bool
}

// String is the literal as one would write it.
func (l Literal) String() string {
	if l.Negated {
		return "!" + l.Type
	}
	return l.Type
}

// Expression is a parsed expression. It is immutable and safe to share.
type Expression struct {
	root  node
	types []string
}

// Types are the condition types that the expression names, sorted, each once.
func (e *Expression) Types() []string {
	return slices.Clone(e.types)
}

// Evaluate is the value of the expression where each condition type has the value that lookup gives it.
func (e *Expression) Evaluate(lookup func(conditionType string) Value) Value {
	return e.root.evaluate(lookup)
}

// Decisive are the literals that made the expression what it is, in the order of the expression, each once: those
// that are false where it is false, and those that are true where it is true. An unknown expression has none.
func (e *Expression) Decisive(lookup func(conditionType string) Value) []Literal {
	value := e.root.evaluate(lookup)
	if value == Unknown {
		return nil
	}
	var out []Literal
	e.root.decisive(lookup, value, func(l Literal) {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	})
	return out
}

// node is a part of an expression in negation normal form: negation is pushed down to the literals by De Morgan's
// laws, which hold in Kleene's logic, so that every literal pulls the same way as the whole.
type node interface {
	evaluate(lookup func(string) Value) Value
	// decisive yields the literals below that have the given value in parts that have it too.
	decisive(lookup func(string) Value, value Value, yield func(Literal))
}

func (l Literal) evaluate(lookup func(string) Value) Value {
	v := lookup(l.Type)
	if l.Negated {
		return v.Not()
	}
	return v
}

func (l Literal) decisive(_ func(string) Value, _ Value, yield func(Literal)) {
	yield(l)
}

// junction joins parts: by && where its decider is False, which any one part that is False brings about, and by ||
// where it is True.
type junction struct {
	decider Value
	parts   []node
}

func (j junction) evaluate(lookup func(string) Value) Value {
	out := j.decider.Not()
	for _, p := range j.parts {
		v := p.evaluate(lookup)
		if v == j.decider {
			return v
		}
		if v == Unknown {
			out = Unknown
		}
	}
	return out
}

func (j junction) decisive(lookup func(string) Value, value Value, yield func(Literal)) {
	for _, p := range j.parts {
		if p.evaluate(lookup) == value {
			p.decisive(lookup, value, yield)
		}
	}
}
