package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/testcatalog"
)

// TestQuiet: once operators are installed, the loops ask the API server for nothing but watches, and write nothing; and
// a manager that starts anew finds all as it should be, and says once on each Probe that it is the one now who reads.
func TestQuiet(t *testing.T) {
	const operators, observed = 5, 30 * time.Second
	awaitNoneEnding(t)
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	var packages []testcatalog.Package
	foo := func(i int) testcatalog.Foo {
		return testcatalog.Foo{Name: fmt.Sprintf("quiet%d", i), Version: "1.0.0", Upgradeable: "!Migrating"}
	}
	for i := range operators {
		packages = append(packages, publish(t, foo(i)))
	}
	s := newStage(t, "quiet", packages...)
	var subs []*v1alpha1.Subscription
	for i := range operators {
		subs = append(subs, s.subscribe(t, foo(i).Name))
	}
	for i, sub := range subs {
		s.installed(t, sub, foo(i).CSV())
	}
	since := cluster.AwaitIdle(t, 3*time.Second)

	// That nothing happens is what is to be seen, so there is nothing to wait for but the time.
	time.Sleep(observed)

	for _, r := range cluster.Requests(t, since) {
		if r.Verb != "watch" {
			t.Errorf("in a quiet cluster: %s %s", r.Verb, r.URI)
		}
	}
	manager.Terminate(t)
	restarted := time.Now()
	again := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	cluster.AwaitIdle(t, 3*time.Second)
	cluster.CheckTakeover(t, restarted, operators)
	again.CheckAlive(t)
}
