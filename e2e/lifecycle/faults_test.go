package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/live"
	"github.com/operator-status/operator-status/internal/test/faults"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// mostEvents limits the Events about each operator, in all and for each update. Equal ones are counted in one.
const mostEvents, mostEventsEach = 30, 20

// faultyOperator is an operator in a namespace of its own, whose custom resource blocks and allows updates in turn.
type faultyOperator struct {
	stage    *stage
	pkg      string
	began    time.Time
	sub      *v1alpha1.Subscription
	custom   *unstructured.Unstructured
	offered  int // the number of versions
	versions []testcatalog.Foo
	serves   []serving
	passed   int // the number of updates that have been judged
}

// longestFault is how long a fault delays a request or an answer.
const longestFault = 2 * time.Second

// serving is the state of a custom resource that the API server serves from a time on.
type serving struct {
	since  time.Time
	blocks bool // whether it blocks updates
}

// TestRandomFaults verifies that no update begins after a no that the API server has served for longer than a decision and a request last, while
// random faults lie between it and two managers, which are also frozen, killed and cut off; and that the managers recover soon
// after the faults have ended. FAULTS_FOR is how long they last, and FAULTS_SEED repeats a run.
func TestRandomFaults(t *testing.T) {
	lasts := time.Minute
	if text := os.Getenv("FAULTS_FOR"); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FAULTS_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("FAULTS_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))

	operators := faultyOperators(t, 4)
	proxy := faults.New(t, cluster.Config, seed)
	managers := []*replica{newReplica(t, proxy), newReplica(t, proxy)}
	for _, o := range operators {
		o.begin(t)
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		proxy.Set(randomFaults(random))
		restore := managers[random.IntN(len(managers))].disturb(t, random)
		for range 3 {
			operators[random.IntN(len(operators))].flip(t)
			o := operators[random.IntN(len(operators))]
			o.offerNext(t)
			time.Sleep(time.Second + time.Duration(random.Int64N(int64(3*time.Second)))) // faults last for a while
		}
		restore()
	}
	proxy.Set(faults.Config{})
	for _, m := range managers { // a leader that was frozen may have ended
		m.manager.Kill(t)
	}
	for _, m := range managers {
		m.start(t)
	}
	for _, o := range operators { // also if the cluster does not recover
		o.report(t)
	}
	passed := 0
	for _, o := range operators {
		o.settle(t)
	}
	cluster.AwaitIdle(t, 3*time.Second)
	for _, o := range operators {
		o.report(t)
		passed += o.passed
		o.checkProbe(t)
		o.countEvents(t)
	}
	t.Logf("in %s of faults, %d updates have begun", lasts, passed)
	if passed == 0 {
		t.Errorf("no update began")
	}
	for _, m := range managers {
		m.manager.CheckAlive(t)
	}
}

// replica is one of several managers, which reaches the API server through clients of its own.
type replica struct {
	manager  *testcluster.Manager
	clients  []*faults.Client // of the processes of the manager
	catalogs string           // the folder that it keeps catalogs in
}

// newReplica starts a manager that reaches the API server through a proxy.
func newReplica(t *testing.T, proxy *faults.Proxy) *replica {
	t.Helper()
	r := &replica{clients: []*faults.Client{proxy.Client(reader), proxy.Client(loops)}, catalogs: t.TempDir()}
	r.start(t)
	return r
}

func (r *replica) start(t *testing.T) {
	t.Helper()
	r.manager = cluster.ThroughEach(r.clients[0].Server, r.clients[1].Server).StartManager(t, "--catalog-dir="+r.catalogs)
}

// restart kills the manager, if it has not ended already, and starts it again, as a kubelet does.
func (r *replica) restart(t *testing.T) {
	t.Helper()
	r.manager.Kill(t)
	r.start(t)
}

// disturb kills the manager, freezes one of its processes, cuts one off the API server, or does nothing. The function that
// it returns ends that. A manager that has ended, because it could not renew its lease, is started again instead.
func (r *replica) disturb(t *testing.T, random *rand.Rand) (restore func()) {
	t.Helper()
	which := random.IntN(len(r.clients))
	if r.manager.Ended() {
		r.restart(t)
		return func() {}
	}
	switch random.IntN(8) {
	case 0:
		r.restart(t)
	case 1:
		frozen := []*testcluster.Manager{r.manager.Reader(), r.manager.Loops()}[which]
		frozen.Pause(t)
		return func() {
			frozen.Resume(t)
		}
	case 2:
		r.clients[which].Cut()
		return func() {
			r.clients[which].Mend()
			r.restart(t) // a leader that is cut off for long ends
		}
	}
	return func() {}
}

func faultyOperators(t *testing.T, n int) []*faultyOperator {
	t.Helper()
	var out []*faultyOperator
	for i := range n {
		o := &faultyOperator{pkg: fmt.Sprintf("faulty%d", i), offered: 1}
		for v := range 200 {
			o.versions = append(o.versions, testcatalog.Foo{Name: o.pkg, Version: fmt.Sprintf("1.0.%d", v), Upgradeable: "!Migrating"})
		}
		o.stage = newStage(t, o.pkg, publish(t, o.versions[0]))
		out = append(out, o)
	}
	return out
}

// begin installs the first version, and has its custom resource block updates.
func (o *faultyOperator) begin(t *testing.T) {
	t.Helper()
	o.began, o.sub = time.Now(), o.stage.subscribe(t, o.pkg)
	o.stage.awaitInstalled(t, o.sub, o.versions[0].CSV())
	o.custom = o.stage.custom(t, o.pkg, "busy", `[{type: Migrating, status: "True"}]`)
	o.serves = []serving{{time.Now(), true}}
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: o.stage.namespace, Name: o.versions[0].CSV()}}
	o.stage.await(t, probe, func() string { return checkNotUpgradeable(probe) })
}

