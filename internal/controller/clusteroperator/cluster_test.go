package clusteroperator_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	configv1 "github.com/openshift/api/config/v1"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/controller/clusteroperator"
	clusteroperatorstatus "github.com/operator-status/operator-status/internal/status/clusteroperator"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

const (
	// agent is the user agent of the manager under test in the audit log.
	agent = "under-test"

	ownVersion = "0.1.0-own"

	clusterVersionCRD = "0000_00_cluster-version-operator_01_clusterversions-Default.crd.yaml"
)

// start starts an API server with the CRDs of ClusterOperators and PlatformOperators.
func start(t testing.TB) *testcluster.Cluster {
	t.Helper()
	c := testcluster.Start(t)
	c.Config.WarningHandler = rest.NoWarnings{} // about fields that OpenShift has behind feature gates
	c.InstallOpenShift(t, "0000_00_cluster-version-operator_01_clusteroperators.crd.yaml")
	return c
}

// running is a manager that runs only the controller under test.
type running struct {
	manager    ctrl.Manager
	controller controller.Controller
	reconciler *clusteroperator.Reconciler
	reckonings atomic.Int64
	meanwhile  atomic.Pointer[func()] // called once, between reading and writing
	stop       func()
}

// run starts a manager until the test ends. The test fails if the manager logs an error.
func run(t testing.TB, c *testcluster.Cluster) *running {
	t.Helper()
	errors := &errorLog{}
	restConfig := rest.CopyConfig(c.Config)
	restConfig.UserAgent = agent
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:     c.Client.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Logger:     errors.logger(),
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{manager: mgr}
	read := clusteroperator.ReadCluster(mgr.GetClient(), ownVersion)
	r.reconciler = &clusteroperator.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), DegradedInertia: 2 * time.Minute, Now: time.Now,
		Cluster: func(ctx context.Context) (clusteroperatorstatus.Cluster, error) {
			r.reckonings.Add(1)
			if meanwhile := r.meanwhile.Swap(nil); meanwhile != nil {
				(*meanwhile)()
			}
			return read(ctx)
		}}
	if r.controller, err = r.reconciler.SetupWithManager(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- mgr.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager has ended: %v", err)
		}
		for _, line := range errors.lines {
			t.Errorf("the manager logged an error: %s", line)
		}
	})
	t.Cleanup(r.stop)
	return r
}

// errorLog records lines that are logged as errors.
type errorLog struct {
	sync.Mutex
	lines []string
}

func (l *errorLog) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		if strings.Contains(line, `"error"=`) {
			l.Lock()
			l.lines = append(l.lines, line)
			l.Unlock()
		}
	}, funcr.Options{})
}

// await waits until the ClusterOperator has all of want: "Available=True/Reason", "operator=1.0.0", or text in the
// messages of its conditions.
func await(t testing.TB, c *testcluster.Cluster, want ...string) *configv1.ClusterOperator {
	t.Helper()
	co := &configv1.ClusterOperator{ObjectMeta: metav1.ObjectMeta{Name: platformv1alpha1.ClusterOperatorName}}
	c.Await(t, co, func() string {
		var texts []string
		for _, condition := range co.Status.Conditions {
			texts = append(texts, fmt.Sprintf("%s=%s/%s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
		}
		for _, v := range co.Status.Versions {
			texts = append(texts, v.Name+"="+v.Version)
		}
		for _, w := range want {
			if all := strings.Join(texts, "\n"); !strings.Contains(all, w) {
				return "want " + w + ", got\n" + all
			}
		}
		return ""
	})
	return co
}

// platformOperator returns a PlatformOperator that has not been reconciled.
func platformOperator(name string) *platformv1alpha1.PlatformOperator {
	out := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.Package.Name = name
	return out
}

// installed sets the Installed condition of a PlatformOperator. It is True if the reason is Installed.
func installed(p *platformv1alpha1.PlatformOperator, reason, message string) {
	p.Status.ObservedGeneration = p.Generation
	status := metav1.ConditionFalse
	if reason == platformv1alpha1.ReasonInstalled {
		status = metav1.ConditionTrue
	}
	p.Status.Conditions = []metav1.Condition{{
		Type: platformv1alpha1.ConditionInstalled, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
	}}
}

// patchStatus patches the status of a PlatformOperator.
func patchStatus(t testing.TB, c *testcluster.Cluster, name string, change func(*platformv1alpha1.PlatformOperator)) {
	t.Helper()
	p := platformOperator(name)
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(p), p); err != nil {
		t.Fatal(err)
	}
	before := p.DeepCopy()
	change(p)
	if err := c.Client.Status().Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatalf("patching the status of PlatformOperator %s: %v", name, err)
	}
}

// platform creates that many installed PlatformOperators.
func platform(t testing.TB, c *testcluster.Cluster, many int) []*platformv1alpha1.PlatformOperator {
	t.Helper()
	out := make([]*platformv1alpha1.PlatformOperator, many)
	inParallel(t, many, func(ctx context.Context, i int) error {
		p := platformOperator(fmt.Sprintf("po-%04d", i))
		if err := c.Client.Create(ctx, p); err != nil {
			return err
		}
		installed(p, platformv1alpha1.ReasonInstalled, p.Name+".v1 is installed")
		out[i] = p
		return c.Client.Status().Update(ctx, p)
	})
	return out
}

// inParallel runs do that many times, in parallel.
func inParallel(t testing.TB, many int, do func(context.Context, int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range many {
		group.Go(func() error { return do(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// writes returns the number of the manager's writes since then. Only the status of ClusterOperators may be written.
func writes(t testing.TB, c *testcluster.Cluster, since time.Time) int {
	t.Helper()
	n := 0
	for _, r := range c.RequestsOf(t, since, agent) {
		if r.IsWrite() {
			n++
			if r.ObjectRef.Resource != "clusteroperators" || r.ObjectRef.Subresource != "status" {
				t.Errorf("a write to another object: %s", r)
			}
		}
	}
	return n
}
