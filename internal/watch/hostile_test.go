package watch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/internal/expression"
	"github.com/operator-status/operator-status/internal/observed"
)

const (
	// hostileObjects is how many custom resources these tests read; each has hostileTypes conditions.
	hostileObjects, hostileTypes = 10_000, 200

	// hostileReadings is how many Subscriptions read them.
	hostileReadings = 4

	// hostileLimit is how many bytes a custom resource may take, regardless of its conditions.
	hostileLimit = 300
)

// TestHostileMemory verifies that a custom resource takes no more than hostileLimit, regardless of its conditions.
func TestHostileMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		reason  string
		message func(object, condition int) string
	}{
		"distinct": {
			reason: "Each custom resource has 200 requested conditions with unique statuses, reasons and messages.",
			message: func(object, condition int) string {
				return "message " + strconv.Itoa(object*hostileTypes+condition)
			},
		},
		"long": {
			reason: "Some custom resources have long messages, and neither the messages nor their buffers are kept.",
			message: func(object, condition int) string {
				if object%1000 != 0 || condition != 7 {
					return ""
				}
				return strconv.Itoa(object) + strings.Repeat("m", 1<<20)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			settled, peak := hostileHeap(t, tc.message)
			t.Logf("%d B settled and %d B at the peak for each of %d custom resources with %d conditions and %d readings",
				settled/hostileObjects, peak/hostileObjects, hostileObjects, hostileTypes, hostileReadings)
			if settled/hostileObjects > hostileLimit {
				t.Errorf("%s\nwant at most %d B for each", tc.reason, hostileLimit)
			}
		})
	}
}

// hostileHeap returns how much the heap grows when hostile objects are read, settled and at its peak.
func hostileHeap(t *testing.T, message func(object, condition int) string) (settled, peak int) {
	server := httptest.NewServer(serving(func(w io.Writer) { writeHostile(w, message) }))
	t.Cleanup(server.Close)
	engine := New(&rest.Config{Host: server.URL}, logr.Discard())
	defer engine.Close()

	base := heapAfterGC()
	highest, stop := watchHeap()
	var subs []*Subscription
	for range hostileReadings {
		notified := make(chan struct{}, 1)
		r := request(notified)
		r.Terms, r.Judge, r.Explain = hostileExpression(t)
		sub, err := engine.Subscribe(r)
		if err != nil {
			t.Fatal(err)
		}
		for !sub.Snapshot().Filled {
			<-notified
		}
		subs = append(subs, sub)
	}
	stop()
	after := heapAfterGC()
	for _, sub := range subs {
		if got := sub.Snapshot(); got.Total != hostileObjects || got.Blocking < hostileObjects/2 || len(got.Items) != 20 {
			t.Fatalf("want all objects judged, got %+v", got.Counts)
		}
	}
	return int(after) - int(base), int(*highest) - int(base)
}

// hostileExpression returns the types and functions of a Request whose expression names hostileTypes conditions.
func hostileExpression(t *testing.T) (
	types []string, judge func([]observed.Condition) observed.Verdict, explain func([]observed.Condition) observed.Explanation,
) {
	types = hostileTypeNames(hostileTypes)
	e, err := expression.Parse(strings.Join(types, "&&"))
	if err != nil {
		t.Fatal(err)
	}
	lookupIn := func(conditions []observed.Condition) func(string) expression.Value {
		return func(conditionType string) expression.Value {
			for _, c := range conditions {
				if c.Type == conditionType && c.Status == observed.False {
					return expression.False
				}
			}
			return expression.True
		}
	}
	judge = func(c []observed.Condition) observed.Verdict {
		return observed.Verdict{Blocks: e.Evaluate(lookupIn(c)) == expression.False}
	}
	explain = func(c []observed.Condition) observed.Explanation {
		var out observed.Explanation
		for _, l := range e.Decisive(lookupIn(c)) {
			out.Reasons = append(out.Reasons, l.String())
		}
		out.Blocks = strings.Join(out.Reasons, " is False, ")
		return out
	}
	return types, judge, explain
}

func hostileTypeNames(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%03d", i))
	}
	return out
}

// writeHostile writes watch events of objects with conditions. No two objects have the same statuses.
func writeHostile(w io.Writer, message func(object, condition int) string) {
	types := hostileTypeNames(hostileTypes)
	var text []byte
	for i := range hostileObjects {
		fmt.Fprintf(w, `{"type":"ADDED","object":{"metadata":{"name":"instance-%06d","namespace":"tenant-%06d","resourceVersion":"7"},"status":{"conditions":[`, i, i)
		for n := range hostileTypes {
			status := "False"
			if n < 14 && i>>n&1 == 1 {
				status = "True"
			}
			text = append(text, `{"type":"`...)
			text = append(text, types[n]...)
			text = append(text, `","status":"`...)
			text = append(text, status...)
			text = append(text, `","reason":"R`...)
			text = strconv.AppendInt(text, int64(i*hostileTypes+n), 10)
			text = append(text, `","message":"`...)
			text = append(text, message(i, n)...)
			text = append(text, `"},`...)
		}
		_, _ = w.Write(append(text[:len(text)-1], "]}}}\n"...))
		text = text[:0]
	}
}

