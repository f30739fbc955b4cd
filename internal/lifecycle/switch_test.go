package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func undecided() *Switch { return NewSwitch(ModeAuto, nil) }

type outcome struct {
	result reconcile.Result
	err    error
}

// start calls a reconciler in a goroutine and returns a channel for its outcome.
func start(ctx context.Context, r reconcile.Reconciler) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		result, err := r.Reconcile(ctx, reconcile.Request{})
		out <- outcome{result, err}
	}()
	return out
}

func resultOf(from <-chan outcome) string {
	synctest.Wait()
	select {
	case o := <-from:
		return fmt.Sprintf("again %t, error %v", o.result.RequeueAfter > 0, o.err)
	default:
		return "waits"
	}
}

func TestWhile(t *testing.T) {
	refused := errors.New("refused")
	untilCancelled := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	cases := map[string]struct {
		reason string
		inner  func(context.Context) error
		do     func(s *Switch, end context.CancelFunc)
		calls  int64
		want   string
	}{
		"Undecided": {
			reason: "No reconciler runs before the mode is decided, whichever mode it is for.",
			do:     func(*Switch, context.CancelFunc) {},
			want:   "waits",
		},
		"AnotherMode": {
			reason: "A request waits while the mode changes between other modes.",
			do:     func(s *Switch, _ context.CancelFunc) { s.set(ModeOff); s.set(ModeOLM) },
			want:   "waits",
		},
		"Suits": {
			reason: "A waiting request is reconciled once after the mode changed to its own.",
			do:     func(s *Switch, _ context.CancelFunc) { s.set(ModeOff); synctest.Wait(); s.set(ModeBuiltin) },
			calls:  1, want: "again false, error <nil>",
		},
		"AnErrorIsPassedOn": {
			reason: "An error is returned to the controller while the mode lasts.",
			inner:  func(context.Context) error { return refused },
			do:     func(s *Switch, _ context.CancelFunc) { s.set(ModeBuiltin) },
			calls:  1, want: "again false, error refused",
		},
		"CancelledWhenTheModeChanges": {
			reason: "A running reconcile is canceled without an error when the mode changes, and its request is requeued.",
			inner:  untilCancelled,
			do:     func(s *Switch, _ context.CancelFunc) { s.set(ModeBuiltin); synctest.Wait(); s.set(ModeOLM) },
			calls:  1, want: "again true, error <nil>",
		},
		"TheSameModeAgain": {
			reason: "A reconcile is not interrupted if the same mode is decided again.",
			inner:  untilCancelled,
			do:     func(s *Switch, _ context.CancelFunc) { s.set(ModeBuiltin); synctest.Wait(); s.set(ModeBuiltin) },
			calls:  1, want: "waits",
		},
		"EndsWhileWaiting": {
			reason: "A waiting request ends without an error when the manager ends.",
			do:     func(_ *Switch, end context.CancelFunc) { end() },
			want:   "again false, error <nil>",
		},
		"EndsWhileActing": {
			reason: "A request that the manager's end cancels is not requeued.",
			inner:  untilCancelled,
			do:     func(s *Switch, end context.CancelFunc) { s.set(ModeBuiltin); synctest.Wait(); end() },
			calls:  1, want: "again false, error context canceled",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				defer end()
				s := undecided()
				var calls atomic.Int64
				inner := reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
					calls.Add(1)
					if tc.inner != nil {
						return reconcile.Result{}, tc.inner(ctx)
					}
					return reconcile.Result{}, nil
				})
				done := start(ctx, s.While(Builtin, inner))
				synctest.Wait()
				tc.do(s, end)
				if got := resultOf(done); got != tc.want {
					t.Errorf("%s\nit %s; want %s", tc.reason, got, tc.want)
				}
				if got := calls.Load(); got != tc.calls {
					t.Errorf("%s\n%d calls; want %d", tc.reason, got, tc.calls)
				}
			})
		})
	}
}

// TestAwaitEndsWithItsMode verifies that the context of Await is canceled when the mode changes, and that the new mode
// starts only after the caller is done.
func TestAwaitEndsWithItsMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := undecided()
		s.set(ModeBuiltin)
		during, done, err := s.Await(t.Context(), Builtin)
		if err != nil {
			t.Fatal(err)
		}
		go s.set(ModeOLM)
		synctest.Wait()
		if during.Err() == nil || s.Mode() != "" {
			t.Errorf("while the mode changes, the context error is %v and the mode is %q", during.Err(), s.Mode())
		}
		done()
		synctest.Wait()
		if s.Mode() != ModeOLM {
			t.Errorf("after all reconcilers have stopped the mode is %q", s.Mode())
		}
		ctx, end := context.WithCancel(t.Context())
		end()
		if _, _, err := s.Await(ctx, Builtin); !errors.Is(err, context.Canceled) {
			t.Errorf("Await with an ended context: %v; want %v", err, context.Canceled)
		}
	})
}

// TestNoRequestIsLost verifies that requests that arrive while the mode changes, and are requeued as a controller
// would, are each reconciled completely and once.
func TestNoRequestIsLost(t *testing.T) {
	const requests = 200
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s := undecided()
	var whole [requests]atomic.Int64
	r := s.While(Builtin, reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		for range 5 {
			runtime.Gosched()
			if ctx.Err() != nil {
				return reconcile.Result{}, ctx.Err()
			}
		}
		var i int
		if _, err := fmt.Sscan(r.Name, &i); err != nil {
			return reconcile.Result{}, err
		}
		whole[i].Add(1)
		return reconcile.Result{}, nil
	}))
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() {
			request := reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprint(i)}}
			for ctx.Err() == nil {
				result, err := r.Reconcile(ctx, request)
				if err == nil && result.RequeueAfter == 0 {
					return
				}
			}
		})
	}
	flip(t, s, 500)
	s.set(ModeBuiltin)
	all.Wait()
	for i := range whole {
		if n := whole[i].Load(); n != 1 {
			t.Errorf("request %d was reconciled %d times", i, n)
		}
	}
}

