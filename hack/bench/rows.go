package main

// row is a figure of the table, with its point of comparison and its goal.
type row struct {
	work    string
	against string // a theoretical limit or a peer that does the same work, or empty for an absolute figure
	of      benchmark
	sub     string // the sub-benchmark that reports the figure, if any
	metric  string // its unit in b.ReportMetric
	suffix  string // printed after the figure
	goal    *goal  // nil if the figure is only shown
}

// The benchmarks that the figures come from.
//
// Those with 1000x would run less often in Go's default second: p99 of a hundred flips is merely the second slowest.
var (
	flipToStatus      = benchmark{pkg: "./internal/manager", name: "BenchmarkFlipToStatus", flags: "-benchtime=1000x"}
	flip              = benchmark{pkg: "./internal/watch", name: "BenchmarkFlip", flags: "-benchtime=1000x"}
	residentPerObject = benchmark{pkg: "./internal/watch", name: "BenchmarkResidentPerObject"}
	memoryPerObject   = benchmark{pkg: "./internal/watch", name: "BenchmarkMemoryPerObject"}
	irrelevantUpdate  = benchmark{pkg: "./internal/watch", name: "BenchmarkIrrelevantUpdate"}
	firstInstall      = benchmark{pkg: "./internal/installer/builtin/resolve", name: "BenchmarkFirstInstall"}
	update            = benchmark{pkg: "./internal/installer/builtin/resolve", name: "BenchmarkUpdate"}
	settled           = benchmark{pkg: "./internal/installer/builtin/resolve", name: "BenchmarkSettled"}
	live              = benchmark{pkg: "./internal/watch", name: "BenchmarkList", flags: "-benchtime=1x"}
	installOne        = benchmark{pkg: "./e2e/peer", name: "BenchmarkInstallOne", flags: "-benchtime=1x"}
	installAll        = benchmark{pkg: "./e2e/peer", name: "BenchmarkInstallAll", flags: "-benchtime=1x"}
	reckoning         = benchmark{pkg: "./internal/controller/clusteroperator", name: "BenchmarkReckoning"}
	rollUp            = benchmark{pkg: "./internal/controller/clusteroperator", name: "BenchmarkStatus"}
	list              = benchmark{pkg: "./e2e/peer", name: "BenchmarkList", flags: "-benchtime=1x"}
	subscribeFifty    = benchmark{pkg: "./e2e/lifecycle", name: "BenchmarkSubscribeFifty", flags: "-benchtime=1x"}
)

