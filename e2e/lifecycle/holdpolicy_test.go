package lifecycle

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestHoldPolicy verifies that an UpgradeHoldPolicy holds the updates of the operators of a namespace, but for a version that an
// administrator allows, until it is deleted.
func TestHoldPolicy(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "holdpolicy", Version: version} }
	v1, v2, v3 := foo("1.0.0"), foo("1.1.0"), foo("1.2.0")
	s := newStage(t, "holdpolicy", publish(t, v1))
	policy := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "frozen"}}
	policy.Spec.Message = "audit"
	policy.Spec.Match = &holdv1alpha1.OperatorMatch{Namespaces: []string{s.namespace}}
	cluster.Create(t, policy)
	sub := s.subscribe(t, "holdpolicy")
	s.awaitInstalled(t, sub, v1.CSV())
	hold := &holdv1alpha1.UpgradeHold{}
	hold.Name = holdv1alpha1.SubscribedOperator(s.namespace, sub.Name).HoldNameFor(policy.Name)
	awaitHeld := func(version testcatalog.Foo) {
		t.Helper()
		s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, holdv1alpha1.ReasonHeldByUser, "UpgradeHoldPolicy frozen", "audit", version.CSV(),
			"kubectl annotate upgradehold.operatorstatus.io "+hold.Name)
	}
	s.offer(t, publish(t, v1, v2))
	awaitHeld(v2)
	s.checkAbsent(t, s.csv(v2.CSV()))

	before := hold.DeepCopy()
	cluster.Await(t, before, func() string { return "" })
	manager.Kill(t)
	manager = cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"message":"another audit"}}`))
	if err := cluster.Client.Patch(t.Context(), policy, patch); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, hold, func() string {
		if hold.Spec.Message != "another audit" {
			return "its message is " + hold.Spec.Message
		}
		return ""
	})
	if hold.UID != before.UID {
		t.Error("a start of the manager has deleted the UpgradeHold, and created it again")
	}
	allow := `{"metadata":{"annotations":{"` + v1alpha1.AnnotationAllowUpgrade + `":"` + v2.CSV() + `"}}}`
	if err := cluster.Client.Patch(t.Context(), hold, client.RawPatch(types.MergePatchType, []byte(allow))); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, v2.CSV())
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeOverridden, "")
	s.offer(t, publish(t, v1, v2, v3))
	awaitHeld(v3)

	if err := cluster.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, v3.CSV())
	cluster.AwaitGone(t, hold)
	manager.CheckAlive(t)
}
