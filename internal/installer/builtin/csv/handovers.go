package csv

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// firstWait and longestWait are how long a CSV that cannot be handed over waits before the next attempt. Each wait
	// is twice the one before.
	firstWait   = 15 * time.Second
	longestWait = 5 * time.Minute

	// handoversAtOnce limits the attempts at one time: those that wait for the API server leave workers for other CSVs.
	handoversAtOnce = concurrency / 2

	// turnWait is how long a CSV waits for another attempt to end.
	turnWait = time.Second
)

// obstacle is why a CSV is not handed over yet.
type obstacle struct {
	message string        // empty while other CSVs are handed over
	again   time.Duration // until the next attempt
}

// handovers decides when to attempt to hand over a replaced CSV. The zero value is ready to use.
type handovers struct {
	mu      sync.Mutex
	running int
	failed  map[types.NamespacedName]failedHandover
}

type failedHandover struct {
	obstacle obstacle
	due      time.Time // the next attempt
	wait     time.Duration
}

// attempt hands over a CSV, unless an attempt has failed so recently that its obstacle is returned instead. It passes
// whether the last attempt failed.
func (h *handovers) attempt(csv types.NamespacedName, now time.Time, try func(again bool) (*obstacle, error)) (*obstacle, error) {
	before, wait := h.begin(csv, now)
	if wait != nil {
		return wait, nil
	}
	found, err := try(before > 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	delete(h.failed, csv)
	if found == nil || err != nil {
		return nil, err
	}
	found.again = min(max(2*before, firstWait), longestWait)
	if h.failed == nil {
		h.failed = map[types.NamespacedName]failedHandover{}
	}
	h.failed[csv] = failedHandover{obstacle: *found, due: now.Add(found.again), wait: found.again}
	return found, nil
}

// begin returns the wait before the failed attempt, or why no attempt is made now.
func (h *handovers) begin(csv types.NamespacedName, now time.Time) (time.Duration, *obstacle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, failed := h.failed[csv]
	if failed && now.Before(last.due) {
		out := last.obstacle
		out.again = last.due.Sub(now)
		return 0, &out
	}
	if h.running == handoversAtOnce {
		return 0, &obstacle{again: turnWait}
	}
	h.running++
	return last.wait, nil
}

// forget forgets the failed attempts of a CSV that is deleted.
func (h *handovers) forget(csv types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.failed, csv)
}