// flip changes the mode many times at random.
func flip(t *testing.T, s *Switch, times int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	modes := []Mode{ModeBuiltin, ModeOLM, ModeOff}
	for range times {
		s.set(modes[random.IntN(len(modes))])
		time.Sleep(time.Duration(random.IntN(50)) * time.Microsecond)
	}
}

// TestNeverBoth verifies that reconcilers for different modes never run at the same time, however often the mode
// changes.
func TestNeverBoth(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	s := undecided()
	var acting [2]atomic.Int64
	var acted [2]atomic.Int64
	var both atomic.Int64
	act := func(mine, other int) reconcile.Reconciler {
		return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			acting[mine].Add(1)
			defer acting[mine].Add(-1)
			acted[mine].Add(1)
			for range 5 {
				if acting[other].Load() > 0 {
					both.Add(1)
				}
				if ctx.Err() != nil {
					return reconcile.Result{}, ctx.Err()
				}
				runtime.Gosched()
			}
			return reconcile.Result{}, nil
		})
	}
	var all sync.WaitGroup
	for _, r := range []reconcile.Reconciler{s.While(Builtin, act(0, 1)), s.While(NotBuiltin, act(1, 0))} {
		for range 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = r.Reconcile(ctx, reconcile.Request{})
				}
			})
		}
	}
	flip(t, s, 1000)
	end()
	all.Wait()
	if n := both.Load(); n > 0 {
		t.Errorf("reconcilers of both modes ran at the same time %d times (%d and %d runs)", n, acted[0].Load(), acted[1].Load())
	}
	if acted[0].Load() == 0 || acted[1].Load() == 0 {
		t.Errorf("%d and %d runs; want some of both modes", acted[0].Load(), acted[1].Load())
	}
}

// failingClient returns a client whose Get fails with *fails while that is not nil.
func failingClient(t *testing.T, fails *error) client.Client {
	t.Helper()
	scheme := kruntime.NewScheme()
	if err := apiextensions.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if *fails != nil {
				return *fails
			}
			return c.Get(ctx, key, o, options...)
		},
	}).Build()
}

// TestSwitchFollows verifies that the mode follows CustomResourceDefinitions that are created, relabeled and deleted.
func TestSwitchFollows(t *testing.T) {
	var fails error
	c := failingClient(t, &fails)
	s := NewSwitch(ModeAuto, c)
	configs := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: olmConfigsCRD}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		reason string
		do     func()
		want   Mode
	}{
		{"The mode is off without CRDs.", func() {}, ModeOff},
		{"The mode is builtin once our CRD is created.", func() { must(c.Create(t.Context(), builtInCRD())) }, ModeBuiltin},
		{"The mode is olm once the CRD of OLM is created.", func() { must(c.Create(t.Context(), configs.DeepCopy())) }, ModeOLM},
		{"The mode is builtin once the CRD of OLM is deleted.", func() { must(c.Delete(t.Context(), configs)) }, ModeBuiltin},
		{"The mode is off once our CRD loses its label.", func() {
			must(c.Patch(t.Context(), builtInCRD(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))))
		}, ModeOff},
		{"The mode is builtin once our CRD has its label again.", func() {
			must(c.Patch(t.Context(), builtInCRD(), client.RawPatch(types.MergePatchType,
				[]byte(`{"metadata":{"labels":{"operatorstatus.io/lifecycle":"builtin"},"finalizers":["example.com/holds"]}}`))))
		}, ModeBuiltin},
		{"The mode is off while our CRD is being deleted.", func() { must(c.Delete(t.Context(), builtInCRD())) }, ModeOff},
	} {
		step.do()
		if _, err := s.Reconcile(t.Context(), reconcile.Request{}); err != nil {
			t.Fatalf("%s %v", step.reason, err)
		}
		if got := s.Mode(); got != step.want {
			t.Errorf("%s The mode is %s; want %s", step.reason, got, step.want)
		}
	}
}

// TestSwitchKeepsItsMode verifies that a failed read does not change the mode.
func TestSwitchKeepsItsMode(t *testing.T) {
	var fails error
	c := failingClient(t, &fails)
	s := NewSwitch(ModeAuto, c)
	if err := c.Create(t.Context(), builtInCRD()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reconcile(t.Context(), reconcile.Request{}); err != nil {
		t.Fatal(err)
	}
	fails = errors.New("away")
	_, err := s.Reconcile(t.Context(), reconcile.Request{})
	if mode := s.Mode(); !errors.Is(err, fails) || mode != ModeBuiltin {
		t.Errorf("the mode is %s, the error %v; want the mode kept and the error returned", mode, err)
	}
}

// TestDecided verifies that the mode counts as decided from the first decision on, whichever it was, also while it changes.
func TestDecided(t *testing.T) {
	s := undecided()
	if s.Decided() == nil {
		t.Error("the mode is decided before the first decision")
	}
	s.set(ModeOff)
	if err := s.Decided(); err != nil {
		t.Errorf("mode off does not count as decided: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := undecided()
		s.set(ModeOff)
		ctx, release, err := s.Await(t.Context(), NotBuiltin)
		if err != nil {
			t.Fatal(err)
		}
		go s.set(ModeBuiltin) // waits for the reconciler
		<-ctx.Done()
		if err := s.Decided(); err != nil || s.Mode() != "" {
			t.Errorf("not decided while mode %q changes: %v", s.Mode(), err)
		}
		release()
		synctest.Wait()
	})
}
