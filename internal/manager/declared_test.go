package manager_test

import (
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// succeeded creates a ClusterServiceVersion that has Succeeded.
func succeeded(t *testing.T, namespace, name string, owned ...string) *v1alpha1.ClusterServiceVersion {
	t.Helper()
	out := csv(namespace, name, owned...)
	cluster.Create(t, out)
	out.Status.Phase = olm.CSVPhaseSucceeded
	if err := cluster.Client.Status().Update(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// recordOf returns the ConfigMap with an operator's declaration.
func recordOf(csv *v1alpha1.ClusterServiceVersion) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testcluster.ManagerAccount.Namespace, Name: optin.Name(client.ObjectKeyFromObject(csv))}}
}

func awaitRecord(t *testing.T, record *corev1.ConfigMap) {
	t.Helper()
	cluster.Await(t, record, func() string { return "" })
}

// TestDeclared verifies that the Probe of a running operator keeps the declaration that it was installed with,
// whatever is written to its CustomResourceDefinitions afterwards, until a cluster admin takes that over.
func TestDeclared(t *testing.T) {
	cluster.InstallOLM(t)
	m := cluster.StartManager(t)
	namespace := cluster.Namespace(t, "declared")
	account(t, cluster, namespace, "declared.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "declared.example.com", upgradeableNotMigrating))
	operator := succeeded(t, namespace, "foo-operator.v1", "foos.declared.example.com")
	record := recordOf(operator)
	awaitSpec(t, key(operator), "!Migrating")
	awaitRecord(t, record)
	foo(t, cluster, "declared.example.com", namespace, "foo", "Migrating=True")
	awaitProbe(t, cluster, key(operator), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")

	annotate(t, "foos.declared.example.com", "Ready")
	p := awaitProbe(t, cluster, key(operator), "AnnotationsDiffer=True/ChangedSinceInstallation", "Upgradeable=False/NotUpgradeable")
	if got := message(p, v1alpha1.ConditionAnnotationsDiffer); !strings.Contains(got, `"Ready" instead of "!Migrating"`) ||
		!strings.Contains(got, "kubectl delete configmap -n operator-status-system "+record.Name) {
		t.Errorf("the message has no difference and no remedy: %s", got)
	}
	cluster.AwaitEvent(t, p.Namespace, v1alpha1.EventAnnotationsDiffer, p.Name+": ")

	t.Log("removing an annotation or deleting the Probe does not end the hold")
	unannotate(t, "foos.declared.example.com")
	cluster.Await(t, p, func() string {
		if got := message(p, v1alpha1.ConditionAnnotationsDiffer); !strings.Contains(got, `"" instead of "!Migrating"`) {
			return "the message is " + got
		}
		return ""
	})
	before := p.UID
	mustDelete(t, p)
	cluster.Await(t, p, func() string {
		if p.UID == before {
			return "it is the old one"
		}
		return ""
	})
	awaitSpec(t, key(operator), "!Migrating")
	awaitProbe(t, cluster, key(operator), "Upgradeable=False/NotUpgradeable")

	t.Log("a cluster admin accepts the current annotations")
	annotate(t, "foos.declared.example.com", "Ready")
	mustDelete(t, record)
	awaitSpec(t, key(operator), "Ready")
	awaitRecord(t, record)
	m.CheckAlive(t)
}

// TestDeclaredByUninstalled verifies how long the declaration of an uninstalled operator is remembered.
func TestDeclaredByUninstalled(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "uninstalled")
	account(t, cluster, namespace, "uninstalled.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "uninstalled.example.com", upgradeableNotMigrating))
	first := succeeded(t, namespace, "foo-operator.v1", "foos.uninstalled.example.com")
	awaitRecord(t, recordOf(first))
	awaitProbe(t, cluster, key(first), "Upgradeable=True/NoResources")

	t.Log("nothing is recorded without custom resources")
	mustDelete(t, first)
	cluster.AwaitGone(t, recordOf(first))

	t.Log("the annotations are recorded with custom resources, until another version runs")
	second := succeeded(t, namespace, "foo-operator.v2", "foos.uninstalled.example.com")
	awaitRecord(t, recordOf(second))
	foo(t, cluster, "uninstalled.example.com", namespace, "foo", "Migrating=True")
	awaitProbe(t, cluster, key(second), "Upgradeable=False/NotUpgradeable")
	mustDelete(t, second)
	cluster.AwaitGone(t, probeNamed(namespace, second.Name))
	awaitRecord(t, recordOf(second))
	succeeded(t, namespace, "foo-operator.v3", "foos.uninstalled.example.com")
	cluster.AwaitGone(t, recordOf(second))
}

// TestOperatorNotFound verifies that a Probe that was written for one version of an operator allows no other.
func TestOperatorNotFound(t *testing.T) {
	cluster.InstallOLM(t)
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "notfound")
	account(t, cluster, namespace, "notfound.example.com")
	cluster.Apply(t, namespace, builder.CRD("foos", "notfound.example.com"))
	custom := foo(t, cluster, "notfound.example.com", namespace, "foo", "Migrating=False")
	first := succeeded(t, namespace, "foo-operator.v1", "foos.notfound.example.com")
	p := userProbe(namespace, first.Name, v1alpha1.ProbeResource{Name: "foos.notfound.example.com", Upgradeable: "!Migrating"})
	cluster.Create(t, p)
	awaitProbe(t, cluster, key(p), "Upgradeable=True/AllUpgradeable", "Synced=True/Synced")

	second := csv(namespace, "foo-operator.v2", "foos.notfound.example.com")
	second.Spec.Replaces = first.Name
	cluster.Create(t, second)
	mustDelete(t, first)
	p = awaitProbe(t, cluster, key(p), "Upgradeable=Unknown/OperatorNotFound", "Synced=False/OperatorNotFound")
	if got := message(p, v1alpha1.ConditionSynced); !strings.Contains(got, "ClusterServiceVersion foo-operator.v2 has replaced foo-operator.v1") {
		t.Errorf("the message does not name the version that runs: %s", got)
	}
	setConditions(t, cluster, custom, "Migrating=True")
	awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "Synced=False/OperatorNotFound")
}

// unannotate removes the upgradeable expression from a CustomResourceDefinition.
func unannotate(t *testing.T, crd string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.AnnotationUpgradeable+`":null}}}`))
	if err := cluster.Client.Patch(t.Context(), crdNamed(crd), patch); err != nil {
		t.Fatal(err)
	}
}
