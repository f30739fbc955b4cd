package csv

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestAttempt verifies when a CSV that cannot be handed over is attempted again, and whether that is known to be a repetition:
// most failures pass, and need no Event.
func TestAttempt(t *testing.T) {
	key := types.NamespacedName{Namespace: "default", Name: "foo.v1"}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	blocked := &obstacle{message: "Foo: forbidden"}
	type step struct {
		reason string
		after  time.Duration // since the start
		found  *obstacle     // by the attempt, if it is made
		made   bool
		again  bool
		wait   time.Duration
	}
	var h handovers
	for _, s := range []step{
		{"The first attempt is made at once.", 0, blocked, true, false, firstWait},
		{"It is not repeated at once.", time.Second, nil, false, false, firstWait - time.Second},
		{"The second one repeats it.", firstWait, blocked, true, true, 2 * firstWait},
		{"Each wait is longer than the last.", 2 * firstWait, nil, false, false, firstWait},
		{"A success ends that.", 3 * firstWait, nil, true, true, 0},
		{"A later failure is a first one.", 3 * firstWait, blocked, true, false, firstWait},
	} {
		made, repeated := false, false
		got, err := h.attempt(key, start.Add(s.after), func(again bool) (*obstacle, error) {
			made, repeated = true, again
			if s.found == nil {
				return nil, nil
			}
			found := *s.found
			return &found, nil
		})
		var wait time.Duration
		if got != nil {
			wait = got.again
		}
		if err != nil || made != s.made || repeated != s.again || wait != s.wait {
			t.Errorf("%s\nmade: %t, again: %t, wait: %s, error: %v", s.reason, made, repeated, wait, err)
		}
	}
}
