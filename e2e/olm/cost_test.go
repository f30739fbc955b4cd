package olm

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/manager"
)

// byOLM lists the user agents of OLM's two processes.
var byOLM = []string{"olm/", "catalog/"}

// observationPeriod returns how long to observe a cluster in which nothing should happen: OBSERVE, or a minute by default.
func observationPeriod(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("OBSERVE")
	if text == "" {
		return time.Minute
	}
	out, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("OBSERVE: %v", err)
	}
	return out
}

// TestIdle verifies that operator-status adds no requests to OLM's while nothing happens. It needs an OLM without work
// from other tests, and time: OBSERVE=10m go test -run TestIdle ./e2e/olm.
func TestIdle(t *testing.T) {
	if os.Getenv("OBSERVE") == "" {
		t.Skip("OBSERVE is not set: it is the duration to observe an idle cluster for")
	}
	s := newStage(t, "idle", publish(t, "idle", "1.0.0"))
	m := cluster.StartManager(t)
	sub := s.subscribe(t, "idle", withApprovalGate)
	s.awaitRunning(t, sub, csvOf("idle", "1.0.0"))
	during := observationPeriod(t)
	with := s.requests(t, during)
	cluster.AwaitIdle(t, time.Second, manager.UserAgent)
	m.Terminate(t)
	without := s.requests(t, during)

	names := map[string]bool{}
	for name := range maps.Keys(with) {
		names[name] = true
	}
	for name := range maps.Keys(without) {
		names[name] = true
	}
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "OLM's requests in %s, idle\twithout\twith operator-status\n", during)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\n", name, without[name], with[name])
		if with[name] > without[name]+2 {
			t.Errorf("%s: %d with operator-status, %d without", name, with[name], without[name])
		}
	}
	_ = table.Flush()
	t.Log("\n" + out.String())
}

// requests waits until OLM is idle and counts its requests during a period, by verb and resource.
func (s *stage) requests(t *testing.T, during time.Duration) map[string]int {
	t.Helper()
	start := cluster.AwaitIdle(t, 10*time.Second, byOLM...)
	time.Sleep(during) // no event to wait for
	out := map[string]int{}
	for _, r := range cluster.RequestsOf(t, start, byOLM...) {
		if r.IsWork() {
			out[r.Verb+" "+r.ObjectRef.Resource]++
		}
	}
	return out
}

// TestGateCosts compares the approval gate and an UpgradeHold: OLM's requests while an update is held, and the other effects of the hold.
func TestGateCosts(t *testing.T) {
	cluster.StartManager(t)
	type cost struct {
		perSecond float64
		changed   bool
		neighbour string
	}
	costs := map[string]cost{}
	during := observationPeriod(t) / 3
	for name, change := range map[string]func(*v1alpha1.Subscription){"approval": withApprovalGate, "hold": func(*v1alpha1.Subscription) {}} {
		next := "next" + name
		s := newStage(t, name, publish(t, name, "1.0.0"), publish(t, next, "1.0.0"))
		sub := s.subscribe(t, name, change)
		s.awaitRunning(t, sub, csvOf(name, "1.0.0"))
		example := s.createMigrating(t, name)
		s.awaitNotUpgradeable(t, csvOf(name, "1.0.0"))
		before := definition(t, name)
		s.offer(t, packageWithCRDChange(t, name), publish(t, next, "1.0.0"))
		s.awaitHeld(t, sub)
		start := time.Now()
		time.Sleep(during) // no event to wait for
		c := cost{changed: definition(t, name).Generation != before.Generation}
		for _, r := range cluster.RequestsOf(t, start, byOLM...) {
			if r.IsWork() {
				c.perSecond += 1 / during.Seconds()
			}
		}
		neighbour := s.subscribe(t, next)
		s.awaitConditions(t, neighbour, map[v1alpha1.SubscriptionConditionType]string{v1alpha1.SubscriptionUpgradeHeld: "False " + v1alpha1.ReasonNotHeld})
		c.neighbour = "waits in the same InstallPlan"
		if neighbour.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed).Status == corev1.ConditionTrue {
			c.neighbour = "ResolutionFailed"
		}
		costs[name] = c
		finishMigration(t, example)
		s.awaitRunning(t, sub, csvOf(name, "1.1.0"))
		s.awaitRunning(t, neighbour, csvOf(next, "1.0.0"))
	}
	early, late := costs["approval"], costs["hold"]
	t.Logf("while an update is held\n"+
		"                           OLM's requests/s  CRD changed  a new neighbour\n"+
		"    approval gate          %16.1f  %11v  %s\n"+
		"    UpgradeHold            %16.1f  %11v  %s\n",
		early.perSecond, early.changed, early.neighbour, late.perSecond, late.changed, late.neighbour)
	for _, c := range []cost{early, late} {
		if c.changed || c.neighbour == "ResolutionFailed" {
			t.Error("a hold lets objects change or fails another Subscription")
		}
		if c.perSecond > 30 {
			t.Errorf("OLM sends %.1f requests/s while it is denied an update: a third of those with an OperatorCondition, at least", c.perSecond)
		}
	}
}
