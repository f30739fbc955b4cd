package olm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestApprovalGate verifies that the InstallPlan of an update is not approved while the running operator is not
// upgradeable. Nothing on the cluster changes until it is, and then the update continues.
func TestApprovalGate(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "early", publish(t, "early", "1.0.0"))
	sub := s.subscribe(t, "early", withApprovalGate)
	s.awaitRunning(t, sub, csvOf("early", "1.0.0"))

	example := s.createMigrating(t, "early")
	s.awaitNotUpgradeable(t, csvOf("early", "1.0.0"))
	before := definition(t, "early")
	s.offer(t, packageWithCRDChange(t, "early"))
	s.awaitHeld(t, sub)
	checkMessage(t, sub, v1alpha1.SubscriptionUpgradeHeld, "Migrating", "example", v1alpha1.AnnotationAllowUpgrade+"="+csvOf("early", "1.1.0"))
	plan := s.awaitPlan(t, sub)
	cluster.Await(t, plan, func() string { // OLM sets the phase a moment after it creates the plan
		if plan.Spec.Approved || plan.Status.Phase != olm.InstallPlanPhaseRequiresApproval {
			return fmt.Sprintf("its phase is %q, approved=%v", plan.Status.Phase, plan.Spec.Approved)
		}
		return ""
	})
	if after := definition(t, "early"); after.Generation != before.Generation {
		t.Error("the CustomResourceDefinition has changed while the update was held")
	}
	s.checkAbsent(t, csvOf("early", "1.1.0"))
	if c := sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed); c.Status == corev1.ConditionTrue {
		t.Errorf("the hold makes the resolution fail: %s", c.Message)
	}
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("early", "1.1.0"))
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeHeld, "The update to "+csvOf("early", "1.1.0")+" is held")
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeReleased, csvOf("early", "1.1.0"))
	if after := definition(t, "early"); after.Generation == before.Generation {
		t.Error("the CustomResourceDefinition has not changed with the update: the test could not detect an early change")
	}
}

// TestApprovalGateOverride verifies that allow-upgrade approves a held update, but only of the version that it names.
func TestApprovalGateOverride(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "forced", publish(t, "forced", "1.0.0"))
	sub := s.subscribe(t, "forced", withApprovalGate)
	s.awaitRunning(t, sub, csvOf("forced", "1.0.0"))
	s.createMigrating(t, "forced")
	s.awaitNotUpgradeable(t, csvOf("forced", "1.0.0"))
	s.offer(t, publish(t, "forced", "1.0.0", "1.1.0"))
	s.awaitHeld(t, sub)
	annotate(t, sub, v1alpha1.AnnotationAllowUpgrade, csvOf("forced", "9.9.9"))
	s.checkAbsent(t, csvOf("forced", "1.1.0"))
	annotate(t, sub, v1alpha1.AnnotationAllowUpgrade, csvOf("forced", "1.1.0"))
	s.awaitRunning(t, sub, csvOf("forced", "1.1.0"))
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeOverridden, "")
}

// TestOverride verifies that the same annotation ends the other holds: of an UpgradeHold, and of the OperatorCondition gate on a
// cluster without the policies.
func TestOverride(t *testing.T) {
	t.Run("UpgradeHold", checkOverride)
	t.Run("OperatorConditionGate", func(t *testing.T) {
		cluster.WithoutHoldPolicy(t)
		checkOverride(t)
	})
}

func checkOverride(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "pushed", publish(t, "pushed", "1.0.0"))
	sub := s.subscribe(t, "pushed")
	s.awaitRunning(t, sub, csvOf("pushed", "1.0.0"))
	s.createMigrating(t, "pushed")
	s.awaitNotUpgradeable(t, csvOf("pushed", "1.0.0"))
	s.offer(t, publish(t, "pushed", "1.0.0", "1.1.0"))
	s.awaitHeld(t, sub)
	annotate(t, sub, v1alpha1.AnnotationAllowUpgrade, csvOf("pushed", "1.1.0"))
	s.awaitRunning(t, sub, csvOf("pushed", "1.1.0"))
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeOverridden, "")
}

// TestManualApprovalNotGranted verifies that an InstallPlan with all updates of a namespace is not approved by
// operator-status if it updates a Subscription with manual approval, even if nothing in it is held, and that the
// message names that Subscription.
func TestManualApprovalNotGranted(t *testing.T) {
	cluster.StartManager(t)
	names := []string{"ours", "theirs", "free"}
	packages := func(version ...string) (out []testcatalog.Package) {
		for _, n := range names {
			out = append(out, publish(t, n, version...))
		}
		return out
	}
	s := newStage(t, "three", packages("1.0.0")...)
	ours := s.subscribe(t, "ours", withApprovalGate)
	s.awaitRunning(t, ours, csvOf("ours", "1.0.0"))
	free := s.subscribe(t, "free")
	theirs := s.subscribe(t, "theirs", withManualApproval)
	for _, sub := range []*v1alpha1.Subscription{theirs, free} {
		s.approveUntil(t, sub, csvOf(sub.Name, "1.0.0"))
	}

	example := s.createMigrating(t, "ours")
	s.awaitNotUpgradeable(t, csvOf("ours", "1.0.0"))
	s.offer(t, packages("1.0.0", "1.1.0")...)
	s.awaitHeld(t, ours)
	finishMigration(t, example)
	s.awaitConditions(t, ours, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionUpgradeHeld: "True " + v1alpha1.ReasonApprovalMissing,
		v1alpha1.SubscriptionUpToDate:    "False " + v1alpha1.ReasonNewestDoesNotRun,
	})
	checkMessage(t, ours, v1alpha1.SubscriptionUpgradeHeld, s.namespace+"/theirs", "kubectl patch installplan.operators.coreos.com")
	s.awaitConditions(t, theirs, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "True " + v1alpha1.ReasonRequiresApproval,
	})
	if plan := s.awaitPlan(t, ours); plan.Spec.Approved || !slices.Contains(plan.Spec.ClusterServiceVersionNames, csvOf("theirs", "1.1.0")) {
		t.Errorf("InstallPlan %s of %v has approved=%v, want false, and theirs in it", plan.Name, plan.Spec.ClusterServiceVersionNames, plan.Spec.Approved)
	}
	for _, n := range names {
		s.checkAbsent(t, csvOf(n, "1.1.0"))
	}
	approve(t, s.awaitPlan(t, ours))
	for _, sub := range []*v1alpha1.Subscription{ours, theirs, free} {
		s.awaitRunning(t, sub, csvOf(sub.Name, "1.1.0"))
	}
}

