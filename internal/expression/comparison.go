package expression

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Comparison is a term that compares a field of a custom resource, or the reason of one of its conditions, with values
// or with another field:
//
//	status.phase == "Running"
//	status.phase in ("Running", "Paused")
//	status.readyReplicas < 3
//	status.observedGeneration == metadata.generation
//	Migrating.reason == "Paused"
//
// The operators are ==, !=, <, <=, >, >= and in. Numbers are integers and quantities, such as 3 and 10Gi.
type Comparison struct {
	text     string
	left     Field
	operator string
	right    []operand // one, unless the operator is in
}

// operand is a literal value or a field.
type operand struct {
	text  string
	value Scalar
	field *Field
}

// Field is an operand that a Comparison reads from a custom resource.
type Field struct {
	// Path in the custom resource. Its first step is metadata, spec or status.
	Path []Step

	// Condition is the type of the condition whose reason is read, if Path is empty.
	Condition string
}

// Step is one step of a path: to the member of an object or map, or to the element of a list if Member is empty.
type Step struct {
	Member  string
	Element uint
}

// Kind is the kind of a Scalar.
type Kind uint8

// The kinds of a Scalar.
const (
	// Absent is the kind of a field that does not exist or is null.
	Absent Kind = iota
	String
	Number
	Bool

	// Other is the kind of an object, a list, or a text of more than MaxLength bytes, which nothing can be compared with.
	Other
)

// Scalar is the value of a field.
type Scalar struct {
	Kind Kind

	// Text of a string, without quotes, of a number as JSON has it, or true or false.
	Text []byte
}

