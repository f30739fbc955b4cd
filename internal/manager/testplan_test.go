package manager_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestPlan verifies the enhancement's test plan. Its last two items contradict the enhancement's own examples, which
// take precedence: an expression states when the operator is upgradeable, so a false one blocks.
func TestPlan(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	cases := []struct {
		name       string
		reason     string
		annotation string
		foos       [][]string
		want       []string
	}{
		{
			name:   "NoOptIn",
			reason: "No Probe is created without annotations, and OLM's behaviour does not change.",
			foos:   [][]string{{"Migrating=True"}},
		},
		{
			name:       "NoCRs",
			reason:     "Updates are not blocked if no CRs exist.",
			annotation: upgradeableNotMigrating,
			want:       []string{"Upgradeable=True/NoResources", "Synced=True/Synced"},
		},
		{
			name:       "CannotBeCalculated",
			reason:     "Updates are not blocked if a CR exists but its conditions do not determine a result.",
			annotation: upgradeableNotMigrating,
			foos:       [][]string{nil, {"SomethingElse=True"}, {"Migrating=Unknown"}},
			want:       []string{"Upgradeable=True/SomeUnknown", "Synced=True/Synced"},
		},
		{
			name:       "Allows",
			reason:     "Updates are not blocked if a CR exists and the expression allows them.",
			annotation: upgradeableNotMigrating,
			foos:       [][]string{{"Migrating=False"}},
			want:       []string{"Upgradeable=True/AllUpgradeable", "Synced=True/Synced"},
		},
		{
			name:       "Forbids",
			reason:     "Updates are blocked if a single CR forbids them, whatever the others report.",
			annotation: upgradeableNotMigrating,
			foos:       [][]string{{"Migrating=False"}, {"Migrating=True"}, nil},
			want:       []string{"Upgradeable=False/NotUpgradeable", "Synced=True/Synced"},
		},
	}
	for i, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Log(tc.reason)
			group := fmt.Sprintf("plan%d.example.com", i)
			namespace := cluster.Namespace(t, "plan")
			account(t, cluster, namespace, group)
			cluster.Apply(t, namespace, builder.CRD("foos", group, tc.annotation))
			for j, conditions := range tc.foos {
				foo(t, cluster, group, namespace, fmt.Sprintf("foo-%d", j), conditions...)
			}
			operator := csv(namespace, "foo-operator.v1.0.0", "foos."+group)
			cluster.Create(t, operator)
			if tc.want == nil {
				awaitNoProbe(t, namespace, operator.Name)
				return
			}
			p := awaitProbe(t, cluster, key(operator), tc.want...)
			checkEqual(t, "total", int32(len(tc.foos)), p.Status.Summary.Total)
		})
	}
}

// awaitNoProbe waits until the manager has reconciled a ClusterServiceVersion without creating a Probe. The Probe of a
// later one in the same queue proves that.
func awaitNoProbe(t *testing.T, namespace, name string) {
	t.Helper()
	group := "later-than-" + namespace + ".example.com"
	cluster.Apply(t, namespace, builder.CRD("foos", group, upgradeableNotMigrating))
	later := csv(namespace, "zz-later", "foos."+group)
	cluster.Create(t, later)
	awaitProbe(t, cluster, key(later))
	err := cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, &v1alpha1.Probe{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("getting Probe %s: got %v, want not found", name, err)
	}
}

