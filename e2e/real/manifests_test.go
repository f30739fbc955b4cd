package real

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/e2e/images"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestManifests installs the manifests that `make build-installer` writes to dist/crds.yaml and install.yaml, as the README describes,
// updates them, and deletes them. Nothing is left.
func TestManifests(t *testing.T) {
	registry := images.Of(t, clusterDir)
	remove := install(t, "default", registry.Manager(t, images.Current), 1)
	f := newFoos(t, "manifests")
	p := f.probe(t)
	f.createMigrating(t, "a")
	f.await(t, p, "Upgradeable=False/NotUpgradeable")

	install(t, "default", registry.Manager(t, images.Next), 1)
	f.createMigrating(t, "b")
	cluster.Await(t, p, func() string {
		if len(p.Status.ProbeResources) != 2 {
			return "the new version does not report the second Foo"
		}
		return ""
	})
	remove()
}

// TestLifecycleManifests installs the manifests that `make build-installer` writes to dist/crds-lifecycle.yaml and install-lifecycle.yaml, on a
// cluster without OLM. The manager installs a real operator and holds its update, even while it is itself updated.
func TestLifecycleManifests(t *testing.T) {
	registry := images.Of(t, clusterDir)
	remove := install(t, "lifecycle", registry.Manager(t, images.Current), 1)
	s := newSample(t, registry)
	install(t, "lifecycle", registry.Manager(t, images.Next), 1)
	s.awaitHeld(t)
	s.finish(t)
	remove()
}

// global is the namespace of catalogs that are trusted with the cluster.
const global = manager.DefaultGlobalCatalogNamespace

// patience is how long installing an operator may take: its image is pulled.
const patience = 2 * time.Minute

// awaitDeployments waits until all pods of operator-status are of the current version and available.
func awaitDeployments(t *testing.T) {
	t.Helper()
	list := &appsv1.DeploymentList{}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testcluster.ManagerAccount.Namespace}}
	cluster.AwaitWithin(t, patience, namespace, func() string {
		if err := cluster.Client.List(t.Context(), list, client.InNamespace(namespace.Name)); err != nil {
			return err.Error()
		}
		for _, d := range list.Items {
			s, want := d.Status, *d.Spec.Replicas
			if s.ObservedGeneration < d.Generation || s.Replicas != want || s.UpdatedReplicas != want || s.AvailableReplicas != want {
				return fmt.Sprintf("of %d pods of %s, %d exist, %d are updated and %d available", want, d.Name, s.Replicas, s.UpdatedReplicas, s.AvailableReplicas)
			}
		}
		return ""
	})
}
