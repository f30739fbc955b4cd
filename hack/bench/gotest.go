package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// benchmark identifies a benchmark that `go test` runs.
type benchmark struct {
	pkg   string // relative to the project's folder
	name  string
	flags string // more flags of `go test`, separated by spaces
}

// args returns the arguments of the go command. Only with -v does it report that a benchmark skips itself.
func (b benchmark) args() []string {
	args := []string{"test", "-v", "-run=^$", "-bench=^" + b.name + "$", "-count=1", "-timeout=60m"}
	return append(append(args, strings.Fields(b.flags)...), b.pkg)
}

// run runs a benchmark in the project's folder. It returns the output, with paths relative to that folder.
func (b benchmark) run(ctx context.Context, root string) (output string, err error) {
	cmd := exec.CommandContext(ctx, "go", b.args()...)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The go command does not forward an interrupt, so it is sent to the whole process group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	err = cmd.Run()
	return strings.ReplaceAll(out.String(), root+"/", ""), err
}

// runAll runs every benchmark that rows need, in sequence, and writes its progress. It stops early if ctx is canceled.
func runAll(ctx context.Context, root string, rows []row, progress io.Writer) map[benchmark]outcome {
	out := map[benchmark]outcome{}
	for _, b := range benchmarksOf(rows) {
		fmt.Fprintf(progress, "%s in %s ...\n", b.name, b.pkg)
		began := time.Now()
		text, err := b.run(ctx, root)
		if ctx.Err() != nil {
			return out // the interruption made it fail
		}
		out[b] = read(b, text, err)
		fmt.Fprintf(progress, "  %s %.1f s\n", out[b].word(), time.Since(began).Seconds())
		if out[b].err != nil {
			fmt.Fprint(progress, tail(text))
		}
	}
	return out
}

// benchmarksOf returns the benchmarks that report the figures of rows, each once, in the order of the rows.
func benchmarksOf(rows []row) []benchmark {
	var out []benchmark
	seen := map[benchmark]bool{}
	for _, r := range rows {
		if !seen[r.of] {
			out = append(out, r.of)
		}
		seen[r.of] = true
	}
	return out
}

// tail returns the last lines of an output, which help to explain a failure.
func tail(output string) string {
	const most = 40
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	var out strings.Builder
	for _, line := range lines[max(0, len(lines)-most):] {
		out.WriteString("    " + line + "\n")
	}
	return out.String()
}
