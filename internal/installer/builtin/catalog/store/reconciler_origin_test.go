package store_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
)

func registries(t *testing.T, w *world) {
	namespace := w.Namespace(t, "registries")
	address, stop := catalogtest.ServeGRPC(t, "", catalogtest.FBC("foo", "1.0.0"))
	cs := source(namespace, "foo", addressSpec(address))
	w.Create(t, cs)
	w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from the registry at "+address)
	w.checkOffers(t, cs, "foo.v1.0.0")
	if s := cs.Status.GRPCConnectionState; s == nil || s.Address != address || s.LastObservedState != "READY" || s.LastConnectTime.IsZero() {
		t.Errorf("grpcConnectionState: %+v", s)
	}

	stop()
	w.Await(t, cs, func() string {
		if !strings.HasPrefix(healthy(cs), "False Unreachable: the registry at "+address+" cannot be read: ") ||
			!strings.HasSuffix(healthy(cs), "; the previously read content stays in use") || cs.Status.GRPCConnectionState.LastObservedState != "TRANSIENT_FAILURE" {
			return healthy(cs)
		}
		return ""
	})
	w.checkOffers(t, cs, "foo.v1.0.0")
	if got := w.objects(cs, "foo.v1.0.0"); !strings.Contains(got[0], "bundle foo.v1.0.0: the registry at "+address+" cannot be read") {
		t.Errorf("objects while the registry is unreachable: %v", got)
	}

	catalogtest.ServeGRPC(t, address, catalogtest.FBC("foo", "1.0.0", "1.1.0"))
	w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from the registry at "+address)
	w.checkOffers(t, cs, "foo.v1.0.0", "foo.v1.1.0")
	if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v1.1.0", "CustomResourceDefinition foos.example.com"}, w.objects(cs, "foo.v1.1.0")); diff != "" {
		t.Errorf("objects from a registry: -want +got\n%s", diff)
	}

	t.Run("one that hangs", func(t *testing.T) {
		hangs := source(namespace, "hangs", addressSpec(catalogtest.ServeNothing(t)))
		w.Create(t, hangs)
		neighbour := source(namespace, "neighbour", addressSpec(address))
		w.Create(t, neighbour)
		w.awaitHealthy(t, neighbour, "True CatalogRead: Read 1 package from the registry at "+address)
		w.Await(t, hangs, func() string {
			if !strings.HasPrefix(healthy(hangs), "False Unreachable: ") {
				return healthy(hangs)
			}
			return ""
		})
	})
	t.Run("with TLS", func(t *testing.T) {
		address, certificate := catalogtest.ServeGRPCWithTLS(t, catalogtest.FBC("foo", "1.0.0"))
		cs := source(namespace, "tls", addressSpec(address))
		cs.Annotations = map[string]string{v1alpha1.AnnotationRegistryCA: "configmap/ca"}
		w.Create(t, cs)
		w.Await(t, cs, func() string {
			if !strings.HasPrefix(healthy(cs), "False CertificateAuthorityInvalid: the registry at "+address+": reading configmap/ca#ca.crt, which annotation ") {
				return healthy(cs)
			}
			return ""
		})
		w.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ca"}, Data: map[string]string{"ca.crt": certificate}})
		w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from the registry at "+address)
		if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v1.0.0", "CustomResourceDefinition foos.example.com"}, w.objects(cs, "foo.v1.0.0")); diff != "" {
			t.Errorf("objects from a registry with TLS: -want +got\n%s", diff)
		}
	})
	t.Run("no registry", func(t *testing.T) {
		other := source(namespace, "other", addressSpec(catalogtest.ServeOther(t)))
		w.Create(t, other)
		w.awaitHealthy(t, other, "False NotACatalog: the server at "+other.Spec.Address+" is not an operator registry")
	})
}

