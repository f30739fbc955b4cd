package watch

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
)

// fieldReader keeps the values of one object that comparisons need.
type fieldReader struct {
	values []expression.Scalar // by the index in the plan
	passed []expression.Scalar // to a comparison
}

// reset forgets all values, but not their memory.
func (f *fieldReader) reset(count int) {
	if len(f.values) < count {
		f.values = make([]expression.Scalar, count)
	}
	for i := range f.values {
		f.values[i] = expression.Scalar{Text: f.values[i].Text[:0]}
	}
}

// forget forgets the values at and below a node. Of members of the same name, the last one counts.
func (f *fieldReader) forget(n *fieldNode) {
	if n == nil {
		return
	}
	f.keep(n, expression.Absent, nil)
	for _, child := range n.members {
		f.forget(child)
	}
	for _, child := range n.elements {
		f.forget(child)
	}
}

// keep keeps the value of a node. It is Other if its text is longer than any that it could be compared with.
func (f *fieldReader) keep(n *fieldNode, kind expression.Kind, text []byte) {
	if n == nil || n.value < 0 {
		return
	}
	v := &f.values[n.value]
	v.Kind, v.Text = kind, v.Text[:0]
	if len(text) > expression.MaxLength {
		v.Kind = expression.Other
		return
	}
	v.Text = append(v.Text, text...)
}

// integer returns a value that is an integer, otherwise 0.
func (f *fieldReader) integer(value int) int64 {
	if f.values[value].Kind != expression.Number {
		return 0
	}
	return integerOf(f.values[value].Text)
}

func integerOf(text []byte) int64 {
	out, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0 // a fraction, or beyond any generation
	}
	return out
}

// field reads the next value, of a member or an element with that node.
func (d *decoder) field(n *fieldNode) error {
	if n == nil {
		return d.json.SkipValue()
	}
	d.fields.forget(n)
	switch kind := d.json.PeekKind(); kind {
	case '{':
		d.fields.keep(n, expression.Other, nil)
		return d.rawMembers(func(name []byte) error { return d.field(n.member(name)) })
	case '[':
		d.fields.keep(n, expression.Other, nil)
		var i uint
		return d.elements(func() error {
			i++
			return d.field(n.elements[i-1])
		})
	case 'n':
		return d.json.SkipValue()
	default:
		if n.value < 0 {
			return d.json.SkipValue()
		}
		return d.scalar(n, kind)
	}
}

func (d *decoder) scalar(n *fieldNode, kind jsontext.Kind) error {
	value, err := d.json.ReadValue()
	if err != nil {
		return err
	}
	switch kind {
	case '"':
		d.scratch = appendUnquoted(d.scratch[:0], value)
		d.fields.keep(n, expression.String, d.scratch)
	case '0':
		d.fields.keep(n, expression.Number, value)
	default:
		d.fields.keep(n, expression.Bool, value)
	}
	return nil
}

// member returns the node of the member of a node with that quoted name, or nil.
func (n *fieldNode) member(quoted []byte) *fieldNode {
	if n == nil || len(n.members) == 0 {
		return nil
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return n.members[string(quoted[1:len(quoted)-1])]
	}
	return n.members[string(appendUnquoted(nil, quoted))]
}

// appendComparisons appends the terms of the object that are not conditions to a pattern.
func (d *decoder) appendComparisons(pattern []byte) []byte {
	generation, seen := d.fields.integer(generationValue), d.fields.integer(observedGenerationValue)
	for _, c := range d.plan.comparisons {
		f := &d.fields
		f.passed = f.passed[:0]
		stale := c.GoesStale() && seen > 0 && seen < generation
		if c.condition != nil {
			reason, isStale := d.conditions.reasonOf(*c.condition, generation, seen)
			f.passed, stale = append(f.passed, reason), isStale
		}
		for _, v := range c.values {
			f.passed = append(f.passed, f.values[v])
		}
		status := observed.Unreadable
		if value, readable := c.Evaluate(f.passed); readable {
			status = observed.Status(value)
		}
		if status != observed.Unknown {
			pattern = append(pattern, c.number, stateOf(status, stale))
		}
	}
	return d.appendSettled(pattern, generation, seen)
}

// appendSettled appends whether the operator has observed the current generation, unless the object has a condition of
// that name. It is unknown if the object does not state which one the operator has observed.
func (d *decoder) appendSettled(pattern []byte, generation, seen int64) []byte {
	number, asked := d.plan.numbers[expression.Settled]
	if seen == 0 {
		seen = d.conditions.latest
	}
	if !asked || generation == 0 || seen == 0 || d.conditions.has(number) {
		return pattern
	}
	status := observed.True
	if seen < generation {
		status = observed.False
	}
	return append(pattern, number, stateOf(status, false))
}
