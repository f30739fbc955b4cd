package peer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// BenchmarkInstallOne measures the time from a Subscription until its ClusterServiceVersion has Succeeded, for one
// package at a time: with the built-in loops, direct apply of the same manifests, and OLM. It reports the median.
func BenchmarkInstallOne(b *testing.B) {
	offered := packages(b)
	for b.Loop() {
		var packages []testcatalog.Package // those that run on fake nodes
		var parts map[string][]*unstructured.Unstructured
		ours, applied, theirs := map[string]time.Duration{}, map[string]time.Duration{}, map[string]time.Duration{}
		alone(b, func(b testing.TB) {
			c := builtIn(b)
			c.offer(b, offered...)
			before := c.read(b)
			for _, p := range subscribed(offered) {
				c.prepare(b, p)
				c.awaitIdle(b)
				if took, ok := c.install(b, p); ok {
					ours[p.Name] = took
					packages = append(packages, p)
				}
			}
			parts = manifests(c.read(b).since(before), packages)
		})
		alone(b, func(b testing.TB) {
			d := newDirect(b)
			for _, p := range packages {
				d.prepare(b, p)
				d.awaitIdle(b)
				var err error
				if applied[p.Name], err = d.apply(context.Background(), parts[p.Name]); err != nil {
					b.Fatal(err)
				}
			}
		})
		alone(b, func(b testing.TB) {
			c := realOLM(b)
			c.offer(b, offered...)
			for _, p := range packages {
				c.prepare(b, p)
				c.awaitIdle(b)
				if took, ok := c.install(b, p); ok {
					theirs[p.Name] = took
				} else {
					b.Errorf("%s is not installed by OLM", p.Name)
				}
			}
		})
		b.Logf("one package at a time, seconds:\n%s", durations(map[string]map[string]time.Duration{"direct": applied, "operator-status": ours, "OLM": theirs}))
		b.ReportMetric(median(ours, nil), "s")
		b.ReportMetric(median(ours, applied), "x-of-direct-apply")
		b.ReportMetric(median(theirs, ours), "x-faster-than-OLM")
	}
}

// BenchmarkInstallAll measures the time from the first Subscription until all packages that can have Succeeded, with
// all Subscriptions created together, and the memory and requests that it takes.
func BenchmarkInstallAll(b *testing.B) {
	offered := packages(b)
	for b.Loop() {
		var ours, theirs, applied, checked effort
		var packages []testcatalog.Package
		var parts map[string][]*unstructured.Unstructured
		alone(b, func(b testing.TB) {
			c := builtIn(b)
			reading := c.memoryOfReading(b, offered)
			before := c.read(b)
			ours = c.installAll(b, subscribed(offered), nil)
			ours.reading = reading
			for _, p := range subscribed(offered) {
				if ours.verdicts[p.Name].succeeded() {
					packages = append(packages, p)
				}
			}
			ours.wrong = c.wrongUpToDate(b, ours.verdicts)
			ours.quietRequests, ours.quietWrites = c.countIdleRequests(b)
			ours.idle = c.memory(b)
			parts = manifests(c.read(b).since(before), packages)
		})
		alone(b, func(b testing.TB) { applied = newDirect(b).applyAll(b, packages, parts) })
		alone(b, func(b testing.TB) {
			d := newDirect(b)
			d.first = true
			checked = d.applyAll(b, packages, parts)
		})
		alone(b, func(b testing.TB) {
			c := realOLM(b)
			reading := c.memoryOfReading(b, offered)
			theirs = c.installAll(b, subscribed(offered), ours.verdicts)
			theirs.reading = reading
			theirs.idle = c.memory(b)
			b.Logf("Subscriptions that OLM reports as AtLatestKnown although the newest does not run: %d", c.wrongAtLatestKnown(b, theirs.verdicts))
		})
		b.Logf("%d packages, %d of which run on fake nodes\n%s", len(subscribed(offered)), len(packages), efforts(applied, ours, theirs))
		b.ReportMetric(ours.took.Seconds(), "s")
		b.ReportMetric(ours.took.Seconds()/applied.took.Seconds(), "x-of-direct-apply")
		b.ReportMetric(ours.took.Seconds()/checked.took.Seconds(), "x-of-dry-run-and-apply")
		b.ReportMetric(theirs.took.Seconds()/ours.took.Seconds(), "x-faster-than-OLM")
		b.ReportMetric(float64(ours.memory)/float64(theirs.memory), "x-of-OLM-memory")
		b.ReportMetric(float64(ours.idle)/float64(theirs.idle), "x-of-OLM-memory-afterwards")
		const mebibyte = 1 << 20
		b.ReportMetric(float64(ours.reading.before)/mebibyte, "MiB-before-reading")
		b.ReportMetric(float64(ours.reading.peak)/mebibyte, "MiB-reading")
		b.ReportMetric(float64(ours.reading.after)/mebibyte, "MiB-after-reading")
		b.ReportMetric(float64(ours.memory)/mebibyte, "MiB")
		b.ReportMetric(float64(ours.idle)/mebibyte, "MiB-afterwards")
		b.ReportMetric(float64(theirs.memory)/mebibyte, "MiB-of-OLM")
		b.ReportMetric(float64(theirs.idle)/mebibyte, "MiB-of-OLM-afterwards")
		b.ReportMetric(float64(ours.requests)/float64(theirs.requests), "x-of-OLM-requests")
		b.ReportMetric(float64(ours.quietRequests), "quiet-requests")
		b.ReportMetric(float64(ours.quietWrites), "quiet-writes")
		b.ReportMetric(float64(ours.wrong), "wrong-UpToDate")
	}
}

