package peer

import (
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// contender is an installer of operators with a cluster of its own.
type contender struct {
	name    string
	cluster *testcluster.Cluster
	watcher client.WithWatch
	folder  string   // of its devcluster
	agents  []string // its user agents in the API server's audit log

	manager *testcluster.Manager // nil except for the built-in loops

	// peakMemory returns its peak memory in bytes, and memory its current memory.
	peakMemory, memory func(t testing.TB) int64
}

// global is the namespace of catalogs that are visible from every namespace, in OLM and in the built-in loops.
const global = "olm"

// catalogName is the name of the CatalogSource of all packages.
const catalogName = "packages"

// builtIn returns a contender that uses the built-in loops of operator-status.
func builtIn(t testing.TB) *contender {
	t.Helper()
	c := onCluster(t, "operator-status")
	var err error
	if c.cluster, err = testcluster.Connect(c.cluster.Config, "lifecycle"); err != nil {
		t.Fatal(err)
	}
	c.cluster = c.cluster.Audited(c.folder)
	c.manager = c.cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	c.agents, c.peakMemory = []string{manager.UserAgent}, c.manager.PeakMemory
	c.memory = func(testing.TB) int64 { return c.manager.Memory() }
	return c
}

// realOLM returns a contender that uses a released OLM, with copied ClusterServiceVersions disabled.
func realOLM(t testing.TB) *contender {
	t.Helper()
	c := onCluster(t, "OLM", "--olm")
	c.agents = []string{"olm/", "catalog/"}
	c.peakMemory = func(t testing.TB) int64 { return c.memoryOf(t, "olm") + c.memoryOf(t, "catalog") }
	c.memory = func(t testing.TB) int64 {
		return testcluster.FamilyMemory(c.processes(t)["olm"]) + testcluster.FamilyMemory(c.processes(t)["catalog"])
	}
	return c
}

func onCluster(t testing.TB, name string, flags ...string) *contender {
	t.Helper()
	c := &contender{name: name}
	c.cluster, c.folder = testcluster.Up(t, flags...)
	var err error
	if c.watcher, err = client.NewWithWatch(c.cluster.Config, client.Options{Scheme: c.cluster.Client.Scheme()}); err != nil {
		t.Fatal(err)
	}
	return c
}

// memoryOf returns the peak memory of a process of the devcluster in bytes.
func (c *contender) memoryOf(t testing.TB, name string) int64 {
	t.Helper()
	return testcluster.PeakMemory(t, c.processes(t)[name])
}

// processes returns the process IDs of the cluster's components and of the manager, by name.
func (c *contender) processes(t testing.TB) map[string]int {
	t.Helper()
	out := testcluster.Processes(t, c.folder)
	if c.manager != nil {
		maps.Copy(out, c.manager.Pids())
	}
	return out
}

// offer replaces the contents of the catalog with packages and waits until the catalog is ready.
func (c *contender) offer(t testing.TB, packages ...testcatalog.Package) {
	t.Helper()
	folder := filepath.Join(c.folder, "offered")
	if err := testcatalog.Write(folder, packages...); err != nil {
		t.Fatal(err)
	}
	source := c.cluster.ServeCatalog(t, c.folder, client.ObjectKey{Namespace: global, Name: catalogName}, folder)
	c.cluster.Await(t, source, func() string {
		if s := source.Status.GRPCConnectionState; s == nil || s.LastObservedState != "READY" {
			return fmt.Sprintf("its connection is %+v", s)
		}
		return ""
	})
}

// namespaceOf returns the namespace that a package is installed in.
func namespaceOf(p testcatalog.Package) string { return "b-" + p.Name }

// prepare creates, for each package, a namespace with an OperatorGroup that the package supports.
func (c *contender) prepare(t testing.TB, packages ...testcatalog.Package) {
	t.Helper()
	for _, p := range packages {
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(p), Name: "group"}}
		if !p.Bundles[0].Supports(olm.InstallModeTypeAllNamespaces) {
			group.Spec.TargetNamespaces = []string{group.Namespace}
		}
		c.cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: group.Namespace}}, group)
	}
}

