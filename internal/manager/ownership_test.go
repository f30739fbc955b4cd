package manager_test

import (
	"context"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// update changes the current version of an object.
func update(t *testing.T, o client.Object, change func()) {
	t.Helper()
	if err := cluster.Client.Get(context.Background(), key(o), o); err != nil {
		t.Fatal(err)
	}
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := cluster.Client.Patch(context.Background(), o, client.MergeFrom(before)); err != nil {
		t.Fatalf("updating %T %s: %v", o, o.GetName(), err)
	}
}

// awaitSpec waits until a Probe's only resource has that expression.
func awaitSpec(t *testing.T, name types.NamespacedName, upgradeable string) *v1alpha1.Probe {
	t.Helper()
	p := probeNamed(name.Namespace, name.Name)
	cluster.Await(t, p, func() string {
		if p.Spec == nil || len(p.Spec.ProbeResources) != 1 || p.Spec.ProbeResources[0].Upgradeable != upgradeable {
			return "want upgradeable " + upgradeable
		}
		return ""
	})
	return p
}

// TestAnnotationsOwnTheProbe verifies that a Probe is kept equal to the annotations and is deleted with them, and that
// a Probe with another manager is not changed.
func TestAnnotationsOwnTheProbe(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "ownership")
	account(t, cluster, namespace, "owned.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "owned.example.com", upgradeableNotMigrating))
	operator := csv(namespace, "foo-operator.v1", "foos.owned.example.com")
	theirs := userProbe(namespace, "users-own", v1alpha1.ProbeResource{Name: "foos.owned.example.com", Upgradeable: "Theirs"})
	cluster.Create(t, theirs, operator, csv(namespace, "users-own", "foos.owned.example.com"))

	p := awaitSpec(t, key(operator), "!Migrating")
	update(t, p, func() { p.Spec.ProbeResources[0].Upgradeable = "Changed" })
	awaitSpec(t, key(operator), "!Migrating")

	annotate(t, "foos.owned.example.com", "Ready")
	awaitSpec(t, key(operator), "Ready")

	t.Log("the CRD has the annotations of the next version while the operator is being replaced")
	next := csv(namespace, "foo-operator.v2", "foos.owned.example.com")
	next.Spec.Replaces = operator.Name
	cluster.Create(t, next)
	annotate(t, "foos.owned.example.com", "NewInV2")
	awaitSpec(t, key(next), "NewInV2")
	awaitSpec(t, key(operator), "Ready")

	t.Log("the Probe is deleted with its ClusterServiceVersion, even if no manager runs at that time")
	m.Kill(t)
	old := awaitSpec(t, key(operator), "Ready")
	mustDelete(t, operator)
	m = cluster.StartManager(t)
	cluster.AwaitGone(t, old)

	t.Log("the Probe is deleted with the annotations")
	annotate(t, "foos.owned.example.com", "")
	cluster.AwaitGone(t, probeNamed(namespace, next.Name))
	if err := cluster.Client.Get(context.Background(), key(theirs), theirs); err != nil || theirs.Spec.ProbeResources[0].Upgradeable != "Theirs" {
		t.Errorf("the user's own Probe was touched: %v\n%s", err, testcluster.Print(theirs))
	}
	m.CheckAlive(t)
}

// TestCopiedCSV verifies that OLM's copies of a ClusterServiceVersion get no Probe.
func TestCopiedCSV(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "copied")
	cluster.Apply(t, namespace, builder.CRD("foos", "copied.example.com", upgradeableNotMigrating))
	copied := csv(namespace, "foo-operator.v1", "foos.copied.example.com")
	copied.Labels = map[string]string{olm.CopiedLabelKey: "elsewhere"}
	cluster.Create(t, copied)
	awaitNoProbe(t, namespace, copied.Name)
}

