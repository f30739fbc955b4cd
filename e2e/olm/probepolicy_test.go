package olm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestProbePolicy verifies that a policy keeps OLM from beginning each update of an operator that is not annotated while a custom resource
// does not allow it, and none once it is deleted.
func TestProbePolicy(t *testing.T) {
	cluster.StartManager(t)
	published := func(versions ...string) testcatalog.Package {
		var out []testcatalog.Foo
		for _, v := range versions {
			out = append(out, testcatalog.Foo{Name: "policy", Version: v})
		}
		return testcatalog.Published(t, out...)
	}
	s := newStage(t, "policy", published("1.0.0"))
	sub := s.subscribe(t, "policy")
	s.awaitRunning(t, sub, csvOf("policy", "1.0.0"))
	example := s.createMigrating(t, "policy")
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "policy"}}
	policy.Spec.Match = &holdv1alpha1.OperatorMatch{Packages: []string{"policy"}}
	const group = "policy.example.com"
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{
		{Name: testcatalog.Foo{Name: "policy"}.CRD(), Upgradeable: "!Migrating"}, {Name: "disks." + group, Upgradeable: "!Migrating"},
	}
	cluster.Create(t, policy)

	s.awaitUpgradeHold(t, sub, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
	s.offer(t, published("1.0.0", "1.1.0"))
	s.awaitDenied(t, sub, "The update to "+csvOf("policy", "1.1.0")+" is held", "Migrating")
	s.awaitHeld(t, sub)
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("policy", "1.1.0"))

	t.Log("the next update is held, too, by a custom resource of a CustomResourceDefinition that the operator creates and its bundle lacks")
	cluster.Apply(t, s.namespace, builder.CRD("disks", group)+"---\napiVersion: "+group+"/v1\nkind: Disk\n"+
		"metadata: {name: example}\nstatus: {conditions: [{type: Migrating, status: \"True\"}]}\n")
	s.awaitNotUpgradeable(t, csvOf("policy", "1.1.0"))
	s.awaitUpgradeHold(t, sub, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
	s.offer(t, published("1.0.0", "1.1.0", "1.2.0"))
	s.awaitDenied(t, sub, "The update to "+csvOf("policy", "1.2.0")+" is held", "Disk", "Migrating")
	s.checkAbsent(t, csvOf("policy", "1.2.0"))

	t.Log("it is released with the policy")
	if err := cluster.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, sub, csvOf("policy", "1.2.0"))
}
