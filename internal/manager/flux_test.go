package manager_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestReleaseOfFlux verifies that the updates of a release are denied where Flux keeps its records: in the namespace of the HelmRelease. The
// labels of a workload are not enough: a tenant could hold the releases of other namespaces.
func TestReleaseOfFlux(t *testing.T) {
	m := cluster.StartManager(t)
	namespace, storage := cluster.Namespace(t, "released"), cluster.Namespace(t, "storage")
	const release = "foo"
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "operator",
		Annotations: map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace},
		Labels:      map[string]string{"helm.toolkit.fluxcd.io/name": release, "helm.toolkit.fluxcd.io/namespace": storage},
	}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "operator"}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "a", Image: "example.com/a:1"}}
	cluster.Create(t, d)
	record := func(revision, status string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: storage, Name: "sh.helm.release.v1." + release + ".v" + revision,
			Labels: map[string]string{"owner": "helm", "name": release, "status": status, "version": revision},
		}}
	}
	cluster.Create(t, record("1", "deployed"))
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "of-" + namespace}}
	hold.Spec.Operator = holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerHelm, Namespace: namespace, Name: release}
	cluster.Create(t, hold)
	cluster.Await(t, hold, func() string { return testcluster.Lacking(hold.Status.Conditions, "Held=True/HeldByUser") })
	awaitDenied := func(in string, statuses int) {
		t.Helper()
		cluster.Await(t, hold, func() string {
			denied := hold.Status.Denied
			if denied == nil || denied.Revisions == nil || denied.Revisions.Namespace != in || len(denied.Revisions.Statuses) != statuses {
				return "other records are denied"
			}
			return ""
		})
	}
	awaitDenied(namespace, 2)
	crd := strings.ReplaceAll(builder.CRDOfKind("helmreleases", "helm.toolkit.fluxcd.io", "HelmRelease"), "name: v1", "name: v2")
	cluster.Apply(t, storage, crd)
	t.Cleanup(func() { cluster.Delete(t, crd, storage) })
	helmRelease := builder.Object("helm.toolkit.fluxcd.io/v2", "HelmRelease", storage, release)
	helmRelease.Object["spec"] = map[string]any{"targetNamespace": namespace, "releaseName": release}
	cluster.Create(t, helmRelease)
	cluster.Create(t, record("2", "deployed"))
	awaitDenied(storage, 2)
	cluster.Create(t, record("3", "failed"))
	awaitDenied(storage, 1) // a rollback repairs it

	// It is away while it is moved to another repository.
	if err := cluster.Client.Delete(t.Context(), helmRelease); err != nil {
		t.Fatal(err)
	}
	cluster.Create(t, record("4", "deployed"))
	awaitDenied(storage, 2)
	m.CheckAlive(t)
}
