package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRows(t *testing.T) {
	type source struct {
		benchmark
		sub, metric string
	}
	seen := map[source]string{}
	names := regexp.MustCompile(`^Benchmark[A-Z]\w*$`)
	for _, r := range rows {
		from := source{r.of, r.sub, r.metric}
		if other, twice := seen[from]; twice {
			t.Errorf("rows %q and %q have the same figure", other, r.work)
		}
		seen[from] = r.work
		if r.work == "" || r.metric == "" || strings.ContainsAny(r.metric, " \t") {
			t.Errorf("a row has no work or metric, or a metric with white space: %+v", r)
		}
		if !names.MatchString(r.of.name) || !strings.HasPrefix(r.of.pkg, "./") {
			t.Errorf("row %q has an invalid benchmark %+v", r.work, r.of)
		}
		if r.goal != nil && (r.goal.AtMost == nil) == (r.goal.AtLeast == nil) {
			t.Errorf("the goal of row %q has not exactly one bound", r.work)
		}
	}
}

// TestRowsHaveBenchmarks verifies that the benchmarks of all rows exist, so renaming one requires changing its rows.
func TestRowsHaveBenchmarks(t *testing.T) {
	for _, of := range benchmarksOf(rows) {
		files, err := filepath.Glob(filepath.Join("..", "..", of.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		defined := slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && bytes.Contains(text, []byte("func "+of.name+"(b *testing.B)"))
		})
		if !defined {
			t.Errorf("package %s has no benchmark %s", of.pkg, of.name)
		}
	}
}

func TestBenchmarksOf(t *testing.T) {
	bar := benchmark{pkg: "./bar", name: "BenchmarkBar", flags: "-benchtime=1x -cpu=1"}
	got := benchmarksOf([]row{{of: bar, metric: "a"}, {of: foo, metric: "a"}, {of: bar, metric: "b"}})
	if diff := cmp.Diff([]benchmark{bar, foo}, got, cmp.AllowUnexported(benchmark{})); diff != "" {
		t.Errorf("benchmarks are not listed once, in the order of their first row (-want +got)\n%s", diff)
	}
	want := []string{"test", "-v", "-run=^$", "-bench=^BenchmarkBar$", "-count=1", "-timeout=60m", "-benchtime=1x", "-cpu=1", "./bar"}
	if diff := cmp.Diff(want, bar.args()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
