package watch

import (
	"errors"
	"testing"
	"time"
)

// TestStale verifies when the contents of a source count as out of date, and when everything is read again.
func TestStale(t *testing.T) {
	const moment = time.Second
	sub := subscribeAlone(t, silentEngine(t))
	s, notified := sub.source, 0
	sub.request.Notify = func(bool) { notified++ }
	first := scriptOf(sub)
	// await reviews the source as if so much time had passed since the API server last sent something.
	await := func(silence time.Duration) { s.review(time.Duration(s.heard.Load()) + silence) }
	check := func(reason string, stale bool, rounds int) {
		t.Helper()
		if got := sub.Snapshot(); got.Stale != stale || s.round-first.round != rounds {
			t.Errorf("%s\nstale: %t, want %t; read again %d times, want %d", reason, got.Stale, stale, s.round-first.round, rounds)
		}
	}

	s.hear()
	await(staleAfter)
	check("A first reading that has not ended is repeated. Nothing that it read is out of date.", false, 1)

	second := scriptOf(sub)
	second.replace(1, map[string]string{"n/a": "A=True"})
	s.hear()
	s.began = time.Duration(s.heard.Load())
	await(silentFor - moment)
	check("The API server sends a bookmark every minute.", false, 1)

	notified = 0
	await(silentFor + moment)
	check("A silent watch is replaced. Its successor has a moment to read.", false, 2)
	await(staleAfter + moment)
	check("What a silent API server sent is out of date. The new reading is not repeated at once.", true, 2)
	if notified != 1 {
		t.Errorf("notified %d times, want once that it is out of date", notified)
	}

	s.hear()
	third := scriptOf(sub)
	third.replace(1, map[string]string{"n/a": "A=True"})
	check("What was read again is not out of date.", false, 2)

	third.failed(errors.New("unavailable"))
	s.review(s.failed + failingFor - moment)
	check("A watch may be interrupted.", false, 2)
	s.review(s.failed + failingFor + moment)
	check("Reading that fails is not knowing.", true, 2)
	third.failed(errors.New("unavailable for another reason"))
	s.review(s.failed + failingFor + moment)
	check("Another error does not make it new, and what fails is retried already.", true, 2)
	third.worked()
	check("A watch that is open again has what was missed.", false, 2)
}

// subscribeAlone returns a Subscription to the condition A.
func subscribeAlone(t *testing.T, engine *Engine) *Subscription {
	t.Helper()
	r := request(make(chan struct{}, 1))
	r.Types = []string{"A"}
	sub, err := engine.Subscribe(r)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}