// TestInvalidAnnotation verifies that an invalid annotation is reported, does not affect the other annotations, and can be
// corrected.
func TestInvalidAnnotation(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "annotation")
	account(t, cluster, namespace, "invalid.example.com")
	cluster.Apply(t, namespace, builder.CRD("bads", "invalid.example.com", `olm.operatorframework.io/condition.Upgradeable: "Ready && && Done"`))
	cluster.Apply(t, namespace, builder.CRD("goods", "invalid.example.com", upgradeableNotMigrating, importantConnectivity))
	cluster.Create(t, csv(namespace, "foo-operator.v1", "bads.invalid.example.com", "goods.invalid.example.com"))
	name := types.NamespacedName{Namespace: namespace, Name: "foo-operator.v1"}
	p := awaitProbe(t, cluster, name, "Synced=False/InvalidExpression", "Upgradeable=True/NoResources")
	checkEqual(t, "message", `Annotation olm.operatorframework.io/condition.Upgradeable of CustomResourceDefinition bads.invalid.example.com `+
		`is not a valid expression: position 10: expected a condition type or a field, found "&&"`, message(p, v1alpha1.ConditionSynced))

	annotate(t, "bads.invalid.example.com", "Ready && Done")
	p = awaitProbe(t, cluster, name, "Synced=True/Synced")
	checkEqual(t, "spec", []v1alpha1.ProbeResource{
		{Name: "bads.invalid.example.com", Upgradeable: "Ready && Done"},
		{Name: "goods.invalid.example.com", Upgradeable: "!Migrating", Important: "BadConnectivity || UnhealthyDatabase"},
	}, p.Spec.ProbeResources)
	m.CheckAlive(t)
}

