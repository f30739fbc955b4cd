package manager_test

import (
	"context"
	"testing"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// The YAML of the operator-status enhancement, unchanged except where an API server rejects it: the CRD's name, which
// must be <plural>.<group>, the spec that every CRD needs, and the elided spec of the Foo.
const (
	enhancementCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {
  name: foos.foo.example.com,
  annotations: {
    "olm.operatorframework.io/condition.Upgradeable" : "!Migrating", # The operator is upgradeable when the CR is not being migrated.
    "olm.operatorframework.io/condition.Important" : "BadConnectivity || UnhealthyDatabase" # The Important condition should only include the OR boolean operator.
  }
}
spec:
  group: foo.example.com
  scope: Namespaced
  names: {plural: foos, singular: foo, kind: Foo, listKind: FooList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`
	enhancementProbe = `
apiVersion: operators.coreos.com/v1alpha1
kind: Probe
metadata:
  name: foo-operator.v1.0.0
spec:
  manager: crdAnnotations # Changes to the CRD's annotations should override the spec. OLM will watch the CRD for changes to the "OLM Supported Condition" annotations and update the spec accordingly.
  probeResources:
  - resource: foo.example.com
    upgradeable: "!Migrating"
    important: "BadConnectivity || UnhealthyDatabase"
`
	enhancementFoo = `
apiVersion: foo.example.com/v1
kind: Foo
metadata:
  name: foo-example
status:
  conditions:
  - type: Migrating # Condition 1
    status: "True"
    reason: "CriticalProcess"
    message: "Migrating old database schema to new format"
  - type: UnhealthyDatabase # Condition 2
    status: "True"
    reason: "LivenessProbeFailure"
    message: "The foo-database failed its liveness probe."
  - type: BadConnectivity # Condition 3
    status: "True"
    reason: "404"
    message: "Unable to reach the database"
  - type: SomethingUnrelated # Condition 4
    status: "True"
    reason: "Unmatched"
    message: "OLM doesn't care about this condition"
`
	enhancementProbeSecondSpelling = `
apiVersion: operators.coreos.com/v1alpha1
kind: Probe
metadata:
  name: by-the-other-spelling
spec:
  serviceAccountName: foo-operator
  probeResources:
  - name: foo.example.com
    upgradeable: "!Migrating"
    important: "BadConnectivity || UnhealthyDatabase"
`
	enhancementOperatorProbe = `
apiVersion: operators.coreos.com/v1alpha1
kind: Probe
metadata:
  name: operator-managed.v1.0.0
spec:
  manager: operator  # When set to operator, the operator must manage the state of the probe resource.
status:
  conditions:
  - type: Upgradeable # Overall Upgradeable condition
    status: "False"     # The operator is not upgradeable
    reason: "FooProcess"
    message: "The operator is not upgradeable because FooProcess is running"
`
)

// TestEnhancement verifies the example of the operator-status enhancement: the status is the one printed there, and
// OLM's OperatorCondition reports it until the migration is done.
func TestEnhancement(t *testing.T) {
	c := cluster
	c.InstallOLM(t)
	c.WithoutHoldPolicy(t)
	m := c.StartManager(t)
	namespace := c.Namespace(t, "enhancement")
	account(t, c, namespace, "foo.example.com")
	c.Apply(t, namespace, enhancementCRD)
	c.Create(t, csv(namespace, "foo-operator.v1.0.0", "foos.foo.example.com"),
		&operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator.v1.0.0"}})
	name := types.NamespacedName{Namespace: namespace, Name: "foo-operator.v1.0.0"}

	p := awaitProbe(t, c, name, "Upgradeable=True/NoResources", "Important=False/NothingImportant", "Synced=True/Synced")
	checkEqual(t, "spec from annotations", &v1alpha1.ProbeSpec{
		Manager: v1alpha1.ManagerCRDAnnotations,
		ProbeResources: []v1alpha1.ProbeResource{{
			Name: "foos.foo.example.com", Upgradeable: "!Migrating", Important: "BadConnectivity || UnhealthyDatabase",
		}},
	}, p.Spec)
	awaitGate(t, name, metav1.ConditionTrue, v1alpha1.ReasonProbeUpgradeable)

	c.Apply(t, namespace, enhancementProbeSecondSpelling)
	c.Apply(t, namespace, enhancementFoo)
	for probe, synced := range map[string]string{"foo-operator.v1.0.0": "Synced=True/Synced", "by-the-other-spelling": "Synced=False/OperatorNotFound"} {
		p := awaitProbe(t, c, types.NamespacedName{Namespace: namespace, Name: probe},
			"Upgradeable=False/NotUpgradeable", "Important=True/ConditionsTrue", synced)
		checkEqual(t, "probeResources of "+probe, []v1alpha1.ProbeResourceStatus{{
			Resource: "foos.foo.example.com", Kind: "Foo", Namespace: namespace, Name: "foo-example", Blocking: true,
			Reasons: []string{"!Migrating", "UnhealthyDatabase", "BadConnectivity"},
		}}, p.Status.ProbeResources)
		checkEqual(t, "summary of "+probe, &v1alpha1.ProbeSummary{Total: 1, NotUpgradeable: 1, Important: 1}, p.Status.Summary)
		checkEqual(t, "message of "+probe, "Waiting for Foo "+namespace+"/foo-example: Migrating is True", message(p, "Upgradeable"))
	}
	awaitGate(t, name, metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable)

	foo := getFoo(t, "foo.example.com", namespace, "foo-example")
	setConditions(t, c, foo, "Migrating=False", "UnhealthyDatabase=False")
	awaitProbe(t, c, name, "Upgradeable=True/AllUpgradeable", "Important=False/NothingImportant")
	awaitGate(t, name, metav1.ConditionTrue, v1alpha1.ReasonProbeUpgradeable)
	m.CheckAlive(t)
}

// TestEnhancementProbeAsWritten applies the enhancement's Probe before anything else exists.
func TestEnhancementProbeAsWritten(t *testing.T) {
	c := cluster
	c.InstallOLM(t)
	c.StartManager(t)
	namespace := c.Namespace(t, "as-written")
	c.Apply(t, namespace, enhancementProbe)
	name := types.NamespacedName{Namespace: namespace, Name: "foo-operator.v1.0.0"}
	awaitProbe(t, c, name, "Synced=False/OperatorNotFound", "Upgradeable=Unknown/OperatorNotFound")

	account(t, c, namespace, "bar.example.com")
	c.Apply(t, namespace, "---"+builder.CRD("bars", "bar.example.com", upgradeableNotMigrating))
	c.Create(t, csv(namespace, "foo-operator.v1.0.0", "bars.bar.example.com"))
	p := awaitProbe(t, c, name, "Upgradeable=True/NoResources")
	checkEqual(t, "the spec follows the CRDs that the ClusterServiceVersion owns", "bars.bar.example.com", p.Spec.ProbeResources[0].Name)
}

// TestOperatorManagedProbe verifies that a status written by an operator stays unchanged, and still reaches OLM.
func TestOperatorManagedProbe(t *testing.T) {
	c := cluster
	c.InstallOLM(t)
	c.WithoutHoldPolicy(t)
	c.StartManager(t)
	namespace := c.Namespace(t, "operator-managed")
	name := types.NamespacedName{Namespace: namespace, Name: "operator-managed.v1.0.0"}
	c.Create(t, &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}})
	c.Apply(t, namespace, enhancementOperatorProbe)
	awaitGate(t, name, metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable)
	p := awaitProbe(t, c, name, "Upgradeable=False/FooProcess")
	checkEqual(t, "conditions", 1, len(p.Status.Conditions))

	p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = metav1.ConditionTrue, "ReadyForUpgrade"
	if err := c.Client.Status().Update(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	awaitGate(t, name, metav1.ConditionTrue, v1alpha1.ReasonProbeUpgradeable)

	if err := c.Client.Delete(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	c.AwaitGone(t, p)
}

// awaitGate waits until an OperatorCondition has our Upgradeable with that status and reason.
func awaitGate(t *testing.T, name types.NamespacedName, status metav1.ConditionStatus, reason string) {
	t.Helper()
	o := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
	cluster.Await(t, o, func() string {
		got := meta.FindStatusCondition(o.Spec.Conditions, operatorsv2.Upgradeable)
		if got == nil || got.Status != status || got.Reason != reason {
			return "want Upgradeable=" + string(status) + "/" + reason
		}
		return ""
	})
}
