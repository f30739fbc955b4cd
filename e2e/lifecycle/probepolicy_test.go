package lifecycle

import (
	"fmt"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestProbePolicy verifies that one unchanged policy holds each update of an operator that is not annotated while a custom
// resource does not allow it, and none once it is deleted.
func TestProbePolicy(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "policy", Version: version} }
	v1, v2, v3 := foo("1.0.0"), foo("1.1.0"), foo("1.2.0")
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
	policy.Spec.Match = &holdv1alpha1.OperatorMatch{Packages: []string{"policy"}}
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: v1.CRD(), Upgradeable: "!Migrating"}}
	cluster.Create(t, policy)
	s := newStage(t, "policy", publish(t, v1))
	sub := s.subscribe(t, "policy")
	s.awaitInstalled(t, sub, v1.CSV())

	cr := s.custom(t, "policy", "example", `[{type: Migrating, status: "True"}]`)
	awaitNotUpgradeable := func(csv string) {
		t.Helper()
		probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csv}}
		s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	}
	awaitNotUpgradeable(v1.CSV())
	s.offer(t, publish(t, v1, v2))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "example", "Migrating", v2.CSV())
	s.checkAbsent(t, s.csv(v2.CSV()))
	finishMigration(t, cr)
	s.awaitInstalled(t, sub, v2.CSV())

	t.Log("the next update is held, too, by a field that the changed policy compares")
	patch := func(o client.Object, text string) {
		t.Helper()
		if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	patchStatus := func(text string) {
		t.Helper()
		if err := cluster.Client.Status().Patch(t.Context(), cr, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	patch(policy, fmt.Sprintf(`{"spec":{"probeResources":[{"name":"%s","upgradeable":"status.phase != \"Upgrading\" && Settled"}]}}`, v1.CRD()))
	patchStatus(`{"status":{"phase":"Upgrading","observedGeneration":1}}`)
	awaitNotUpgradeable(v2.CSV())
	s.offer(t, publish(t, v1, v2, v3))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "example", `status.phase is "Upgrading"`, v3.CSV())

	t.Log("it is held until the operator has observed a change of the spec")
	patch(cr, `{"spec":{"size":2}}`)
	patchStatus(`{"status":{"phase":"Running"}}`)
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "example", "Settled is False", v3.CSV())
	s.checkAbsent(t, s.csv(v3.CSV()))

	t.Log("it is released with the policy")
	if err := cluster.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, v3.CSV())
	cluster.AwaitGone(t, &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v3.CSV()}})
	manager.CheckAlive(t)
}

// TestComponents verifies that a policy holds the updates of an operator for custom resources of a CustomResourceDefinition that its
// ClusterServiceVersion does not own, since the operator creates it.
func TestComponents(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "components", Version: version} }
	v1, v2 := foo("1.0.0"), foo("1.1.0")
	const crd = "disks.components.example.com"
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "components"}}
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: crd, Upgradeable: "!Migrating"}}
	cluster.Create(t, policy)
	s := newStage(t, "components", publish(t, v1))
	sub := s.subscribe(t, "components")
	s.awaitInstalled(t, sub, v1.CSV())
	s.await(t, policy, func() string { return testcluster.Lacking(policy.Status.Conditions, "Matched=False/NoOperatorFound") })

	definition := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd}}
	cluster.Apply(t, s.namespace, builder.CRD("disks", "components.example.com")+"---\napiVersion: components.example.com/v1\nkind: Disk\n"+
		"metadata: {name: example}\nstatus: {conditions: [{type: Migrating, status: \"True\"}]}\n")
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1.CSV()}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	s.await(t, policy, func() string { return testcluster.Lacking(policy.Status.Conditions, "Matched=True/OperatorsFound") })
	s.offer(t, publish(t, v1, v2))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "Disk", "example", "Migrating", v2.CSV())
	s.checkAbsent(t, s.csv(v2.CSV()))

	t.Log("it is released with the CustomResourceDefinition")
	if err := cluster.Client.Delete(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, v2.CSV())
	s.await(t, policy, func() string { return testcluster.Lacking(policy.Status.Conditions, "Matched=False/NoOperatorFound") })
	manager.CheckAlive(t)
}