// Grammar of the terms, which the rules of the Probe's CustomResourceDefinition have, too.
const (
	typeGrammar   = `([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
	pathGrammar   = `(metadata|spec|status)([.][-A-Za-z0-9_]+|\[[-A-Za-z0-9_./]+\])+`
	numberGrammar = `-?[0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?`
)

var (
	conditionType = regexp.MustCompile(`^` + typeGrammar + `$`)
	path          = regexp.MustCompile(`^` + pathGrammar + `$`)
	number        = regexp.MustCompile(`^` + numberGrammar + `$`)
)

// conditionsPath is the list that terms name by condition type.
const conditionsPath = "status.conditions"

// Settled is the term that is true if the operator has observed the current generation of a custom resource: by
// `status.observedGeneration` or, without that, by the newest `observedGeneration` of its conditions. A condition of this
// name takes its place.
const Settled = "Settled"

// reasonSuffix follows a condition type whose reason is compared.
const reasonSuffix = ".reason"

// ParseTerm returns the Comparison that a term of an Expression is, or false if it is a condition type.
func ParseTerm(term string) (Comparison, bool) {
	if IsConditionType(term) {
		return Comparison{}, false
	}
	p := &parser{text: term}
	if p.next() != nil || p.token == "" {
		return Comparison{}, false
	}
	left := p.token
	if p.next() != nil || !p.atComparison() {
		return Comparison{}, false
	}
	c, err := p.comparison(left, 0)
	return c, err == nil && p.token == ""
}

// IsConditionType reports whether a term is a condition type.
func IsConditionType(term string) bool { return conditionType.MatchString(term) }

// String returns the comparison as in an expression, with one space around its operator.
func (c Comparison) String() string { return c.text }

// Fields returns the fields that are compared: one or two.
func (c Comparison) Fields() []Field {
	out := []Field{c.left}
	for _, o := range c.right {
		if o.field != nil {
			out = append(out, *o.field)
		}
	}
	return out
}

// Texts returns the texts that the field is compared with.
func (c Comparison) Texts() (out []string) {
	for _, o := range c.right {
		if o.field == nil && o.value.Kind == String {
			out = append(out, string(o.value.Text))
		}
	}
	return out
}

// GoesStale reports whether the comparison is about an older spec until the operator has observed a change: it reads the
// status, but not which generation the operator has observed.
func (c Comparison) GoesStale() bool {
	fields := c.Fields()
	isStatus := func(f Field) bool { return len(f.Path) > 0 && f.Path[0].Member == "status" }
	return slices.ContainsFunc(fields, isStatus) && !slices.ContainsFunc(fields, Field.isObservedGeneration)
}

func (f Field) isObservedGeneration() bool {
	return len(f.Path) == 2 && f.Path[0].Member == "status" && f.Path[1].Member == "observedGeneration"
}

// Evaluate compares the values of the Fields, in their order. It is Unknown if one is absent. readable is false if the
// values are of kinds that cannot be compared.
func (c Comparison) Evaluate(values []Scalar) (value Value, readable bool) {
	left := values[0]
	if left.Kind == Absent {
		return Unknown, true
	}
	value = False
	for _, o := range c.right {
		right := o.value
		if o.field != nil {
			right = values[1]
		}
		v, ok := compare(left, right, c.operator)
		switch {
		case v == True:
			return True, true
		case ok:
			readable = true
			if v == Unknown {
				value = Unknown
			}
		}
	}
	if !readable {
		return Unknown, false
	}
	return value, true
}

// compare compares two values. The operator in is that of each of its values: ==.
func compare(left, right Scalar, operator string) (value Value, readable bool) {
	if right.Kind == Absent {
		return Unknown, true
	}
	isOrder := operator[0] == '<' || operator[0] == '>'
	if !isOrder && left.Kind == right.Kind && (left.Kind == String || left.Kind == Bool) {
		return valueOf((string(left.Text) == string(right.Text)) == (operator != "!=")), true
	}
	order, ok := compareNumbers(left, right)
	if !ok {
		return Unknown, false
	}
	switch operator {
	case "!=":
		return valueOf(order != 0), true
	case "<":
		return valueOf(order < 0), true
	case "<=":
		return valueOf(order <= 0), true
	case ">":
		return valueOf(order > 0), true
	case ">=":
		return valueOf(order >= 0), true
	default:
		return valueOf(order == 0), true
	}
}

// compareNumbers compares two numbers. It is false if one of them is none.
func compareNumbers(left, right Scalar) (order int, ok bool) {
	if a, ok := integer(left); ok { // most are, and a quantity costs much more
		if b, ok := integer(right); ok {
			return cmp.Compare(a, b), true
		}
	}
	a, isNumber := quantity(left)
	b, alsoNumber := quantity(right)
	if !isNumber || !alsoNumber {
		return 0, false
	}
	return a.Cmp(b), true
}

func integer(s Scalar) (int64, bool) {
	if s.Kind != Number {
		return 0, false
	}
	out, err := strconv.ParseInt(string(s.Text), 10, 64)
	return out, err == nil
}

// quantity returns the number that a scalar is. The grammar bounds the cost of a comparison: an exponent would not.
func quantity(s Scalar) (resource.Quantity, bool) {
	if s.Kind != Number && s.Kind != String || !number.Match(s.Text) {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(string(s.Text))
	return q, err == nil
}

func valueOf(is bool) Value {
	if is {
		return True
	}
	return False
}

// Say returns the meaning of a value of a term, such as `Migrating is True` and `status.phase is not "Running"`.
func Say(term string, v Value) string {
	c, isComparison := ParseTerm(term)
	if !isComparison || v == Unknown {
		return term + " is " + v.String()
	}
	var right []string
	for _, o := range c.right {
		right = append(right, o.text)
	}
	words := map[string][2]string{ // if true, and if false
		"==": {"is", "is not"},
		"!=": {"is not", "is"},
		"in": {"is one of", "is none of"},
		"<":  {"is less than", "is not less than"},
		"<=": {"is at most", "is more than"},
		">":  {"is more than", "is at most"},
		">=": {"is at least", "is less than"},
	}[c.operator]
	verb := words[0]
	if v == False {
		verb = words[1]
	}
	left, _, _ := strings.Cut(c.text, " ")
	return left + " " + verb + " " + strings.Join(right, ", ")
}

// atComparison reports whether the token is an operator of comparisons.
func (p *parser) atComparison() bool {
	switch p.token {
	case "==", "!=", "<", "<=", ">", ">=", "in":
		return true
	default:
		return false
	}
}

// comparison parses the rest of a comparison of a field, whose text starts at an offset and precedes the token.
func (p *parser) comparison(left string, start int) (out Comparison, err error) {
	out = Comparison{operator: p.token}
	if out.left, err = p.field(left, start); err != nil {
		return out, err
	}
	if err := p.next(); err != nil {
		return out, err
	}
	if out.operator == "in" {
		out.right, err = p.list()
	} else {
		var right operand
		right, err = p.operand(true)
		out.right = []operand{right}
	}
	var texts []string
	for _, o := range out.right {
		texts = append(texts, o.text)
	}
	out.text = left + " " + out.operator + " " + strings.Join(texts, ", ")
	if out.operator == "in" {
		out.text = left + " in (" + strings.Join(texts, ", ") + ")"
	}
	return out, err
}

// field returns the field with that name, which starts at an offset.
func (p *parser) field(name string, start int) (Field, error) {
	switch condition, isReason := strings.CutSuffix(name, reasonSuffix); {
	case path.MatchString(name):
		return Field{Path: stepsOf(name)}, nil
	case isReason && conditionType.MatchString(condition):
		return Field{Condition: condition}, nil
	default:
		return Field{}, p.problemAt(start, quoted(name)+" cannot be compared: "+insteadOf(name))
	}
}

// insteadOf returns advice in place of a name that cannot be compared.
func insteadOf(name string) string {
	of := func(suffix string) bool {
		return strings.HasSuffix(name, suffix) && conditionType.MatchString(strings.TrimSuffix(name, suffix))
	}
	switch {
	case of(".status"):
		return fmt.Sprintf("write %[1]s or !%[1]s", strings.TrimSuffix(name, ".status"))
	case of(".age"), of(".lastTransitionTime"):
		return "an expression has no clock; spec.settle and spec.yieldAfter state for how long custom resources have to allow an update, or may hold it"
	default:
		return "compare a field such as status.phase or metadata.labels[app], or the reason of a condition such as Ready.reason"
	}
}

// step is a step of a path: in brackets, or after a dot.
var step = regexp.MustCompile(`\[([^]]+)\]|[^][.]+`)

func stepsOf(path string) (out []Step) {
	for _, match := range step.FindAllStringSubmatch(path, -1) {
		inBrackets := match[1]
		if i, err := strconv.ParseUint(inBrackets, 10, 32); err == nil {
			out = append(out, Step{Element: uint(i)})
			continue
		}
		out = append(out, Step{Member: cmp.Or(inBrackets, match[0])})
	}
	return out
}

// PathText returns a path as in an expression.
func PathText(path []Step) string {
	var out strings.Builder
	for i, s := range path {
		switch {
		case s.Member == "":
			fmt.Fprintf(&out, "[%d]", s.Element)
		case strings.ContainsAny(s.Member, "./"):
			fmt.Fprintf(&out, "[%s]", s.Member)
		case i > 0:
			out.WriteString("." + s.Member)
		default:
			out.WriteString(s.Member)
		}
	}
	return out.String()
}

// list parses the values of the operator in.
func (p *parser) list() (out []operand, err error) {
	if p.token != "(" {
		return nil, p.unexpected("( after in")
	}
	if p.depth == MaxDepth {
		return nil, p.tooDeep()
	}
	for {
		if err := p.next(); err != nil {
			return nil, err
		}
		o, err := p.operand(false)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
		switch p.token {
		case ",":
		case ")":
			return out, p.next()
		default:
			return nil, p.unexpected(", or )")
		}
	}
}

// operand parses a value or, if one may be there, a field.
func (p *parser) operand(mayBeField bool) (operand, error) {
	out := operand{text: p.token}
	switch {
	case strings.HasPrefix(p.token, `"`):
		out.value = Scalar{String, []byte(strings.Trim(p.token, `"`))}
	case p.token == "true", p.token == "false":
		out.value = Scalar{Bool, []byte(p.token)}
	case number.MatchString(p.token):
		out.value = Scalar{Number, []byte(p.token)}
	case mayBeField && path.MatchString(p.token):
		f, err := p.field(p.token, p.start)
		if err != nil {
			return out, err
		}
		out.field = &f
	case mayBeField:
		return out, p.unexpected(`a value such as "Running", 3 or true, or a field`)
	default:
		return out, p.unexpected(`a value such as "Running", 3 or true`)
	}
	return out, p.next()
}
