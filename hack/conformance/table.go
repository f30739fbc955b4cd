package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// outcome is the expected result of a spec.
type outcome string

const (
	// pass is the outcome of a spec that is expected to pass.
	pass outcome = "pass"
	// excused is the outcome of a spec that is run and expected to fail. The row has a class and a reason.
	excused outcome = "excused"
	// waits is like excused, but the spec runs only with -all, because it fails by timing out.
	waits outcome = "waits"
)

// classes describes the classes of excused specs.
var classes = map[string]string{
	"A": "the spec needs a real pod or a pulled image",
	"B": "a decision of the design",
	"C": "to be fixed: users who move from OLM would notice",
	"D": "to be fixed: shape and wording",
	"S": "the suite skips it itself",
}

// row is the expectation for one spec.
type row struct {
	outcome outcome
	class   string // a key of classes, or empty for pass
	reason  string // empty for pass
}

// key identifies a spec.
type key struct {
	file string // without _test.go
	spec string // the texts of its containers and its own text
}

// table holds the expectations for all specs.
type table map[key]row

const header = "file\toutcome\tclass\treason\tspec\n"

// parseTable parses tab-separated rows.
func parseTable(text string) (table, error) {
	rest, ok := strings.CutPrefix(text, header)
	if !ok {
		return nil, fmt.Errorf("the first line is not %q", header)
	}
	out := table{}
	for line := range strings.Lines(rest) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(columns) != 5 {
			return nil, fmt.Errorf("%q has %d columns, want 5", line, len(columns))
		}
		k, r := key{columns[0], columns[4]}, row{outcome(columns[1]), columns[2], columns[3]}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", k.file, k.spec, err)
		}
		if _, twice := out[k]; twice {
			return nil, fmt.Errorf("%s: %q is listed twice", k.file, k.spec)
		}
		out[k] = r
	}
	return out, nil
}

func (r row) check() error {
	switch {
	case r.outcome != pass && r.outcome != excused && r.outcome != waits:
		return fmt.Errorf("%q is not an outcome", r.outcome)
	case r.outcome == pass && r.class+r.reason != "":
		return fmt.Errorf("a passing spec has class %q and reason %q", r.class, r.reason)
	case r.outcome != pass && (classes[r.class] == "" || r.reason == ""):
		return fmt.Errorf("the spec is excused with class %q and reason %q", r.class, r.reason)
	}
	return nil
}

// String returns the table as it is in the file, sorted.
func (t table) String() string {
	var out strings.Builder
	out.WriteString(header)
	for _, k := range t.keys() {
		r := t[k]
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\t%s\n", k.file, r.outcome, r.class, r.reason, k.spec)
	}
	return out.String()
}

func (t table) keys() []key {
	return slices.SortedFunc(maps.Keys(t), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.spec, b.spec))
	})
}

// readTable reads a table from a file.
func readTable(path string) (table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out, err := parseTable(string(text))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return out, nil
}

// compare returns the differences between the results and the table, sorted. Skipped specs must be in the table, and
// are a difference only if they are expected to pass.
func (t table) compare(results map[key]result) []string {
	var out []string
	report := func(k key, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s: %q: ", k.file, k.spec)+fmt.Sprintf(format, args...))
	}
	for k, got := range results {
		want, listed := t[k]
		switch {
		case !listed:
			report(k, "is not in the table")
		case got.state == skipped:
		case want.outcome == pass && got.state == failed:
			report(k, "stopped passing: %s", got.message)
		case want.outcome != pass && got.state == passed:
			report(k, "started passing: it is excused with class %s (%s)", want.class, want.reason)
		}
	}
	for k, want := range t {
		got, found := results[k]
		switch {
		case !found:
			report(k, "is in the table, and not in the suite")
		case want.outcome == pass && got.state == skipped:
			report(k, "was not run")
		}
	}
	slices.Sort(out)
	return out
}

// update returns the table with the outcomes of the results. Specs that still fail keep their class and reason.
func (t table) update(results map[key]result) table {
	out := table{}
	for k, got := range results {
		r, listed := t[k]
		switch {
		case got.state == passed:
			r = row{outcome: pass}
		case got.state == failed && (!listed || r.outcome == pass), !listed:
			r = row{outcome: excused, class: "D", reason: "not yet classified"}
		}
		out[k] = r
	}
	return out
}