// rows lists all figures. A benchmark runs once for all its rows.
var rows = []row{
	{work: "condition flips → Probe status visible, p50", against: "bare watch → patch → observed", of: flipToStatus, metric: "x-of-bare-p50", suffix: "x",
		goal: atMost(1.15)},
	{work: "condition flips → Probe status visible, p99", against: "bare watch → patch → observed", of: flipToStatus, metric: "x-of-bare-p99", suffix: "x",
		goal: atMost(1.5)},
	{work: "condition flips → Probe status visible, p50", of: flipToStatus, metric: "p50-us", suffix: " µs"},
	{work: "condition flips → Probe status visible, p99", of: flipToStatus, metric: "p99-us", suffix: " µs"},
	{work: "condition flips → watch engine knows, p50", against: "bare watch → observed", of: flip, metric: "x-of-bare-watch-p50", suffix: "x"},
	{work: "condition flips → watch engine knows, p99", against: "bare watch → observed", of: flip, metric: "x-of-bare-watch-p99", suffix: "x"},

	{work: "resident memory per watched CR, 10k → 100k", against: "the retained (key, bits)", of: residentPerObject, metric: "settled-B/CR", suffix: " B",
		goal: atMost(100)},
	{work: "the same, peak while all are read", against: "settled", of: residentPerObject, metric: "peak/settled", suffix: "x", goal: atMost(1.5)},
	{work: "heap per watched CR, 10k", against: "the retained (key, bits)", of: memoryPerObject, sub: "10000", metric: "settled-B/CR", suffix: " B",
		goal: atMost(100)},
	{work: "the same, peak while all are read", against: "settled", of: memoryPerObject, sub: "10000", metric: "peak/settled", suffix: "x", goal: atMost(1.5)},
	{work: "heap per watched CR, 100k", against: "the retained (key, bits)", of: memoryPerObject, sub: "100000", metric: "settled-B/CR", suffix: " B",
		goal: atMost(100)},
	{work: "the same, peak while all are read", against: "settled", of: memoryPerObject, sub: "100000", metric: "peak/settled", suffix: "x", goal: atMost(1.5)},

	{work: "irrelevant update of a watched CR, CPU", against: "decode into a slim struct and drop", of: irrelevantUpdate, metric: "x-of-slim", suffix: "x",
		goal: atMost(1.2)},
	{work: "irrelevant update of a watched CR, CPU", against: "decode into unstructured and drop", of: irrelevantUpdate, metric: "x-of-unstructured", suffix: "x"},
	{work: "irrelevant update of a watched CR, CPU", against: "skip its tokens, decode nothing", of: irrelevantUpdate, metric: "x-of-skip", suffix: "x"},
	{work: "irrelevant update of a watched CR, CPU", of: irrelevantUpdate, metric: "engine-ns/event", suffix: " ns"},

	{work: "100,000 CRs read when an update begins", against: "read the same pages and ignore them", of: live, metric: "x-of-skimming", suffix: "x",
		goal: atMost(1.2)},
	{work: "100,000 CRs read when an update begins", of: live, metric: "s", suffix: " s"},

	{work: "Subscription → CSV Succeeded, one", against: "direct apply of the same manifests", of: installOne, metric: "x-of-direct-apply", suffix: "x",
		goal: atMost(1.5)},
	{work: "Subscription → CSV Succeeded, one: times faster", against: "OLM v0", of: installOne, metric: "x-faster-than-OLM", suffix: "x", goal: atLeast(3)},
	{work: "Subscription → CSV Succeeded, one", of: installOne, metric: "s", suffix: " s"},

	{work: "all bundles subscribed at once → settled", against: "direct apply of the same manifests", of: installAll, metric: "x-of-direct-apply", suffix: "x",
		goal: atMost(1.3)},
	{work: "all bundles subscribed at once → settled", against: "dry run and apply of the same manifests", of: installAll, metric: "x-of-dry-run-and-apply",
		suffix: "x"},
	{work: "all bundles subscribed at once → settled: times faster", against: "OLM v0", of: installAll, metric: "x-faster-than-OLM", suffix: "x",
		goal: atLeast(10)},
	{work: "all bundles subscribed at once → settled", of: installAll, metric: "s", suffix: " s"},
	{work: "memory while all bundles are installed", against: "OLM v0", of: installAll, metric: "x-of-OLM-memory", suffix: "x", goal: atMost(0.15)},
	{work: "memory afterwards", against: "OLM v0", of: installAll, metric: "x-of-OLM-memory-afterwards", suffix: "x"},
	{work: "memory before the catalog of all bundles is read", of: installAll, metric: "MiB-before-reading", suffix: " MiB"},
	{work: "memory while it is read, peak", of: installAll, metric: "MiB-reading", suffix: " MiB"},
	{work: "memory after it is read", of: installAll, metric: "MiB-after-reading", suffix: " MiB"},
	{work: "memory while all bundles are installed, peak", of: installAll, metric: "MiB", suffix: " MiB"},
	{work: "memory afterwards", of: installAll, metric: "MiB-afterwards", suffix: " MiB"},
	{work: "the same of OLM v0, peak", of: installAll, metric: "MiB-of-OLM", suffix: " MiB"},
	{work: "the same of OLM v0, afterwards", of: installAll, metric: "MiB-of-OLM-afterwards", suffix: " MiB"},
	{work: "requests while all bundles are installed", against: "OLM v0", of: installAll, metric: "x-of-OLM-requests", suffix: "x", goal: atMost(0.15)},
	{work: "quiet cluster, all bundles installed: non-watch requests", against: "0", of: installAll, metric: "quiet-requests", goal: atMost(0)},
	{work: "quiet cluster, all bundles installed: writes", against: "0", of: installAll, metric: "quiet-writes", goal: atMost(0)},
	{work: "Subscriptions whose UpToDate is not the truth", against: "0", of: installAll, metric: "wrong-UpToDate", goal: atMost(0)},

	{work: "kubectl operator-status get -A of 5,000 operators", against: "kubectl get -o json of the same kinds", of: list, metric: "x-of-kubectl", suffix: "x",
		goal: atMost(2)},
	{work: "kubectl operator-status get -A of 5,000 operators, peak memory", of: list, metric: "peak-MB", suffix: " MB", goal: atMost(200)},

	{work: "50 Subscriptions at once, 300 packages of 5 versions → settled", of: subscribeFifty, metric: "s", suffix: " s"},
	{work: "50 Subscriptions at once, peak memory of the manager", of: subscribeFifty, metric: "peak-MiB", suffix: " MiB"},
	{work: "resolve a new Subscription and its dependency", of: firstInstall, metric: "µs/Subscription", suffix: " µs"},
	{work: "resolve a Subscription that has an update", of: update, metric: "µs/Subscription", suffix: " µs"},
	{work: "resolve a Subscription that has none", of: settled, metric: "µs/Subscription", suffix: " µs"},

	{work: "one of 5,000 PlatformOperators changes → the new status of the ClusterOperator", against: "the write itself", of: reckoning, sub: "write",
		metric: "reckoning/write", suffix: "x", goal: atMost(1)},
	{work: "the status of the ClusterOperator for 50 PlatformOperators", of: rollUp, sub: "50/well", metric: "ns/op", suffix: " ns"},
	{work: "the status of the ClusterOperator for 5,000 PlatformOperators", of: rollUp, sub: "5000/well", metric: "ns/op", suffix: " ns"},
}
