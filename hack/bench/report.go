package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report is the content of bin/bench.json.
type report struct {
	Machine machine       `json:"machine"`
	Rows    []measurement `json:"rows"`
}

// verdict states whether a figure meets its goal. It is empty without a goal.
type verdict string

const (
	met         verdict = "yes"
	missed      verdict = "no"
	notMeasured verdict = "not measured"
)

// measurement is a row with its figure.
type measurement struct {
	Work      string   `json:"work"`
	Against   string   `json:"against,omitempty"`
	Package   string   `json:"package"`
	Benchmark string   `json:"benchmark"`
	Metric    string   `json:"metric"`
	Figure    *float64 `json:"figure,omitempty"`
	Goal      *goal    `json:"goal,omitempty"`
	Met       verdict  `json:"met,omitempty"`
	Reason    string   `json:"reason,omitempty"` // why the row has no figure

	suffix  string
	missing bool // a figure is expected: the benchmark did not skip itself
}

// measure returns the rows with their figures.
func measure(rows []row, outcomes map[benchmark]outcome) []measurement {
	out := make([]measurement, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.measure(outcomes[r.of]))
	}
	return out
}

func (r row) measure(o outcome) measurement {
	out := measurement{
		Work: r.work, Against: r.against, Package: r.of.pkg, Benchmark: r.benchmark(), Metric: r.metric, Goal: r.goal, suffix: r.suffix,
	}
	if out.Reason, out.missing = r.absence(o); out.Reason != "" {
		out.Met = notMeasured
		return out
	}
	figure := o.figures[r.benchmark()][r.metric]
	out.Figure = &figure
	switch {
	case r.goal == nil:
	case r.goal.isMetBy(figure):
		out.Met = met
	default:
		out.Met = missed
	}
	return out
}

// benchmark returns the full name of the benchmark that reports the figure, including the sub-benchmark.
func (r row) benchmark() string {
	if r.sub == "" {
		return r.of.name
	}
	return r.of.name + "/" + r.sub
}

// absence returns why an outcome has no figure for the row, or "", and whether that is an error.
func (r row) absence(o outcome) (reason string, isError bool) {
	figure, ok := o.figures[r.benchmark()][r.metric]
	switch {
	case o.err != nil:
		return "failed: " + o.err.Error(), true
	case o.skipped != "":
		return "skipped: " + o.skipped, false
	case !o.ran:
		return "no such benchmark", true
	case !ok:
		return "the benchmark reports no " + r.metric, true
	case math.IsNaN(figure) || math.IsInf(figure, 0):
		return fmt.Sprintf("the benchmark reports %v", figure), true
	}
	return "", false
}

// table returns the measurements as a text table.
func table(measurements []measurement) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WORK\tMEASURED AGAINST\tFIGURE\tGOAL\tMET")
	for _, m := range measurements {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Work, orDash(m.Against), m.figure(), m.goal(), m.met())
	}
	_ = w.Flush() // to a strings.Builder
	return out.String()
}

func (m measurement) figure() string {
	if m.Figure == nil {
		return "-"
	}
	return number(*m.Figure) + m.suffix
}

func (m measurement) goal() string {
	if m.Goal == nil {
		return "-"
	}
	return m.Goal.String() + m.suffix
}

func (m measurement) met() string {
	if m.Reason != "" {
		return string(m.Met) + ": " + m.Reason
	}
	return orDash(string(m.Met))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// number formats a figure with four significant digits, as the testing package does.
func number(f float64) string {
	if math.Abs(f) >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}