// awaitHeld waits until a Subscription and the running operator's Probe report that the update is held, and by which gate.
func (s *stage) awaitHeld(t *testing.T, sub *v1alpha1.Subscription) {
	t.Helper()
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionUpToDate:                         "False " + v1alpha1.ReasonNewestDoesNotRun,
		v1alpha1.SubscriptionUpgradeHeld:                      "True " + v1alpha1.ReasonProbeNotUpgradeable,
		v1alpha1.SubscriptionInstalledCSVReplacementAvailable: "True " + v1alpha1.ReasonReplacementAvailable,
	})
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: csvOf(sub.Name, "1.0.0")}}
	gate := v1alpha1.ReasonUpgradeHold
	if !enforced(t) {
		gate = v1alpha1.ReasonOperatorConditionGate
	}
	if sub.Labels[v1alpha1.LabelGate] != "" || sub.IsManual() {
		gate = v1alpha1.ReasonApprovalGate
	}
	cluster.Await(t, probe, func() string {
		c := meta.FindStatusCondition(probe.Status.Conditions, v1alpha1.ConditionHolding)
		if c == nil || c.Reason != gate || !strings.Contains(c.Message, csvOf(sub.Name, "1.1.0")) || !strings.Contains(c.Message, "Migrating") {
			return fmt.Sprintf("Holding is %+v, want reason %s", c, gate)
		}
		return ""
	})
}

// approveUntil approves every InstallPlan of a Subscription, as a user does, until a version runs.
func (s *stage) approveUntil(t *testing.T, sub *v1alpha1.Subscription, csv string) {
	t.Helper()
	cluster.Await(t, sub, func() string {
		found := s.csv(csv)
		if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(found), found); err == nil && found.Status.Phase == olm.CSVPhaseSucceeded {
			return ""
		}
		if sub.Status.InstallPlanRef != nil {
			if plan := s.awaitPlan(t, sub); plan.Status.Phase == olm.InstallPlanPhaseRequiresApproval && !plan.Spec.Approved {
				approve(t, plan)
			}
		}
		return fmt.Sprintf("%s is %s", csv, found.Status.Phase)
	})
	s.awaitRunning(t, sub, csv)
}

func approve(t *testing.T, plan *olm.InstallPlan) {
	t.Helper()
	if err := cluster.Client.Patch(t.Context(), plan, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approved":true}}`))); err != nil {
		t.Fatal(err)
	}
}

func annotate(t *testing.T, o client.Object, name, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	if err := cluster.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// definition returns the CustomResourceDefinition of a package.
func definition(t *testing.T, pkg string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	out := &apiextensions.CustomResourceDefinition{}
	if err := cluster.Client.Get(t.Context(), types.NamespacedName{Name: testcatalog.Foo{Name: pkg}.CRD()}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkAbsent checks that a CSV does not exist. The caller has already waited for a condition that explains why.
func (s *stage) checkAbsent(t *testing.T, csv string) {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), s.key(csv), s.csv(csv)); !apierrors.IsNotFound(err) {
		t.Errorf("getting CSV %s returned %v, want not found", csv, err)
	}
}

// TestNewSubscriptionWaitsForHeldUpdate verifies that with the approval gate a new Subscription in the namespace of a held
// update waits, reports why and is installed with the update, without failures. OLM installs both together or not at all.
func TestNewSubscriptionWaitsForHeldUpdate(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "neighbour", publish(t, "held", "1.0.0"), publish(t, "next", "1.0.0"))
	sub := s.subscribe(t, "held", withApprovalGate)
	s.awaitRunning(t, sub, csvOf("held", "1.0.0"))
	example := s.createMigrating(t, "held")
	s.awaitNotUpgradeable(t, csvOf("held", "1.0.0"))
	s.offer(t, publish(t, "held", "1.0.0", "1.1.0"), publish(t, "next", "1.0.0"))
	s.awaitHeld(t, sub)
	neighbour := s.subscribe(t, "next")
	s.awaitConditions(t, neighbour, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionUpToDate:                          "False " + v1alpha1.ReasonNewestDoesNotRun,
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "False " + v1alpha1.ReasonNotAwaitingApproval,
		v1alpha1.SubscriptionResolutionFailed:                  "Unknown",
	})
	checkMessage(t, neighbour, v1alpha1.SubscriptionUpToDate, "also installs other operators", "Migrating")
	s.checkAbsent(t, csvOf("held", "1.1.0"))
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("held", "1.1.0"))
	s.awaitRunning(t, neighbour, csvOf("next", "1.0.0"))
}