// alone runs a function while nothing else of the benchmark runs: its cleanups have run when alone returns.
func alone(b *testing.B, do func(testing.TB)) {
	b.Helper()
	scope := &scope{B: b}
	defer scope.end()
	do(scope)
}

// awaitIdle waits until Kubernetes has finished with the previous package: it aggregates cluster roles for a while.
func (c *contender) awaitIdle(t testing.TB) {
	t.Helper()
	c.cluster.AwaitIdle(t, time.Second, "kube-controller-manager")
}

// scope is a benchmark with cleanups that run before the benchmark ends.
type scope struct {
	*testing.B
	cleanups []func()
}

// Cleanup registers a function that runs when the scope ends.
func (s *scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *scope) end() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

// install subscribes to a package and returns how long it took to settle and whether it has Succeeded.
func (c *contender) install(t testing.TB, p testcatalog.Package) (time.Duration, bool) {
	t.Helper()
	start := time.Now()
	c.subscribe(t, p)
	v := c.settle(t, start, nil, p)[p.Name]
	return v.after, v.succeeded()
}

// effort is the cost of installing all packages.
type effort struct {
	took          time.Duration
	processors    map[string]time.Duration // by process of the cluster
	memory, idle  int64                    // bytes, at the peak and afterwards
	reading       reading
	requests      int
	verdicts      map[string]verdict
	wrong         int
	quietRequests int
	quietWrites   int
}

// reading is the memory before a catalog is offered, at the peak while it is read, and afterwards, in bytes.
type reading struct{ before, peak, after int64 }

// memoryOfReading offers a catalog of all packages and returns the memory that it takes to read it.
func (c *contender) memoryOfReading(t testing.TB, offered []testcatalog.Package) reading {
	t.Helper()
	const settled = 5 * time.Second // the processes that read catalogs end 3 seconds after the last read
	c.cluster.AwaitIdle(t, settled, c.agents...)
	out := reading{before: c.memory(t)}
	c.offer(t, offered...)
	c.cluster.AwaitIdle(t, settled, c.agents...)
	out.peak, out.after = c.peakMemory(t), c.memory(t)
	return out
}

// installAll subscribes to all packages and returns the cost until they have settled.
func (c *contender) installAll(t testing.TB, packages []testcatalog.Package, others map[string]verdict) effort {
	t.Helper()
	c.prepare(t, packages...)
	c.cluster.AwaitIdle(t, 3*time.Second, c.agents...)
	start, before := time.Now(), c.processorTime(t)
	c.subscribe(t, packages...)
	out := effort{verdicts: c.settle(t, start, others, packages...), memory: c.peakMemory(t)}
	out.processors = since(before, c.processorTime(t))
	for _, v := range out.verdicts {
		if v.succeeded() {
			out.took = max(out.took, v.after)
		}
	}
	t.Logf("%s: %.1f s", c.name, out.took.Seconds())
	for _, r := range c.cluster.RequestsOf(t, start, c.agents...) {
		if r.IsWork() && r.Received.Time.Before(start.Add(out.took)) {
			out.requests++
		}
	}
	return out
}

// since returns the processor time that each process has used between two readings.
func since(before, after map[string]time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, used := range after {
		out[name] = used - before[name]
	}
	return out
}

// applyAll applies the manifests of all packages in parallel.
func (d *direct) applyAll(t testing.TB, packages []testcatalog.Package, parts map[string][]*unstructured.Unstructured) effort {
	t.Helper()
	d.prepare(t, packages...)
	start, before := time.Now(), d.processorTime(t)
	failures := make([]error, len(packages))
	var all sync.WaitGroup
	for i, p := range packages {
		all.Go(func() { _, failures[i] = d.apply(context.Background(), parts[p.Name]) })
	}
	all.Wait()
	out := effort{took: time.Since(start), processors: since(before, d.processorTime(t))}
	t.Logf("%s: %.1f s", d.name, out.took.Seconds())
	for i, err := range failures {
		if err != nil {
			t.Fatalf("%s: %v", packages[i].Name, err)
		}
	}
	for _, p := range parts {
		out.requests += len(p)
	}
	return out
}

