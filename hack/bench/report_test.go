package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var foo = benchmark{pkg: "./foo", name: "BenchmarkFoo"}

// reports returns the outcome of a successful benchmark.
func reports(figures map[string]float64) outcome {
	return outcome{ran: true, figures: map[string]map[string]float64{foo.name: figures}}
}

func TestMeasure(t *testing.T) {
	tests := map[string]struct {
		reason  string
		row     row
		outcome outcome
		figure  string
		goal    string
		met     string
		missing bool
	}{
		"at most, met": {
			reason:  "A figure equal to an upper bound meets the goal.",
			row:     row{metric: "x-of-bare", suffix: "x", goal: atMost(1.3)},
			outcome: reports(map[string]float64{"x-of-bare": 1.3}),
			figure:  "1.3x", goal: "≤ 1.3x", met: "yes",
		},
		"at most, missed": {
			reason:  "A figure above an upper bound misses the goal, which is not an error, and is printed with full precision.",
			row:     row{metric: "x-of-bare", suffix: "x", goal: atMost(1.3)},
			outcome: reports(map[string]float64{"x-of-bare": 1.301}),
			figure:  "1.301x", goal: "≤ 1.3x", met: "no",
		},
		"at least, met": {
			reason:  "A figure above a lower bound meets the goal.",
			row:     row{metric: "x-faster", suffix: "x", goal: atLeast(3)},
			outcome: reports(map[string]float64{"x-faster": 12.5}),
			figure:  "12.5x", goal: "≥ 3x", met: "yes",
		},
		"at least, missed": {
			reason:  "A figure below a lower bound misses the goal.",
			row:     row{metric: "x-faster", suffix: "x", goal: atLeast(3)},
			outcome: reports(map[string]float64{"x-faster": 2.9}),
			figure:  "2.9x", goal: "≥ 3x", met: "no",
		},
		"zero, met": {
			reason:  "A figure of zero meets a goal of zero.",
			row:     row{metric: "quiet-writes", goal: atMost(0)},
			outcome: reports(map[string]float64{"quiet-writes": 0}),
			figure:  "0", goal: "0", met: "yes",
		},
		"no goal": {
			reason:  "A figure without a goal neither meets nor misses it.",
			row:     row{metric: "p99-us", suffix: " µs"},
			outcome: reports(map[string]float64{"p99-us": 36060.4}),
			figure:  "36060 µs", goal: "-", met: "-",
		},
		"of a sub-benchmark": {
			reason: "A figure is looked up under the name of the benchmark that reports it.",
			row:    row{sub: "100", metric: "s", suffix: " s"},
			outcome: outcome{ran: true, figures: map[string]map[string]float64{
				"BenchmarkFoo/10": {"s": 1}, "BenchmarkFoo/100": {"s": 2},
			}},
			figure: "2 s", goal: "-", met: "-",
		},
		"not reported": {
			reason:  "A row whose metric is not reported is missing.",
			row:     row{metric: "x-of-bare", goal: atMost(1.3)},
			outcome: reports(map[string]float64{"ns/op": 3}),
			figure:  "-", goal: "≤ 1.3", met: "not measured: the benchmark reports no x-of-bare", missing: true,
		},
		"not a number": {
			reason:  "A row whose figure is not a number is missing, since JSON cannot represent it.",
			row:     row{metric: "x-of-bare", goal: atMost(1.3)},
			outcome: reports(map[string]float64{"x-of-bare": math.NaN()}),
			figure:  "-", goal: "≤ 1.3", met: "not measured: the benchmark reports NaN", missing: true,
		},
		"no such benchmark": {
			reason: "A row whose benchmark does not exist is missing.",
			row:    row{metric: "s"},
			figure: "-", goal: "-", met: "not measured: no such benchmark", missing: true,
		},
		"failed": {
			reason:  "A row whose benchmark failed is missing, although a figure was reported before.",
			row:     row{metric: "s"},
			outcome: outcome{ran: true, figures: map[string]map[string]float64{foo.name: {"s": 1}}, err: errors.New("broken")},
			figure:  "-", goal: "-", met: "not measured: failed: broken", missing: true,
		},
		"skipped": {
			reason:  "A row whose benchmark was skipped has the reason and is not missing.",
			row:     row{metric: "s", goal: atMost(1)},
			outcome: outcome{ran: true, skipped: "BUNDLES names no folder"},
			figure:  "-", goal: "≤ 1", met: "not measured: skipped: BUNDLES names no folder",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.row.of = foo
			got := measure([]row{tt.row}, map[benchmark]outcome{foo: tt.outcome})[0]
			cells := func(figure, goal, met string) []string { return []string{figure, goal, met} }
			if diff := cmp.Diff(cells(tt.figure, tt.goal, tt.met), cells(got.figure(), got.goal(), got.met())); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tt.reason, diff)
			}
			if got.missing != tt.missing {
				t.Errorf("%s\nmissing: %v", tt.reason, got.missing)
			}
		})
	}
}

// sample returns a measurement of each sort.
func sample() []measurement {
	return measure([]row{
		{work: "flip → status", against: "bare watch", of: foo, metric: "x-of-bare", suffix: "x", goal: atMost(1.3)},
		{work: "flip → status", of: foo, metric: "p50-us", suffix: " µs"},
		{work: "install", against: "OLM v0", of: benchmark{pkg: "./bar", name: "BenchmarkBar"}, sub: "10", metric: "x-faster", suffix: "x", goal: atLeast(3)},
	}, map[benchmark]outcome{foo: reports(map[string]float64{"x-of-bare": 1.0951, "p50-us": 6341})})
}

func TestTable(t *testing.T) {
	want := `
WORK           MEASURED AGAINST  FIGURE   GOAL    MET
flip → status  bare watch        1.095x   ≤ 1.3x  yes
flip → status  -                 6341 µs  -       -
install        OLM v0            -        ≥ 3x    not measured: no such benchmark
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), table(sample())); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	date := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	if err := write(file, report{Machine: machine{Date: date, Commit: "c0ffee-dirty", Go: "go1.26.3", Cores: 2, CPU: "Fast"}, Rows: sample()}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	want := object{
		"machine": object{"date": "2026-03-01T09:00:00Z", "commit": "c0ffee-dirty", "go": "go1.26.3", "cores": 2.0, "cpu": "Fast"},
		"rows": []any{
			object{"work": "flip → status", "against": "bare watch", "package": "./foo", "benchmark": "BenchmarkFoo", "metric": "x-of-bare",
				"figure": 1.0951, "goal": object{"atMost": 1.3}, "met": "yes"},
			object{"work": "flip → status", "package": "./foo", "benchmark": "BenchmarkFoo", "metric": "p50-us", "figure": 6341.0},
			object{"work": "install", "against": "OLM v0", "package": "./bar", "benchmark": "BenchmarkBar/10", "metric": "x-faster",
				"goal": object{"atLeast": 3.0}, "met": "not measured", "reason": "no such benchmark"},
		},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
