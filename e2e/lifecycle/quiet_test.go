package lifecycle

import (
	"fmt"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestQuiet verifies that the loops send only watches once Subscriptions are installed, waiting or rejected, and that a
// restarted manager writes once to each Probe, which records that it now reads it, and nothing else.
func TestQuiet(t *testing.T) {
	const operators, held, observed = 5, 1, 30 * time.Second
	cluster.AwaitNoneTerminating(t)
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
		s.awaitInstalled(t, sub, foo(i).CSV())
	}
	createStableSubscriptions(t)
	cluster.AwaitSynced(t)
	since := cluster.AwaitIdle(t, 5*time.Second) // a write that tells only a message anew comes after 3 s

	// The test observes that nothing happens, so it has no event to wait for.
	time.Sleep(observed)

	for _, r := range cluster.Requests(t, since) {
		if r.Verb != "watch" {
			t.Errorf("request in an idle cluster: %s", r)
		}
	}
	manager.Terminate(t)
	restarted := time.Now()
	again := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	cluster.CheckTakeover(t, restarted, operators+held)
	again.CheckAlive(t)
}

// createStableSubscriptions creates Subscriptions in the other stable states: a held update, a plan that needs approval, a
// missing catalog, a missing requirement, a bundle that the API server rejects, and an operator that does not start.
func createStableSubscriptions(t *testing.T) *stage {
	t.Helper()
	held := testcatalog.Holding("quietheld", "1.0.0", "1.1.0")
	others := []testcatalog.Package{
		publish(t, testcatalog.Foo{Name: "quietmanual", Version: "1.0.0"}),
		publish(t, testcatalog.Foo{Name: "quietneeds", Version: "1.0.0", Requires: []string{"nowhere"}}),
		publish(t, testcatalog.Foo{Name: "quietbad", Version: "1.0.0", More: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}"}}),
		publish(t, testcatalog.Foo{Name: "quietstuck", Version: "1.0.0", Change: testcatalog.NeverStarts}),
	}
	s := newStage(t, "unquiet", append(others, publish(t, held[0]))...)
	updated := s.subscribe(t, "quietheld")
	s.awaitInstalled(t, updated, held[0].CSV())
	s.custom(t, "quietheld", "busy", `[{type: Migrating, status: "True"}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: held[0].CSV()}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	manual := s.subscribe(t, "quietmanual", func(sub *v1alpha1.Subscription) { sub.Spec.InstallPlanApproval = olm.ApprovalManual })
	needs, bad, stuck := s.subscribe(t, "quietneeds"), s.subscribe(t, "quietbad"), s.subscribe(t, "quietstuck")
	nowhere := s.subscribe(t, "quietlost", func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = "nowhere" })
	s.awaitTrue(t, manual, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, v1alpha1.ReasonRequiresApproval)
	s.awaitTrue(t, needs, v1alpha1.SubscriptionResolutionFailed, v1alpha1.ReasonConstraintsNotSatisfiable)
	s.awaitTrue(t, bad, v1alpha1.SubscriptionInstallPlanFailed, "InstallComponentFailed")
	s.awaitTrue(t, stuck, v1alpha1.SubscriptionInstalledCSVFailed, v1alpha1.ReasonCSVFailed)
	s.awaitTrue(t, nowhere, v1alpha1.SubscriptionCatalogSourceInvalid, v1alpha1.ReasonCatalogSourceNotFound)
	s.offer(t, append(others, publish(t, held...))...)
	s.awaitTrue(t, updated, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable)
	return s
}
