package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestTurns verifies that namespaces whose registries are slow do not keep others from reading.
func TestTurns(t *testing.T) {
	const others, perNamespace = 12, 4
	// reader enters and works for as long, again and again.
	type reader struct {
		namespace string
		works     time.Duration
		finished  int
		waited    time.Duration // at most
	}
	for name, tc := range map[string]struct {
		reason  string
		slow    []string      // each with perNamespace readers that never finish by themselves
		works   time.Duration // of the other
		atMost  time.Duration // that the other waits for a turn
		atLeast int           // that it finishes within ten minutes
	}{
		"Alone":        {reason: "A reader without others does not wait.", works: time.Second, atMost: 0, atLeast: 270},
		"ThreeStall":   {reason: "A reader is admitted soon while readers of three namespaces that never finish take all slots.", slow: []string{"a", "b", "c"}, works: time.Second, atMost: 5 * time.Second, atLeast: 140},
		"TwelveStall":  {reason: "A reader is admitted soon while readers of twelve namespaces that never finish take all slots.", slow: []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}, works: time.Second, atMost: 20 * time.Second, atLeast: 45},
		"LongButRare":  {reason: "A long read of a namespace is not ended for namespaces that had more time.", slow: []string{"a", "b", "c"}, works: time.Minute, atMost: 20 * time.Second, atLeast: 7},
		"LongAndAlone": {reason: "A long read is not ended while no other reader waits.", works: 4 * time.Minute, atMost: 0, atLeast: 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turns := NewTurns(4, others, perNamespace)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				var readers sync.WaitGroup
				read := func(r *reader) {
					for ctx.Err() == nil {
						began := time.Now()
						until, leave, err := turns.Enter(ctx, r.namespace, false)
						if err != nil {
							return
						}
						r.waited = max(r.waited, time.Since(began))
						select {
						case <-until.Done():
						case <-time.After(r.works):
							r.finished++
						}
						leave()
						select {
						case <-ctx.Done():
						case <-time.After(time.Second): // until the next try
						}
					}
				}
				for _, namespace := range tc.slow {
					for range perNamespace {
						readers.Go(func() { read(&reader{namespace: namespace, works: time.Hour}) })
					}
				}
				time.Sleep(time.Minute)
				honest := &reader{namespace: "honest", works: tc.works}
				read(honest)
				readers.Wait()
				if honest.waited > tc.atMost || honest.finished < tc.atLeast {
					t.Errorf("%s\nwaited at most %s and finished %d times; want %s and %d", tc.reason, honest.waited, honest.finished, tc.atMost, tc.atLeast)
				}
			})
		})
	}
}

// TestTurnsLimits verifies the limits, and that trusted work waits for no other.
func TestTurnsLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1, 3, 2)
		enter := func(namespace string, trusted bool) (leave func(), err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, leave, err = turns.Enter(ctx, namespace, trusted)
			return leave, err
		}
		var leaves []func()
		for i, tc := range []struct {
			namespace string
			trusted   bool
			waits     bool
		}{
			{"a", false, false},
			{"a", false, false},
			{"a", false, true}, // a third of the namespace
			{"b", false, false},
			{"c", false, true}, // a fourth in all
			{"d", true, false},
			{"e", true, true}, // a second of the trusted
		} {
			leave, err := enter(tc.namespace, tc.trusted)
			if waits := errors.Is(err, context.DeadlineExceeded); waits != tc.waits || !waits && err != nil {
				t.Errorf("%d, %+v: %v", i, tc, err)
			}
			if leave != nil {
				leaves = append(leaves, leave)
			}
		}
		for _, leave := range leaves {
			leave()
		}
		for i := range 3 {
			leave, err := enter(fmt.Sprint(i), false)
			if err != nil {
				t.Fatalf("a slot was not given back: %v", err)
			}
			leave()
		}
		time.Sleep(10 * halfLife)
		if leave, err := enter("last", false); err != nil {
			t.Error(err)
		} else {
			leave()
		}
		if len(turns.had) > 1 || len(turns.waiting)+len(turns.running) > 0 {
			t.Errorf("%d namespaces are remembered", len(turns.had))
		}
	})
}