// subscribe creates Subscriptions to packages, without waiting in between.
func (c *contender) subscribe(t testing.TB, packages ...testcatalog.Package) {
	t.Helper()
	for _, p := range packages {
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(p), Name: p.Name}}
		sub.Spec = &olm.SubscriptionSpec{
			Package: p.Name, Channel: p.Channel, CatalogSource: catalogName, CatalogSourceNamespace: global, Config: configs[p.Name],
		}
		c.cluster.Create(t, sub)
	}
}

// verdict is the outcome for a package's newest version.
type verdict struct {
	csv    string
	phase  string
	reason string
	after  time.Duration // since the start
}

func (v verdict) succeeded() bool { return v.phase == string(olm.CSVPhaseSucceeded) }

// patience is the timeout for all packages, and resting how long unsuccessful ones must stay unchanged to be settled.
const (
	patience = 10 * time.Minute
	resting  = 30 * time.Second
)

// settle waits until all packages have Succeeded in their newest version, or nothing changes for a while, and returns the
// verdicts by package. Since a slow contender may seem to be settled, it waits until the phases are those in others,
// unless others is nil. It watches instead of polling, so as not to disturb the measurement.
func (c *contender) settle(t testing.TB, since time.Time, others map[string]verdict, packages ...testcatalog.Package) map[string]verdict {
	t.Helper()
	events, err := c.watcher.Watch(t.Context(), &v1alpha1.ClusterServiceVersionList{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	out := map[string]verdict{}
	for _, p := range packages {
		out[p.Name] = verdict{csv: p.Newest().CSV.Name}
	}
	limit, lastChange := time.After(patience), time.Now()
	for !all(out, verdict.succeeded) {
		select {
		case e := <-events.ResultChan():
			csv, ok := e.Object.(*v1alpha1.ClusterServiceVersion)
			if !ok {
				t.Fatalf("%s: watching the ClusterServiceVersions: %v", c.name, e.Object)
			}
			if recordVerdict(out, csv, time.Since(since)) {
				lastChange = time.Now()
			}
		case <-time.After(time.Until(lastChange.Add(resting))):
			if samePhases(out, others) {
				return out
			}
			lastChange = time.Now()
		case <-limit:
			t.Logf("%s: not settled after %s", c.name, patience)
			return out
		}
	}
	return out
}

// recordVerdict records the state of a ClusterServiceVersion and reports whether it changed.
func recordVerdict(verdicts map[string]verdict, csv *v1alpha1.ClusterServiceVersion, after time.Duration) bool {
	pkg := strings.TrimPrefix(csv.Namespace, namespaceOf(testcatalog.Package{}))
	now := verdict{csv: csv.Name, phase: string(csv.Status.Phase), reason: string(csv.Status.Reason), after: after}
	before, ok := verdicts[pkg]
	if !ok || before.csv != now.csv || before.phase == now.phase && before.reason == now.reason {
		return false
	}
	verdicts[pkg] = now
	return true
}

// samePhases reports whether each package in others has the same phase in verdicts.
func samePhases(verdicts, others map[string]verdict) bool {
	for p, v := range others {
		if verdicts[p].phase != v.phase {
			return false
		}
	}
	return true
}

func all[K comparable, V any](of map[K]V, is func(V) bool) bool {
	for _, v := range of {
		if !is(v) {
			return false
		}
	}
	return true
}

// processorTime returns the processor time that each process of the cluster has used so far.
func (c *contender) processorTime(t testing.TB) map[string]time.Duration {
	t.Helper()
	out := map[string]time.Duration{}
	for name, pid := range c.processes(t) {
		out[name] = testcluster.ProcessorTime(t, pid)
	}
	return out
}
