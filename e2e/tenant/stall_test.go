package tenant

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestStalledRegistry verifies that a registry that stalls in the middle of an answer delays only installations from it, and
// no other tenant, regardless of the number of Subscriptions to it.
func TestStalledRegistry(t *testing.T) {
	const many = 120
	registry, stalled := stallingRegistry(t)
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir(), "--catalog-allow-cidr=127.0.0.0/8")

	var packages []testcatalog.Package
	for i := range many {
		packages = append(packages, testcatalog.Published(t, testcatalog.Foo{Name: fmt.Sprintf("stalled%d", i), Version: "1.0.0"}))
	}
	config, err := testcatalog.Config(packages...)
	if err != nil {
		t.Fatal(err)
	}
	testcatalog.Refer(&config, func(bundle string) string { return strings.TrimPrefix(registry.URL, "http://") + "/" + bundle })
	text, err := testcatalog.YAML(config)
	if err != nil {
		t.Fatal(err)
	}
	poor := newTenant(t, "stalled", "installer")
	meta := metav1.ObjectMeta{Namespace: poor.namespace, Name: "catalog"}
	createAs(t, poor, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"catalog.yaml": text}},
		&olm.CatalogSource{ObjectMeta: meta, Spec: olm.CatalogSourceSpec{SourceType: olm.SourceTypeInternal, ConfigMap: meta.Name}})
	var subs []*v1alpha1.Subscription
	for _, p := range packages {
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: poor.namespace, Name: p.Name}, Spec: &olm.SubscriptionSpec{
			CatalogSource: meta.Name, CatalogSourceNamespace: poor.namespace, Package: p.Name, Channel: p.Channel,
		}}
		createAs(t, poor, sub)
		subs = append(subs, sub)
	}
	for _, sub := range subs {
		cluster.Await(t, sub, func() string {
			if sub.Status.InstallPlanRef == nil {
				return "it has no InstallPlan yet"
			}
			return ""
		})
	}
	neighbour := newTenant(t, "neighbour", "installer")
	bindClusterAdmin(t, neighbour.namespace, "installer")
	sub := neighbour.subscribe(t)
	cluster.Await(t, sub, func() string {
		if sub.Status.InstalledCSV != "evil.v1.0.0" {
			return "the other tenant's operator is not installed: " + sub.Status.Message
		}
		return ""
	})
	for _, sub := range subs {
		if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(sub), sub); err != nil {
			t.Fatal(err)
		}
		if c := sub.Status.GetCondition(v1alpha1.SubscriptionResolutionFailed); c.Status == corev1.ConditionTrue {
			t.Fatalf("the other tenant's operator was installed only after the pull of a bundle timed out: %s", c.Message)
		}
	}
	if stalled.Load() == 0 {
		t.Error("no pull stalled")
	}
	manager.CheckAlive(t)
}

// stallingRegistry returns a registry of bundles that stalls after the first byte of their content, and how often it did. Reading it times out
// after two minutes: one that does not answer at all would time out after 30 s, which is too soon on a slow machine.
func stallingRegistry(t *testing.T) (registry *httptest.Server, stalled *atomic.Int32) {
	t.Helper()
	stalled = &atomic.Int32{}
	over := make(chan struct{})
	registry = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/v2/":
		case strings.Contains(r.URL.Path, "/manifests/"):
			content := fmt.Sprintf(`{"mediaType":"%s","digest":"sha256:%x","size":1000}`, types.OCILayer, sha256.Sum256([]byte(r.URL.Path)))
			w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
			_, _ = fmt.Fprintf(w, `{"schemaVersion":2,"mediaType":"%s","config":%s,"layers":[%s]}`, types.OCIManifestSchema1, content, content)
		default:
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte{0x1f})
			_ = http.NewResponseController(w).Flush()
			stalled.Add(1)
			<-over
		}
	}))
	t.Cleanup(func() { close(over); registry.Close() })
	return registry, stalled
}

// createAs creates objects as a tenant.
func createAs(t *testing.T, n *tenant, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := n.Create(t.Context(), o); err != nil {
			t.Fatalf("creating a %T as %s: %v", o, n.user, err)
		}
	}
}
