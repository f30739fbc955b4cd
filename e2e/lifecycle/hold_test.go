package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestOperatorGroupTargetsChanged verifies that an operator's rights, its target namespaces and the custom resources that
// hold its update follow a change of the OperatorGroup's targets, and that its rights in the former target are removed.
func TestOperatorGroupTargetsChanged(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	versions := testcatalog.Holding("retarget", "1.0.0", "2.0.0")
	s := newStage(t, "retarget", publish(t, versions[0]))
	former, latter := cluster.Namespace(t, "former"), cluster.Namespace(t, "latter")
	s.setTargets(t, former)
	sub := s.subscribe(t, "retarget")
	s.awaitInstalled(t, sub, versions[0].CSV())
	if n := s.countRoleBindings(t, former); n == 0 {
		t.Error("the operator has no RoleBindings in its target namespace")
	}

	s.setTargets(t, latter)
	csv := s.csv(versions[0].CSV())
	s.await(t, csv, func() string {
		if got := csv.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey]; got != latter {
			return "its target namespaces are " + got
		}
		return ""
	})
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "retarget-operator"}}
	s.await(t, deployment, func() string {
		if got := deployment.Spec.Template.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey]; got != latter {
			return "the target namespaces of its pods are " + got
		}
		return ""
	})
	awaitNone(t, &rbacv1.RoleBindingList{}, client.InNamespace(former))
	awaitNone(t, &rbacv1.RoleList{}, client.InNamespace(former))
	if s.countRoleBindings(t, latter) == 0 {
		t.Error("the operator has no RoleBindings in its new target namespace")
	}

	s.customIn(t, latter, "retarget", "busy", `[{type: Migrating, status: "True"}]`)
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy", latter)
	s.checkAbsent(t, s.csv(versions[1].CSV()))
}

// TestProbeDeleted verifies that an update is held while an operator that opted in has no Probe, until the Probe is
// recreated, even if the manager starts when the update is already available.
func TestProbeDeleted(t *testing.T) {
	catalogs := "--catalog-dir=" + t.TempDir()
	manager := cluster.StartManager(t, catalogs)
	versions := testcatalog.Holding("unprobed", "1.0.0", "2.0.0")
	s := newStage(t, "unprobed", publish(t, versions[0]))
	sub := s.subscribe(t, "unprobed")
	s.awaitInstalled(t, sub, versions[0].CSV())
	busy := s.custom(t, "unprobed", "busy", `[{type: Migrating, status: "True"}]`)
	probe := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: versions[0].CSV()}}
	s.await(t, probe, func() string { return checkNotUpgradeable(probe) })
	first := probe.UID

	manager.Kill(t)
	if err := cluster.Client.Delete(t.Context(), probe); err != nil {
		t.Fatal(err)
	}
	s.offer(t, publish(t, versions...))
	cluster.StartManager(t, catalogs)
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	s.checkAbsent(t, s.csv(versions[1].CSV()))
	s.await(t, probe, func() string {
		if probe.UID == first {
			return "it has not been recreated"
		}
		return ""
	})
	finishMigration(t, busy)
	s.awaitInstalled(t, sub, versions[1].CSV())
}

// installHolding installs the first of two versions of an operator that may hold its update.
func installHolding(t *testing.T, name string) (*stage, *v1alpha1.Subscription, []testcatalog.Foo) {
	t.Helper()
	versions := testcatalog.Holding(name, "1.0.0", "2.0.0")
	s := newStage(t, name, publish(t, versions[0]))
	sub := s.subscribe(t, name)
	s.awaitInstalled(t, sub, versions[0].CSV())
	return s, sub, versions
}

// TestFailover verifies that the reads of a former leader do not permit an update, even when it resumes.
func TestFailover(t *testing.T) {
	start := func() *testcluster.Manager {
		return cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	}
	first := start()
	s, sub, versions := installHolding(t, "failover")
	second := start()
	first.Pause(t)
	busy := s.custom(t, "failover", "busy", `[{type: Migrating, status: "True"}]`)
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	first.Resume(t)
	first.AwaitEnd(t)
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	s.checkAbsent(t, s.csv(versions[1].CSV()))
	finishMigration(t, busy)
	s.awaitInstalled(t, sub, versions[1].CSV())
	second.CheckAlive(t)
}