// wrongUpToDate counts the Subscriptions whose status.upToDate is wrong.
func (c *contender) wrongUpToDate(t testing.TB, verdicts map[string]verdict) int {
	t.Helper()
	return c.count(t, func(sub *v1alpha1.Subscription) bool {
		return sub.Status.UpToDate != verdicts[sub.Name].succeeded()
	})
}

// wrongAtLatestKnown counts the Subscriptions that OLM reports as AtLatestKnown while the newest version does not run.
func (c *contender) wrongAtLatestKnown(t testing.TB, verdicts map[string]verdict) int {
	t.Helper()
	return c.count(t, func(sub *v1alpha1.Subscription) bool {
		return string(sub.Status.State) == "AtLatestKnown" && !verdicts[sub.Name].succeeded()
	})
}

func (c *contender) count(t testing.TB, which func(*v1alpha1.Subscription) bool) int {
	t.Helper()
	list := &v1alpha1.SubscriptionList{}
	if err := c.cluster.Client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range list.Items {
		if which(&list.Items[i]) {
			n++
			t.Logf("%s: %s", list.Items[i].Name, list.Items[i].Status.Message)
		}
	}
	return n
}

// countIdleRequests counts the requests, and the writes among them, in 30 seconds without changes.
func (c *contender) countIdleRequests(t testing.TB) (requests, writes int) {
	t.Helper()
	since := c.cluster.AwaitIdle(t, 3*time.Second, c.agents...)
	time.Sleep(30 * time.Second) // no event to wait for
	received := c.cluster.RequestsOf(t, since, c.agents...)
	for _, r := range received {
		if !r.IsWork() {
			continue
		}
		requests++
		if r.IsWrite() {
			writes++
		}
	}
	t.Logf("%d requests in 30 s without changes\n%s", requests, testcluster.Tally(received))
	return requests, writes
}

// median returns the median of durations in seconds or, if to is not nil, of their ratios to those in to.
func median(of, to map[string]time.Duration) float64 {
	var values []float64
	for name, d := range of {
		switch {
		case to == nil:
			values = append(values, d.Seconds())
		case to[name] > 0:
			values = append(values, d.Seconds()/to[name].Seconds())
		}
	}
	slices.Sort(values)
	if len(values) == 0 {
		return 0
	}
	return values[len(values)/2]
}

func durations(columns map[string]map[string]time.Duration) string {
	heads := slices.Sorted(maps.Keys(columns))
	rows := map[string]bool{}
	for _, c := range columns {
		for name := range c {
			rows[name] = true
		}
	}
	return formatTable("PACKAGE\t"+strings.Join(heads, "\t"), func(line func(string, ...any)) {
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			text := name
			for _, head := range heads {
				text += fmt.Sprintf("\t%.2f", columns[head][name].Seconds())
			}
			line("%s", text)
		}
	})
}

func efforts(applied, ours, theirs effort) string {
	return formatTable("\tdirect apply\toperator-status\tOLM", func(line func(string, ...any)) {
		line("seconds\t%.1f\t%.1f\t%.1f", applied.took.Seconds(), ours.took.Seconds(), theirs.took.Seconds())
		line("requests\t%d\t%d\t%d", applied.requests, ours.requests, theirs.requests)
		line("memory before the catalog is read, MiB\t\t%d\t%d", ours.reading.before>>20, theirs.reading.before>>20)
		line("peak memory while it is read, MiB\t\t%d\t%d", ours.reading.peak>>20, theirs.reading.peak>>20)
		line("memory after it is read, MiB\t\t%d\t%d", ours.reading.after>>20, theirs.reading.after>>20)
		line("peak memory, MiB\t\t%d\t%d", ours.memory>>20, theirs.memory>>20)
		line("memory afterwards, MiB\t\t%d\t%d", ours.idle>>20, theirs.idle>>20)
		for _, name := range []string{"kube-apiserver", "kube-controller-manager", "etcd", "manager", "manager of the loops", "olm", "catalog"} {
			line("processor seconds of %s\t%.1f\t%.1f\t%.1f", name, applied.processors[name].Seconds(), ours.processors[name].Seconds(),
				theirs.processors[name].Seconds())
		}
	})
}

// formatTable returns a table as text.
func formatTable(head string, rows func(line func(string, ...any))) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) } // to a strings.Builder
	line("%s", head)
	rows(line)
	_ = w.Flush()
	return out.String()
}
