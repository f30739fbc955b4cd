package watch

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/internal/observed"
)

// BenchmarkMemoryPerObject reports the heap used for each custom resource, settled and at its peak while all are read.
// The server is in the same process, but creates no garbage. The use of an engine without custom resources is not
// counted.
func BenchmarkMemoryPerObject(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				settled, peak := heapOf(b, n)
				b.ReportMetric(settled/float64(n), "settled-B/CR")
				b.ReportMetric(peak/float64(n), "peak-B/CR")
				b.ReportMetric(peak/settled, "peak/settled")
			}
		})
	}
}

// BenchmarkFields compares the memory for each custom resource, and the time to read them all, with expressions that also
// compare fields to expressions over conditions alone.
func BenchmarkFields(b *testing.B) {
	fields := []string{"status.replicas == 3", `status.phase in ("Running", "Paused")`, "spec.replicas <= status.replicas", `Ready.reason != "Paused"`, "Settled"}
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				start := time.Now()
				plain, _ := heapOf(b, n)
				between := time.Now()
				settled, peak := heapOf(b, n, fields...)
				b.ReportMetric(settled/float64(n), "settled-B/CR")
				b.ReportMetric(peak/float64(n), "peak-B/CR")
				b.ReportMetric(settled/plain, "memory-x-of-conditions")
				b.ReportMetric(float64(time.Since(between))/float64(between.Sub(start)), "time-x-of-conditions")
			}
		})
	}
}

// heapOf returns how much the heap grows when n objects are read, settled and at its peak. More terms are those beside the
// conditions.
func heapOf(b *testing.B, n int, more ...string) (settled, peak float64) {
	server := manyObjects(b, n)
	engine := New(&rest.Config{Host: server.URL}, logr.Discard())
	defer engine.Close()

	base := heapAfterGC()
	highest, stop := watchHeap()
	sub := subscribeAndFill(b, engine, more...)
	stop()
	after := heapAfterGC()
	if got := sub.Snapshot().Total; got != n {
		b.Fatalf("read %d objects of %d", got, n)
	}
	return float64(after) - float64(base), float64(*highest) - float64(base)
}

// BenchmarkResidentPerObject reports the resident memory for each custom resource, as the kernel counts it for a
// separate process.
func BenchmarkResidentPerObject(b *testing.B) {
	for b.Loop() {
		few, many := residentOf(b, 10_000), residentOf(b, 100_000)
		const more = 90_000
		settled, peak := float64(many.settled-few.settled)/more, float64(many.peak-few.peak)/more
		b.ReportMetric(settled, "settled-B/CR")
		b.ReportMetric(peak, "peak-B/CR")
		b.ReportMetric(peak/settled, "peak/settled")
		b.ReportMetric(float64(many.peak)/float64(many.settled), "peak/settled-of-process")
	}
}

type resident struct{ settled, peak int }

// readerURL is an environment variable that makes a test process read from that server and print its size, instead of
// running tests.
const readerURL = "WATCH_TEST_READER_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(readerURL); url != "" {
		readAndReport(url)
		return
	}
	os.Exit(m.Run())
}

func readAndReport(url string) {
	engine := New(&rest.Config{Host: url}, logr.Discard())
	filled := make(chan struct{}, 1)
	sub, err := engine.Subscribe(request(filled))
	if err != nil {
		panic(err)
	}
	for !sub.Snapshot().Filled {
		<-filled
	}
	peak := fromProc("VmHWM")
	debug.FreeOSMemory()
	fmt.Println(fromProc("VmRSS"), peak)
	engine.Close()
}

func residentOf(b *testing.B, n int) (out resident) {
	server := manyObjects(b, n)
	process := exec.CommandContext(context.Background(), os.Args[0])
	process.Env = append(os.Environ(), readerURL+"="+server.URL)
	process.Stderr = os.Stderr
	text, err := process.Output()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Sscan(string(text), &out.settled, &out.peak); err != nil {
		b.Fatalf("%v: %s", err, text)
	}
	return out
}

func fromProc(field string) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			if err != nil {
				panic(err)
			}
			return kilobytes << 10
		}
	}
	panic("no " + field)
}

func subscribeAndFill(b *testing.B, engine *Engine, more ...string) *Subscription {
	b.Helper()
	notified := make(chan struct{}, 1)
	r := request(notified)
	r.Terms = append(r.Terms, more...)
	sub, err := engine.Subscribe(r)
	if err != nil {
		b.Fatal(err)
	}
	for !sub.Snapshot().Filled {
		<-notified
	}
	return sub
}

