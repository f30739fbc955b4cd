package manager_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestNamespaces verifies that custom resources are read in a namespace from its creation to its deletion, and that
// nothing is requested for a namespace that does not exist.
func TestNamespaces(t *testing.T) {
	cluster.UninstallOLM(t) // the Probes have no ClusterServiceVersions
	cluster.StartManager(t)
	const group, later = "namespaces.example.com", "namespaces-later"
	own, started := cluster.Namespace(t, "namespaces"), time.Now()
	account(t, cluster, own, group)
	cluster.Apply(t, own, builder.CRD("foos", group))
	p := userProbe(own, "some", v1alpha1.ProbeResource{Name: "foos." + group, Upgradeable: "!Migrating"})
	p.Spec.Namespaces = []string{own, later, "namespaces-never"}
	cluster.Create(t, p)
	none := userProbe(own, "none", p.Spec.ProbeResources...)
	none.Spec.Namespaces = []string{"namespaces-never"}
	cluster.Create(t, none)

	t.Log("no namespace exists, so no custom resource exists")
	awaitProbe(t, cluster, key(none), "Upgradeable=True/NoResources", "Synced=False/NamespaceNotFound")
	got := awaitProbe(t, cluster, key(p), "Upgradeable=True/NoResources", "Synced=False/NamespaceNotFound")
	checkEqual(t, "Synced", "Namespaces namespaces-later, namespaces-never do not exist: custom resources are read there once they are created",
		message(got, v1alpha1.ConditionSynced))

	t.Log("one namespace is created")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: later}}
	cluster.Create(t, namespace)
	migrating := foo(t, cluster, group, later, "foo", "Migrating=True")
	awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "Synced=False/NamespaceNotFound")

	t.Log("the namespace is deleted, in place of the namespace controller")
	mustDelete(t, migrating)
	mustDelete(t, namespace)
	if err := cluster.Client.Get(t.Context(), key(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	namespace.Spec.Finalizers = nil
	if err := cluster.Client.SubResource("finalize").Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, namespace)
	cluster.Await(t, got, func() string {
		if !strings.Contains(message(got, v1alpha1.ConditionSynced), later) {
			return "want its Probe to report that it no longer exists"
		}
		return testcluster.Lacking(got.Status.Conditions, "Upgradeable=True/NoResources")
	})

	for _, r := range cluster.Requests(t, started) {
		if strings.Contains(r.URI, "/namespaces/namespaces-never/") {
			t.Errorf("a request about a namespace that does not exist: %s", r)
		}
	}
}
