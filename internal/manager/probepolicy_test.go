package manager_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestProbePolicy verifies that a ProbePolicy determines the Probes of the operators that own its CustomResourceDefinitions, in every
// version, and no others.
func TestProbePolicy(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace, other := cluster.Namespace(t, "policy"), cluster.Namespace(t, "policy-other")
	account(t, cluster, namespace, "policy.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "policy.example.com"))
	first := succeeded(t, namespace, "foo-operator.v1", "foos.policy.example.com")
	custom := foo(t, cluster, "policy.example.com", namespace, "foo", "Migrating=True")
	policy := newPolicy("foo", v1alpha1.ProbeResource{Name: "foos.policy.example.com", Upgradeable: "!Migrating"})
	policy.Spec.Match = &holdv1alpha1.ProbePolicyMatch{Namespaces: []string{other}}
	cluster.Create(t, policy)
	awaitPolicy(t, policy, "Matched=False/NoOperatorFound")

	t.Log("a policy for the namespace creates the Probe")
	changePolicy(t, policy, func() { policy.Spec.Match.Namespaces = []string{namespace} })
	p := awaitProbe(t, cluster, key(first), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "the manager", v1alpha1.ManagerPolicy, p.Spec.Manager)
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", holdv1alpha1.PolicyOperator{
		Namespace: namespace, Name: first.Name, Upgradeable: metav1.ConditionFalse,
	})

	t.Log("while the operator is updated, a change of the policy still counts for both versions")
	second := csv(namespace, "foo-operator.v2", "foos.policy.example.com")
	second.Spec.Replaces = first.Name
	cluster.Create(t, second)
	awaitSpec(t, key(second), "!Migrating")
	changePolicy(t, policy, func() { policy.Spec.ProbeResources[0].Upgradeable = "!Migrating && !Paused" })
	awaitSpec(t, key(first), "!Migrating && !Paused")
	awaitSpec(t, key(second), "!Migrating && !Paused")
	awaitProbe(t, cluster, key(second), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	mustDelete(t, first)
	cluster.AwaitGone(t, probeNamed(namespace, first.Name))
	setConditions(t, cluster, custom, "Migrating=False", "Paused=False")
	awaitProbe(t, cluster, key(second), "Upgradeable=True/AllUpgradeable", "Synced=True/Synced")
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", holdv1alpha1.PolicyOperator{
		Namespace: namespace, Name: second.Name, Upgradeable: metav1.ConditionTrue,
	})

	t.Log("the Probe is the policy's: it is created again, and another spec is corrected")
	p = probeNamed(namespace, second.Name)
	mustDelete(t, p)
	p = awaitProbe(t, cluster, key(second), "Upgradeable=True/AllUpgradeable")
	before := p.DeepCopy()
	p.Spec.ProbeResources[0].Upgradeable = "Migrating"
	if err := cluster.Client.Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	awaitSpec(t, key(second), "!Migrating && !Paused")

	t.Log("the Probe ends with the policy")
	mustDelete(t, policy)
	cluster.AwaitGone(t, probeNamed(namespace, second.Name))
	m.CheckAlive(t)
}

// TestFieldNotFound verifies that a policy and its Probes report a comparison of a field that the custom resources cannot have, and no
// longer once they can.
func TestFieldNotFound(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "field")
	account(t, cluster, namespace, "field.example.com")
	cluster.Apply(t, namespace, strings.Replace(builder.CRD("foos", "field.example.com"),
		"{type: object, x-kubernetes-preserve-unknown-fields: true}", "{type: object, properties: {status: {type: object, properties: {phase: {type: string}}}}}", 1))
	operator := succeeded(t, namespace, "foo-operator.v1", "foos.field.example.com")
	policy := newPolicy("field", v1alpha1.ProbeResource{Name: "foos.field.example.com", Upgradeable: `status.phse == "Running"`})
	cluster.Create(t, policy)
	const problem = `status.phse == "Running" can never be true or false of a Foo: in version v1 there is no field status.phse`
	p := awaitProbe(t, cluster, key(operator), "Synced=False/FieldNotFound", "Upgradeable=True/NoResources")
	checkEqual(t, "message", problem, message(p, v1alpha1.ConditionSynced))
	awaitConditions := func(want string) {
		t.Helper()
		cluster.Await(t, policy, func() string { return testcluster.Lacking(policy.Status.Conditions, want) })
	}
	awaitConditions("Valid=False/FieldNotFound")
	checkEqual(t, "message", problem, meta.FindStatusCondition(policy.Status.Conditions, holdv1alpha1.ConditionValid).Message)

	crd := crdNamed("foos.field.example.com")
	add := `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/status/properties/phse","value":{"type":"string"}}]`
	if err := cluster.Client.Patch(t.Context(), crd, client.RawPatch(types.JSONPatchType, []byte(add))); err != nil {
		t.Fatal(err)
	}
	awaitProbe(t, cluster, key(operator), "Synced=True/Synced")
	awaitConditions("Valid=True/Valid")
	m.CheckAlive(t)
}