// serving responds with a watch list.
func serving(write func(io.Writer)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		out := bufio.NewWriterSize(w, 64<<10)
		write(out)
		_, _ = out.WriteString(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"900000","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n")
		_ = out.Flush()
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
}

// TestPack verifies that a pattern is short, and that a long one loses only the order of its conditions.
func TestPack(t *testing.T) {
	types := hostileTypeNames(MaxTerms)
	for _, n := range []int{0, 1, maxOrdered, maxOrdered + 1, MaxTerms} {
		var pattern []byte
		var want []observed.Condition
		for i := range n {
			number := uint8(MaxTerms - 1 - i)
			status, stale := observed.Status(i%4), i%5 == 0
			pattern = append(pattern, number, stateOf(status, stale))
			want = append(want, observed.Condition{Type: types[number], Status: status, Stale: stale && (status == observed.True || status == observed.False)})
		}
		if n > maxOrdered {
			for i := range n / 2 {
				want[i], want[n-1-i] = want[n-1-i], want[i]
			}
		}
		if n%2 == 0 {
			pattern, want = append(pattern, malformed), append(want, observed.Condition{Status: observed.Unreadable})
		}
		packed := string(pack(pattern))
		got := conditionsOf(packed, types)
		if diff := gocmp.Diff(want, got); len(packed) > packedSize+1 || len(want) > 0 && diff != "" {
			t.Errorf("%d conditions in %d bytes: -want +got\n%s", n, len(packed), diff)
		}
	}
}

// TestTooManyTypes verifies the limit on the condition types of a Target, and that closed Subscriptions do not count.
func TestTooManyTypes(t *testing.T) {
	engine := silentEngine(t)
	r := request(make(chan struct{}, 1))
	subscribe := func(from, to int) (*Subscription, error) {
		r.Terms = hostileTypeNames(to)[from:]
		return engine.Subscribe(r)
	}
	if _, err := subscribe(0, MaxTerms+1); !errors.Is(err, ErrTooManyTerms) || len(engine.sources) > 0 {
		t.Fatalf("Subscription with too many types: got %v and %d watches", err, len(engine.sources))
	}
	half, err := subscribe(0, MaxTerms/2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := subscribe(1, MaxTerms); err != nil {
		t.Fatalf("types of both Subscriptions must count once: %v", err)
	}
	if _, err := subscribe(1, MaxTerms+1); !errors.Is(err, ErrTooManyTerms) {
		t.Fatalf("two Subscriptions with too many types together: got %v", err)
	}
	half.Close()
	if _, err := subscribe(1, MaxTerms+1); err != nil {
		t.Fatalf("after the first Subscription was closed: %v", err)
	}
}

// TestTypesChange verifies that patterns are decoded with the types of their own reading, not those of the next one.
func TestTypesChange(t *testing.T) {
	engine := silentEngine(t)
	subscribe := func(types ...string) *Subscription {
		r := request(make(chan struct{}, 1))
		r.Terms = types
		sub, err := engine.Subscribe(r)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	older := subscribe("Migrating")
	first := scriptOf(older)
	first.replace(1, map[string]string{"n/a": "Migrating=True", "n/b": ""})

	younger := subscribe("Alive", "Migrating") // Alive sorts before Migrating
	second := scriptOf(older)
	second.update("n/c", "Migrating=True") // a real Reflector lists first
	if got := older.Snapshot(); !got.Filled || got.Total != 2 || got.Blocking != 1 || younger.Snapshot().Filled {
		t.Errorf("before the second list: %+v", got)
	}
	second.replace(1, map[string]string{"n/a": "Alive=True", "n/b": "Alive=True Migrating=True"})
	for _, sub := range []*Subscription{older, younger} {
		if got := sub.Snapshot(); !got.Filled || got.Total != 2 || got.Blocking != 1 || got.Items[0].Name != "b" {
			t.Errorf("after the second list: %+v", got)
		}
	}

	older.Close()
	second.update("n/b", "")
	if got := older.Snapshot(); got.Blocking != 1 || len(got.Items) != 1 {
		t.Errorf("a closed Subscription lost its result: %+v", got)
	}
}

// TestRelease verifies that a decoder does not keep buffers as large as the largest object, and loses no event.
func TestRelease(t *testing.T) {
	var text strings.Builder
	for i := range 50 {
		fmt.Fprintf(&text,
			`{"type":"MODIFIED","object":{"metadata":{"name":"foo-%d"},"status":{"conditions":[{"type":"%s","status":"True"},{"type":"Ready","status":"True"}]}}}`+"\n",
			i, strings.Repeat("x", i%5*(maxKept-100)))
	}
	d := decoderOf(t, strings.NewReader(text.String()), asked...)
	for i := range 50 {
		_, r, err := d.event()
		if err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		if got := string(r.key); got != fmt.Sprintf("\x00foo-%d", i) || len(r.pattern) != patternEntry {
			t.Fatalf("event %d is of %q", i, got)
		}
		if kept := cap(d.scratch) + len(d.json.UnreadBuffer()); kept > 4*maxKept {
			t.Fatalf("after event %d %d bytes are kept", i, kept)
		}
	}
	if _, _, err := d.event(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
}