// TestSettle verifies that of a chain of updates each waits until the custom resources have allowed it for some time in the version before.
func TestSettle(t *testing.T) {
	const settle = 15 * time.Second // a slow machine has to notice the hold
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "settle", Version: version} }
	v1, v2, v3 := foo("1.0.0"), foo("1.1.0"), foo("1.2.0")
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "settle"}}
	policy.Spec.Settle = &metav1.Duration{Duration: settle}
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: v1.CRD(), Upgradeable: "!Migrating"}}
	cluster.Create(t, policy)
	s := newStage(t, "settle", publish(t, v1))
	sub := s.subscribe(t, "settle")
	s.awaitInstalled(t, sub, v1.CSV())
	cr := s.custom(t, "settle", "example", `[{type: Migrating, status: "True"}]`)
	s.offer(t, publish(t, v1, v2, v3))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "Migrating", v2.CSV())
	finishMigration(t, cr)
	awaitSettling := func(version testcatalog.Foo) (since time.Time) {
		t.Helper()
		probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: version.CSV()}}
		s.await(t, probe, func() string { return testcluster.Lacking(probe.Status.Conditions, "Upgradeable=False/Settling") })
		return probe.Status.AllowedSince.Time
	}
	checkWaited := func(version testcatalog.Foo, since time.Time) {
		t.Helper()
		csv := s.csv(version.CSV())
		if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(csv), csv); err != nil {
			t.Fatal(err)
		}
		if waited := csv.CreationTimestamp.Sub(since); waited < settle {
			t.Errorf("%s was created %s after the custom resources of the version before allowed it", csv.Name, waited)
		}
	}
	since := awaitSettling(v1)
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "It may begin at", "after 15s", v2.CSV())
	next := awaitSettling(v2)
	checkWaited(v2, since)
	s.awaitInstalled(t, sub, v3.CSV())
	checkWaited(v3, next)
	manager.CheckAlive(t)
}

// TestYield verifies that an update that custom resources hold without interruption begins after the time of the policy, and not before, and
// that the next one is held anew.
func TestYield(t *testing.T) {
	const after = 15 * time.Second // as in TestSettle
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "yield", Version: version} }
	v1, v2, v3 := foo("1.0.0"), foo("1.1.0"), foo("1.2.0")
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "yield"}}
	policy.Spec.YieldAfter = &metav1.Duration{Duration: after}
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: v1.CRD(), Upgradeable: "!Migrating"}}
	cluster.Create(t, policy)
	s := newStage(t, "yield", publish(t, v1))
	sub := s.subscribe(t, "yield")
	s.awaitInstalled(t, sub, v1.CSV())
	s.custom(t, "yield", "example", `[{type: Migrating, status: "True"}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1.CSV()}}
	s.await(t, probe, func() string { return testcluster.Lacking(probe.Status.Conditions, "Upgradeable=False/NotUpgradeable") })
	since := probe.Status.BlockedSince.Time
	s.offer(t, publish(t, v1, v2, v3))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "Migrating", "this holds the update until", v2.CSV())
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventProbeYielded, "although it was held since")
	next := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v2.CSV()}}
	s.await(t, next, func() string { return testcluster.Lacking(next.Status.Conditions, "Upgradeable=False/NotUpgradeable") })
	if waited := next.CreationTimestamp.Sub(since); waited < after {
		t.Errorf("%s was created %s after custom resources began to hold the update", next.Name, waited)
	}
	since = next.Status.BlockedSince.Time
	s.awaitInstalled(t, sub, v3.CSV())
	last := s.csv(v3.CSV())
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(last), last); err != nil {
		t.Fatal(err)
	}
	if waited := last.CreationTimestamp.Sub(since); waited < after {
		t.Errorf("%s was created %s after custom resources began to hold the update", last.Name, waited)
	}
	manager.CheckAlive(t)
}