func configMaps(t *testing.T, w *world) {
	namespace := w.Namespace(t, "configmaps")
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo"}}
	cs := source(namespace, "foo", olm.CatalogSourceSpec{SourceType: olm.SourceTypeConfigmap, ConfigMap: "foo"})
	w.Create(t, cs)
	w.awaitHealthy(t, cs, "False ConfigMapNotFound: ConfigMap "+namespace+"/foo of spec.configMap not found")

	cm.Data = map[string]string{"foo.yaml": catalogtest.FBC("foo", "1.0.0"), "bad.yaml": "schema: olm.package\nname: bad\n"}
	w.Create(t, cm)
	read := func() string {
		return "ConfigMap " + namespace + "/foo at resourceVersion " + cm.ResourceVersion
	}
	w.awaitHealthy(t, cs, "True PackagesInvalid: Read 1 package from "+read()+"; skipped 1 package that cannot be used: bad (it has no channel)")
	w.checkOffers(t, cs, "foo.v1.0.0")
	if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v1.0.0", "CustomResourceDefinition foos.example.com"}, w.objects(cs, "foo.v1.0.0")); diff != "" {
		t.Errorf("objects from a ConfigMap: -want +got\n%s", diff)
	}
	if r := cs.Status.ConfigMapResource; r == nil || r.UID != cm.UID || r.ResourceVersion != cm.ResourceVersion || r.LastUpdateTime.IsZero() {
		t.Errorf("configMapReference: %+v", r)
	}

	cm.Data = map[string]string{
		"customResourceDefinitions": "- " + strings.ReplaceAll(catalogtest.CRD, "\n", "\n  "),
		"clusterServiceVersions":    "- " + catalogtest.CSV("foo.v2.0.0", "2.0.0") + "\n",
		"packages":                  "- packageName: foo\n  channels:\n  - {name: stable, currentCSV: foo.v2.0.0}\n",
	}
	if err := w.Client.Update(context.Background(), cm); err != nil {
		t.Fatal(err)
	}
	w.awaitHealthy(t, cs, "True CatalogRead: Read 1 package from "+read())
	w.checkOffers(t, cs, "foo.v2.0.0")
	if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v2.0.0", "CustomResourceDefinition foos.example.com"}, w.objects(cs, "foo.v2.0.0")); diff != "" {
		t.Errorf("objects from a ConfigMap of the older format: -want +got\n%s", diff)
	}

	before := cm.ResourceVersion
	if err := w.Client.Delete(context.Background(), cm); err != nil {
		t.Fatal(err)
	}
	w.awaitHealthy(t, cs, "False ConfigMapNotFound: ConfigMap "+namespace+"/foo of spec.configMap not found; the content read at resourceVersion "+
		before+" stays in use")
	w.checkOffers(t, cs, "foo.v2.0.0")
}

// restart must run last, since it replaces the Reconciler.
func restart(t *testing.T, w *world) {
	namespace := w.Namespace(t, "restart")
	registry := catalogtest.NewRegistry(t, "")
	image, digest := registry.Push(t, "catalog", nil, foo("1.0.0"))
	gone, goneDigest := registry.Push(t, "gone", nil, foo("3.0.0"))
	cs, leaves := source(namespace, "foo", imageSpec(image)), source(namespace, "gone", imageSpec(gone))
	w.Create(t, cs, leaves)
	read := "True CatalogRead: Read 1 package from image " + image + " at " + digest
	w.awaitHealthy(t, cs, read)
	w.awaitHealthy(t, leaves, "True CatalogRead: Read 1 package from image "+gone+" at "+goneDigest)
	w.stop()
	second := &world{Cluster: w.Cluster, dir: w.dir}
	if err := w.Client.Delete(context.Background(), leaves); err != nil {
		t.Fatal(err)
	}

	registry.Close()
	second.run(t)
	eventually(t, "the content on the disk is used while the registry is unreachable", func() bool {
		c, _ := second.store.Get(types.NamespacedName{Namespace: namespace, Name: "foo"})
		return c.Content != nil && !c.Healthy
	})
	second.checkOffers(t, cs, "foo.v1.0.0")
	if diff := cmp.Diff([]string{"ClusterServiceVersion foo.v1.0.0", "CustomResourceDefinition foos.example.com"}, second.objects(cs, "foo.v1.0.0")); diff != "" {
		t.Errorf("objects from the disk: -want +got\n%s", diff)
	}
	eventually(t, "the content of a deleted CatalogSource is removed", func() bool { return !second.kept(goneDigest) })
}
