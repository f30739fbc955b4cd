package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// outcome is what came of a benchmark.
type outcome struct {
	figures map[string]map[string]float64 // by the name of the benchmark, sub-benchmarks apart, and by metric
	cpu     string                        // as the benchmark's head names it
	ran     bool                          // false if there is no such benchmark
	skipped string                        // why it skipped itself, if it did
	err     error                         // why it failed
}

func (o outcome) word() string {
	switch {
	case o.err != nil:
		return "failed after"
	case o.skipped != "":
		return "skipped after"
	case !o.ran:
		return "not found in"
	}
	return "took"
}

// read reads the verbose output of `go test`, and what its exit said.
func read(b benchmark, output string, exit error) outcome {
	out := outcome{figures: map[string]map[string]float64{}}
	reader := benchfmt.NewReader(strings.NewReader(output), b.name)
	for reader.Scan() {
		// A line that merely begins like a result is of no interest: a figure that is missing is noticed anyway.
		if result, ok := reader.Result().(*benchfmt.Result); ok {
			out.cpu = result.GetConfig("cpu")
			out.figures[nameOf(result)] = figuresOf(result)
		}
	}
	lines := strings.Split(output, "\n")
	out.ran = slices.Contains(lines, b.name) || len(out.figures) > 0
	switch at := slices.Index(lines, "--- SKIP: "+b.name); {
	case exit != nil:
		out.err = reason(lines, exit)
	case reader.Err() != nil:
		out.err = reader.Err()
	case at >= 0:
		out.skipped = lastLogged(lines[:at], "no reason given")
	}
	return out
}

// nameOf is a benchmark's whole name, without the number of CPUs that the testing package appends.
func nameOf(result *benchfmt.Result) string {
	base, parts := result.Name.Parts()
	name := append([]byte("Benchmark"), base...)
	for _, part := range parts {
		if part[0] == '/' {
			name = append(name, part...)
		}
	}
	return string(name)
}

// figuresOf are those of a result under the units that the benchmark gave them: benchfmt makes seconds of what it takes for
// nanoseconds, within a name as well.
func figuresOf(result *benchfmt.Result) map[string]float64 {
	out := map[string]float64{}
	for _, v := range result.Values {
		if v.OrigUnit != "" {
			out[v.OrigUnit] = v.OrigValue
		} else {
			out[v.Unit] = v.Value
		}
	}
	return out
}

// logged is a line of a benchmark's log, and its message.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// lastLogged is the last message of the lines.
func lastLogged(lines []string, otherwise string) string {
	for _, line := range slices.Backward(lines) {
		if m := logged.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return otherwise
}

// reason says in a line why `go test` failed: what the compiler says, what the benchmark logged last, the panic, or else
// what was printed last.
func reason(lines []string, exit error) error {
	if slices.ContainsFunc(lines, isUnbuilt) {
		if head := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "# ") }); head >= 0 {
			return errors.New(lines[head+1]) // there is one: the line that says unbuilt
		}
	}
	const failure = "--- FAIL: "
	last := exit.Error()
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, failure):
			return errors.New(lastLogged(lines[:i], strings.TrimPrefix(line, failure)+" gave no reason"))
		case strings.HasPrefix(line, "panic: "):
			return errors.New(line)
		case line != "" && !strings.HasPrefix(line, "FAIL") && !strings.HasPrefix(line, "exit status "):
			last = line
		}
	}
	return errors.New(last)
}

// isUnbuilt is true for the line that says that a package does not build, or is not there.
func isUnbuilt(line string) bool {
	return strings.HasSuffix(line, "[build failed]") || strings.HasSuffix(line, "[setup failed]")
}
