package lifecycle

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestVersions verifies that an operator is installed and updated within a range of versions, that a mistake in it allows none, that an
// update beyond it does not begin although its InstallPlan exists, and that an administrator can allow one version.
func TestVersions(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := testcatalog.Holding("versions", "1.0.0", "1.1.0", "1.2.0", "2.0.0", "3.0.0")
	s := newStage(t, "versions", publish(t, foo[:4]...))
	sub := s.subscribe(t, "versions", func(sub *v1alpha1.Subscription) {
		sub.Annotations = map[string]string{v1alpha1.AnnotationVersion: "<1.1.0"}
	})
	annotate := func(key, value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
		if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	awaitKept := func(installed, beyond string) {
		t.Helper()
		s.awaitInstalled(t, sub, installed)
		s.awaitTrue(t, sub, v1alpha1.SubscriptionUpToDate, v1alpha1.ReasonNewestAllowedRuns, installed, beyond)
	}
	awaitKept(foo[0].CSV(), foo[3].CSV())
	annotate(v1alpha1.AnnotationVersion, ">=1.0.0 <2.0.0")
	awaitKept(foo[2].CSV(), foo[3].CSV())
	s.checkAbsent(t, s.csv(foo[3].CSV()))

	annotate(v1alpha1.AnnotationVersion, "newest")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionResolutionFailed, v1alpha1.ReasonVersionInvalid, `"newest"`)
	s.checkAbsent(t, s.csv(foo[3].CSV()))

	busy := s.custom(t, "versions", "busy", `[{type: Migrating, status: "True"}]`)
	annotate(v1alpha1.AnnotationVersion, "^2.0.0")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, foo[3].CSV())
	annotate(v1alpha1.AnnotationVersion, "~1.2.0")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonVersionNotAllowed, "~1.2.0", foo[3].CSV(), "Migrating")
	if err := cluster.Client.Delete(t.Context(), busy); err != nil {
		t.Fatal(err)
	}
	s.await(t, sub, func() string {
		if c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld); strings.Contains(c.Message, "Migrating") {
			return c.Message
		}
		return ""
	})
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonVersionNotAllowed, v1alpha1.AnnotationAllowUpgrade+"="+foo[3].CSV())
	s.checkAbsent(t, s.csv(foo[3].CSV()))

	annotate(v1alpha1.AnnotationAllowUpgrade, foo[3].CSV())
	s.awaitInstalled(t, sub, foo[3].CSV())
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeOverridden, v1alpha1.AnnotationVersion)
	s.offer(t, publish(t, foo...))
	awaitKept(foo[3].CSV(), foo[4].CSV())
	if c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld); c.Status != corev1.ConditionFalse {
		t.Errorf("UpgradeHeld is %s: %s", c.Status, c.Message)
	}
	manager.CheckAlive(t)
}