// TestGate verifies each statement of the design about its second gate.
func TestGate(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.WithoutHoldPolicy(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "gate")
	account(t, cluster, namespace, "gate.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "gate.example.com"))
	migrating := foo(t, cluster, "gate.example.com", namespace, "foo", "Migrating=True")
	p := userProbe(namespace, "foo-operator.v1", v1alpha1.ProbeResource{Name: "foos.gate.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, p, csv(namespace, p.Name, "foos.gate.example.com"))
	awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable")

	t.Log("other conditions are kept")
	now := metav1.Now()
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name}}
	condition.Spec.Conditions = []metav1.Condition{{Type: "Other", Status: metav1.ConditionTrue, Reason: "Theirs", LastTransitionTime: now}}
	cluster.Create(t, condition)
	awaitGate(t, key(p), metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable)
	cluster.Await(t, condition, func() string {
		if meta.FindStatusCondition(condition.Spec.Conditions, "Other") == nil {
			return "the operator's other condition is gone"
		}
		return ""
	})
	checkEqual(t, "message", "Probe foo-operator.v1: Waiting for Foo "+namespace+"/foo: Migrating is True",
		meta.FindStatusCondition(condition.Spec.Conditions, operatorsv2.Upgradeable).Message)

	t.Log("Upgradeable becomes True if the Probe is deleted while the manager is down")
	m.Kill(t)
	mustDelete(t, p)
	m = cluster.StartManager(t)
	awaitGate(t, key(p), metav1.ConditionTrue, v1alpha1.ReasonProbeGone)

	t.Log("an Upgradeable that the operator itself set is kept, and reported in the Probe")
	update(t, condition, func() {
		meta.SetStatusCondition(&condition.Spec.Conditions, metav1.Condition{
			Type: operatorsv2.Upgradeable, Status: metav1.ConditionTrue, Reason: "OperatorKnowsBest",
		})
	})
	p = userProbe(namespace, "foo-operator.v1", v1alpha1.ProbeResource{Name: "foos.gate.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, p)
	awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "GateConflict=True/SetByOperator")
	awaitGate(t, key(p), metav1.ConditionTrue, "OperatorKnowsBest")

	t.Log("once the operator removes it, the Probe sets Upgradeable again")
	update(t, condition, func() { condition.Spec.Conditions = nil })
	awaitGate(t, key(p), metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable)
	cluster.Await(t, p, func() string {
		if meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionGateConflict) != nil {
			return "the conflict is over"
		}
		return ""
	})
	setConditions(t, cluster, migrating, "Migrating=False")
	awaitGate(t, key(p), metav1.ConditionTrue, v1alpha1.ReasonProbeUpgradeable)
	m.CheckAlive(t)
}

// TestTenants verifies a namespaced operator whose account has a Role in one namespace, and that two tenants that share
// a CRD only see their own custom resources.
func TestTenants(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	cluster.Apply(t, "", builder.CRD("foos", "tenants.example.com", upgradeableNotMigrating))
	var probes []types.NamespacedName
	for _, tenant := range []string{"red", "blue"} {
		operators, workload := cluster.Namespace(t, tenant), cluster.Namespace(t, tenant+"-workload")
		cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operators, Name: "foo-operator"}})
		grantIn(t, cluster, operators, workload, "tenants.example.com")
		foo(t, cluster, "tenants.example.com", workload, "foo-of-"+tenant, map[string]string{"red": "Migrating=True", "blue": "Migrating=False"}[tenant])
		operator := csv(operators, "foo-operator.v1", "foos.tenants.example.com")
		operator.Annotations = map[string]string{"olm.targetNamespaces": workload}
		cluster.Create(t, operator)
		probes = append(probes, key(operator))
	}
	red := awaitProbe(t, cluster, probes[0], "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "custom resource in the status of red", "foo-of-red", red.Status.ProbeResources[0].Name)
	checkEqual(t, "total of red", int32(1), red.Status.Summary.Total)
	blue := awaitProbe(t, cluster, probes[1], "Upgradeable=True/AllUpgradeable", "Synced=True/Synced")
	checkEqual(t, "summary of blue", &v1alpha1.ProbeSummary{Total: 1}, blue.Status.Summary)
}

// TestFirstAccountThatMay verifies that of several accounts of a ClusterServiceVersion, the first that may read is
// used.
func TestFirstAccountThatMay(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "accounts")
	cluster.Apply(t, namespace, builder.CRD("foos", "accounts.example.com", upgradeableNotMigrating))
	account(t, cluster, namespace, "accounts.example.com")
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-webhook"}})
	operator := csv(namespace, "foo-operator.v1", "foos.accounts.example.com")
	permissions := &operator.Spec.InstallStrategy.StrategySpec.ClusterPermissions
	for _, name := range []string{"a-webhook", "a-missing-one"} {
		*permissions = append(*permissions, operator.Spec.InstallStrategy.StrategySpec.Permissions[0])
		(*permissions)[len(*permissions)-1].ServiceAccountName = name
	}
	cluster.Create(t, operator)
	foo(t, cluster, "accounts.example.com", namespace, "foo", "Migrating=True")
	awaitProbe(t, cluster, key(operator), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
}

// TestVersionAndScopeChange verifies that a CRD is still read after its served version changes, or after it is created
// again with another scope.
func TestVersionAndScopeChange(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "version")
	account(t, cluster, namespace, "version.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "version.example.com"))
	foo(t, cluster, "version.example.com", namespace, "foo", "Migrating=True")
	p := userProbe(namespace, "version", v1alpha1.ProbeResource{Name: "foos.version.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, p)
	awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable")

	definition := crdNamed("foos.version.example.com")
	update(t, definition, func() {
		v2 := *definition.Spec.Versions[0].DeepCopy()
		v2.Name = "v2"
		definition.Spec.Versions[0].Served, definition.Spec.Versions[0].Storage = false, false
		definition.Spec.Versions = append(definition.Spec.Versions, v2)
	})
	v2 := newFoo("version.example.com", namespace, "foo")
	v2.SetAPIVersion("version.example.com/v2")
	cluster.Await(t, v2, func() string { return "" })
	setConditions(t, cluster, v2, "Migrating=False")
	awaitProbe(t, cluster, key(p), "Upgradeable=True/AllUpgradeable", "Synced=True/Synced")

	mustDelete(t, definition)
	awaitProbe(t, cluster, key(p), "Synced=False/ResourceNotFound")
	cluster.AwaitGone(t, definition)
	clusterScoped := builder.CRD("foos", "version.example.com")
	cluster.Apply(t, namespace, replace(clusterScoped, "scope: Namespaced", "scope: Cluster"))
	foo(t, cluster.Rediscovered(t), "version.example.com", "", "one-for-all", "Migrating=True")
	p = awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "message", "Waiting for Foo one-for-all: Migrating is True", message(p, "Upgradeable"))
	m.CheckAlive(t)
}
