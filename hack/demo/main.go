// Command demo shows, on its own control plane, how an operator is installed, how its update is held, and how a
// platform's status is rolled up. It checks every step. It removes everything at the end, unless KEEP=1 is set.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// exitInterrupted is the exit code that shells expect of a program that was interrupted by Ctrl-C.
const exitInterrupted = 130

func main() { os.Exit(run()) }

func run() int {
	// SIGPIPE means that the reader has exited (make demo | head). It is handled as an interruption.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()

	log.SetLogger(logr.Discard()) // the demo reports errors itself
	n := newNarrator(os.Stdout)
	s, err := newStage(n)
	if err != nil {
		n.failed(err)
		return 1
	}
	defer func() {
		if p := recover(); p != nil {
			if err := s.leave(); err != nil {
				n.failed(err)
			}
			panic(p)
		}
	}()

	began := time.Now()
	err = play(ctx, s)
	interrupted := ctx.Err() != nil
	keep := os.Getenv("KEEP") == "1" && s.isUp() && !interrupted
	if interrupted {
		err = errors.New("interrupted")
	}
	if !keep {
		err = errors.Join(err, s.leave())
	}
	if err != nil {
		n.failed(err)
	} else {
		n.summary(fmt.Sprintf("%d steps, all as expected, in %.1f s", len(story), time.Since(began).Seconds()))
	}
	if keep {
		s.keep()
	}
	switch {
	case interrupted:
		return exitInterrupted
	case err != nil:
		return 1
	}
	return 0
}

// play runs the steps in sequence and returns the error of the first that fails.
func play(ctx context.Context, s *stage) error {
	for i, step := range story {
		began := time.Now()
		s.narrator.begin(i+1, step.title)
		if err := step.do(s, ctx); err != nil {
			return errors.Join(s.managers.logged(err), s.show(ctx))
		}
		s.narrator.passed(step.until, time.Since(began))
	}
	return nil
}