// TestProbePolicyPrecedence verifies that annotations take precedence over policies for their CustomResourceDefinition, and the Probe of
// a user altogether.
func TestProbePolicyPrecedence(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "precedence")
	account(t, cluster, namespace, "precedence.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "precedence.example.com", upgradeableNotMigrating)+"---\n"+builder.CRD("bars", "precedence.example.com")+
		"---\n"+builder.CRD("users", "precedence.example.com"))
	mixed := succeeded(t, namespace, "mixed.v1", "foos.precedence.example.com", "bars.precedence.example.com")
	users := succeeded(t, namespace, "users.v1", "users.precedence.example.com")
	own := userProbe(namespace, users.Name, v1alpha1.ProbeResource{Name: "users.precedence.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, own)
	awaitProbe(t, cluster, key(own), "Synced=True/Synced")
	awaitSpec(t, key(mixed), "!Migrating")

	policy := newPolicy("precedence",
		v1alpha1.ProbeResource{Name: "foos.precedence.example.com", Upgradeable: "Ready"},
		v1alpha1.ProbeResource{Name: "bars.precedence.example.com", Upgradeable: "Ready"},
		v1alpha1.ProbeResource{Name: "users.precedence.example.com", Upgradeable: "Ready"})
	cluster.Create(t, policy)
	p := probeNamed(namespace, mixed.Name)
	cluster.Await(t, p, func() string {
		if p.Spec == nil || len(p.Spec.ProbeResources) != 2 {
			return "the policy has not added its resource"
		}
		return ""
	})
	checkEqual(t, "the resources", []v1alpha1.ProbeResource{
		{Name: "foos.precedence.example.com", Upgradeable: "!Migrating"}, {Name: "bars.precedence.example.com", Upgradeable: "Ready"},
	}, p.Spec.ProbeResources)
	checkEqual(t, "the manager", v1alpha1.ManagerCRDAnnotations, p.Spec.Manager)
	awaitProbe(t, cluster, key(mixed), "Synced=True/Synced")
	awaitPolicy(t, policy, "Matched=True/OperatorsFound", holdv1alpha1.PolicyOperator{
		Namespace: namespace, Name: mixed.Name, Upgradeable: metav1.ConditionTrue,
	})
	awaitSpec(t, key(own), "!Migrating")

	t.Log("the policy applies as soon as the user's Probe is gone")
	mustDelete(t, own)
	awaitSpec(t, key(users), "Ready")
	awaitPolicy(t, policy, "Matched=True/OperatorsFound",
		holdv1alpha1.PolicyOperator{Namespace: namespace, Name: mixed.Name, Upgradeable: metav1.ConditionTrue},
		holdv1alpha1.PolicyOperator{Namespace: namespace, Name: users.Name, Upgradeable: metav1.ConditionTrue})
}

func newPolicy(name string, resources ...v1alpha1.ProbeResource) *holdv1alpha1.ProbePolicy {
	return &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: holdv1alpha1.ProbePolicySpec{ProbeResources: resources}}
}

func changePolicy(t *testing.T, policy *holdv1alpha1.ProbePolicy, change func()) {
	t.Helper()
	before := policy.DeepCopy()
	change()
	if err := cluster.Client.Patch(t.Context(), policy, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func awaitPolicy(t *testing.T, policy *holdv1alpha1.ProbePolicy, condition string, operators ...holdv1alpha1.PolicyOperator) {
	t.Helper()
	cluster.Await(t, policy, func() string {
		switch {
		case testcluster.Lacking(policy.Status.Conditions, condition) != "":
			return testcluster.Lacking(policy.Status.Conditions, condition)
		case policy.Status.ObservedGeneration != policy.Generation:
			return "the status is of an earlier generation"
		case !slices.Equal(policy.Status.Operators, operators) || int(policy.Status.Summary.Operators) != len(operators):
			return "it lists other operators"
		}
		return ""
	})
}
