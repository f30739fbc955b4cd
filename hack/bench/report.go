package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report is what is written to bin/bench.json.
type report struct {
	Machine machine       `json:"machine"`
	Rows    []measurement `json:"rows"`
}

// verdict says whether a figure is as good as its goal. It is empty for a figure that has none.
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
	Reason    string   `json:"reason,omitempty"` // why there is no figure

	suffix  string
	missing bool // there should be a figure: it was not the benchmark's own wish to skip it
}

// measure gives rows their figures.
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

// benchmark is the whole name of the one that reports the figure.
func (r row) benchmark() string {
	if r.sub == "" {
		return r.of.name
	}
	return r.of.name + "/" + r.sub
}

// absence says why an outcome has no figure for the row, if so, and whether that is an error.
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

// table is what is printed.
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

// number has four digits that count, as many as the testing package prints.
func number(f float64) string {
	if math.Abs(f) >= 1000 {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 4, 64)
}
