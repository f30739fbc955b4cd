package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Switch lets reconcilers run only while the mode suits them. It follows the cluster: CustomResourceDefinitions may be
// created, relabeled or deleted while the manager runs, and reconcilers of different modes never run at the same time.
type Switch struct {
	// Flag is the mode that the administrator requested.
	Flag Mode

	// Reader reads whole CustomResourceDefinitions from the API server, since the cache keeps no schemas.
	Reader client.Reader

	mu      sync.Mutex
	mode    Mode          // empty before the first decision and while it changes
	decided bool          // once and for all
	changed chan struct{} // closed when the mode changes
	end     context.CancelFunc
	during  context.Context // lasts as long as the mode
	acting  sync.WaitGroup
}

// NewSwitch returns a Switch whose mode has not been decided yet.
func NewSwitch(flag Mode, reader client.Reader) *Switch {
	out := &Switch{Flag: flag, Reader: reader, changed: make(chan struct{})}
	out.during, out.end = context.WithCancel(context.Background())
	return out
}

// Reconcile decides the mode again.
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
		log.FromContext(ctx).Info("Selected lifecycle mode", "lifecycle", mode, "because", why)
	}
	return reconcile.Result{}, nil
}

// set cancels the reconcilers of the old mode, waits until they have returned, and changes the mode. It reports whether
// it did.
func (s *Switch) set(mode Mode) bool {
	s.mu.Lock()
	if s.mode == mode {
		s.mu.Unlock()
		return false
	}
	s.mode = "" // no reconciler starts meanwhile
	s.end()
	s.mu.Unlock()
	s.acting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode, s.decided = mode, true
	s.during, s.end = context.WithCancel(context.Background())
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// Mode returns the current mode. It is empty before the first decision and while it changes.
func (s *Switch) Mode() Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode
}

// Await blocks until the mode suits. The returned context is canceled when the mode is about to change. The mode does
// not change until the caller, when done, calls the returned function.
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

// Builtin reports whether the built-in controllers run in this mode.
func Builtin(m Mode) bool { return m == ModeBuiltin }

// OLM reports whether OLM's controllers run in this mode.
func OLM(m Mode) bool { return m == ModeOLM }

// NotBuiltin reports whether the built-in controllers do not run in this mode.
func NotBuiltin(m Mode) bool { return m != ModeBuiltin }

// While wraps a reconciler to run only while the mode suits. Until then its requests block, so none is lost. Reconciles
// in progress are canceled when the mode changes.
func (s *Switch) While(suits func(Mode) bool, inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		during, done, err := s.Await(ctx, suits)
		if err != nil {
			return reconcile.Result{}, nil // the manager is stopping
		}
		defer done()
		result, err := inner.Reconcile(during, r)
		if err != nil && during.Err() != nil && ctx.Err() == nil {
			return reconcile.Result{RequeueAfter: 1}, nil // requeue: the request waits for its mode again
		}
		return result, err
	})
}

// Decided returns an error until the mode has been decided for the first time.
func (s *Switch) Decided() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.decided {
		return errors.New("the lifecycle mode has not been determined yet")
	}
	return nil
}

// SetupWithManager decides the mode at startup and whenever one of the CustomResourceDefinitions that determine it
// changes. A process that is not the leader decides it too: it is ready only once it has, and a rollout waits until the new
// process is ready before it ends the leader.
func (s *Switch) SetupWithManager(mgr ctrl.Manager) error {
	relevant := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetName() == subscriptionsCRD || o.GetName() == olmConfigsCRD
	})
	one := func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} }
	start := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{})
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("lifecycle").
		WithOptions(controller.Options{NeedLeaderElection: new(false)}).
		Watches(&apiextensions.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(one)).
		WithEventFilter(relevant).
		WatchesRawSource(start).
		Complete(s)
}
