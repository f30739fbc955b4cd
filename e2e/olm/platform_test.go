package olm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPlatformOperator verifies that OLM installs a PlatformOperator with the approval gate on: an update is held
// before anything changes and then continues. Deletion removes the operator.
func TestPlatformOperator(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "platform", publish(t, "plain", "1.0.0"))
	op := &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}
	op.Spec.Package = v1alpha1.Package{Name: "plain", Catalog: &v1alpha1.CatalogReference{Name: catalogName, Namespace: s.namespace}}
	op.Spec.Namespace = s.namespace // the catalog is visible only there: only those in olm are visible everywhere
	cluster.Create(t, op)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), op); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	awaitPlatformOperator(t, op, "1.0.0", "Synced=True/Synced", "Ready=True/Available", "Installed=True/Installed", "UpToDate=True/NewestRuns")

	example := s.createMigrating(t, "plain")
	s.awaitNotUpgradeable(t, csvOf("plain", "1.0.0"))
	before := definition(t, "plain")
	s.offer(t, packageWithCRDChange(t, "plain"))
	awaitPlatformOperator(t, op, "1.0.0", "Ready=True/Available", "Progressing=False/UpdateHeld", "Upgradeable=False/NotUpgradeable",
		"UpToDate=False/NewestDoesNotRun")
	if message := meta.FindStatusCondition(op.Status.Conditions, v1alpha1.ConditionProgressing).Message; !strings.Contains(message, "Migrating") {
		t.Errorf("the message does not name the blocking custom resource: %s", message)
	}
	cluster.Await(t, op, func() string {
		if len(op.Status.Holds) != 1 || op.Status.Holds[0].Reason != operatorsv1alpha1.ReasonProbeNotUpgradeable {
			return fmt.Sprintf("the holds are %+v, want that of the Probe", op.Status.Holds)
		}
		return ""
	})
	if definition(t, "plain").Generation != before.Generation {
		t.Error("the CustomResourceDefinition has changed while the update was held")
	}
	finishMigration(t, example)
	awaitPlatformOperator(t, op, "1.1.0", "Synced=True/Synced", "Ready=True/Available", "Progressing=False/AsDesired", "UpToDate=True/NewestRuns")
	cluster.Await(t, op, func() string {
		if len(op.Status.Holds) > 0 {
			return fmt.Sprintf("it still has holds: %+v", op.Status.Holds)
		}
		return ""
	})

	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	awaitPlatformOperator(t, op, "1.1.0", "Synced=False/UsersData") // the operator runs until custom resources are deleted
	if err := cluster.Rediscovered(t).Client.Delete(t.Context(), example); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	cluster.AwaitGone(t, &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "plain"}})
	cluster.AwaitGone(t, s.csv(csvOf("plain", "1.1.0")))
}

// TestPlatformOperatorPackageNotFound verifies that errors of OLM's resolver are reported on the PlatformOperator.
func TestPlatformOperatorPackageNotFound(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "misspelt", publish(t, "amber", "1.0.0"))
	op := &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: "ambre"}}
	op.Spec.Package = v1alpha1.Package{Name: "ambre", Catalog: &v1alpha1.CatalogReference{Name: catalogName, Namespace: s.namespace}}
	op.Spec.Namespace = s.namespace
	op.Spec.Approval = olm.ApprovalManual
	cluster.Create(t, op)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), op); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	awaitPlatformOperator(t, op, "", "Synced=True/Synced", "Ready=False/Failed", "Installed=False/"+operatorsv1alpha1.ReasonPackageNotFound)
	s.offer(t, publish(t, "amber", "1.0.0"), publish(t, "ambre", "1.0.0"))
	awaitPlatformOperator(t, op, "", "Installed=False/Installing")
	cluster.Await(t, op, func() string {
		c := meta.FindStatusCondition(op.Status.Conditions, v1alpha1.ConditionInstalled)
		if !strings.Contains(c.Message, "kubectl patch installplan.operators.coreos.com") {
			return "the message does not explain how to approve: " + c.Message
		}
		return ""
	})
	sub := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ambre"}}
	cluster.Await(t, sub, func() string { return "" })
	approve(t, s.awaitPlan(t, sub))
	awaitPlatformOperator(t, op, "1.0.0", "Ready=True/Available", "Installed=True/Installed", "UpToDate=True/NewestRuns")
}

// awaitPlatformOperator waits until a PlatformOperator has that version and conditions, as "Type=Status/Reason".
func awaitPlatformOperator(t *testing.T, op *v1alpha1.PlatformOperator, version string, want ...string) {
	t.Helper()
	cluster.Await(t, op, func() string {
		if op.Status.Version != version {
			return fmt.Sprintf("version is %q, want %q", op.Status.Version, version)
		}
		return testcluster.Lacking(op.Status.Conditions, want...)
	})
}
