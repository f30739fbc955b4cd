package olm

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/faults"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestSilentWatch verifies that OLM's InstallPlan is not approved while a custom resource blocks the update, although the
// watch of its kind sends nothing, so the Probe cannot report it.
func TestSilentWatch(t *testing.T) {
	proxy := faults.New(t, cluster.Config, 1) // the seed does not matter: nothing is random
	reader := proxy.Client("reader")
	cluster.ThroughEach(reader.Server, reader.Server).StartManager(t)
	s := newStage(t, "silent", publish(t, "silent", "1.0.0"))
	sub := s.subscribe(t, "silent", withApprovalGate)
	s.awaitRunning(t, sub, csvOf("silent", "1.0.0"))
	example := s.createMigrating(t, "silent")
	s.awaitNotUpgradeable(t, csvOf("silent", "1.0.0"))
	finishMigration(t, example)
	s.awaitProbe(t, csvOf("silent", "1.0.0"), "Upgradeable=True/AllUpgradeable")

	proxy.Set(faults.Config{Behind: map[string]time.Duration{"silents": faults.Silent}})
	setMigrating(t, example, metav1.ConditionTrue)
	s.offer(t, publish(t, "silent", "1.0.0", "1.1.0"))
	cluster.Await(t, sub, func() string { // at first by a live read, and then since the Probe may be out of date
		c := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
		if c.Status != corev1.ConditionTrue || c.Reason != v1alpha1.ReasonProbeNotUpgradeable && c.Reason != v1alpha1.ReasonProbeNotRead {
			return fmt.Sprintf("UpgradeHeld is %s %s: %s", c.Status, c.Reason, c.Message)
		}
		return ""
	})
	if s.awaitPlan(t, sub).Spec.Approved {
		t.Error("the InstallPlan is approved although the custom resource blocks the update")
	}
	s.checkAbsent(t, csvOf("silent", "1.1.0"))

	proxy.Set(faults.Config{})
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("silent", "1.1.0"))
}

// othersAnnotated are the conditions of a Probe that blocks an update, and whose CustomResourceDefinition has other
// annotations than its operator was installed with.
var othersAnnotated = []string{"AnnotationsDiffer=True/ChangedSinceInstallation", "Upgradeable=False/NotUpgradeable"}

// TestAnnotationRemoved verifies that removing the annotation of a live CustomResourceDefinition releases no update.
func TestAnnotationRemoved(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "lost", publish(t, "lost", "1.0.0"))
	sub := s.subscribe(t, "lost", withApprovalGate)
	s.awaitRunning(t, sub, csvOf("lost", "1.0.0"))
	example := s.createMigrating(t, "lost")
	s.awaitNotUpgradeable(t, csvOf("lost", "1.0.0"))
	crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: testcatalog.Foo{Name: "lost"}.CRD()}}
	patch := `{"metadata":{"annotations":{"` + v1alpha1.AnnotationUpgradeable + `":null}}}`
	if err := cluster.Client.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	s.awaitProbe(t, csvOf("lost", "1.0.0"), othersAnnotated...)
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventAnnotationsDiffer, "")
	s.offer(t, publish(t, "lost", "1.0.0", "1.1.0"))
	s.awaitHeld(t, sub)
	s.checkAbsent(t, csvOf("lost", "1.1.0"))
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("lost", "1.1.0"))
}

// TestStagedRollout verifies that an update is held by the expression of the running version, while another namespace runs
// the next version, whose CustomResourceDefinition has another.
func TestStagedRollout(t *testing.T) {
	cluster.StartManager(t)
	first := testcatalog.Foo{Name: "staged", Version: "1.0.0", Upgradeable: "!Migrating"}
	second := testcatalog.Foo{Name: "staged", Version: "1.1.0", Upgradeable: "Ready"}
	s := newStage(t, "staged", testcatalog.Published(t, first))
	sub := s.subscribe(t, "staged", withApprovalGate)
	s.awaitRunning(t, sub, first.CSV())
	example := s.createMigrating(t, "staged")
	s.awaitNotUpgradeable(t, first.CSV())

	other := anotherStage(t, "staged-next", testcatalog.Published(t, second))
	other.awaitRunning(t, other.subscribe(t, "staged"), second.CSV())

	s.awaitProbe(t, first.CSV(), othersAnnotated...)
	s.offer(t, testcatalog.Published(t, first, second))
	s.awaitHeld(t, sub)
	s.checkAbsent(t, second.CSV())
	finishMigration(t, example)
	s.awaitRunning(t, sub, second.CSV())
}
