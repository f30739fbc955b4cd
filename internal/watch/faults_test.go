package watch_test

import (
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/observed"
	"github.com/operator-status/operator-status/internal/watch"
)

// testLostConnection verifies that changes during a lost connection are noticed without listing again.
func testLostConnection(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	for i := range 5 {
		f.setConditions(t, n, fmt.Sprint("foo-", i), "Migrating=True")
	}
	sub := subscribe(t, newEngine(t, p.config()), f.target(), "Migrating")
	sub.awaits(t, 5, n+"/foo-0", n+"/foo-1", n+"/foo-2", n+"/foo-3", n+"/foo-4")
	f.setConditions(t, n, "foo-4") // an event, so the watch can be resumed
	sub.awaits(t, 5, n+"/foo-0", n+"/foo-1", n+"/foo-2", n+"/foo-3")

	resume := make(chan struct{})
	var lists atomic.Int32
	p.answers(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isWatch(r) || isWatchList(r) {
			lists.Add(1)
		}
		<-resume
		return false
	})
	p.CloseClientConnections()
	f.delete(t, f.foo(n, "foo-0"))
	f.setConditions(t, n, "foo-1")
	f.setConditions(t, n, "foo-9", "Migrating=True")
	close(resume)
	sub.awaits(t, 5, n+"/foo-2", n+"/foo-3", n+"/foo-9")
	if got := lists.Load(); got > 0 {
		t.Errorf("listed again %d times", got)
	}
}

// testExpiredWatch verifies that everything is read again if a watch cannot be resumed, so deletions are noticed.
func testExpiredWatch(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	for i := range 5 {
		f.setConditions(t, n, fmt.Sprint("foo-", i), "Migrating=True")
	}
	sub := subscribe(t, newEngine(t, p.config()), f.target(), "Migrating")
	sub.awaits(t, 5, n+"/foo-0", n+"/foo-1", n+"/foo-2", n+"/foo-3", n+"/foo-4")
	f.setConditions(t, n, "foo-5", "Migrating=True") // an event, so the watch can be resumed
	sub.awaits(t, 6, n+"/foo-0", n+"/foo-1", n+"/foo-2", n+"/foo-3", n+"/foo-4", n+"/foo-5")

	resume := make(chan struct{})
	var expired atomic.Int32
	p.answers(func(w http.ResponseWriter, r *http.Request) bool {
		<-resume
		if !isWatch(r) || isWatchList(r) {
			return false
		}
		expired.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_,
			_ = fmt.Fprintln(w,
			`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`)
		return true
	})
	p.CloseClientConnections()
	f.delete(t, f.foo(n, "foo-0"))
	f.delete(t, f.foo(n, "foo-1"))
	f.delete(t, f.foo(n, "foo-5"))
	f.setConditions(t, n, "foo-2")
	f.setConditions(t, n, "foo-9", "Migrating=True")
	close(resume)
	sub.awaits(t, 4, n+"/foo-3", n+"/foo-4", n+"/foo-9")
	if expired.Load() == 0 {
		t.Error("no watch received an Expired error")
	}
	f.setConditions(t, n, "foo-3")
	sub.awaits(t, 4, n+"/foo-4", n+"/foo-9")
}

// withoutWatchList verifies that the initial list is read in pages if the API server does not support watch lists.
func withoutWatchList(code int, reason metav1.StatusReason) func(*testing.T, fixture) {
	return func(t *testing.T, f fixture) {
		n := f.Namespace(t, "watch")
		p := newProxy(t, f.Cluster)
		var want []string
		for i := range 25 {
			name := fmt.Sprintf("foo-%02d", i)
			if i%3 == 0 {
				f.setConditions(t, n, name, "Migrating=True")
				want = append(want, n+"/"+name)
			} else {
				f.setConditions(t, n, name, "Migrating=False")
			}
		}
		var pages atomic.Int32
		p.answers(func(w http.ResponseWriter, r *http.Request) bool {
			if isWatchList(r) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				_,
					_ = fmt.Fprintf(w,
					`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"sendInitialEvents is forbidden for watch","reason":%q,"code":%d}`, reason,
					code)
				return true
			}
			if !isWatch(r) { // as without a watch cache
				query := r.URL.Query()
				if query.Get("resourceVersion") == "0" {
					query.Del("resourceVersion")
				}
				query.Set("limit", "7")
				r.URL.RawQuery = query.Encode()
				pages.Add(1)
			}
			return false
		})
		sub := subscribe(t, newEngine(t, p.config()), f.target(), "Migrating")
		sub.awaits(t, 25, want...)
		if got := pages.Load(); got != 4 {
			t.Errorf("want 4 pages, got %d", got)
		}
		f.setConditions(t, n, "foo-00")
		f.delete(t, f.foo(n, "foo-01"))
		f.delete(t, f.foo(n, "foo-03"))
		sub.awaits(t, 23, want[2:]...)
		// Only the list and the three changes notify; that watch lists do not work does not.
		if got := sub.count.Load(); got > 4 {
			t.Errorf("notified %d times", got)
		}
	}
}

