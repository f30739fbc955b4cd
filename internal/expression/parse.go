package expression

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of an expression. The Probe's CustomResourceDefinition enforces the same limits.
const (
	// MaxLength is the maximum length of an expression, in bytes.
	MaxLength = 1024

	// MaxDepth is the maximum depth of nested parentheses.
	MaxDepth = 8
)

// conditionType is the Kubernetes grammar of a condition type: CamelCase or foo.example.com/CamelCase.
var conditionType = regexp.MustCompile(
	`^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`)

// SyntaxError is the position of and the reason for a failure to parse an expression.
type SyntaxError struct {
	// Position of the invalid character, starting at 1. One past the last character means the end.
	Position int

	// Problem at that position.
	Problem string
}

// Error returns the position and the problem in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("position %d: %s", e.Position, e.Problem)
}

// Parse parses an expression. Its error is a *SyntaxError.
func Parse(text string) (*Expression, error) {
	return parse(text, false)
}

// ParseAny parses an expression that only joins condition types with ||, such as Important. Its error is a
// *SyntaxError.
func ParseAny(text string) (*Expression, error) {
	return parse(text, true)
}

func parse(text string, anyOnly bool) (*Expression, error) {
	if len(text) > MaxLength {
		return nil, &SyntaxError{Position: MaxLength + 1, Problem: fmt.Sprintf("longer than %d characters", MaxLength)}
	}
	p := &parser{text: text, anyOnly: anyOnly}
	if err := p.next(); err != nil {
		return nil, err
	}
	root, err := p.or(false)
	if err != nil {
		return nil, err
	}
	if p.token != "" {
		return nil, p.unexpected("&& or ||")
	}
	slices.Sort(p.types)
	return &Expression{root: root, types: slices.Compact(p.types)}, nil
}

// parser has a lookahead of one token: ( ) ! && || or a condition type, and "" at the end.
type parser struct {
	text    string
	offset  int // of the rest after the token
	start   int // of the token
	token   string
	depth   int
	anyOnly bool
	types   []string
}

// or parses `and || and …`. If negated, it becomes the && of the negated operands.
func (p *parser) or(negated bool) (node, error) {
	return p.junction("||", p.and, negated, deciderOf(True, negated))
}

// and parses `unary && unary …`. If negated, it becomes the || of the negated operands.
func (p *parser) and(negated bool) (node, error) {
	return p.junction("&&", p.unary, negated, deciderOf(False, negated))
}

func deciderOf(v Value, negated bool) Value {
	if negated {
		return v.Not()
	}
	return v
}

func (p *parser) junction(operator string, operand func(bool) (node, error), negated bool, decider Value) (node, error) {
	first, err := operand(negated)
	if err != nil {
		return nil, err
	}
	parts := []node{first}
	for p.token == operator {
		if p.anyOnly && operator != "||" {
			return nil, p.problem("only || may join condition types here")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		part, err := operand(negated)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return first, nil
	}
	return junction{decider: decider, parts: parts}, nil
}

// unary parses a condition type or a group, preceded by any number of !.
func (p *parser) unary(negated bool) (node, error) {
	for p.token == "!" {
		if p.anyOnly {
			return nil, p.problem("! is not allowed here, only condition types joined by ||")
		}
		negated = !negated
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	switch p.token {
	case "(":
		return p.group(negated)
	case "", ")", "&&", "||":
		return nil, p.unexpected("a condition type")
	}
	literal := Literal{Type: p.token, Negated: negated}
	p.types = append(p.types, p.token)
	return literal, p.next()
}

// group parses an expression in parentheses.
func (p *parser) group(negated bool) (node, error) {
	if p.anyOnly {
		return nil, p.problem("parentheses are not allowed here, only condition types joined by ||")
	}
	if p.depth == MaxDepth {
		return nil, p.problem(fmt.Sprintf("parentheses nest deeper than %d", MaxDepth))
	}
	p.depth++
	if err := p.next(); err != nil {
		return nil, err
	}
	inner, err := p.or(negated)
	if err != nil {
		return nil, err
	}
	if p.token != ")" {
		return nil, p.unexpected("&&, || or )")
	}
	p.depth--
	return inner, p.next()
}

// next reads the next token.
func (p *parser) next() error {
	p.offset += len(p.text[p.offset:]) - len(strings.TrimLeft(p.text[p.offset:], " \t\n\f\r"))
	p.start = p.offset
	rest := p.text[p.offset:]
	p.token = ""
	if rest == "" {
		return nil
	}
	switch rest[0] {
	case '(', ')', '!':
		p.token = rest[:1]
	case '&', '|':
		if len(rest) < 2 || rest[1] != rest[0] {
			return p.problem(fmt.Sprintf("a single %c, write %c%c", rest[0], rest[0], rest[0]))
		}
		p.token = rest[:2]
	default:
		end := strings.IndexAny(rest, " \t\n\f\r()!&|")
		if end < 0 {
			end = len(rest)
		}
		p.token = rest[:end]
		if !conditionType.MatchString(p.token) {
			return p.problem(quoted(p.token) + " is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase")
		}
	}
	p.offset += len(p.token)
	return nil
}

func (p *parser) unexpected(wanted string) error {
	if p.token == "" {
		return p.problem("expected " + wanted + ", found the end")
	}
	return p.problem(fmt.Sprintf("expected %s, found %s", wanted, quoted(p.token)))
}

// maxQuoted is the maximum length of a token quoted in an error, in bytes.
const maxQuoted = 100

func quoted(token string) string {
	if len(token) > maxQuoted {
		return strconv.Quote(token[:maxQuoted]) + "..."
	}
	return strconv.Quote(token)
}

func (p *parser) problem(text string) error {
	return &SyntaxError{Position: utf8.RuneCountInString(p.text[:p.start]) + 1, Problem: text}
}
