package tenant

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestStalledRegistry verifies that a registry that accepts requests and then stalls delays only installations from it, and
// no other tenant, regardless of the number of Subscriptions to it.
func TestStalledRegistry(t *testing.T) {
	const many = 120
	over := make(chan struct{})
	registry := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			<-over
		}
	}))
	t.Cleanup(func() { close(over); registry.Close() })
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
	stalled := newTenant(t, "stalled", "installer")
	meta := metav1.ObjectMeta{Namespace: stalled.namespace, Name: "catalog"}
	createAs(t, stalled, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"catalog.yaml": text}},
		&olm.CatalogSource{ObjectMeta: meta, Spec: olm.CatalogSourceSpec{SourceType: olm.SourceTypeInternal, ConfigMap: meta.Name}})
	var subs []*v1alpha1.Subscription
	for _, p := range packages {
		sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: stalled.namespace, Name: p.Name}, Spec: &olm.SubscriptionSpec{
			CatalogSource: meta.Name, CatalogSourceNamespace: stalled.namespace, Package: p.Name, Channel: p.Channel,
		}}
		createAs(t, stalled, sub)
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
	manager.CheckAlive(t)
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
