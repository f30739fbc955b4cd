package watch

import (
	"fmt"

	"github.com/operator-status/operator-status/internal/expression"
)

// plan has the terms that a decoder looks for in an object. It is immutable and safe for concurrent use.
type plan struct {
	// numbers are the numbers of terms in patterns.
	numbers map[string]uint8

	// spec, status and metadata are the fields that are kept of an object, as trees. values is how many there are.
	spec, status, metadata *fieldNode
	values                 int

	comparisons []numberedComparison

	// readsReasons is true if the reason of a condition is compared.
	readsReasons bool
}

// The values that are kept of every object.
const (
	generationValue = iota
	observedGenerationValue
)

// numberedComparison is a comparison of values or, if it is of a condition's reason, with the number of that condition.
type numberedComparison struct {
	expression.Comparison
	number    uint8
	values    []int
	condition *uint8
}

// fieldNode is a field that is kept, or that contains such fields. A nil fieldNode is a field that is not.
type fieldNode struct {
	value    int // the index of its value, or -1
	members  map[string]*fieldNode
	elements map[uint]*fieldNode
}

// newPlan returns the plan for the terms of expressions. Terms are numbered in their order.
func newPlan(terms []string) (*plan, error) {
	if len(terms) > MaxTerms {
		return nil, fmt.Errorf("looking for %d terms: %w", len(terms), ErrTooManyTerms)
	}
	out := &plan{
		numbers: make(map[string]uint8, len(terms)),
		spec:    newNode(), status: newNode(), metadata: newNode(),
	}
	out.keep([]expression.Step{{Member: "metadata"}, {Member: "generation"}})
	out.keep([]expression.Step{{Member: "status"}, {Member: "observedGeneration"}})
	for i, t := range terms {
		out.numbers[t] = uint8(i)
	}
	for i, t := range terms {
		if c, ok := expression.ParseTerm(t); ok {
			out.comparisons = append(out.comparisons, out.compare(c, uint8(i)))
		}
	}
	return out, nil
}

func (p *plan) compare(c expression.Comparison, number uint8) numberedComparison {
	out := numberedComparison{Comparison: c, number: number}
	for _, f := range c.Fields() {
		if f.Condition == "" {
			out.values = append(out.values, p.keep(f.Path))
			continue
		}
		if condition, ok := p.numbers[f.Condition]; ok {
			out.condition = &condition
			p.readsReasons = true
		}
	}
	return out
}

// keep returns the index of the value of a field, which is kept from then on.
func (p *plan) keep(path []expression.Step) int {
	n := map[string]*fieldNode{"metadata": p.metadata, "spec": p.spec, "status": p.status}[path[0].Member]
	for _, s := range path[1:] {
		n = n.child(s)
	}
	if n.value < 0 {
		n.value = p.values
		p.values++
	}
	return n.value
}

func newNode() *fieldNode {
	return &fieldNode{value: -1}
}

// child returns the node one step below n, which it creates if needed.
func (n *fieldNode) child(s expression.Step) (out *fieldNode) {
	if s.Member == "" {
		if out = n.elements[s.Element]; out == nil {
			out = newNode()
			set(&n.elements, s.Element, out)
		}
		return out
	}
	if out = n.members[s.Member]; out == nil {
		out = newNode()
		set(&n.members, s.Member, out)
	}
	return out
}

// set sets an entry of a map, which it makes if there is none: most nodes have no children.
func set[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
