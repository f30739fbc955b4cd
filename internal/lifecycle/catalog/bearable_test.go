package catalog

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestBearable(t *testing.T) {
	tests := map[string]struct {
		reason   string
		document string
		want     string
	}{
		"an object":      {"What catalogs are made of.", CRD, ""},
		"aliases":        {"They are no harm by themselves.", "a: &a {b: c}\nd: [*a, *a]\n", ""},
		"markdown":       {"Stars and ampersands are mostly none.", "description: \"**R&D** *at its best*\"\n", ""},
		"a long text":    {"It is one value.", "a: " + strings.Repeat("x", 5<<20), ""},
		"too long":       {"The limit is told.", "a: " + strings.Repeat("x", 10<<20), "a document in it is larger than the limit of 10MiB"},
		"lines":          {"A list, one value a line.", strings.Repeat("- a\n", 200_000), "a document in it has more values than the limit of 300000"},
		"other lines":    {"What YAML takes for the end of a line besides.", strings.Repeat("- a\u2028", 200_000), "a document in it has more values than the limit of 300000"},
		"in one line":    {"A list in one line.", "[" + strings.Repeat("a,", 300_000) + "]", "a document in it has more values than the limit of 300000"},
		"one in another": {"Lists that hold a list each.", strings.Repeat("- ", 300_001), "a document in it has more values than the limit of 300000"},
		"JSON":           {"The same.", `{"a":[` + strings.Repeat("{},", 300_000) + `{}]}`, "a document in it has more values than the limit of 300000"},
		"repeated": {"A long text that is said once and meant very often.", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 20) + "]\n",
			"a document in it is larger than the limit of 10MiB once its aliases are written out"},
		"repeated as a key": {"The same in keys.", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("{*a : b},", 20) + "]\n",
			"a document in it is larger than the limit of 10MiB once its aliases are written out"},
		"not YAML": {"Of that the parser has more to say.", "&*\n\t", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := bearable([]byte(tc.document))
			got := ""
			if err != nil {
				got = strings.TrimPrefix(told(err, "none"), v1alpha1.ReasonTooLarge+": ")
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestChecked(t *testing.T) {
	many := strings.Repeat("- a\n", 100_000)
	tests := map[string]struct {
		reason string
		stream string
		fails  bool
	}{
		"nothing":              {"There is nothing to be said of it.", "", false},
		"YAML":                 {"Each document has the limit to itself.", "---\n" + many + "---\n" + many + "---\n" + many, false},
		"YAML with comments":   {"A separator may have one.", many + "--- # next\n" + many, false},
		"one document":         {"What looks like a separator inside a line is none.", many + " ---\n" + many, true},
		"JSON":                 {"So has each object, whatever is between them.", strings.Repeat(`{"a": "}\"{", "b": [`+strings.Repeat("0,", 100_000)+"0]}\n", 5), false},
		"one object":           {"An object has it once, however deep.", `{"a":{"b":[` + strings.Repeat("{},", 400_000) + "{}]}}", true},
		"braces in YAML":       {"An object of YAML need not be one of JSON.", "{a: b}\n---\n" + many + "---\n{}\n---\n" + many, false},
		"YAML after JSON":      {"What begins as JSON may go on as YAML, with small objects in it.", "{}\n" + strings.Repeat("- {}\n", 200_000), true},
		"JSON that never ends": {"It is YAML that makes no sense, and too much of it.", `{"a": [` + strings.Repeat("{},", 400_000), true},
		"a long line":          {"It need not end.", strings.Repeat("x", 11<<20), true},
		"spaces":               {"Nor be anything.", strings.Repeat(" ", 11<<20), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := newChecked(iotest.HalfReader(strings.NewReader(tc.stream)))
			got, err := io.ReadAll(in)
			in.done()
			if (err != nil) != tc.fails {
				t.Errorf("%s The error is %v", tc.reason, err)
			}
			if err == nil && string(got) != tc.stream {
				t.Errorf("%s What is passed on is not what came in: %d bytes of %d", tc.reason, len(got), len(tc.stream))
			}
			if _, again := in.Read(make([]byte, 1)); err != nil && !errors.Is(again, err) {
				t.Errorf("asked again, it says %v", again)
			}
		})
	}
}

// TestTurns: who reads several heavy documents takes turns with himself, too, and does not wait for ever.
func TestTurns(t *testing.T) {
	heavy := strings.Repeat("- a\n", 50_000)
	for range 2 {
		in := newChecked(strings.NewReader(heavy + "---\n" + heavy))
		if _, err := io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
		in.done()
	}
	if !turn.TryLock() {
		t.Fatal("it is somebody's turn still")
	}
	turn.Unlock()
}

func TestIgnoreFileLimit(t *testing.T) {
	_, err := readFiles(map[string]string{"foo/.indexignore": strings.Repeat("x\n", 10<<10), "foo/a.yaml": FBC("foo", "1.0.0")}, DefaultLimits)
	if diff := cmp.Diff("TooLarge: foo/.indexignore is larger than the limit of 16KiB", told(err, "none")); diff != "" {
		t.Errorf("Each line of it is a pattern.\n-want +got\n%s", diff)
	}
}
