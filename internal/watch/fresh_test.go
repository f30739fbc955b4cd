package watch

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
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
			t.Errorf("%s\nstale: %t, want %t; listed again %d times, want %d", reason, got.Stale, stale, s.round-first.round, rounds)
		}
	}

	s.hear()
	await(staleAfter)
	check("A first list that does not end is repeated, and nothing is out of date.", false, 1)

	second := scriptOf(sub)
	second.replace(1, map[string]string{"n/a": "A=True"})
	s.hear()
	s.began = time.Duration(s.heard.Load())
	await(silentFor - moment)
	check("A watch that is silent for less than its limit is kept, since the API server sends a bookmark every minute.", false, 1)

	notified = 0
	await(silentFor + moment)
	check("A silent watch is replaced, and its content is not yet out of date.", false, 2)
	await(staleAfter + moment)
	check("The content of a silent watch is out of date, and the new watch is not replaced at once.", true, 2)
	if notified != 1 {
		t.Errorf("notified %d times, want once, when the content is out of date", notified)
	}

	s.hear()
	third := scriptOf(sub)
	third.replace(1, map[string]string{"n/a": "A=True"})
	check("Content that was listed again is not out of date.", false, 2)

	third.failed(errors.New("unavailable"))
	s.review(s.failed + failingFor - moment)
	check("The content is not out of date if the watch is interrupted for a short time.", false, 2)
	s.review(s.failed + failingFor + moment)
	check("The content is out of date if reading has failed for too long.", true, 2)
	third.failed(errors.New("unavailable for another reason"))
	s.review(s.failed + failingFor + moment)
	check("The content stays out of date if reading fails with another error, and nothing is read again.", true, 2)
	third.worked()
	check("The content is not out of date once the watch is open again.", false, 2)
}

// empty is an API server without objects. Its watches end at once.
type empty struct{}

func (empty) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"metadata":{"resourceVersion":"1"},"items":[]}`
	if r.URL.Query().Get("watch") != "" {
		body = ""
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestHeard verifies that an answer of the API server ends its silence, although it has no objects to send.
func TestHeard(t *testing.T) {
	client, err := newClients(&rest.Config{Host: "http://empty", Transport: empty{}}).as(types.NamespacedName{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := newPlan([]string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	heard := 0
	l := listWatch{target: foos, client: client, plan: plan, failed: func(err error) { t.Error(err) }, worked: func() {}, heard: func() { heard++ }}
	watch := func(options metav1.ListOptions) error {
		w, err := l.WatchWithContext(t.Context(), options)
		if err == nil {
			w.Stop()
		}
		return err
	}
	for name, tc := range map[string]struct {
		reason string
		ask    func() error
		want   int
	}{
		"List":      {"A list is complete.", func() error { _, err := l.ListWithContext(t.Context(), metav1.ListOptions{}); return err }, 1},
		"Watch":     {"A watch after a list is open.", func() error { return watch(metav1.ListOptions{}) }, 1},
		"WatchList": {"A watch that has to list has not done so yet.", func() error { return watch(metav1.ListOptions{SendInitialEvents: new(true)}) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			heard = 0
			if err := tc.ask(); err != nil {
				t.Fatal(err)
			}
			if heard != tc.want {
				t.Errorf("%s heard %d times, want %d", tc.reason, heard, tc.want)
			}
		})
	}
}

// subscribeAlone returns a Subscription to the condition A.
func subscribeAlone(t *testing.T, engine *Engine) *Subscription {
	t.Helper()
	r := request(make(chan struct{}, 1))
	r.Terms = []string{"A"}
	sub, err := engine.Subscribe(r)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}