// testSilentWatch verifies that an open watch that sends nothing is noticed, and replaced.
func testSilentWatch(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	var silent atomic.Int32
	p.answers(func(w http.ResponseWriter, r *http.Request) bool {
		if !isWatch(r) || silent.Add(1) > 1 {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	})
	f.setConditions(t, n, "a", "Migrating=True")
	engine := newEngine(t, p.config())
	sub := subscribe(t, engine, f.target(), "Migrating")
	eventually(t, "the silent watch is open", func() bool { return silent.Load() == 1 })
	if got := sub.Snapshot(); got.Filled {
		t.Fatalf("got a result without a complete list: %+v", got)
	}
	engine.Review(time.Hour)
	sub.awaits(t, 1, n+"/a")
}

// testList verifies that a Lister reads the current objects, in pages of one moment, and no page after one that decides.
func testList(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	var pages atomic.Int32
	p.answers(func(_ http.ResponseWriter, r *http.Request) bool {
		query := r.URL.Query()
		query.Set("limit", "2")
		r.URL.RawQuery = query.Encode()
		if pages.Add(1) == 2 {
			f.setConditions(t, n, "e", "Migrating=True") // later than the first page
		}
		return false
	})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		f.setConditions(t, n, name, "Migrating=False")
	}
	list := func() observed.Snapshot {
		t.Helper()
		pages.Store(0)
		got, err := watch.NewLister(p.config()).List(t.Context(), requestFor(f.target(), "Migrating"))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := list(); got.Total != 5 || got.Blocking != 0 || pages.Load() != 3 {
		t.Errorf("five objects that allow the update: %+v in %d pages", got, pages.Load())
	}
	f.setConditions(t, n, "d", "Migrating=True")
	if got := list(); got.Blocking != 1 || len(got.Items) != 1 || got.Items[0].Name != "d" || pages.Load() != 2 {
		t.Errorf("the fourth object blocks: %+v in %d pages", got, pages.Load())
	}
}

// testListRefused verifies that a Lister returns an error for objects that it cannot read, at once and whatever delay
// the API server asks for.
func testListRefused(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	f.setConditions(t, n, "a", "Migrating=False")
	p := newProxy(t, f.Cluster)
	var asked atomic.Int32
	for code, reason := range map[int]metav1.StatusReason{
		http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
	} {
		asked.Store(0)
		p.answers(func(w http.ResponseWriter, _ *http.Request) bool {
			asked.Add(1)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
			return true
		})
		got, err := watch.NewLister(p.config()).List(t.Context(), requestFor(f.target(), "Migrating"))
		if apierrors.ReasonForError(err) != reason || got.Filled || asked.Load() != 1 {
			t.Errorf("%d: %+v, %v after %d requests", code, got, err, asked.Load())
		}
	}
	expired := 0
	p.answers(func(w http.ResponseWriter, _ *http.Request) bool {
		if expired++; expired%2 == 0 || expired > 3 {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		return true
	})
	got, err := watch.NewLister(p.config()).List(t.Context(), requestFor(f.target(), "Migrating"))
	if err != nil || got.Total != 1 {
		t.Errorf("pages that expire: %+v, %v", got, err)
	}
}

func testBrokenJSON(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	f.setConditions(t, n, "a", "Migrating=True")
	answers := []string{
		``, `{`, `<html>Bad Gateway</html>`, "\x1f\x8b\x08\x00", `{"type":"ADDED","object":{"metadata":{"name":`, `{"items":[{"metadata":{"name":"x"}},`,
		`{"type":"ADDED","object":{"metadata":{"name":"x"},"status":{"conditions":[{"type":"Migrating","status":"True"}]}}}{{{`,
	}
	var asked atomic.Int32
	broken := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, answers[int(asked.Add(1))%len(answers)])
		return true
	}
	p.answers(broken)
	sub := subscribe(t, newEngine(t, p.config()), f.target(), "Migrating")
	sub.awaitErr(t, "anything", func(error) bool { return true })
	start, before := time.Now(), asked.Load()
	eventually(t, "the request has been retried", func() bool { return asked.Load() >= before+4 })
	// Each attempt is a watch and a list. The delays between attempts are half a second and one second.
	if took := time.Since(start); took < time.Second {
		t.Errorf("%d requests in %v", asked.Load()-before, took)
	}
	if got := sub.Snapshot(); got.Filled || got.Total != 0 {
		t.Errorf("got a result although the server is unreachable: %+v", got)
	}
	p.answers(nil)
	sub.awaits(t, 1, n+"/a")

	p.answers(func(w http.ResponseWriter, r *http.Request) bool {
		return isWatch(r) && !isWatchList(r) && broken(w, r)
	})
	p.CloseClientConnections()
	f.setConditions(t, n, "b", "Migrating=True")
	sub.awaits(t, 2, n+"/a", n+"/b")
}

