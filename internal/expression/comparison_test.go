package expression

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func text(s string) Scalar { return Scalar{String, []byte(s)} }
func num(s string) Scalar  { return Scalar{Number, []byte(s)} }

func TestComparison(t *testing.T) {
	type result struct {
		Value    Value
		Readable bool
	}
	is := func(v Value) result { return result{v, true} }
	unreadable := result{Unknown, false}
	cases := map[string]struct {
		reason string
		term   string
		values []Scalar
		want   result
	}{
		"Equal":           {"Equal texts are equal.", `status.phase == "Running"`, []Scalar{text("Running")}, is(True)},
		"NotEqual":        {"Case matters.", `status.phase == "Running"`, []Scalar{text("running")}, is(False)},
		"EmptyText":       {"An empty text is a text.", `status.phase == "Running"`, []Scalar{text("")}, is(False)},
		"Differs":         {"Another text differs.", `status.phase != "Running"`, []Scalar{text("Failed")}, is(True)},
		"Absent":          {"An absent field is unknown.", `status.phase == "Running"`, []Scalar{{}}, is(Unknown)},
		"AbsentDiffers":   {"An absent field does not differ, either.", `status.phase != "Running"`, []Scalar{{}}, is(Unknown)},
		"Object":          {"An object cannot be compared.", `status.phase == "Running"`, []Scalar{{Kind: Other}}, unreadable},
		"NumberOfText":    {"A number is no text.", `status.phase == "Running"`, []Scalar{num("3")}, unreadable},
		"TextOfNumber":    {"A text that is a number can be compared with numbers.", `spec.port == 80`, []Scalar{text("80")}, is(True)},
		"TextNoNumber":    {"Another text cannot.", `spec.port == 80`, []Scalar{text("http")}, unreadable},
		"Bool":            {"Booleans are compared.", `spec.suspend == true`, []Scalar{{Bool, []byte("true")}}, is(True)},
		"BoolDiffers":     {"Booleans are compared.", `spec.suspend == true`, []Scalar{{Bool, []byte("false")}}, is(False)},
		"BoolOfText":      {"A text is no boolean.", `spec.suspend == true`, []Scalar{text("true")}, unreadable},
		"In":              {"One of the values is enough.", `status.phase in ("Running", "Paused")`, []Scalar{text("Paused")}, is(True)},
		"InNone":          {"None of the values is not enough.", `status.phase in ("Running", "Paused")`, []Scalar{text("Failed")}, is(False)},
		"InMixed":         {"The value that can be compared counts.", `spec.port in ("http", 80)`, []Scalar{text("https")}, is(False)},
		"Less":            {"Integers are ordered as numbers.", `status.ready < 10`, []Scalar{num("9")}, is(True)},
		"AtMost":          {"The limit itself is at most the limit.", `status.ready <= 10`, []Scalar{num("10")}, is(True)},
		"More":            {"The limit itself is not more.", `status.ready > 10`, []Scalar{num("10")}, is(False)},
		"AtLeast":         {"The limit itself is at least the limit.", `status.ready >= 10`, []Scalar{num("10")}, is(True)},
		"Quantity":        {"Quantities with different suffixes are compared.", `spec.size >= 1Gi`, []Scalar{text("1024Mi")}, is(True)},
		"Fraction":        {"Fractions are numbers.", `spec.size > 0.5`, []Scalar{text("500m")}, is(False)},
		"OrderOfTexts":    {"Texts have no order.", `status.phase < "B"`, []Scalar{text("A")}, unreadable},
		"HugeExponent":    {"No number is so large that comparing it takes long.", `spec.size > 1`, []Scalar{num("1e2000000000")}, unreadable},
		"TwoFields":       {"Two fields are compared.", `status.observedGeneration == metadata.generation`, []Scalar{num("2"), num("3")}, is(False)},
		"TwoTexts":        {"Two texts are compared.", `status.version == spec.version`, []Scalar{text("a"), text("a")}, is(True)},
		"AbsentRight":     {"It is unknown if the second is absent.", `status.version == spec.version`, []Scalar{text("a"), {}}, is(Unknown)},
		"AbsentRightLess": {"It is unknown if the second is absent.", `status.version < spec.version`, []Scalar{num("1"), {}}, is(Unknown)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, ok := ParseTerm(tc.term)
			if !ok {
				t.Fatalf("%q is not a comparison", tc.term)
			}
			if len(c.Fields()) != len(tc.values) {
				t.Fatalf("%q has %d fields, the row %d values", tc.term, len(c.Fields()), len(tc.values))
			}
			value, readable := c.Evaluate(tc.values)
			if diff := cmp.Diff(tc.want, result{value, readable}); diff != "" {
				t.Errorf("%s\n%q: -want +got\n%s", tc.reason, tc.term, diff)
			}
		})
	}
}

