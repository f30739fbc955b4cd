package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/crds"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog"
	"github.com/operator-status/operator-status/internal/installer/builtin/catalog/store"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/catalogtest"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

const global = "olm"

// world is a test cluster with a running Reconciler.
type world struct {
	*testcluster.Cluster
	store *store.Store
	dir   string
	stop  func()
}

// TestReconciler runs a Reconciler against an API server. Each subtest uses its own namespace.
func TestReconciler(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	if _, err := os.Stat(filepath.Join(testcluster.Root(), "bin", "controlplane", "kube-apiserver")); err != nil {
		t.Skip("there is no API server here: `make controlplane` builds one")
	}
	w := &world{Cluster: testcluster.Start(t), dir: t.TempDir()}
	crd, err := json.Marshal(crds.CatalogSource())
	if err != nil {
		t.Fatal(err)
	}
	policies, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "lifecycle", "crd", "policy.operatorstatus.io_imagepolicies.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, "", string(crd))
	w.Apply(t, "", string(policies))
	w.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: global}})
	w.run(t)
	t.Run("quiet", func(t *testing.T) { quiet(t, w) })
	t.Run("bad input", func(t *testing.T) { badInput(t, w) })
	t.Run("images", func(t *testing.T) { images(t, w) })
	t.Run("signatures", func(t *testing.T) { signatures(t, w) })
	t.Run("pull secrets", func(t *testing.T) { secrets(t, w) })
	t.Run("registries", func(t *testing.T) { registries(t, w) })
	t.Run("ConfigMaps", func(t *testing.T) { configMaps(t, w) })
	t.Run("restart", func(t *testing.T) { restart(t, w) })
}

// run runs a Reconciler until the test ends or w.stop is called.
func (w *world) run(t *testing.T) {
	t.Helper()
	scheme, err := manager.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(w.Config)
	config.UserAgent = manager.UserAgent
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.store = store.NewStore(global)
	asks, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	limits := catalog.DefaultLimits
	limits.Image, limits.CatalogFile = 1<<20, 64<<10
	r := &store.Reconciler{Store: w.store, Dir: w.dir, Limits: limits, Reach: store.Anywhere, Timeout: 5 * time.Second, Discovery: asks}
	if err := r.SetupWithManager(mgr, func(r reconcile.Reconciler) reconcile.Reconciler { return r }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
}

func source(namespace, name string, spec olm.CatalogSourceSpec) *olm.CatalogSource {
	return &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

func imageSpec(image string) olm.CatalogSourceSpec {
	return olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Image: image}
}

func addressSpec(address string) olm.CatalogSourceSpec {
	return olm.CatalogSourceSpec{SourceType: olm.SourceTypeGrpc, Address: address}
}

func polling(spec olm.CatalogSourceSpec, interval string) olm.CatalogSourceSpec {
	spec.UpdateStrategy = &olm.UpdateStrategy{RegistryPoll: &olm.RegistryPoll{RawInterval: interval}}
	return spec
}

func healthy(cs *olm.CatalogSource) string {
	c := meta.FindStatusCondition(cs.Status.Conditions, v1alpha1.ConditionHealthy)
	if c == nil {
		return "nothing yet"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

// awaitHealthy waits until Healthy equals want.
func (w *world) awaitHealthy(t *testing.T, cs *olm.CatalogSource, want string) {
	t.Helper()
	w.Await(t, cs, func() string { return cmp.Diff(want, healthy(cs)) })
}

// offers returns the bundles of a catalog in the Store.
func (w *world) offers(cs *olm.CatalogSource) []string {
	c, _ := w.store.Get(client.ObjectKeyFromObject(cs))
	if c.Content == nil {
		return nil
	}
	var out []string
	for _, p := range c.Content.Packages {
		for _, ch := range p.Channels {
			for name := range ch.Entries {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (w *world) checkOffers(t *testing.T, cs *olm.CatalogSource, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.offers(cs)); diff != "" {
		t.Errorf("bundles of the catalog: -want +got\n%s", diff)
	}
}

// objects returns the kinds and names of the objects of a bundle of package foo, or the error.
func (w *world) objects(cs *olm.CatalogSource, bundle string) []string {
	key := client.ObjectKeyFromObject(cs)
	c, _ := w.store.Get(key)
	entry := c.Content.Packages["foo"].Channels["stable"].Entries[bundle]
	manifests, err := w.store.Manifests(context.Background(), key, entry.Bundle)
	if err != nil {
		return []string{err.Error()}
	}
	objects, err := manifests.Objects()
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, o := range objects {
		out = append(out, o.GetKind()+" "+o.GetName())
	}
	return out
}

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, testcluster.Timeout, true, func(context.Context) (bool, error) {
		return check(), nil
	}); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func foo(versions ...string) []catalogtest.TarEntry {
	return catalogtest.Files("configs/foo/catalog.yaml", catalogtest.FBC("foo", versions...))
}
