package watch_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/internal/watch"
)

// BenchmarkList measures how long reading the conditions of 100,000 custom resources takes when an update begins, and
// compares it with reading the same pages and looking for no more than where the next begins.
func BenchmarkList(b *testing.B) {
	const objects = 100_000
	f := fixture{Cluster: testcluster.Start(b), group: "list.example.com"}
	n := f.Namespace(b, "list")
	f.Apply(b, n, strings.Replace(builder.CRD("foos", f.group), "subresources: {status: {}}", "subresources: {}", 1)) // created with a status
	f.awaitServed(b)
	fillSettled(b, f, n, objects)

	lister := watch.NewLister(f.Config)
	pages, err := rest.HTTPClientFor(f.Config)
	if err != nil {
		b.Fatal(err)
	}
	var ours, peer time.Duration
	for b.Loop() {
		start := time.Now()
		got, err := lister.List(b.Context(), requestFor(f.target(), "Migrating"))
		if err != nil || got.Total != objects || got.Blocking != 0 {
			b.Fatalf("read %+v: %v", got.Counts, err)
		}
		ours += time.Since(start)
		start = time.Now()
		skimPages(b, pages, strings.TrimSuffix(f.Config.Host, "/")+"/apis/"+f.group+"/v1/foos")
		peer += time.Since(start)
	}
	b.ReportMetric(ours.Seconds()/float64(b.N), "s")
	b.ReportMetric(float64(ours)/float64(peer), "x-of-skimming")
	b.ReportMetric(0, "ns/op") // the total of both is meaningless
}

// fillSettled creates Foos of 2 KB of which none migrates.
func fillSettled(b *testing.B, f fixture, namespace string, objects int) {
	b.Helper()
	var workers sync.WaitGroup
	numbers := make(chan int)
	for range 16 {
		workers.Go(func() {
			for i := range numbers {
				o := f.foo(namespace, fmt.Sprintf("foo-%06d", i))
				o.Object["spec"] = map[string]any{"config": strings.Repeat("key = value\n", 100)}
				o.Object["status"] = map[string]any{"conditions": []any{
					map[string]any{"type": "Ready", "status": "True", "reason": "AllReady", "message": "All replicas are ready"},
					map[string]any{"type": "Migrating", "status": "False", "reason": "Settled", "message": ""},
				}}
				if err := f.Client.Create(context.Background(), o); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range objects {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// skimPages reads all pages of a list, each as a whole.
func skimPages(b *testing.B, c *http.Client, list string) {
	b.Helper()
	var text bytes.Buffer
	for next := ""; ; {
		response, err := c.Get(list + "?limit=500&continue=" + url.QueryEscape(next))
		if err != nil {
			b.Fatal(err)
		}
		text.Reset()
		_, err = io.Copy(&text, response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %v", response.Status, err)
		}
		_, after, _ := bytes.Cut(text.Bytes()[max(0, text.Len()-1000):], []byte(`"continue":"`)) // it follows the items
		token, _, _ := bytes.Cut(after, []byte(`"`))
		if next = string(token); next == "" {
			return
		}
	}
}
