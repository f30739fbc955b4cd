package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// outcome is the result of a benchmark.
type outcome struct {
	figures map[string]map[string]float64 // by the name of the benchmark or sub-benchmark, and by metric
	cpu     string                        // as in the header of the output
	ran     bool                          // false if the benchmark does not exist
	skipped string                        // the reason why it skipped itself, or empty
	err     error                         // the reason why it failed
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

// read parses the verbose output of `go test`. exit is the error that the command returned.
func read(b benchmark, output string, exit error) outcome {
	out := outcome{figures: map[string]map[string]float64{}}
	reader := benchfmt.NewReader(strings.NewReader(output), b.name)
	for reader.Scan() {
		// Ignore lines that merely start like a result: a missing figure is reported anyway.
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

// nameOf returns the full name of a benchmark, without the number of CPUs that the testing package appends.
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

// figuresOf returns the figures of a result by the units that the benchmark reported: benchfmt converts nanoseconds to
// seconds, even within the name of a unit.
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

// logged matches a line of a benchmark's log and captures its message.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// lastLogged returns the last logged message in the lines, with otherwise as the default.
func lastLogged(lines []string, otherwise string) string {
	for _, line := range slices.Backward(lines) {
		if m := logged.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return otherwise
}

// reason returns why `go test` failed: a compiler error, the benchmark's last message, a panic, or the last line.
func reason(lines []string, exit error) error {
	if slices.ContainsFunc(lines, isUnbuilt) {
		if head := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "# ") }); head >= 0 {
			return errors.New(lines[head+1]) // exists: at least the line that isUnbuilt matches
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

// isUnbuilt reports whether a line states that a package does not build or does not exist.
func isUnbuilt(line string) bool {
	return strings.HasSuffix(line, "[build failed]") || strings.HasSuffix(line, "[setup failed]")
}