func (o *faultyOperator) blocks() bool { return o.serves[len(o.serves)-1].blocks }

// flip has the custom resource allow updates if it blocks them, and the reverse.
func (o *faultyOperator) flip(t *testing.T) {
	t.Helper()
	next, status := !o.blocks(), metav1.ConditionFalse
	if next {
		status = metav1.ConditionTrue
	}
	o.serves = append(o.serves, serving{time.Now(), false}) // while it is being written, either may be read
	setMigrating(t, o.custom, status)
	o.serves = append(o.serves, serving{time.Now(), next})
}

// offerNext offers another version if the last one is installed.
func (o *faultyOperator) offerNext(t *testing.T) {
	t.Helper()
	last := o.stage.csv(o.versions[o.offered-1].CSV())
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(last), last); err == nil && o.offered < len(o.versions) {
		o.offered++
		o.stage.offer(t, publish(t, o.versions[max(0, o.offered-3):o.offered]...))
	}
}

// report compares the start of each update with the state of the custom resource that the API server served when it received the request.
func (o *faultyOperator) report(t *testing.T) {
	t.Helper()
	updates := o.updates(t)
	t.Logf("%s: %d of %d updates have begun", o.pkg, len(updates), o.offered-1)
	for _, r := range updates[o.passed:] {
		after := slices.IndexFunc(o.serves, func(s serving) bool { return s.since.After(r.Received.Time) })
		if after < 0 {
			after = len(o.serves)
		}
		last := o.serves[after-1]
		if since := r.Received.Sub(last.since); last.blocks && since > live.DecisionLasts+longestFault { // a request may be on its way for that long
			t.Errorf("%s began %s after the API server had served a blocking custom resource", r, since)
		}
	}
	o.passed = len(updates)
}

// updates returns the requests that have begun updates. Each of them created a ClusterServiceVersion.
func (o *faultyOperator) updates(t *testing.T) []testcluster.Request {
	t.Helper()
	return slices.DeleteFunc(cluster.Requests(t, o.began), func(r testcluster.Request) bool {
		return r.ObjectRef.Resource != "clusterserviceversions" || r.ObjectRef.Subresource != "" || r.ObjectRef.Namespace != o.stage.namespace ||
			r.ObjectRef.Name == o.versions[0].CSV() || r.Response.Code != http.StatusCreated || strings.Contains(r.URI, "dryRun=")
	})
}

// settle has the custom resource allow the last update, and waits until it is installed.
func (o *faultyOperator) settle(t *testing.T) {
	t.Helper()
	if o.blocks() {
		o.flip(t)
	}
	o.stage.awaitInstalled(t, o.sub, o.versions[o.offered-1].CSV())
}

