// Package library_test uses pkg/probe as an operator does, on an API server.
package library_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/pkg/probe"
)

// cluster has the CustomResourceDefinitions and policies of config/default.
var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(testcluster.Run(m, func(c *testcluster.Cluster) { cluster = c }))
}

// operator is an operator that uses the package.
type operator struct {
	*probe.Client
	key    types.NamespacedName
	config *rest.Config
	client client.Client
	now    time.Time // the operator's clock
}

// start returns an operator with all rights. Its user agent is the name of the test, by which its requests are counted.
func start(t *testing.T, c *testcluster.Cluster, key types.NamespacedName, opts ...probe.Option) *operator {
	t.Helper()
	config := rest.CopyConfig(c.Config)
	config.UserAgent = t.Name() + "/"
	return startWith(t, config, key, opts...)
}

func startWith(t *testing.T, config *rest.Config, key types.NamespacedName, opts ...probe.Option) *operator {
	t.Helper()
	// An empty scheme: operators need not register the kinds.
	c, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	o := &operator{key: key, config: config, client: c, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	o.Client = o.with(t, c, opts...)
	return o
}

// with returns the package's client that sends its requests with c.
func (o *operator) with(t *testing.T, c client.Client, opts ...probe.Option) *probe.Client {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(o.config)
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]probe.Option{
		probe.WithClock(func() time.Time { return o.now }),
		probe.WithEnvironment(func(string) string { return "" }),
		probe.WithName(o.key.Name), probe.WithNamespace(o.key.Namespace),
	}, opts...)
	return probe.New(c, d, opts...)
}

// requests returns the operator's requests since then, without the discovery of its RESTMapper.
func (o *operator) requests(t *testing.T, since time.Time) []string {
	t.Helper()
	var out []string
	for _, r := range cluster.RequestsOf(t, since, o.config.UserAgent) {
		if r.ObjectRef.Resource != "" {
			out = append(out, fmt.Sprintf("%s %s%s %d", r.Verb, r.ObjectRef.Resource, slash(r.ObjectRef.Subresource), r.Response.Code))
		}
	}
	return out
}

func slash(subresource string) string {
	if subresource == "" {
		return ""
	}
	return "/" + subresource
}

// csv creates a ClusterServiceVersion in a new namespace and returns its key.
func csv(t *testing.T) types.NamespacedName {
	t.Helper()
	cluster.InstallOLM(t)
	key := types.NamespacedName{Namespace: cluster.Namespace(t, "probe"), Name: "foo-operator.v1.0.0"}
	cluster.Create(t, newCSV(key))
	return key
}

func newCSV(key types.NamespacedName) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	out.Spec.DisplayName = key.Name
	out.Spec.InstallStrategy.StrategyName = olm.InstallStrategyNameDeployment
	out.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []olm.StrategyDeploymentSpec{}
	return out
}

// actual returns a Probe as it is on the API server.
func actual(t *testing.T, key types.NamespacedName) *v1alpha1.Probe {
	t.Helper()
	out := &v1alpha1.Probe{}
	if err := cluster.Client.Get(t.Context(), key, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func upgradeable(p *v1alpha1.Probe) metav1.Condition {
	if found := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionUpgradeable); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
