package expression

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func conditions(c map[string]Value) func(string) Value {
	return func(t string) Value { return c[t] }
}

func TestEvaluate(t *testing.T) {
	cases := map[string]struct {
		reason     string
		expression string
		conditions map[string]Value
		want       Value
		decisive   []string
	}{
		"NegationForbids": {
			reason:     "The enhancement's own example: not upgradeable while migrating.",
			expression: "!Migrating",
			conditions: map[string]Value{"Migrating": True},
			want:       False,
			decisive:   []string{"!Migrating"},
		},
		"AbsentIsUnknown": {
			reason:     "A condition that is not there neither forbids nor allows.",
			expression: "!Migrating",
			want:       Unknown,
		},
		"UnknownAndFalse": {
			reason:     "Whatever A turns out to be, B already forbids, and B alone is to blame.",
			expression: "A && B",
			conditions: map[string]Value{"B": False},
			want:       False,
			decisive:   []string{"B"},
		},
		"UnknownOrTrue": {
			reason:     "Whatever A turns out to be, B already allows.",
			expression: "A || B",
			conditions: map[string]Value{"B": True},
			want:       True,
			decisive:   []string{"B"},
		},
		"UnknownOrFalse": {
			reason:     "A could still allow it.",
			expression: "A || B",
			conditions: map[string]Value{"B": False},
			want:       Unknown,
		},
		"AndBindsTighter": {
			reason:     "A || B && C is A || (B && C).",
			expression: "A || B && C",
			conditions: map[string]Value{"A": True, "B": False, "C": False},
			want:       True,
			decisive:   []string{"A"},
		},
		"Parentheses": {
			reason:     "Parentheses overrule that.",
			expression: "(A || B) && C",
			conditions: map[string]Value{"A": True, "B": False, "C": False},
			want:       False,
			decisive:   []string{"C"},
		},
		"NegatedGroup": {
			reason:     "!(A || B) fails because of whichever of A and B is true, reported as a literal.",
			expression: "!(A || B)",
			conditions: map[string]Value{"A": False, "B": True},
			want:       False,
			decisive:   []string{"!B"},
		},
		"AllThatFail": {
			reason:     "Each condition that forbids is named.",
			expression: "FinishedMigrating && ReadyToGo",
			conditions: map[string]Value{"FinishedMigrating": False, "ReadyToGo": False},
			want:       False,
			decisive:   []string{"FinishedMigrating", "ReadyToGo"},
		},
		"DoubleNegation": {
			reason:     "Two negations are none.",
			expression: "!!A",
			conditions: map[string]Value{"A": False},
			want:       False,
			decisive:   []string{"A"},
		},
		"QualifiedType": {
			reason:     "A condition type may carry a domain.",
			expression: "!foo.example.com/CamelCase&&Ready",
			conditions: map[string]Value{"foo.example.com/CamelCase": True, "Ready": True},
			want:       False,
			decisive:   []string{"!foo.example.com/CamelCase"},
		},
		"NamedTwice": {
			reason:     "A literal that appears twice is reported once.",
			expression: "A && (A || A)",
			conditions: map[string]Value{"A": False},
			want:       False,
			decisive:   []string{"A"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := Parse(tc.expression)
			if err != nil {
				t.Fatalf("%s\nParse(%q): %v", tc.reason, tc.expression, err)
			}
			lookup := conditions(tc.conditions)
			if got := e.Evaluate(lookup); got != tc.want {
				t.Errorf("%s\n%q: got %v, want %v", tc.reason, tc.expression, got, tc.want)
			}
			var decisive []string
			for _, l := range e.Decisive(lookup) {
				decisive = append(decisive, l.String())
			}
			if diff := cmp.Diff(tc.decisive, decisive); diff != "" {
				t.Errorf("%s\n%q decisive: -want +got\n%s", tc.reason, tc.expression, diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	cases := map[string]struct {
		reason   string
		text     string
		any      bool
		position int
		problem  string
	}{
		"Empty":       {"Nothing is no expression.", "", false, 1, "expected a condition type, found the end"},
		"Blank":       {"Nor is white space.", " \t", false, 3, "expected a condition type, found the end"},
		"TrailingAnd": {"The end is a position too.", "A &&", false, 5, "expected a condition type, found the end"},
		"SingleAnd":   {"A common slip gets its remedy.", "A & B", false, 3, "a single &, write &&"},
		"SingleOr":    {"The same for the other operator.", "A | B", false, 3, "a single |, write ||"},
		"TwoTypes":    {"Something must join two types.", "A B", false, 3, `expected && or ||, found "B"`},
		"Unclosed":    {"A group must end.", "(A || B", false, 8, "expected &&, || or ), found the end"},
		"Unopened":    {"And begin.", "A)", false, 2, `expected && or ||, found ")"`},
		"EmptyGroup":  {"A group holds something.", "()", false, 2, `expected a condition type, found ")"`},
		"NotAType":    {"Equality is not in the language.", "A == B", false, 3, `"==" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"NoASCII": {"Positions count characters, not bytes.", "A && Ü", false, 6,
			`"Ü" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"UpperDomain": {"The domain part is a DNS name.", "Foo.example/Ready", false,
			1, `"Foo.example/Ready" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"NegationAtEnd": {"A negation negates something.", "A && !", false, 7, "expected a condition type, found the end"},
		"TooDeep": {"Depth is bounded, so no input exhausts the stack.", strings.Repeat("(", 9) + "A" + strings.Repeat(")", 9), false, 9,
			"parentheses nest deeper than 8"},
		"LongToken": {"An error quotes no more of it than one can read.", strings.Repeat("-", 1000), false,
			1, `"` + strings.Repeat("-", 100) + `"... is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"TooLong":      {"So is length.", strings.Repeat("A", 1025), false, 1025, "longer than 1024 characters"},
		"AnyWithAnd":   {"Important only joins by ||.", "A && B", true, 3, "only || may join condition types here"},
		"AnyWithNot":   {"Important negates nothing.", "A || !B", true, 6, "! is not allowed here, only condition types joined by ||"},
		"AnyWithGroup": {"Important groups nothing.", "(A)", true, 1, "parentheses are not allowed here, only condition types joined by ||"},
		"NotUTF8":      {"Any bytes get an answer.", "A\xff", false, 1, `"A\xff" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"TypeEndsInDash": {"A type ends in a letter or digit.", "Ready-", false,
			1, `"Ready-" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parse := Parse
			if tc.any {
				parse = ParseAny
			}
			_, err := parse(tc.text)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("%s\n%q: got error %v, want a *SyntaxError", tc.reason, tc.text, err)
			}
			if diff := cmp.Diff(&SyntaxError{Position: tc.position, Problem: tc.problem}, syntax); diff != "" {
				t.Errorf("%s\n%q: -want +got\n%s", tc.reason, tc.text, diff)
			}
		})
	}
}

// reference is an expression with its intended structure, evaluated by the truth tables alone.
type reference struct {
	operator string // "", "!", "&&", "||"
	name     string
	parts    []reference
}

var names = []string{"A", "B", "example.com/C", "D"}

func randomReference(r *rand.Rand, depth int) reference {
	if depth == 0 || r.IntN(3) == 0 {
		return reference{name: names[r.IntN(len(names))]}
	}
	if r.IntN(3) == 0 {
		return reference{operator: "!", parts: []reference{randomReference(r, depth-1)}}
	}
	out := reference{operator: []string{"&&", "||"}[r.IntN(2)]}
	for range 2 + r.IntN(2) {
		out.parts = append(out.parts, randomReference(r, depth-1))
	}
	return out
}

func (f reference) text(r *rand.Rand) string {
	space := func() string { return strings.Repeat(" ", r.IntN(2)) }
	switch f.operator {
	case "":
		return f.name
	case "!":
		return "!" + space() + f.parts[0].grouped(r)
	}
	var parts []string
	for _, p := range f.parts {
		parts = append(parts, p.grouped(r))
	}
	return strings.Join(parts, space()+f.operator+space())
}

func (f reference) grouped(r *rand.Rand) string {
	if f.operator == "" || f.operator == "!" && r.IntN(2) == 0 {
		return f.text(r)
	}
	return "(" + f.text(r) + ")"
}

// rank orders the truth values False < Unknown < True: && is the minimum and || the maximum.
func rank(v Value) int { return map[Value]int{False: 0, Unknown: 1, True: 2}[v] }

func (f reference) value(c map[string]Value) Value {
	switch f.operator {
	case "":
		return c[f.name]
	case "!":
		return map[Value]Value{True: False, False: True, Unknown: Unknown}[f.parts[0].value(c)]
	}
	out := f.parts[0].value(c)
	for _, p := range f.parts[1:] {
		v := p.value(c)
		if f.operator == "&&" && rank(v) < rank(out) || f.operator == "||" && rank(v) > rank(out) {
			out = v
		}
	}
	return out
}

func assignments(yield func(map[string]Value) bool) {
	total := 1
	for range names {
		total *= 3
	}
	for i := range total {
		c, n := map[string]Value{}, i
		for _, name := range names {
			c[name] = Value(n % 3)
			n /= 3
		}
		if !yield(c) {
			return
		}
	}
}

// TestAgainstBruteForce compares random expressions with the truth tables, for every assignment of values, and verifies
// that the decisive literals alone determine the value.
func TestAgainstBruteForce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		want := randomReference(r, 4)
		text := want.text(r)
		e, err := Parse(text)
		if err != nil {
			t.Fatalf("Parse(%q): %v", text, err)
		}
		for c := range assignments {
			got := e.Evaluate(conditions(c))
			if got != want.value(c) {
				t.Fatalf("%q with %v: got %v, want %v", text, c, got, want.value(c))
			}
			checkDecisive(t, e, text, c, got)
		}
	}
}

func checkDecisive(t *testing.T, e *Expression, text string, c map[string]Value, value Value) {
	t.Helper()
	only := map[string]Value{}
	for _, l := range e.Decisive(conditions(c)) {
		if got := l.evaluate(conditions(c)); got != value {
			t.Fatalf("%q with %v is %v, but blames %v, which is %v", text, c, value, l, got)
		}
		only[l.Type] = c[l.Type]
	}
	if got := e.Evaluate(conditions(only)); got != value {
		t.Fatalf("%q with %v is %v, but %v alone make it %v", text, c, value, only, got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "!Migrating", "A&&(B||!example.com/C)", "((((((((A))))))))", "A |", "\xff", "A\x00B"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		any, anyErr := ParseAny(text)
		if anyErr == nil && (err != nil || !cmp.Equal(e.Types(), any.Types())) {
			t.Fatalf("%q is a list joined by || but Parse returned %v", text, err)
		}
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		for _, value := range []Value{Unknown, False, True} {
			same := func(string) Value { return value }
			if got := e.Evaluate(same); value == Unknown && got != Unknown {
				t.Fatalf("%q is %v where nothing is known", text, got)
			}
			e.Decisive(same)
		}
		for _, name := range e.Types() {
			if !strings.Contains(text, name) {
				t.Fatalf("%q does not contain %q", text, name)
			}
		}
	})
}

func checkSyntaxError(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatalf("%q: %v is not a *SyntaxError", text, err)
	}
	if syntax.Position < 1 || syntax.Position > len(text)+1 {
		t.Fatalf("%q: position %d is outside", text, syntax.Position)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	e, err := Parse("!Migrating && (Ready || example.com/Done) && !(A || B)")
	if err != nil {
		b.Fatal(err)
	}
	lookup := conditions(map[string]Value{"Migrating": False, "Ready": True, "A": False})
	for b.Loop() {
		e.Evaluate(lookup)
	}
}