// testSlowJSON verifies that an event only counts once it is complete.
func testSlowJSON(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	p := newProxy(t, f.Cluster)
	bytes := make(chan byte)
	p.answers(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		for {
			select {
			case b := <-bytes:
				_, _ = w.Write([]byte{b})
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return true
			}
		}
	})
	sub := subscribe(t, newEngine(t, p.config()), f.target(), "Migrating")
	send := func(text string) {
		for i := range len(text) {
			bytes <- text[i]
		}
	}
	send(`{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"` +
		n + `","resourceVersion":"5"},"status":{"conditions":[{"type":"Migrating","status":"True"}]}}}` + "\n")
	send(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"6","annotations":{"k8s.io/initial-events-end":"true"}}}`)
	if sub.Snapshot().Filled {
		t.Error("the initial list has not ended")
	}
	send("}\n")
	sub.awaits(t, 1, n+"/a")
	send(`{"type":"MODIFIED","object":{"metadata":{"name":"a","namespace":"` +
		n + `","resourceVersion":"7"},"status":{"conditions":[{"type":"Migrating","status":"Fal`)
	sub.awaits(t, 1, n+"/a")
	send(`se"}]}}}` + "\n")
	sub.awaits(t, 1)
}

// testServerAway verifies that an unreachable API server is reported as an error, and that reading recovers.
func testServerAway(t *testing.T, f fixture) {
	n := f.Namespace(t, "watch")
	f.setConditions(t, n, "a", "Migrating=True")
	p := newProxy(t, f.Cluster)
	engine := newEngine(t, p.config())
	sub := subscribe(t, engine, f.target(), "Migrating")
	sub.awaits(t, 1, n+"/a")

	address := p.Listener.Addr().String()
	if err := p.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	p.CloseClientConnections()
	if got := sub.awaitErr(t, "anything", func(error) bool { return true }); got.Total != 1 {
		t.Errorf("the previous result is lost: got %+v", got)
	}
	target := f.target()
	target.Namespace = n
	late := subscribe(t, engine, target, "Migrating")
	late.awaitErr(t, "anything", func(error) bool { return true })

	f.delete(t, f.foo(n, "a"))
	f.setConditions(t, n, "b", "Migrating=True")
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Config.Serve(listener) }() // ends with the proxy
	sub.awaits(t, 1, n+"/b")
	late.awaits(t, 1, n+"/b")
}

// testCloseEndsAll verifies that Close ends all goroutines. It runs alone, because it checks those of the whole
// process.
func testCloseEndsAll(t *testing.T, f fixture) {
	p := newProxy(t, f.Cluster)
	engine := newEngine(t, p.config())
	var subs []subscription
	for i := range 20 {
		target := f.target()
		target.Namespace = "n" + strconv.Itoa(i)
		subs = append(subs, subscribe(t, engine, target, "Migrating"))
	}
	for _, s := range subs {
		s.awaits(t, 0)
	}
	eventually(t, "20 requests are open", func() bool { _, open := p.counts(); return open == 20 })
	for _, s := range subs[:10] {
		s.Close()
	}
	eventually(t, "10 requests are open", func() bool { _, open := p.counts(); return open == 10 })
	engine.Close()
	eventually(t, "no request is open", func() bool { _, open := p.counts(); return open == 0 })
	eventually(t, "no goroutine of the engine is left", func() bool {
		return !strings.Contains(stacks(), "(*Reflector)") && !strings.Contains(stacks(), "(*eventStream)")
	})
	if all, _ := p.counts(); all != 20*len(f.reading(t)) {
		t.Errorf("got %d requests for 20 targets", all)
	}
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	buffer := make([]byte, 1<<20)
	return string(buffer[:runtime.Stack(buffer, true)])
}
