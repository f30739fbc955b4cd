// Command release builds everything that a release of operator-status consists of into one folder, and changes nothing else.
// Two builds of one commit produce the same files.
//
// The folder of the project, the version and the repository of the image are flags: see `make release` and `make images`.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options describes a release.
type options struct {
	dir        string    // the project
	out        string    // the folder of the release, which is replaced
	version    string    // such as 0.1.0
	repository string    // of the image; that of the bundle and the catalog have a suffix
	revision   string    // the commit
	created    time.Time // of everything in the release
	push       bool      // also to the registry
	draft      bool      // of a version that CHANGELOG.md does not have yet
}

func run(ctx context.Context, args []string) error {
	o := options{}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", ".", "Folder of the project.")
	flags.StringVar(&o.out, "out", "dist", "Folder to write to. What it contains is deleted.")
	flags.StringVar(&o.version, "version", "", "Version to build.")
	flags.StringVar(&o.repository, "repository", "ghcr.io/operator-status/operator-status",
		"Repository of the image. Those of the bundle and the catalog have the suffix -bundle or -catalog.")
	flags.BoolVar(&o.push, "push", false, "Push the images.")
	flags.BoolVar(&o.draft, "draft", false, "Take the release notes from the unreleased changes if CHANGELOG.md lacks the version.")
	only := flags.String("only", "", "Build only the images of the manager, the bundle or the catalog: manager, bundle or catalog.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.version == "" {
		return fmt.Errorf("-version is required, such as -version 0.1.0")
	}
	var err error
	if o.dir, err = filepath.Abs(o.dir); err != nil {
		return fmt.Errorf("finding the project: %w", err)
	}
	if o.revision, err = git(ctx, o.dir, "rev-parse", "HEAD"); err != nil {
		return err
	}
	if o.created, err = created(ctx, o.dir); err != nil {
		return err
	}
	if err := os.RemoveAll(o.out); err != nil {
		return fmt.Errorf("clearing %s: %w", o.out, err)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("creating %s: %w", o.out, err)
	}
	steps := map[string]func(context.Context, options) error{
		"": release, "manager": onlyManager, "bundle": onlyBundle, "catalog": onlyCatalog,
	}
	step, ok := steps[*only]
	if !ok {
		return fmt.Errorf("-only %s is unknown: use manager, bundle or catalog", *only)
	}
	return step(ctx, o)
}

// created returns the time that is recorded in images and archives: SOURCE_DATE_EPOCH, or that of the commit.
func created(ctx context.Context, dir string) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		var err error
		if seconds, err = git(ctx, dir, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the time of the build: SOURCE_DATE_EPOCH must be a number of seconds: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := output(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...))
	return strings.TrimSpace(string(out)), err
}

// output runs a command and returns its output. The error includes the command's stderr.
func output(c *exec.Cmd) ([]byte, error) {
	problem := &strings.Builder{}
	c.Stderr = problem
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, problem)
	}
	return out, nil
}
