package manager_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestQuietCluster verifies by the audit log that the manager makes no requests while nothing changes, except watches
// and those on its Lease. It lasts a minute, with 200 custom resources and 20 Probes.
func TestQuietCluster(t *testing.T) {
	c := testcluster.Start(t)
	c.InstallOLM(t)
	m := c.StartManager(t)
	const probes, foosEach, quiet = 20, 10, 60 * time.Second
	var names []types.NamespacedName
	for i := range probes {
		group := fmt.Sprintf("quiet%d.example.com", i)
		namespace := c.Namespace(t, "quiet")
		account(t, c, namespace, group)
		c.Apply(t, namespace, builder.CRD("foos", group, upgradeableNotMigrating, importantConnectivity))
		for j := range foosEach {
			foo(t, c, group, namespace, fmt.Sprintf("foo-%d", j), []string{"Migrating=True", "Migrating=False", "BadConnectivity=True"}[j%3])
		}
		operator := csv(namespace, "foo-operator.v1", "foos."+group)
		c.Create(t, operator)
		names = append(names, key(operator))
	}
	for _, name := range names {
		awaitProbe(t, c, name, "Upgradeable=False/NotUpgradeable", "Important=True/ConditionsTrue", "Synced=True/Synced")
	}
	c.Apply(t, names[0].Namespace, "apiVersion: operators.coreos.com/v1alpha1\nkind: Subscription\nmetadata: {name: foo}\n"+
		"spec: {name: foo, source: none, sourceNamespace: none, installPlanApproval: Manual}\n")
	freeze := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "freeze"}}
	freeze.Spec.UpdateWindows = []holdv1alpha1.UpdateWindow{{Schedule: "0 0 1 1 *", Duration: metav1.Duration{Duration: time.Hour}}}
	c.Create(t, freeze)
	c.Await(t, freeze, func() string {
		if freeze.Status.Summary.Operators != 1 {
			return "it has no operator"
		}
		return testcluster.Lacking(freeze.Status.Conditions, "Held=True/HeldByUser")
	})
	since := c.AwaitIdle(t, 3*time.Second)

	// Nothing should happen, so the test can only wait.
	time.Sleep(time.Until(since.Add(quiet)))

	writes, reads := 0, 0
	for _, r := range c.Requests(t, since) {
		switch {
		case r.IsWrite():
			writes++
			t.Errorf("a write: %s", r)
		case r.Verb != "watch":
			reads++
			t.Errorf("a request: %s", r)
		}
	}
	t.Logf("%d probes, %d custom resources, %s: %d writes, %d requests besides watches", probes, probes*foosEach, quiet, writes, reads)

	t.Log("the audit log contains the write for a changed custom resource")
	p := probeNamed(names[0].Namespace, names[0].Name)
	flipped := newFoo("quiet0.example.com", p.Namespace, "foo-1")
	c.Await(t, flipped, func() string { return "" })
	setConditions(t, c, flipped, "Migrating=True")
	c.Await(t, p, func() string {
		if p.Status.Summary.NotUpgradeable != 5 {
			return fmt.Sprintf("want 5 not upgradeable, got %d", p.Status.Summary.NotUpgradeable)
		}
		return ""
	})
	c.Await(t, p, func() string { // a request is logged when it ends, after its change is seen
		if len(c.Requests(t, since)) == 0 {
			return "the audit log does not show the manager's requests at all"
		}
		return ""
	})
	m.CheckAlive(t)
}

// TestNoHotLoop verifies that failing reads are retried, but rarely, and without writes.
func TestNoHotLoop(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "loop")
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator"}})
	cluster.Apply(t, namespace, builder.CRD("foos", "loop.example.com", `olm.operatorframework.io/condition.Upgradeable: "&&"`))
	upgradeable := func(name string) v1alpha1.ProbeResource {
		return v1alpha1.ProbeResource{Name: name, Upgradeable: "!Migrating"}
	}
	nobody := userProbe(namespace, "nobody", upgradeable("foos.loop.example.com"))
	nobody.Spec.ServiceAccountName = "nobody"
	forbidden := userProbe(namespace, "forbidden", upgradeable("foos.loop.example.com"))
	absent := userProbe(namespace, "absent", upgradeable("foos.not-there.example.com"))
	operator := csv(namespace, "foo-operator.v1", "foos.loop.example.com")
	cluster.Create(t, nobody, forbidden, absent, operator, csv(namespace, "nobody"), csv(namespace, "forbidden"), csv(namespace, "absent"))
	for p, want := range map[client.Object]string{
		nobody: "Synced=False/NoIdentity", forbidden: "Synced=False/Forbidden", absent: "Synced=False/ResourceNotFound", operator: "Synced=False/Forbidden",
	} {
		awaitProbe(t, cluster, key(p), want)
	}
	const observed, most = 20 * time.Second, 40
	since := cluster.AwaitIdle(t, time.Second)

	// The test counts requests over time, so it can only wait.
	time.Sleep(observed)

	requests := cluster.Requests(t, since)
	if len(requests) > most {
		t.Errorf("%d requests in %s", len(requests), observed)
		for _, r := range requests {
			t.Log(r)
		}
	}
	for _, r := range requests {
		// A manager that has just started also writes to the Probes of other tests.
		if r.IsWrite() && r.ObjectRef.Namespace == namespace {
			t.Errorf("a write: %s", r)
		}
	}
	t.Logf("%d requests in %s", len(requests), observed)
	m.CheckAlive(t)
}
