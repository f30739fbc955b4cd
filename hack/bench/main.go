// Command bench runs the project's benchmarks, prints their figures as a table and writes them to bin/bench.json. Run
// it in the project's folder. It reports a figure that misses its goal, and fails if a figure is missing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the project: %w", err)
	}
	outcomes := runAll(ctx, root, rows, os.Stderr)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	out := report{Machine: thisMachine(ctx, root, outcomes), Rows: measure(rows, outcomes)}
	fmt.Print(table(out.Rows))
	if err := write(filepath.Join(root, "bin", "bench.json"), out); err != nil {
		return err
	}
	if slices.ContainsFunc(out.Rows, func(m measurement) bool { return m.missing }) {
		return errors.New("not all rows were measured: the table has the missing ones")
	}
	return nil
}

func write(file string, r report) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the report as JSON: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
