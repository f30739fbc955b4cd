// Package expression parses boolean expressions over condition types and comparisons of fields, such as
//
//	!Migrating && (Ready || status.phase == "Running")
//
// and evaluates them in Kleene's three-valued logic: a condition that is absent or Unknown and a comparison with an absent
// field are neither true nor false, and an expression is unknown only if its unknown parts could still decide it either
// way.
//
// && binds tighter than ||. The operator-status enhancement defines the language of condition types. Comparisons are an
// addition for custom resources without conditions.
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

// String returns the value as the status of a condition.
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

// Not returns Kleene's negation: the negation of Unknown is Unknown.
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

// Literal is a term or its negation. Negation is applied to the literals: !(A || B) contains !A and !B.
type Literal struct {
	// Term is a condition type or a Comparison as text.
	Term    string
	Negated bool
}

// String returns the literal as written in an expression.
func (l Literal) String() string {
	switch {
	case !l.Negated:
		return l.Term
	case IsConditionType(l.Term):
		return "!" + l.Term
	default:
		return "!(" + l.Term + ")"
	}
}

// Expression is a parsed expression. It is immutable and safe for concurrent use.
type Expression struct {
	root  node
	terms []string
}

// Terms returns the condition types and comparisons in the expression, sorted and without duplicates, and the types of the
// conditions whose reasons it compares.
func (e *Expression) Terms() []string {
	return slices.Clone(e.terms)
}

// Evaluate returns the value of the expression, with the values of its terms from lookup.
func (e *Expression) Evaluate(lookup func(term string) Value) Value {
	return e.root.evaluate(lookup)
}

// Decisive returns the literals that determine the value of the expression, in the order of the expression and without
// duplicates: the false ones if it is false, and the true ones if it is true. For an unknown expression it returns
// none.
func (e *Expression) Decisive(lookup func(term string) Value) []Literal {
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

// node is a part of an expression in negation normal form: negation is pushed down to the literals by De Morgan's laws,
// which hold in Kleene's logic. So a part never has the opposite effect on the whole.
type node interface {
	evaluate(lookup func(string) Value) Value
	// decisive yields the literals of this node that have the given value, if all parts above them have it too.
	decisive(lookup func(string) Value, value Value, yield func(Literal))
}

func (l Literal) evaluate(lookup func(string) Value) Value {
	v := lookup(l.Term)
	if l.Negated {
		return v.Not()
	}
	return v
}

func (l Literal) decisive(_ func(string) Value, _ Value, yield func(Literal)) {
	yield(l)
}

// junction joins parts: with && if decider is False, and with || if it is True. One part with the value of decider is
// enough to decide the whole.
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
