package olm

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestHoldPolicy verifies that an UpgradeHoldPolicy keeps OLM from updating the operators of a package, but for a version that an
// administrator allows, until it is deleted.
func TestHoldPolicy(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "frozen", publish(t, "holdpolicy", "1.0.0"))
	policy := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "holdpolicy"}}
	policy.Spec.Match = &holdv1alpha1.OperatorMatch{Packages: []string{"holdpolicy"}}
	cluster.Create(t, policy)
	sub := s.subscribe(t, "holdpolicy")
	s.awaitRunning(t, sub, csvOf("holdpolicy", "1.0.0"))
	hold := &holdv1alpha1.UpgradeHold{}
	hold.Name = holdv1alpha1.SubscribedOperator(s.namespace, "holdpolicy").HoldNameFor(policy.Name)
	cluster.Await(t, hold, func() string {
		return testcluster.Lacking(hold.Status.Conditions, "Held=True/HeldByUser", "Enforced=True/PolicyBound")
	})
	s.offer(t, publish(t, "holdpolicy", "1.0.0", "1.1.0"))
	s.awaitDenied(t, sub, "The update to "+csvOf("holdpolicy", "1.1.0")+" is held: UpgradeHold "+hold.Name+" of UpgradeHoldPolicy holdpolicy")

	patch(t, hold, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationAllowUpgrade+`":"`+csvOf("holdpolicy", "1.1.0")+`"}}}`)
	s.awaitRunning(t, sub, csvOf("holdpolicy", "1.1.0"))
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeOverridden, "")
	s.offer(t, publish(t, "holdpolicy", "1.0.0", "1.1.0", "1.2.0"))
	s.awaitDenied(t, sub, "The update to "+csvOf("holdpolicy", "1.2.0")+" is held: UpgradeHold "+hold.Name)
	s.checkAbsent(t, csvOf("holdpolicy", "1.2.0"))

	if err := cluster.Client.Delete(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, sub, csvOf("holdpolicy", "1.2.0"))
	cluster.AwaitGone(t, hold)
}
