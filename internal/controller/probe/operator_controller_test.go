package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/workloads"
)

// TestRolesBeforeWorkloads verifies that workloads are not watched before all roles are, however long those take.
func TestRolesBeforeWorkloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		roles := &slowCache{FakeInformers: informertest.FakeInformers{Scheme: scheme.Scheme}, answer: make(chan struct{})}
		defer close(roles.answer)
		c := &starter{ctx: t.Context()}
		r := &OperatorReconciler{Policies: workloads.Policies{Cache: workloads.New(roles)}, controller: c}
		done := make(chan error, 1)
		go func() { done <- r.watch(t.Context()) }()
		for range workloads.RoleKinds() {
			synctest.Wait()
			if names := c.of("Deployment", "StatefulSet", "DaemonSet"); len(names) > 0 || r.looking.Load() {
				t.Fatalf("a kind of roles has not been read yet, but %q are watched", names)
			}
			roles.answer <- struct{}{}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"DaemonSet", "Deployment", "StatefulSet"}, c.of("Deployment", "StatefulSet", "DaemonSet")); diff != "" {
			t.Errorf("kinds that are watched:\n-want +got:\n%s", diff)
		}
	})
}

// TestReconsider verifies that an operator is reconsidered although its Probe does not change.
func TestReconsider(t *testing.T) {
	of := holdv1alpha1.OperatorReference{Installer: holdv1alpha1.InstallerWorkload, Namespace: "foo", Name: "operator"}
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, holdv1alpha1.AddToScheme, apiextensions.AddToScheme} {
		if err := add(types); err != nil {
			t.Fatal(err)
		}
	}
	known := fake.NewClientBuilder().WithScheme(types)
	if err := workloads.IndexProbes(t.Context(), indexer{known}); err != nil {
		t.Fatal(err)
	}
	c := known.Build()
	var got []holdv1alpha1.OperatorReference
	r := &OperatorReconciler{
		Client: c, Policies: workloads.Policies{Client: c, Owners: &annotations.Owners{Client: c}},
		Reconsider: func(_ context.Context, of holdv1alpha1.OperatorReference) { got = append(got, of) },
	}
	if _, err := r.Reconcile(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]holdv1alpha1.OperatorReference{of}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// indexer indexes the objects of a fake client.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, o client.Object, field string, keys client.IndexerFunc) error {
	i.WithIndex(o, field, keys)
	return nil
}

// slowCache returns the informer of a kind of roles for each value that it receives.
type slowCache struct {
	informertest.FakeInformers

	answer chan struct{}
	mu     sync.Mutex
}

func (c *slowCache) GetInformer(ctx context.Context, o client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if strings.Contains(fmt.Sprintf("%T", o), "Role") {
		<-c.answer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.FakeInformers.GetInformer(ctx, o, options...)
}

// starter is a controller that starts the sources it watches.
type starter struct {
	controller.TypedController[holdv1alpha1.OperatorReference]

	ctx     context.Context
	started []string
}

func (c *starter) Watch(s source.TypedSource[holdv1alpha1.OperatorReference]) error {
	c.started = append(c.started, fmt.Sprint(s))
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[holdv1alpha1.OperatorReference]())
	defer queue.ShutDown()
	return s.Start(c.ctx, queue)
}

// of returns those of some kinds that are watched, sorted.
func (c *starter) of(kinds ...string) []string {
	out := slices.DeleteFunc(kinds, func(kind string) bool { return !slices.Contains(c.started, "kind source: *v1."+kind) })
	slices.Sort(out)
	return out
}
