package olm

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestVersions verifies that the approval gate holds an update beyond a range of versions, and that the range is reported to have no
// effect without the gate.
func TestVersions(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "versions", publish(t, "versions", "1.0.0"))
	sub := s.subscribe(t, "versions", func(sub *v1alpha1.Subscription) {
		sub.Annotations = map[string]string{v1alpha1.AnnotationVersion: "<1.1.0"}
	})
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionUpToDate:    "True " + v1alpha1.ReasonNewestRuns,
		v1alpha1.SubscriptionUpgradeHeld: "False " + v1alpha1.ReasonVersionNeedsGate,
	})
	patch := func(text string) {
		t.Helper()
		if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	patch(fmt.Sprintf(`{"metadata":{"labels":{%q:%q}},"spec":{"installPlanApproval":"Manual"}}`, v1alpha1.LabelGate, v1alpha1.GateApproval))
	s.awaitRunning(t, sub, csvOf("versions", "1.0.0"))
	s.offer(t, publish(t, "versions", "1.0.0", "1.1.0"))
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionUpgradeHeld: "True " + v1alpha1.ReasonVersionNotAllowed,
	})
	checkMessage(t, sub, v1alpha1.SubscriptionUpgradeHeld, "<1.1.0", v1alpha1.AnnotationAllowUpgrade+"="+csvOf("versions", "1.1.0"))
	s.checkAbsent(t, csvOf("versions", "1.1.0"))
	patch(fmt.Sprintf(`{"metadata":{"annotations":{%q:"1.x"}}}`, v1alpha1.AnnotationVersion))
	s.awaitRunning(t, sub, csvOf("versions", "1.1.0"))
}
