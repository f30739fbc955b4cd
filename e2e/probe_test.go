package e2e

import (
	"context"
	"strings"
	"testing"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

const operator = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: foo-operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: foo-operator}
rules:
- {apiGroups: [e2e.example.com], resources: [foos], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: foo-operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: foo-operator}
subjects: [{kind: ServiceAccount, name: foo-operator, namespace: NAMESPACE}]
---
apiVersion: operators.coreos.com/v2
kind: OperatorCondition
metadata: {name: foo-operator.v1.0.0}
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: foo-operator.v1.0.0
  annotations: {olm.targetNamespaces: NAMESPACE}
spec:
  displayName: Foo
  install:
    strategy: deployment
    spec:
      deployments: []
      permissions: [{serviceAccountName: foo-operator, rules: []}]
  customresourcedefinitions:
    owned: [{name: foos.e2e.example.com, version: v1, kind: Foo}]
`

// TestUpdateHeldByAnnotations verifies that annotations hold an update on a cluster with a garbage collector.
func TestUpdateHeldByAnnotations(t *testing.T) {
	var namespace string
	probe := func() *v1alpha1.Probe {
		return &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo-operator.v1.0.0"}}
	}
	upgradeable := func(t *testing.T, want metav1.ConditionStatus) {
		t.Helper()
		p := probe()
		cluster.Await(t, p, func() string {
			if !meta.IsStatusConditionPresentAndEqual(p.Status.Conditions, v1alpha1.ConditionUpgradeable, want) {
				return "want Upgradeable=" + string(want)
			}
			return ""
		})
		condition := &operatorsv2.OperatorCondition{ObjectMeta: p.ObjectMeta}
		cluster.Await(t, condition, func() string {
			if !meta.IsStatusConditionPresentAndEqual(condition.Spec.Conditions, operatorsv2.Upgradeable, want) {
				return "want Upgradeable=" + string(want)
			}
			return ""
		})
	}
	foo := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "e2e.example.com/v1", "kind": "Foo"}}
	say := func(ctx context.Context, t *testing.T, migrating string) {
		t.Helper()
		foo.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Migrating", "status": migrating}}}
		if err := cluster.Client.Status().Update(ctx, foo); err != nil {
			t.Fatal(err)
		}
	}
	feature := features.New("an update waits until its operator allows it").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			t.Helper()
			cluster.InstallOLM(t)
			cluster.WithoutHoldPolicy(t) // so that the OperatorCondition reports the Probe
			namespace = cluster.Namespace(t, "e2e")
			cluster.StartManager(t)
			cluster.Apply(t, namespace, builder.CRD("foos", "e2e.example.com", `olm.operatorframework.io/condition.Upgradeable: "!Migrating"`)+
				"---"+replaceNamespace(operator, namespace))
			return ctx
		}).
		Assess("the Probe is created and holds no update", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			upgradeable(t, metav1.ConditionTrue)
			return ctx
		}).
		Assess("a Foo that migrates holds the update", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			foo.SetNamespace(namespace)
			foo.SetName("foo-example")
			cluster.Create(t, foo)
			say(ctx, t, "True")
			upgradeable(t, metav1.ConditionFalse)
			return ctx
		}).
		Assess("a Foo that has migrated releases the update", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			say(ctx, t, "False")
			upgradeable(t, metav1.ConditionTrue)
			return ctx
		}).
		Assess("the Probe is deleted with its CSV, and the Foo is kept", func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: probe().ObjectMeta}
			if err := cluster.Client.Delete(ctx, csv); err != nil {
				t.Fatal(err)
			}
			cluster.AwaitGone(t, probe())
			cluster.Await(t, foo, func() string { return "" })
			return ctx
		}).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cluster.Delete(t, replaceNamespace(operator, namespace), namespace)
			return ctx
		}).
		Feature()
	environment.Test(t, feature)
}

func replaceNamespace(manifests, namespace string) string {
	return strings.ReplaceAll(manifests, "NAMESPACE", namespace)
}
