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
			reason:     "The expression of the enhancement's example is False while Migrating is True.",
			expression: "!Migrating",
			conditions: map[string]Value{"Migrating": True},
			want:       False,
			decisive:   []string{"!Migrating"},
		},
		"AbsentIsUnknown": {
			reason:     "A negated condition that does not exist is Unknown.",
			expression: "!Migrating",
			want:       Unknown,
		},
		"UnknownAndFalse": {
			reason:     "One False operand decides &&, and only it is reported.",
			expression: "A && B",
			conditions: map[string]Value{"B": False},
			want:       False,
			decisive:   []string{"B"},
		},
		"UnknownOrTrue": {
			reason:     "One True operand decides ||, and only it is reported.",
			expression: "A || B",
			conditions: map[string]Value{"B": True},
			want:       True,
			decisive:   []string{"B"},
		},
		"UnknownOrFalse": {
			reason:     "False || Unknown is Unknown.",
			expression: "A || B",
			conditions: map[string]Value{"B": False},
			want:       Unknown,
		},
		"AndBindsTighter": {
			reason:     "&& binds tighter than ||.",
			expression: "A || B && C",
			conditions: map[string]Value{"A": True, "B": False, "C": False},
			want:       True,
			decisive:   []string{"A"},
		},
		"Parentheses": {
			reason:     "Parentheses override the precedence.",
			expression: "(A || B) && C",
			conditions: map[string]Value{"A": True, "B": False, "C": False},
			want:       False,
			decisive:   []string{"C"},
		},
		"NegatedGroup": {
			reason:     "A negated group that is False reports the condition that is True as a negated literal.",
			expression: "!(A || B)",
			conditions: map[string]Value{"A": False, "B": True},
			want:       False,
			decisive:   []string{"!B"},
		},
		"AllThatFail": {
			reason:     "Every condition that makes the expression False is reported.",
			expression: "FinishedMigrating && ReadyToGo",
			conditions: map[string]Value{"FinishedMigrating": False, "ReadyToGo": False},
			want:       False,
			decisive:   []string{"FinishedMigrating", "ReadyToGo"},
		},
		"DoubleNegation": {
			reason:     "A double negation is the condition itself.",
			expression: "!!A",
			conditions: map[string]Value{"A": False},
			want:       False,
			decisive:   []string{"A"},
		},
		"QualifiedType": {
			reason:     "A condition type may have a domain prefix.",
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
		"Empty":       {"An empty expression is rejected.", "", false, 1, "expected a condition type or a field, found the end"},
		"Blank":       {"An expression of white space is rejected.", " \t", false, 3, "expected a condition type or a field, found the end"},
		"TrailingAnd": {"The position of an unexpected end is reported.", "A &&", false, 5, "expected a condition type or a field, found the end"},
		"SingleAnd":   {"The message for a single & suggests &&.", "A & B", false, 3, "a single &, write &&"},
		"SingleOr":    {"The message for a single | suggests ||.", "A | B", false, 3, "a single |, write ||"},
		"TwoTypes":    {"Two types without an operator are rejected.", "A B", false, 3, `expected && or ||, found "B"`},
		"Unclosed":    {"A group without a closing parenthesis is rejected.", "(A || B", false, 8, "expected &&, || or ), found the end"},
		"Unopened":    {"A closing parenthesis without a group is rejected.", "A)", false, 2, `expected && or ||, found ")"`},
		"EmptyGroup":  {"An empty group is rejected.", "()", false, 2, `expected a condition type or a field, found ")"`},
		"CompareType": {"A condition type is not compared: its status is its value.", "B && A == true", false, 6,
			`"A" cannot be compared: compare a field such as status.phase or metadata.labels[app], or the reason of a condition such as Ready.reason`},
		"CompareAge": {"What counts the time is named, since an expression has no clock.", "Ready.age > 10m", false, 1,
			`"Ready.age" cannot be compared: an expression has no clock; spec.settle and spec.yieldAfter state for how long custom resources ` +
				`have to allow an update, or may hold it`},
		"CompareStatus": {"The status of a condition is its value.", `A && Ready.status == "True"`, false, 6,
			`"Ready.status" cannot be compared: write Ready or !Ready`},
		"CompareNothing": {"A comparison needs a value.", "status.phase ==", false, 16, `expected a value such as "Running", 3 or true, or a field, found the end`},
		"CompareToType":  {"A value is quoted.", "status.phase == Running", false, 17, `expected a value such as "Running", 3 or true, or a field, found "Running"`},
		"SingleEqual":    {"The message for a single = suggests ==.", `status.phase = "A"`, false, 14, "a single =, write =="},
		"BareField": {"A field alone, which would never be true, is rejected.", "!spec.suspend && A", false, 2,
			`"spec.suspend" is a field, compare it with a value: spec.suspend == "Running", == 3 or == true`},
		"Conditions": {"The list of conditions is not read as a field.", `status.conditions[0].type == "A"`, false, 1,
			`conditions are named by their type: Ready, or Ready.reason == "Paused"`},
		"OpenString":   {"A string has an end.", `status.phase == "A`, false, 17, `a string that does not end, or has a \, which strings cannot have`},
		"Escape":       {"A string has no escapes.", `status.phase == "A\""`, false, 17, `a string that does not end, or has a \, which strings cannot have`},
		"ListOfFields": {"A list has values only.", `status.phase in (spec.phase)`, false, 18, `expected a value such as "Running", 3 or true, found "spec.phase"`},
		"OpenList":     {"A list has an end.", `status.phase in ("A"`, false, 21, "expected , or ), found the end"},
		"InNothing":    {"A list follows in.", `status.phase in "A"`, false, 17, `expected ( after in, found "\"A\""`},
		"ListTooDeep": {"The parentheses of a list count, too.", strings.Repeat("(", 8) + `spec.a in ("")` + strings.Repeat(")", 8), false, 19,
			"parentheses nest deeper than 8"},
		"TwoComparisons": {"A comparison has one operator.", `spec.a < 3 < 4`, false, 12, `expected && or ||, found "<"`},
		"NoASCII": {"Positions are counted in characters, not bytes.", "A && Ü", false, 6,
			`"Ü" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"UpperDomain": {"The domain of a type has to be a DNS name.", "Foo.example/Ready", false,
			1, `"Foo.example/Ready" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"NegationAtEnd": {"A negation without an operand is rejected.", "A && !", false, 7, "expected a condition type or a field, found the end"},
		"TooDeep": {"The depth of parentheses is limited, so no input exhausts the stack.", strings.Repeat("(", 9) + "A" + strings.Repeat(")", 9), false, 9,
			"parentheses nest deeper than 8"},
		"LongToken": {"A long token is truncated in the message.", strings.Repeat("-", 1000), false,
			1, `"` + strings.Repeat("-", 100) + `"... is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"TooLong":      {"The length of an expression is limited.", strings.Repeat("A", 1025), false, 1025, "longer than 1024 characters"},
		"AnyWithAnd":   {"An important expression rejects &&.", "A && B", true, 3, "only || may join condition types and comparisons here"},
		"AnyWithNot":   {"An important expression rejects a negation.", "A || !B", true, 6, "! is not allowed here, only condition types and comparisons joined by ||"},
		"AnyWithGroup": {"An important expression rejects a group.", "(A)", true, 1, "parentheses are not allowed here, only condition types and comparisons joined by ||"},
		"NotUTF8":      {"Bytes that are not UTF-8 are rejected.", "A\xff", false, 1, `"A\xff" is not a valid condition type: a type is CamelCase or foo.example.com/CamelCase`},
		"TypeEndsInDash": {"A type that does not end in a letter or digit is rejected.", "Ready-", false,
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
			t.Fatalf("%q with %v is %v, but %v is decisive, which is %v", text, c, value, l, got)
		}
		only[l.Term] = c[l.Term]
	}
	if got := e.Evaluate(conditions(only)); got != value {
		t.Fatalf("%q with %v is %v, but with its decisive types %v alone it is %v", text, c, value, only, got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "!Migrating", "A&&(B||!example.com/C)", "((((((((A))))))))", "A |", "\xff", "A\x00B", `status.a[0].b=="x" && A.reason in("y",3)`, `!spec.a <= 3Gi||metadata.labels[a.b/c] != spec.b`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		any, anyErr := ParseAny(text)
		if anyErr == nil && (err != nil || !cmp.Equal(e.Terms(), any.Terms())) {
			t.Fatalf("ParseAny accepts %q, but Parse returned %v", text, err)
		}
		if err != nil {
			checkSyntaxError(t, text, err)
			return
		}
		for _, value := range []Value{Unknown, False, True} {
			same := func(string) Value { return value }
			if got := e.Evaluate(same); value == Unknown && got != Unknown {
				t.Fatalf("%q is %v although all conditions are Unknown", text, got)
			}
			e.Decisive(same)
		}
		for _, term := range e.Terms() {
			c, isComparison := ParseTerm(term)
			if isComparison && c.String() != term {
				t.Fatalf("%q has the term %q, which reads as %q", text, term, c)
			}
			if !isComparison && !strings.Contains(text, term) {
				t.Fatalf("%q does not contain %q", text, term)
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
		t.Fatalf("%q: position %d is outside the text", text, syntax.Position)
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