func TestParseComparison(t *testing.T) {
	cases := map[string]struct {
		reason string
		text   string
		terms  []string
		stale  bool
	}{
		"Spaces":  {"Spaces are normalised, so equal comparisons are one term.", "status.a==\"b\"||status.a\n== \"b\"", []string{`status.a == "b"`}, true},
		"List":    {"A list is normalised, too.", `status.a in("b" ,"c")`, []string{`status.a in ("b", "c")`}, true},
		"Reason":  {"The type of a condition whose reason is compared is a term, to be read.", `Ready.reason == "A"`, []string{"Ready", `Ready.reason == "A"`}, false},
		"Dotted":  {"A condition type may end in .reason itself.", `Ready.reason`, []string{"Ready.reason"}, false},
		"In":      {"A condition type may be a keyword.", `in && true`, []string{"in", "true"}, false},
		"Key":     {"A key of a map may have dots and a slash.", `metadata.labels[a.example.com/b-c] != "d"`, []string{`metadata.labels[a.example.com/b-c] != "d"`}, false},
		"Index":   {"An element of a list is named by its index.", `status.a[0].b == 3`, []string{`status.a[0].b == 3`}, true},
		"Current": {"What was observed does not go stale.", `status.observedGeneration == metadata.generation`, []string{`status.observedGeneration == metadata.generation`}, false},
		"Parens":  {"A string may have parentheses and operators.", `status.a == "(&& ü" && B`, []string{"B", `status.a == "(&& ü"`}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := Parse(tc.text)
			if err != nil {
				t.Fatalf("%s\n%q: %v", tc.reason, tc.text, err)
			}
			if diff := cmp.Diff(tc.terms, e.Terms()); diff != "" {
				t.Errorf("%s\n%q: -want +got\n%s", tc.reason, tc.text, diff)
			}
			stale := false
			for _, term := range e.Terms() {
				if c, ok := ParseTerm(term); ok {
					stale = stale || c.GoesStale()
				}
			}
			if stale != tc.stale {
				t.Errorf("%s\n%q goes stale: %v, want %v", tc.reason, tc.text, stale, tc.stale)
			}
		})
	}
}

func TestSay(t *testing.T) {
	cases := map[string]struct {
		term  string
		value Value
		want  string
	}{
		"Condition": {"Ready", False, "Ready is False"},
		"Is":        {`status.phase == "A"`, True, `status.phase is "A"`},
		"IsNot":     {`status.phase == "A"`, False, `status.phase is not "A"`},
		"Differs":   {`status.phase != "A"`, False, `status.phase is "A"`},
		"In":        {`status.phase in ("A", "B")`, True, `status.phase is one of "A", "B"`},
		"InNone":    {`status.phase in ("A", "B")`, False, `status.phase is none of "A", "B"`},
		"Less":      {`status.ready < spec.size`, True, "status.ready is less than spec.size"},
		"NotLess":   {`status.ready < spec.size`, False, "status.ready is not less than spec.size"},
		"Reason":    {`Ready.reason == "A"`, False, `Ready.reason is not "A"`},
		"Unknown":   {`status.phase == "A"`, Unknown, `status.phase == "A" is Unknown`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Say(tc.term, tc.value); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLiteral(t *testing.T) {
	e, err := Parse(`!A && !(status.phase == "B")`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range e.Decisive(conditions(map[string]Value{"A": False, `status.phase == "B"`: False})) {
		got = append(got, l.String())
	}
	if diff := cmp.Diff([]string{"!A", `!(status.phase == "B")`}, got); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkComparison(b *testing.B) {
	for name, term := range map[string]string{"Text": `status.phase == "Running"`, "Number": `status.ready < 3`} {
		b.Run(name, func(b *testing.B) {
			c, _ := ParseTerm(term)
			values := []Scalar{map[string]Scalar{"Text": text("Running"), "Number": num("2")}[name]}
			for b.Loop() {
				c.Evaluate(values)
			}
		})
	}
}
