package expression

import (
	"fmt"
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

// ParseAny parses an expression that only joins terms with ||, such as Important. Its error is a
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
	slices.Sort(p.terms)
	return &Expression{root: root, terms: slices.Compact(p.terms)}, nil
}

// parser has a lookahead of one token: ( ) ! , && || an operator of comparisons, a string with its quotes, or a text such
// as a condition type, a field or a number. It is "" at the end.
type parser struct {
	text    string
	offset  int // of the rest after the token
	start   int // of the token
	token   string
	depth   int
	anyOnly bool
	terms   []string
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
			return nil, p.problem("only || may join condition types and comparisons here")
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

// unary parses a term or a group, preceded by any number of !.
func (p *parser) unary(negated bool) (node, error) {
	for p.token == "!" {
		if p.anyOnly {
			return nil, p.problem("! is not allowed here, only condition types and comparisons joined by ||")
		}
		negated = !negated
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	if p.token == "(" {
		return p.group(negated)
	}
	term, err := p.term()
	return Literal{Term: term, Negated: negated}, err
}

// term parses a condition type or a comparison.
func (p *parser) term() (string, error) {
	name, start := p.token, p.start
	if name == "" || strings.ContainsAny(name[:1], `()!&|,<>="`) {
		return "", p.unexpected("a condition type or a field")
	}
	if err := p.next(); err != nil {
		return "", err
	}
	if p.atComparison() {
		c, err := p.comparison(name, start)
		p.terms = append(p.terms, c.String())
		if c.left.Condition != "" {
			p.terms = append(p.terms, c.left.Condition) // of which the reason is read
		}
		return c.String(), err
	}
	switch {
	case path.MatchString(name):
		return "", p.problemAt(start, quoted(name)+` is a field, compare it with a value: `+name+` == "Running", == 3 or == true`)
	case !conditionType.MatchString(name):
		return "", p.problemAt(start, quoted(name)+" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase")
	}
	p.terms = append(p.terms, name)
	return name, nil
}

// group parses an expression in parentheses.
func (p *parser) group(negated bool) (node, error) {
	if p.anyOnly {
		return nil, p.problem("parentheses are not allowed here, only condition types and comparisons joined by ||")
	}
	if p.depth == MaxDepth {
		return nil, p.tooDeep()
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
	switch c := rest[0]; {
	case strings.IndexByte("!<>=", c) >= 0 && len(rest) > 1 && rest[1] == '=':
		p.token = rest[:2]
	case strings.IndexByte("()!<>,", c) >= 0:
		p.token = rest[:1]
	case strings.IndexByte("&|=", c) >= 0:
		if len(rest) < 2 || rest[1] != c {
			return p.problem(fmt.Sprintf("a single %c, write %c%c", c, c, c))
		}
		p.token = rest[:2]
	case c == '"':
		end := strings.IndexAny(rest[1:], `"\\`)
		if end < 0 || rest[1+end] != '"' {
			return p.problem(`a string that does not end, or has a \, which strings cannot have`)
		}
		p.token = rest[:end+2]
	default:
		end := strings.IndexAny(rest, " \t\n\f\r()!&|,<>=\"")
		if end < 0 {
			end = len(rest)
		}
		p.token = rest[:end]
		if p.token == conditionsPath || strings.HasPrefix(p.token, conditionsPath+".") || strings.HasPrefix(p.token, conditionsPath+"[") {
			return p.problem("conditions are named by their type: Ready, or Ready.reason == \"Paused\"")
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

func (p *parser) tooDeep() error {
	return p.problem(fmt.Sprintf("parentheses nest deeper than %d", MaxDepth))
}

func (p *parser) problem(text string) error { return p.problemAt(p.start, text) }

func (p *parser) problemAt(offset int, text string) error {
	return &SyntaxError{Position: utf8.RuneCountInString(p.text[:offset]) + 1, Problem: text}
}
