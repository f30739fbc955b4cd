// Command demo plays the story of an operator that is installed, of an update that waits, and of a platform that is summed
// up, on a control plane of its own, and checks every step of it. It leaves nothing behind, unless KEEP=1 asks it to.
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

// exitInterrupted is what a shell expects of a program that Ctrl-C ended.
const exitInterrupted = 130

func main() { os.Exit(run()) }

func run() int {
	// SIGPIPE is the reader going away (make demo | head): an interruption like the others.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()

	log.SetLogger(logr.Discard()) // the story tells what went wrong
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

// play plays the story, step by step, up to the first that is not as expected.
func play(ctx context.Context, s *stage) error {
	for i, step := range story {
		began := time.Now()
		s.narrator.begin(i+1, step.title)
		if err := step.do(s, ctx); err != nil {
			return errors.Join(s.managers.logged(err), s.tell(ctx))
		}
		s.narrator.passed(step.until, time.Since(began))
	}
	return nil
}
