package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// BenchmarkSubscribeFifty measures the time until fifty operators run after they are subscribed to at once, two in each
// of 25 namespaces, from a catalog as large as a public one, and the manager's peak memory.
func BenchmarkSubscribeFifty(b *testing.B) {
	const namespaces, each = 25, 2
	run := 0
	var took time.Duration
	var peak int64
	for b.Loop() {
		run++
		manager := cluster.StartManager(b, "--catalog-dir="+b.TempDir())
		crowd := newCrowd(b, fmt.Sprintf("run%d", run), namespaces*each)
		b.Logf("peak memory of the manager without a catalog: %d MiB", manager.PeakMemory(b)>>20)
		crowd.offer(b)
		b.Logf("peak memory of the manager with the catalog: %d MiB", manager.PeakMemory(b)>>20)
		took += crowd.subscribe(b, namespaces, each)
		peak = max(peak, manager.PeakMemory(b))
		manager.CheckAlive(b)
		manager.Terminate(b)
	}
	b.ReportMetric(took.Seconds()/float64(run), "s")
	b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
	b.ReportMetric(0, "ns/op") // ns/op includes work that is not measured
}

// crowd is a catalog image of 300 packages with five versions each, whose bundles are images, and the packages to install.
type crowd struct {
	source  client.ObjectKey
	spec    olm.CatalogSourceSpec
	wanted  []testcatalog.Foo // the newest version of each
	objects client.MatchingLabels
}

func newCrowd(b *testing.B, name string, wanted int) *crowd {
	b.Helper()
	const packages, versions = 300, 5
	out := &crowd{source: client.ObjectKey{Namespace: global, Name: name}, objects: client.MatchingLabels{"crowd": name}}
	var all []testcatalog.Package
	images := newRegistry(b)
	for i := range packages {
		var foos []testcatalog.Foo
		for v := range versions {
			foos = append(foos, testcatalog.Foo{Name: fmt.Sprintf("%sx%d", name, i), Version: fmt.Sprintf("1.%d.0", v)})
		}
		p := publish(b, foos...)
		all = append(all, p)
		if i*wanted/packages == len(out.wanted) { // spread over all packages
			out.wanted = append(out.wanted, foos[versions-1])
			pushBundle(b, images, p.Newest())
		}
	}
	config, err := testcatalog.Config(all...)
	if err != nil {
		b.Fatal(err)
	}
	testcatalog.Refer(&config, func(bundle string) string { return bundleImage(images, bundle) })
	text, err := testcatalog.YAML(config)
	if err != nil {
		b.Fatal(err)
	}
	out.spec = imageSpec(images.push(b, "catalog", image(b, testcatalog.Files("configs/catalog.yaml", text))))
	return out
}

func bundleImage(images registry, bundle string) string { return images.host + "/bundles/" + bundle }

func pushBundle(b *testing.B, images registry, bundle testcatalog.Bundle) {
	b.Helper()
	manifests, err := bundle.Manifests()
	if err != nil {
		b.Fatal(err)
	}
	images.push(b, "bundles/"+bundle.CSV.Name, imageWithLabels(b, testcatalog.BundleLabels, manifests))
}

// offer creates the CatalogSource and waits until it is read.
func (c *crowd) offer(b *testing.B) {
	b.Helper()
	began := time.Now()
	source := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: c.source.Namespace, Name: c.source.Name}, Spec: c.spec}
	cluster.Create(b, source)
	b.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), source); client.IgnoreNotFound(err) != nil {
			b.Error(err)
		}
	})
	cluster.Await(b, source, func() string {
		if !meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionHealthy) {
			return healthOf(source)
		}
		return ""
	})
	b.Logf("the catalog has been read after %s: %s", time.Since(began).Round(10*time.Millisecond), healthOf(source))
}

// subscribe creates all Subscriptions at once and returns the time until all operators run. Before it returns, it waits
// until every Subscription is up to date.
func (c *crowd) subscribe(b *testing.B, namespaces, each int) time.Duration {
	b.Helper()
	var subs []*v1alpha1.Subscription
	for i := range namespaces {
		namespace := fmt.Sprintf("%s-%d", c.source.Name, i)
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}}
		group.Spec.TargetNamespaces = []string{namespace}
		cluster.Create(b, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, group)
		for j := range each {
			f := c.wanted[i*each+j]
			sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: f.Name, Labels: c.objects}}
			sub.Spec = &olm.SubscriptionSpec{Package: f.Name, Channel: "stable", CatalogSource: c.source.Name, CatalogSourceNamespace: c.source.Namespace}
			subs = append(subs, sub)
		}
	}
	began := time.Now()
	var created sync.WaitGroup
	for _, sub := range subs {
		created.Go(func() {
			if err := cluster.Client.Create(context.Background(), sub); err != nil {
				b.Error(err)
			}
		})
	}
	created.Wait()
	c.await(b, c.running)
	took := time.Since(began)
	c.await(b, c.upToDate)
	b.Logf("%d operators run after %s, and their Subscriptions report it after %s", len(subs), took.Round(10*time.Millisecond),
		time.Since(began).Round(10*time.Millisecond))
	return took
}

// await waits until count returns the number of wanted operators.
func (c *crowd) await(b *testing.B, count func(context.Context) (int, error)) {
	b.Helper()
	const most = 5 * time.Minute
	n := 0
	err := wait.PollUntilContextTimeout(b.Context(), 50*time.Millisecond, most, true, func(ctx context.Context) (bool, error) {
		var err error
		n, err = count(ctx)
		return n == len(c.wanted), err
	})
	if err != nil {
		b.Fatalf("%d of %d operators are done: %v", n, len(c.wanted), err)
	}
}

// running returns the number of wanted ClusterServiceVersions that have Succeeded.
func (c *crowd) running(ctx context.Context) (n int, err error) {
	list := &v1alpha1.ClusterServiceVersionList{}
	if err := cluster.Client.List(ctx, list); err != nil {
		return 0, err
	}
	wanted := map[string]bool{}
	for _, f := range c.wanted {
		wanted[f.CSV()] = true
	}
	for _, csv := range list.Items {
		if wanted[csv.Name] && csv.Status.Phase == olm.CSVPhaseSucceeded {
			n++
		}
	}
	return n, nil
}

// upToDate returns the number of Subscriptions that are up to date and have no message.
func (c *crowd) upToDate(ctx context.Context) (n int, err error) {
	list := &v1alpha1.SubscriptionList{}
	if err := cluster.Client.List(ctx, list, c.objects); err != nil {
		return 0, err
	}
	for _, sub := range list.Items {
		if sub.Status.UpToDate && sub.Status.Message == "" {
			n++
		}
	}
	return n, nil
}