// TestBadInput verifies that any input results in a clear reason, does not affect other resources of the Probe, and
// recovers.
func TestBadInput(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	m := cluster.StartManager(t)
	t.Cleanup(func() { m.CheckAlive(t) })

	t.Run("UnknownCRD", func(t *testing.T) {
		namespace := cluster.Namespace(t, "unknown")
		account(t, cluster, namespace, "unknown.example.com")
		p := userProbe(namespace, "unknown", v1alpha1.ProbeResource{Name: "foos.unknown.example.com", Upgradeable: "!Migrating"})
		cluster.Create(t, p)
		awaitProbe(t, cluster, key(p), "Synced=False/ResourceNotFound", "Upgradeable=True/NoResources")

		cluster.Apply(t, namespace, builder.CRD("foos", "unknown.example.com"))
		foo(t, cluster, "unknown.example.com", namespace, "foo", "Migrating=True")
		awaitProbe(t, cluster, key(p), "Synced=True/Synced", "Upgradeable=False/NotUpgradeable")

		mustDelete(t, crdNamed("foos.unknown.example.com"))
		awaitProbe(t, cluster, key(p), "Synced=False/ResourceNotFound", "Upgradeable=True/NoResources")
	})

	t.Run("AmbiguousGroup", func(t *testing.T) {
		namespace := cluster.Namespace(t, "ambiguous")
		account(t, cluster, namespace, "two.example.com")
		cluster.Apply(t, namespace, builder.CRD("foos", "two.example.com"))
		cluster.Apply(t, namespace, builder.CRD("bars", "two.example.com"))
		p := userProbe(namespace, "two", v1alpha1.ProbeResource{Resource: "two.example.com", Upgradeable: "!Migrating"})
		cluster.Create(t, p)
		p = awaitProbe(t, cluster, key(p), "Synced=False/ResourceAmbiguous")
		checkEqual(t, "message", "API group two.example.com has 2 CustomResourceDefinitions: name one of them, such as bars.two.example.com",
			message(p, v1alpha1.ConditionSynced))
	})

	t.Run("Forbidden", func(t *testing.T) {
		namespace := cluster.Namespace(t, "forbidden")
		cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator"}})
		cluster.Apply(t, namespace, builder.CRD("foos", "forbidden.example.com"))
		foo(t, cluster, "forbidden.example.com", namespace, "foo", "Migrating=True")
		p := userProbe(namespace, "forbidden", v1alpha1.ProbeResource{Name: "foos.forbidden.example.com", Upgradeable: "!Migrating"})
		cluster.Create(t, p)
		p = awaitProbe(t, cluster, key(p), "Synced=False/Forbidden", "Upgradeable=Unknown/NotRead")
		checkEqual(t, "message", "Service account "+namespace+"/foo-operator may not list and watch foos.forbidden.example.com in all namespaces: grant it these permissions",
			message(p, v1alpha1.ConditionSynced))
		if p.Status.Summary != nil {
			t.Errorf("summary before the first read: %+v", p.Status.Summary)
		}

		grantAll(t, cluster, namespace, "forbidden.example.com")
		awaitProbe(t, cluster, key(p), "Synced=True/Synced", "Upgradeable=False/NotUpgradeable")
	})

	t.Run("ForbiddenInOneNamespace", func(t *testing.T) {
		operators, readable, forbidden := cluster.Namespace(t, "some"), cluster.Namespace(t, "readable"), cluster.Namespace(t, "unreadable")
		cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operators, Name: "foo-operator"}})
		grantIn(t, cluster, operators, readable, "some.example.com")
		cluster.Apply(t, operators, builder.CRD("foos", "some.example.com"))
		foo(t, cluster, "some.example.com", readable, "foo", "Migrating=True")
		foo(t, cluster, "some.example.com", forbidden, "foo", "Migrating=True")
		p := userProbe(operators, "some", v1alpha1.ProbeResource{Name: "foos.some.example.com", Upgradeable: "!Migrating"})
		p.Spec.Namespaces = []string{readable, forbidden}
		cluster.Create(t, p)
		p = awaitProbe(t, cluster, key(p), "Synced=False/Forbidden", "Upgradeable=False/NotUpgradeable")
		checkEqual(t, "total of the readable namespace", int32(1), p.Status.Summary.Total)

		grantIn(t, cluster, operators, forbidden, "some.example.com")
		p = awaitProbe(t, cluster, key(p), "Synced=True/Synced", "Upgradeable=False/NotUpgradeable")
		checkEqual(t, "total of both namespaces", int32(2), p.Status.Summary.Total)
	})

	t.Run("NoIdentity", func(t *testing.T) {
		namespace := cluster.Namespace(t, "nobody")
		cluster.Apply(t, namespace, builder.CRD("foos", "nobody.example.com"))
		foo(t, cluster, "nobody.example.com", namespace, "foo", "Migrating=True")
		p := userProbe(namespace, "nobody", v1alpha1.ProbeResource{Name: "foos.nobody.example.com", Upgradeable: "!Migrating"})
		cluster.Create(t, p)
		p = awaitProbe(t, cluster, key(p), "Synced=False/NoIdentity", "Upgradeable=Unknown/NotRead")
		checkEqual(t, "message", "No service account foo-operator exists in namespace "+namespace, message(p, v1alpha1.ConditionSynced))

		account(t, cluster, namespace, "nobody.example.com")
		awaitProbe(t, cluster, key(p), "Synced=True/Synced", "Upgradeable=False/NotUpgradeable")

		mustDelete(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator"}})
		p = awaitProbe(t, cluster, key(p), "Synced=False/NoIdentity", "Upgradeable=False/NotUpgradeable")
		checkEqual(t, "number of names of the previous result", 1, len(p.Status.ProbeResources))
	})

	t.Run("WeirdConditions", func(t *testing.T) {
		namespace := cluster.Namespace(t, "weird")
		account(t, cluster, namespace, "weird.example.com")
		cluster.Apply(t, namespace, builder.CRD("foos", "weird.example.com"))
		for i, status := range []any{
			"a string", map[string]any{}, map[string]any{"conditions": "no list"}, map[string]any{"conditions": []any{"no object", int64(7), nil}},
			map[string]any{"conditions": []any{map[string]any{"type": int64(1), "status": true}}},
			map[string]any{"conditions": map[string]any{"type": "Migrating", "status": "True"}},
		} {
			o := newFoo("weird.example.com", namespace, fmt.Sprintf("foo-%d", i))
			cluster.Create(t, o)
			o.Object["status"] = status
			if err := cluster.Client.Status().Update(t.Context(), o); err != nil {
				t.Logf("the API server refuses %v: %v", status, err)
			}
		}
		foo(t, cluster, "weird.example.com", namespace, "twice", "Migrating=True", "Migrating=False")
		p := userProbe(namespace, "weird", v1alpha1.ProbeResource{Name: "foos.weird.example.com", Upgradeable: "!Migrating"})
		cluster.Create(t, p)
		p = awaitProbe(t, cluster, key(p), "Synced=True/Synced", "Upgradeable=True/SomeUnknown")
		checkEqual(t, "summary", &v1alpha1.ProbeSummary{Total: 7, Unknown: 7, Unreadable: 5}, p.Status.Summary)
		if m := message(p, v1alpha1.ConditionUpgradeable); !strings.Contains(m, "Foo "+namespace+"/foo-3: status.conditions; ") ||
			!strings.HasSuffix(m, "; Foo "+namespace+"/twice: Migrating") {
			t.Errorf("the message does not list the conditions that cannot be parsed: %s", m)
		}
	})
}

