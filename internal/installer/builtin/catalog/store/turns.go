package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// turn is how long a namespace may read while others wait that have read less.
	turn = 15 * time.Second

	// halfLife is how long it takes until half of the time that a namespace has read is forgotten.
	halfLife = 5 * time.Minute
)

// ErrTurnOver ends work for which others have waited too long. It is to be tried again later.
var ErrTurnOver = errors.New("its turn ended because catalogs of other namespaces were waiting")

// Turns limits concurrency: for trusted catalogs, for all others, and per namespace. Work for a namespace delays that
// namespace first, and never a trusted catalog. The waiting namespace that has had the least time is next. If another has
// had more by a turn, its longest work is ended.
type Turns struct {
	trusted chan struct{}

	others, perNamespace int

	mu      sync.Mutex
	waiting []*work            // in the order of their arrival
	running []*work            // in the order of their start
	had     map[string]*timing // by namespace
}

// work is untrusted work that waits or runs.
type work struct {
	namespace string
	began     time.Time
	begin     chan struct{} // closed when it may run
	end       context.CancelCauseFunc
}

// timing is the time that a namespace has worked, as far as it is not forgotten, at one moment.
type timing struct {
	seconds float64
	at      time.Time
}

// NewTurns returns Turns with these limits.
func NewTurns(trusted, others, perNamespace int) *Turns {
	return &Turns{trusted: make(chan struct{}, trusted), others: others, perNamespace: perNamespace, had: map[string]*timing{}}
}

// Enter blocks until a slot is free or ctx is done. The work must end with the returned context, whose cause is
// ErrTurnOver if its turn is over. The caller must call leave when the work has ended.
func (t *Turns) Enter(ctx context.Context, namespace string, trusted bool) (until context.Context, leave func(), err error) {
	if trusted {
		select {
		case t.trusted <- struct{}{}:
			return ctx, func() { <-t.trusted }, nil
		case <-ctx.Done():
			return nil, nil, waited(ctx)
		}
	}
	until, end := context.WithCancelCause(ctx)
	w := &work{namespace: namespace, begin: make(chan struct{}), end: end}
	t.change(func() { t.waiting = append(t.waiting, w) })
	leave = func() {
		t.change(func() { t.remove(w) })
		end(nil)
	}
	if !t.await(ctx, w) {
		leave()
		return nil, nil, waited(ctx)
	}
	return until, leave, nil
}

func waited(ctx context.Context) error {
	return fmt.Errorf("waiting until other catalogs have been read: %w", whyEnded(ctx))
}

// await blocks until the work may begin, and reports whether it may. While it waits, it ends the turns of others.
func (t *Turns) await(ctx context.Context, w *work) bool {
	for {
		timer := time.NewTimer(turn / 10)
		select {
		case <-w.begin:
			timer.Stop()
			return true
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
			t.change(t.preempt)
		}
	}
}

// change calls f, and starts the waiting work that may then run.
func (t *Turns) change(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	for {
		next := t.next()
		if next == nil || len(t.running) == t.others {
			return
		}
		next.began = time.Now()
		t.waiting = slices.DeleteFunc(t.waiting, func(w *work) bool { return w == next })
		t.running = append(t.running, next)
		close(next.begin)
	}
}

// next returns the waiting work whose namespace has had the least time and may run more, or nil.
func (t *Turns) next() *work {
	var out *work
	least := math.Inf(1)
	for _, w := range t.waiting {
		if had := t.time(w.namespace); had < least && t.runs(w.namespace) < t.perNamespace {
			out, least = w, had
		}
	}
	return out
}

// preempt ends the turn of the work that has run for longest in the namespace that has had the most time, if the next
// one has had less by a turn.
func (t *Turns) preempt() {
	next := t.next()
	if next == nil {
		return
	}
	var longest *work
	var most float64
	for _, w := range t.running {
		if had := t.time(w.namespace); had > most {
			longest, most = w, had // the first of the namespace runs longest
		}
	}
	if longest != nil && time.Since(longest.began) >= turn && most-t.time(next.namespace) >= turn.Seconds() {
		longest.end(ErrTurnOver)
	}
}

// remove removes work that has ended or waits no longer.
func (t *Turns) remove(w *work) {
	same := func(other *work) bool { return other == w }
	t.waiting = slices.DeleteFunc(t.waiting, same)
	if !slices.ContainsFunc(t.running, same) {
		return
	}
	t.running = slices.DeleteFunc(t.running, same)
	now := time.Now()
	before := t.had[w.namespace]
	if before == nil {
		before = &timing{at: now}
	}
	t.had[w.namespace] = &timing{before.left(now) + now.Sub(w.began).Seconds(), now}
	for namespace, had := range t.had {
		if had.left(now) < 0.1 {
			delete(t.had, namespace)
		}
	}
}

// time returns the seconds that a namespace has had, including those of the work that runs.
func (t *Turns) time(namespace string) float64 {
	now := time.Now()
	out := 0.0
	if had := t.had[namespace]; had != nil {
		out = had.left(now)
	}
	for _, w := range t.running {
		if w.namespace == namespace {
			out += now.Sub(w.began).Seconds()
		}
	}
	return out
}

func (t *Turns) runs(namespace string) int {
	out := 0
	for _, w := range t.running {
		if w.namespace == namespace {
			out++
		}
	}
	return out
}

// left returns the seconds not forgotten at a later moment.
func (t timing) left(now time.Time) float64 {
	return t.seconds * math.Exp2(-now.Sub(t.at).Seconds()/halfLife.Seconds())
}