// TestReaderKilled verifies that updates are held while no process reads custom resources, although the loops run.
// Changes of custom resources in the meantime take effect once they are read again.
func TestReaderKilled(t *testing.T) {
	first := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	s, sub, versions := installHolding(t, "unread")
	first.Reader().Kill(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: testcluster.ManagerAccount.Namespace, Name: "operator-status"}}
	cluster.Await(t, lease, func() string {
		if since := time.Since(lease.Spec.RenewTime.Time); since < 6*time.Second {
			return fmt.Sprintf("it was renewed %s ago", since)
		}
		return ""
	})
	busy := s.custom(t, "unread", "busy", `[{type: Migrating, status: "True"}]`)
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotRead, "no process reads custom resources", versions[1].CSV())
	s.checkAbsent(t, s.csv(versions[1].CSV()))
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	finishMigration(t, busy)
	s.awaitInstalled(t, sub, versions[1].CSV())
}

// TestAllControllersInOneProcess verifies that one process with the permissions of config/rbac runs all controllers: it acts
// as the service account of the loops, and holds an update.
func TestAllControllersInOneProcess(t *testing.T) {
	m := cluster.StartOneProcess(t, "--catalog-dir="+t.TempDir())
	s, sub, versions := installHolding(t, "alone")
	busy := s.custom(t, "alone", "busy", `[{type: Migrating, status: "True"}]`)
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	finishMigration(t, busy)
	s.awaitInstalled(t, sub, versions[1].CSV())
	m.CheckAlive(t)
}

// TestProbeNameConflict verifies that an update is held, with advice, if another user's Probe has the CSV's name.
func TestProbeNameConflict(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	versions := testcatalog.Holding("theirs", "1.0.0", "2.0.0")
	s := newStage(t, "theirs", publish(t, versions[0]))
	theirs := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: versions[0].CSV()}}
	theirs.Spec = &v1alpha1.ProbeSpec{ProbeResources: []v1alpha1.ProbeResource{{Name: versions[0].CRD(), Upgradeable: "Anything"}}}
	cluster.Create(t, theirs)
	sub := s.subscribe(t, "theirs")
	s.awaitInstalled(t, sub, versions[0].CSV())
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeConflict, theirs.Name, v1alpha1.AnnotationAllowUpgrade)
	s.checkAbsent(t, s.csv(versions[1].CSV()))
	if err := cluster.Client.Delete(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, versions[1].CSV())
}

// TestDependencyOfManualSubscription verifies that updates of a dependency of a Manual Subscription need approval too.
func TestDependencyOfManualSubscription(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	dependency := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "dep", Version: version} }
	parent := publish(t, testcatalog.Foo{Name: "parent", Version: "1.0.0", Requires: []string{"dep"}})
	s := newStage(t, "depmanual", parent, publish(t, dependency("1.0.0")))
	sub := s.subscribe(t, "parent", func(sub *v1alpha1.Subscription) { sub.Spec.InstallPlanApproval = olm.ApprovalManual })
	s.approve(t, sub)
	s.awaitInstalled(t, sub, "parent-operator.v1.0.0")

	s.offer(t, parent, publish(t, dependency("1.0.0"), dependency("1.1.0")))
	generated := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "dep-stable-" + s.catalog.Name + "-" + global}}
	s.awaitTrue(t, generated, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, v1alpha1.ReasonRequiresApproval)
	s.checkAbsent(t, s.csv("dep-operator.v1.1.0"))
	s.approve(t, generated)
	s.awaitInstalled(t, generated, "dep-operator.v1.1.0")
}