// TestAdmission verifies that an invalid spec is rejected.
func TestAdmission(t *testing.T) {
	namespace := cluster.Namespace(t, "admission")
	resource := func(r v1alpha1.ProbeResource) *v1alpha1.ProbeSpec {
		return &v1alpha1.ProbeSpec{ProbeResources: []v1alpha1.ProbeResource{r}}
	}
	cases := map[string]struct {
		reason string
		spec   *v1alpha1.ProbeSpec
		want   string
	}{
		"NilSpec": {"A spec may be missing, since an operator may write the status itself.", nil, ""},
		"Both": {"A resource with both name and resource is rejected.", resource(v1alpha1.ProbeResource{Name: "a.b", Resource: "c.d"}),
			"the same field: set only one"},
		"Neither": {"A resource with neither name nor resource is rejected.", resource(v1alpha1.ProbeResource{Upgradeable: "A"}), "name is required"},
		"Pod":     {"A Probe may be read in a pod of its own.", &v1alpha1.ProbeSpec{Isolation: v1alpha1.IsolationPod}, ""},
		"OperatorPod": {"A Probe whose operator writes the status has no pod.",
			&v1alpha1.ProbeSpec{Isolation: v1alpha1.IsolationPod, Manager: v1alpha1.ManagerOperator}, "isolation must not be Pod"},
		"Shared": {"A Probe may be read by the manager.", &v1alpha1.ProbeSpec{Isolation: v1alpha1.IsolationShared}, ""},
		"OperatorResources": {"A Probe whose operator writes the status has no resources.",
			&v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator, ProbeResources: []v1alpha1.ProbeResource{{Name: "a.b"}}}, "probeResources must be empty"},
		"UnknownManager": {"A manager other than those of the enhancement is rejected.", &v1alpha1.ProbeSpec{Manager: "somebody"}, "Unsupported value"},
		"Dangling": {"An expression that ends with an operator is rejected.", resource(v1alpha1.ProbeResource{Name: "a.b", Upgradeable: "A &&"}),
			"upgradeable is not a valid expression"},
		"Unbalanced":   {"An expression with unbalanced parentheses is rejected.", resource(v1alpha1.ProbeResource{Name: "a.b", Upgradeable: "(A || B"}), "parentheses are unbalanced"},
		"ImportantAnd": {"An important expression with && is rejected.", resource(v1alpha1.ProbeResource{Name: "a.b", Important: "A && B"}), "important is not a valid expression"},
		"EvenIfAnnotated": {"Expressions are validated for each manager of the spec.",
			&v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerCRDAnnotations, ProbeResources: []v1alpha1.ProbeResource{{Name: "a.b", Upgradeable: "A B"}}},
			"upgradeable is not a valid expression"},
		"Qualified": {"Domains and parentheses are accepted.",
			resource(v1alpha1.ProbeResource{Name: "a.b", Upgradeable: "!x.example.com/Migrating && (A || !B)", Important: "C||x.y/D"}), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := probeNamed(namespace, strings.ToLower(name))
			p.Spec = tc.spec
			checkAdmission(t, tc.reason, cluster.Client.Create(t.Context(), p), tc.want)
		})
	}
}