// request returns a Request for conditions that some of manyObjects have.
func request(notified chan<- struct{}) Request {
	return Request{
		Target: Target{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "foos"}},
		Terms:  []string{"Migrating", "Ready"},
		Judge: func(conditions []observed.Condition) observed.Verdict {
			for _, c := range conditions {
				if c.Type == "Migrating" && c.Status == observed.True {
					return observed.Verdict{Blocks: true}
				}
			}
			return observed.Verdict{}
		},
		Explain: func([]observed.Condition) observed.Explanation {
			return observed.Explanation{Blocks: "Migrating is True"}
		},
		Listed: 20,
		Notify: func(bool) {
			select {
			case notified <- struct{}{}:
			default:
			}
		},
	}
}

// manyObjects serves a watch list of n custom resources of about 2 KB, and keeps none of them in memory.
func manyObjects(b *testing.B, n int) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("sendInitialEvents") != "true" {
			http.Error(w, "watch, with the initial events", http.StatusBadRequest)
			return
		}
		out := bufio.NewWriterSize(w, 64<<10)
		var event []byte
		for i := range n {
			status := "False"
			if i%100 == 0 {
				status = "True"
			}
			event = append(event[:0], `{"type":"ADDED","object":`...)
			event = appendFoo(event, i, status, "")
			event = append(event, "}\n"...)
			_, _ = out.Write(event) // a closed connection does not matter
		}
		_,
			_ = out.WriteString(`{"type":"BOOKMARK","object":{"kind":"Foo","apiVersion":"example.com/v1","metadata":{"resourceVersion":"900000","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n")
		_ = out.Flush()
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	b.Cleanup(server.Close)
	return server
}

// appendFoo appends a custom resource of about 2 KB, with more in its spec.
func appendFoo(to []byte, i int, migrating, more string) []byte {
	to = append(to,
		`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"annotations":{"example.com/team":"payments","kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\",\"metadata\":{\"name\":\"instance\"},\"spec\":{\"replicas\":3,\"storage\":{\"class\":\"fast\",\"size\":\"100Gi\"}}}\n"},"creationTimestamp":"2026-03-01T09:00:00Z","generation":4,"labels":{"app.kubernetes.io/instance":"foo","app.kubernetes.io/managed-by":"argocd","app.kubernetes.io/name":"foo"},"managedFields":[{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{},"f:storage":{"f:class":{},"f:size":{}},"f:template":{"f:resources":{"f:limits":{"f:cpu":{},"f:memory":{}}}}}},"manager":"argocd-controller","operation":"Apply","time":"2026-03-01T09:00:00Z"},{"apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}},"f:observedGeneration":{}}},"manager":"foo-operator","operation":"Update","subresource":"status","time":"2026-03-01T09:01:00Z"}],"name":"instance-`...)
	to = appendPadded(to, i)
	to = append(to, `","namespace":"tenant-`...)
	to = appendPadded(to, i%500)
	to = append(to, `","resourceVersion":"`...)
	to = appendPadded(to, 100_000+i)
	to = append(to,
		`","uid":"7e1a2f0c-3a44-4c55-9b1e-0123456789ab"},"spec":{"replicas":3,"storage":{"class":"fast","size":"100Gi"},"template":{"env":[{"name":"LOG_LEVEL","value":"info"},{"name":"REGION","value":"eu-central-1"}],"resources":{"limits":{"cpu":"2","memory":"4Gi"},"requests":{"cpu":"500m","memory":"1Gi"}}`...)
	to = append(to, more...)
	to = append(to,
		`}},"status":{"conditions":[{"lastTransitionTime":"2026-03-01T09:01:00Z","message":"All 3 replicas are ready","observedGeneration":4,"reason":"ReplicasReady","status":"True","type":"Ready"},{"lastTransitionTime":"2026-03-01T09:01:00Z","message":"No migration is running","reason":"Idle","status":"`...)
	to = append(to, migrating...)
	return append(to,
		`","type":"Migrating"},{"lastTransitionTime":"2026-03-01T09:01:00Z","message":"Backups run every night","reason":"Scheduled","status":"True","type":"BackupScheduled"}],"observedGeneration":4,"replicas":3,"endpoints":["10.0.0.1:5432","10.0.0.2:5432","10.0.0.3:5432"]}}`...)
}

func appendPadded(to []byte, i int) []byte {
	for unit := 100_000; unit > 1 && i < unit; unit /= 10 {
		to = append(to, '0')
	}
	return strconv.AppendInt(to, int64(i), 10)
}

func heapAfterGC() uint64 {
	runtime.GC()
	runtime.GC() // frees memory that finalizers released
	return heap()
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watchHeap records the peak of the heap, including garbage, until it is stopped.
func watchHeap() (highest *uint64, stop func()) {
	highest = new(uint64)
	var stopped atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for !stopped.Load() {
			metrics.Read(sample)
			*highest = max(*highest, sample[0].Value.Uint64())
			time.Sleep(200 * time.Microsecond)
		}
	}()
	return highest, func() { stopped.Store(true); <-done }
}
