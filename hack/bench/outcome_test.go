package main

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const head = `goos: linux
goarch: amd64
pkg: example.com/foo
cpu: Fast CPU @ 3GHz
`

func TestRead(t *testing.T) {
	failed := errors.New("exit status 1")
	tests := map[string]struct {
		reason string
		output string
		exit   error
		want   outcome
		err    string
	}{
		"figures": {
			reason: "Every metric keeps the unit of the benchmark, although the library converts nanoseconds and megabytes.",
			output: head + `BenchmarkFoo
    foo_test.go:12: a note
BenchmarkFoo-2   	      70	      8742 engine-ns/event	        12.50 MB/s	         0 quiet-writes	       310.5 µs/Subscription	         0.2595 x-of-slim
PASS
ok  	example.com/foo	1.245s
`,
			want: outcome{ran: true, cpu: "Fast CPU @ 3GHz", figures: map[string]map[string]float64{
				"BenchmarkFoo": {"engine-ns/event": 8742, "MB/s": 12.5, "quiet-writes": 0, "µs/Subscription": 310.5, "x-of-slim": 0.2595},
			}},
		},
		"sub-benchmarks": {
			reason: "A sub-benchmark has its own figures under its name without the number of CPUs.",
			output: head + `BenchmarkFoo
BenchmarkFoo/10000
BenchmarkFoo/10000-2         	      14	  78720399 ns/op	        78.67 settled-B/CR
BenchmarkFoo/deep/100000
BenchmarkFoo/deep/100000-2   	       2	 702026773 ns/op	        67.37 settled-B/CR
PASS
`,
			want: outcome{ran: true, cpu: "Fast CPU @ 3GHz", figures: map[string]map[string]float64{
				"BenchmarkFoo/10000":       {"ns/op": 78720399, "settled-B/CR": 78.67},
				"BenchmarkFoo/deep/100000": {"ns/op": 702026773, "settled-B/CR": 67.37},
			}},
		},
		"one CPU": {
			reason: "A name without a number of CPUs, as with one CPU, is kept.",
			output: "BenchmarkFoo\nBenchmarkFoo/10000 \t 14\t 3 s\nPASS\n",
			want:   outcome{ran: true, figures: map[string]map[string]float64{"BenchmarkFoo/10000": {"s": 3}}},
		},
		"noise": {
			reason: "Other output is ignored, even if it resembles a result or precedes the benchmark's name.",
			output: "Benchmark results follow\nno line endBenchmarkFoo\nBenchmarkFoo-2 \t 14\t 3 s\nPASS\n",
			want:   outcome{ran: true, figures: map[string]map[string]float64{"BenchmarkFoo": {"s": 3}}},
		},
		"no such benchmark": {
			reason: "A benchmark that does not exist has not run, although go test passes.",
			output: "PASS\nok  \texample.com/foo\t0.004s\n",
			want:   outcome{},
		},
		"reports nothing": {
			reason: "A benchmark that exists has run even without a result.",
			output: head + "BenchmarkFoo\nPASS\n",
			want:   outcome{ran: true},
		},
		"skipped": {
			reason: "The reason of a skipped benchmark is its last log message.",
			output: head + "BenchmarkFoo\n    foo_test.go:4: BUNDLES names no folder\n--- SKIP: BenchmarkFoo\nPASS\n",
			want:   outcome{ran: true, skipped: "BUNDLES names no folder"},
		},
		"skipped, silently": {
			reason: "A benchmark that is skipped without a log message has a default reason.",
			output: head + "BenchmarkFoo\n--- SKIP: BenchmarkFoo\nPASS\n",
			want:   outcome{ran: true, skipped: "no reason given"},
		},
		"failed": {
			reason: "The error of a failed benchmark is the first line of its last log message.",
			output: head +
				"BenchmarkFoo\n    foo_test.go:3: a note\n    foo_test.go:4: broken:\n        in two\n--- FAIL: BenchmarkFoo\nFAIL\nexit status 1\nFAIL\texample.com/foo\t0.004s\nFAIL\n",
			exit: failed,
			want: outcome{ran: true},
			err:  "broken:",
		},
		"failed, silently": {
			reason: "A benchmark that fails without a log message has a default error.",
			output: head + "BenchmarkFoo\n--- FAIL: BenchmarkFoo\nFAIL\nexit status 1\n",
			exit:   failed,
			want:   outcome{ran: true},
			err:    "BenchmarkFoo gave no reason",
		},
		"failed in one of two": {
			reason: "A benchmark that fails in one sub-benchmark keeps the figures of the others.",
			output: "BenchmarkFoo\nBenchmarkFoo/10\nBenchmarkFoo/10-2 \t 14\t 3 s\nBenchmarkFoo/20\n    foo_test.go:7: second\n--- FAIL: BenchmarkFoo/20\n--- FAIL: BenchmarkFoo\nFAIL\n",
			exit:   failed,
			want:   outcome{ran: true, figures: map[string]map[string]float64{"BenchmarkFoo/10": {"s": 3}}},
			err:    "second",
		},
		"panic": {
			reason: "The error of a benchmark that panics or times out is the message of the panic.",
			output: head +
				"BenchmarkFoo\npanic: test timed out after 1h0m0s\n\ngoroutine 5 [running]:\nmain.main()\nexit status 2\nFAIL\texample.com/foo\t0.009s\nFAIL\n",
			exit: failed,
			want: outcome{ran: true},
			err:  "panic: test timed out after 1h0m0s",
		},
		"does not build": {
			reason: "The error of a package that does not compile is the compiler's first message.",
			output: "# example.com/foo [example.com/foo.test]\nfoo_test.go:2:13: undefined: bar\nFAIL\texample.com/foo [build failed]\nFAIL\n",
			exit:   failed,
			want:   outcome{},
			err:    "foo_test.go:2:13: undefined: bar",
		},
		"no such package": {
			reason: "The error of a package that is not found is the first message of go test.",
			output: "# ./e2e/foo\nstat e2e/foo: directory not found\nFAIL\t./e2e/foo [setup failed]\nFAIL\n",
			exit:   failed,
			want:   outcome{},
			err:    "stat e2e/foo: directory not found",
		},
		"failed before any benchmark": {
			reason: "The error of a package that fails before its benchmarks is its last line of output.",
			output: "# how the cluster starts\nstarting the API server: no such file\nexit status 1\nFAIL\texample.com/foo\t0.009s\nFAIL\n",
			exit:   failed,
			want:   outcome{},
			err:    "starting the API server: no such file",
		},
		"could not be run": {
			reason: "The error of a run without output is that of the command.",
			exit:   errors.New("go: executable file not found in $PATH"),
			want:   outcome{},
			err:    "go: executable file not found in $PATH",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := read(benchmark{name: "BenchmarkFoo"}, tt.output, tt.exit)
			var err string
			if got.err != nil {
				err = got.err.Error()
			}
			if diff := cmp.Diff(tt.err, err); diff != "" {
				t.Errorf("%s\nerror: -want +got\n%s", tt.reason, diff)
			}
			got.err = nil
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(outcome{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tt.reason, diff)
			}
		})
	}
}
