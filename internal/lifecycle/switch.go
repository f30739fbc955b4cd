package lifecycle

import (
	"context"
	"fmt"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Switch has reconcilers act only while the mode is theirs. It follows the cluster: CustomResourceDefinitions may
// appear, change hands or vanish while we run, and at no moment do both our loops and an OLM's act.
type Switch struct {
	// Flag is what the administrator asks for.
	Flag Mode

	// Reader reads definitions whole, past the cache, which keeps no schemas.
	Reader client.Reader

	mu      sync.Mutex
	mode    Mode          // empty until it was decided for the first time, and while it changes
	changed chan struct{} // closed when the mode changes
	end     context.CancelFunc
	during  context.Context //nolint:containedctx // lasts as long as the mode
	acting  sync.WaitGroup
}

// NewSwitch makes one that has not decided yet.
func NewSwitch(flag Mode, reader client.Reader) *Switch {
	out := &Switch{Flag: flag, Reader: reader, changed: make(chan struct{})}
	out.during, out.end = context.WithCancel(context.Background())
	return out
}

// Reconcile decides anew who runs the loops.
func (s *Switch) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	subscriptions := &apiextensions.CustomResourceDefinition{}
	if err := s.Reader.Get(ctx, types.NamespacedName{Name: subscriptionsCRD}, subscriptions); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("getting CustomResourceDefinition %s: %w", subscriptionsCRD, err)
	} else if err != nil || !subscriptions.DeletionTimestamp.IsZero() {
		subscriptions = nil
	}
	olmConfigs := &metav1.PartialObjectMetadata{}
	olmConfigs.SetGroupVersionKind(apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err := s.Reader.Get(ctx, types.NamespacedName{Name: olmConfigsCRD}, olmConfigs)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("getting CustomResourceDefinition %s: %w", olmConfigsCRD, err)
	}
	mode, why := Decide(s.Flag, subscriptions, err == nil)
	if s.set(mode) {
		log.FromContext(ctx).Info("Decided who runs the loops", "lifecycle", mode, "because", why)
	}
	return reconcile.Result{}, nil
}

// set changes the mode once whoever acts in the old one has been told to stop, and has.
func (s *Switch) set(mode Mode) bool {
	s.mu.Lock()
	if s.mode == mode {
		s.mu.Unlock()
		return false
	}
	s.mode = "" // nobody's
	s.end()
	s.mu.Unlock()
	s.acting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
	s.during, s.end = context.WithCancel(context.Background())
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// Mode is who runs the loops; empty until that was decided, and while it changes.
func (s *Switch) Mode() Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// Await returns when the mode suits, with a context that ends when it does not any more, and what to call when done: the
// mode does not change before.
func (s *Switch) Await(ctx context.Context, suits func(Mode) bool) (context.Context, func(), error) {
	for {
		s.mu.Lock()
		mode, changed, during := s.mode, s.changed, s.during
		if mode != "" && suits(mode) {
			s.acting.Add(1)
			s.mu.Unlock()
			ctx, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(during, cancel)
			return ctx, sync.OnceFunc(func() { stop(); cancel(); s.acting.Done() }), nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// Builtin is the mode in which our loops act.
func Builtin(m Mode) bool { return m == ModeBuiltin }

// OLM is the mode in which an OLM's do.
func OLM(m Mode) bool { return m == ModeOLM }

// NotBuiltin are the modes in which they do not.
func NotBuiltin(m Mode) bool { return m != ModeBuiltin }

// While has a reconciler act only while the mode suits. Until then its requests wait, so that none is lost; what is
// under way when the mode changes is cancelled.
func (s *Switch) While(suits func(Mode) bool, inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		during, done, err := s.Await(ctx, suits)
		if err != nil {
			return reconcile.Result{}, nil //nolint:nilerr // the manager is ending
		}
		defer done()
		result, err := inner.Reconcile(during, r)
		if err != nil && during.Err() != nil && ctx.Err() == nil {
			return reconcile.Result{RequeueAfter: 1}, nil // it waits for its mode to come back
		}
		return result, err
	})
}

// SetupWithManager has the mode decided at the start and when a CustomResourceDefinition that tells changes.
func (s *Switch) SetupWithManager(mgr ctrl.Manager) error {
	tells := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetName() == subscriptionsCRD || o.GetName() == olmConfigsCRD
	})
	one := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} }
	start := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{})
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("lifecycle").
		Watches(&apiextensions.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(one)).
		WithEventFilter(tells).
		WatchesRawSource(start).
		Complete(s)
}