// checkProbe compares the status of the Probe with the custom resource.
func (o *faultyOperator) checkProbe(t *testing.T) {
	t.Helper()
	o.flip(t) // it blocks now
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: o.stage.namespace, Name: o.versions[o.offered-1].CSV()}}
	o.stage.await(t, probe, func() string {
		conditions := probe.Status.Conditions
		if !meta.IsStatusConditionFalse(conditions, v1alpha1.ConditionUpgradeable) || !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionSynced) {
			return fmt.Sprintf("its conditions are %+v", conditions)
		}
		if s := probe.Status.Summary; s == nil || s.Total != 1 || s.NotUpgradeable != 1 {
			return fmt.Sprintf("its summary is %+v", s)
		}
		return ""
	})
	for _, former := range o.versions[:o.offered-1] { // the garbage collector deletes these
		cluster.AwaitGone(t, &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: o.stage.namespace, Name: former.CSV()}})
	}
}

func (o *faultyOperator) countEvents(t *testing.T) {
	t.Helper()
	events := &corev1.EventList{}
	if err := cluster.Client.List(t.Context(), events, client.InNamespace(o.stage.namespace)); err != nil {
		t.Fatal(err)
	}
	n, about := 0, map[string]int{}
	for _, e := range events.Items {
		if e.ReportingController == "operator-status" || e.Source.Component == "operator-status" {
			n++
			about[e.InvolvedObject.Kind+" "+e.Reason]++
		}
	}
	if n > mostEvents+mostEventsEach*o.passed {
		t.Errorf("%d Events for %s", n, o.pkg)
	}
	t.Logf("%s: %d updates, %d Events: %v", o.pkg, o.passed, n, about)
}

// randomFaults returns a random selection of faults.
func randomFaults(random *rand.Rand) faults.Config {
	out := faults.Config{
		Requests: map[faults.Fault]float64{}, Watches: map[faults.Fault]float64{},
		Longest: longestFault, WatchLife: 10 * time.Second, ConnectionLife: 20 * time.Second,
		Behind: map[string]time.Duration{}, StaleLists: map[string]time.Duration{},
	}
	for _, f := range []faults.Fault{faults.TooManyRequests, faults.InternalError, faults.Unavailable, faults.Timeout, faults.Conflict, faults.Expired,
		faults.Reset, faults.Delay, faults.Hang, faults.LostTimeout, faults.LostReset} {
		if random.IntN(3) == 0 {
			out.Requests[f] = 0.05 * random.Float64()
		}
	}
	for _, f := range []faults.Fault{faults.TooManyRequests, faults.InternalError, faults.Expired} {
		if random.IntN(3) == 0 {
			out.Watches[f] = 0.2 * random.Float64()
		}
	}
	resources := []string{"probes", "clusterserviceversions", "installplans", "subscriptions", "secrets", "faulty0s", "faulty1s", "faulty2s", "faulty3s"}
	if random.IntN(2) == 0 {
		out.Behind[resources[random.IntN(len(resources))]] = []time.Duration{time.Second, 5 * time.Second, faults.Silent}[random.IntN(3)]
	}
	if random.IntN(2) == 0 {
		out.StaleLists[resources[random.IntN(len(resources))]] = 10 * time.Second
	}
	if random.IntN(4) == 0 {
		out.Refused = append(out.Refused, faults.Refusal{Client: []string{reader, loops, ""}[random.IntN(3)],
			Resource: resources[random.IntN(len(resources))], Code: []int{429, 500, 503}[random.IntN(3)], RetryAfter: 5})
	}
	return out
}

// TestStartWithoutAPIServer verifies that managers that start while the API server cannot be reached wait for it, and do
// not exit.
func TestStartWithoutAPIServer(t *testing.T) {
	proxy := faults.New(t, cluster.Config, 1)
	clients := []*faults.Client{proxy.Client(reader), proxy.Client(loops)}
	for _, c := range clients {
		c.Cut()
	}
	manager := cluster.ThroughEach(clients[0].Server, clients[1].Server).StartManager(t, "--catalog-dir="+t.TempDir())
	v1 := testcatalog.Foo{Name: "patient", Version: "1.0.0"}
	s := newStage(t, "patient", publish(t, v1))
	sub := s.subscribe(t, "patient")
	manager.AwaitLog(t, "The API server failed, restarting the manager", func() {})

	for _, c := range clients {
		c.Mend()
	}
	s.awaitInstalled(t, sub, v1.CSV())
	manager.CheckAlive(t)
}