// TestOutdatedInstallPlanDeleted verifies that an InstallPlan that waits for approval is deleted when the catalog has a newer
// version or the Subscription changes, so a user approves only the current plan.
func TestOutdatedInstallPlanDeleted(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	foo := func(version string) testcatalog.Foo { return testcatalog.Foo{Name: "overtaken", Version: version} }
	s := newStage(t, "overtaken", publish(t, foo("1.0.0")))
	sub := s.subscribe(t, "overtaken", func(sub *v1alpha1.Subscription) { sub.Spec.InstallPlanApproval = olm.ApprovalManual })
	s.approve(t, sub)
	s.awaitInstalled(t, sub, foo("1.0.0").CSV())

	s.offer(t, publish(t, foo("1.0.0"), foo("2.0.0")))
	second := s.awaitPendingApproval(t, sub, foo("2.0.0").CSV())
	s.offer(t, publish(t, foo("1.0.0"), foo("3.0.0")))
	third := s.awaitPendingApproval(t, sub, foo("3.0.0").CSV())
	cluster.AwaitGone(t, second)

	other := publish(t, foo("1.0.0"), foo("4.0.0"))
	other.Channel = "fast"
	config := configOf(t, publish(t, foo("1.0.0"), foo("3.0.0")))
	config.Channels = append(config.Channels, configOf(t, other).Channels...)
	config.Bundles = append(config.Bundles, configOf(t, publish(t, foo("4.0.0"))).Bundles...)
	s.offerConfig(t, config)
	if err := cluster.Client.Patch(t.Context(), sub, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"channel":"fast"}}`))); err != nil {
		t.Fatal(err)
	}
	s.awaitPendingApproval(t, sub, foo("4.0.0").CSV())
	cluster.AwaitGone(t, third)
	s.approve(t, sub)
	s.awaitInstalled(t, sub, foo("4.0.0").CSV())
}

// setTargets sets the target namespaces of the stage's OperatorGroup.
func (s *stage) setTargets(t *testing.T, namespaces ...string) {
	t.Helper()
	group := &operatorsv1.OperatorGroup{}
	if err := cluster.Client.Get(t.Context(), s.key("group"), group); err != nil {
		t.Fatal(err)
	}
	patch := fmt.Sprintf(`{"spec":{"targetNamespaces":["%s"]}}`, strings.Join(namespaces, `","`))
	if err := cluster.Client.Patch(t.Context(), group, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

func (s *stage) countRoleBindings(t *testing.T, namespace string) int {
	t.Helper()
	list := &rbacv1.RoleBindingList{}
	if err := cluster.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return meta.LenList(list)
}

// awaitPendingApproval waits until the InstallPlan that installs a CSV for a Subscription needs approval, and returns it.
func (s *stage) awaitPendingApproval(t *testing.T, sub *v1alpha1.Subscription, csv string) *olm.InstallPlan {
	t.Helper()
	s.await(t, sub, func() string {
		awaiting := sub.Status.GetCondition(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval).Status
		if sub.Status.CurrentCSV != csv || awaiting != "True" {
			return fmt.Sprintf("currentCSV is %s, InstallPlanAwaitingManualApproval is %s", sub.Status.CurrentCSV, awaiting)
		}
		return ""
	})
	plan := &olm.InstallPlan{}
	if err := cluster.Client.Get(t.Context(), s.key(sub.Status.InstallPlanRef.Name), plan); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(plan.Spec.ClusterServiceVersionNames, csv) {
		t.Fatalf("InstallPlan %s installs %v, want %s", plan.Name, plan.Spec.ClusterServiceVersionNames, csv)
	}
	return plan
}

// approve waits until a Subscription's InstallPlan needs approval and approves it.
func (s *stage) approve(t *testing.T, sub *v1alpha1.Subscription) {
	t.Helper()
	s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, v1alpha1.ReasonRequiresApproval)
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: sub.Status.InstallPlanRef.Name}}
	if err := cluster.Client.Patch(t.Context(), plan, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approved":true}}`))); err != nil {
		t.Fatal(err)
	}
}
