package library_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/pkg/probe"
)

func heldFoo(name string) probe.Object {
	return probe.Object{Resource: "foos.example.com", Kind: "Foo", Namespace: "default", Name: name}
}

// TestHold verifies that each object holds and releases on its own, also across a restart.
func TestHold(t *testing.T) {
	o := start(t, cluster, csv(t))
	began := metav1.NewTime(o.now)
	a, b, global := heldFoo("a"), heldFoo("b"), probe.Object{Resource: "bars.example.com", Kind: "Bar", Name: "global"}
	const get, write = "get probes 200", "patch probes/status 200"
	restart := func() { o.Client = o.with(t, o.client) }
	hold := func(object probe.Object, message string) func() error {
		return func() error { return o.Hold(t.Context(), object, message) }
	}
	release := func(object probe.Object) func() error {
		return func() error { return o.Release(t.Context(), object) }
	}
	for i, s := range []struct {
		reason   string
		call     func() error
		status   metav1.ConditionStatus
		message  string
		since    time.Duration // after the first call
		requests []string
	}{
		{"Nothing holds before.", release(a), metav1.ConditionTrue, "No object holds updates", 0,
			[]string{"get probes 404", "get clusterserviceversions 200", "create probes 201", write}},
		{"The object is named.", hold(a, "migrating"), metav1.ConditionFalse, "Waiting for Foo default/a: migrating", 1, []string{get, write}},
		{"Nothing is written if nothing changes.", hold(a, "migrating"), metav1.ConditionFalse, "Waiting for Foo default/a: migrating", 1, []string{get}},
		{"Another message is no transition.", hold(a, "restoring"), metav1.ConditionFalse, "Waiting for Foo default/a: restoring", 1, []string{get, write}},
		{"Another object holds, too.", hold(b, ""), metav1.ConditionFalse, "Waiting for Foo default/a: restoring; Foo default/b", 1, []string{get, write}},
		{"The release of one does not end the hold of another.", release(a), metav1.ConditionFalse, "Waiting for Foo default/b", 1, []string{get, write}},
		{"Who never held releases nothing.", release(a), metav1.ConditionFalse, "Waiting for Foo default/b", 1, []string{get}},
		{"A process that starts knows who holds.", func() error { restart(); return o.Hold(t.Context(), global, "moving") }, metav1.ConditionFalse,
			"Waiting for Bar global: moving; Foo default/b", 1, []string{get, write}},
		{"It can release.", release(b), metav1.ConditionFalse, "Waiting for Bar global: moving", 1, []string{get, write}},
		{"The last one allows updates.", release(global), metav1.ConditionTrue, "No object holds updates", 9, []string{get, write}},
	} {
		o.now = began.Add(time.Duration(i) * time.Hour)
		since := time.Now()
		must(t, s.call())
		if diff := cmp.Diff(s.requests, o.requests(t, since)); diff != "" && !strings.Contains(s.reason, "starts") {
			t.Errorf("%s requests (-want +got):\n%s", s.reason, diff)
		}
		c := upgradeable(actual(t, o.key))
		if c.Status != s.status || c.Message != s.message {
			t.Errorf("%s It is %s %q", s.reason, c.Status, c.Message)
		}
		if want := metav1.NewTime(began.Add(s.since * time.Hour)); !c.LastTransitionTime.Equal(&want) {
			t.Errorf("%s The transition was at %s, want %s", s.reason, c.LastTransitionTime, want)
		}
	}
}

// TestHeld verifies that an operator that starts knows the objects that hold, so that it can release those that were deleted meanwhile.
func TestHeld(t *testing.T) {
	o := start(t, cluster, csv(t))
	held := func() []probe.Object {
		t.Helper()
		out, err := o.Held(t.Context())
		must(t, err)
		return out
	}
	if got := held(); len(got) > 0 {
		t.Errorf("%v hold before the Probe exists", got)
	}
	must(t, o.Hold(t.Context(), heldFoo("b"), "migrating"))
	must(t, o.Hold(t.Context(), heldFoo("a"), ""))
	o.Client = o.with(t, o.client)
	if diff := cmp.Diff([]probe.Object{heldFoo("a"), heldFoo("b")}, held()); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	for _, gone := range held() {
		must(t, o.Release(t.Context(), gone))
	}
	if c := upgradeable(actual(t, o.key)); c.Status != metav1.ConditionTrue {
		t.Errorf("after all were released, it is %s: %s", c.Status, c.Message)
	}
}

// TestHoldInvalid verifies that what no Probe could list is refused, and that a long message is shortened.
func TestHoldInvalid(t *testing.T) {
	o := start(t, cluster, csv(t))
	for _, object := range []probe.Object{{}, {Kind: "Foo"}, {Name: "a"}} {
		if err := o.Hold(t.Context(), object, "migrating"); !errors.Is(err, probe.ErrInvalidObject) {
			t.Errorf("Hold for %+v returns %v", object, err)
		}
	}
	for i := range 10 {
		must(t, o.Hold(t.Context(), heldFoo(fmt.Sprint(i)), strings.Repeat("ä", 100_000)))
	}
	p := actual(t, o.key)
	if n := len([]rune(p.Status.ProbeResources[0].Reasons[0])); n != 1024 {
		t.Errorf("a message has %d characters", n)
	}
	if c := upgradeable(p); c.Status != metav1.ConditionFalse || !strings.HasSuffix(c.Message, "; and 5 more") {
		t.Errorf("it is %s %s", c.Status, c.Message)
	}
}

// TestHoldMany verifies that more objects can hold than a Probe lists, from several goroutines, and that the last of them decides.
func TestHoldMany(t *testing.T) {
	o := start(t, cluster, csv(t))
	const many = v1alpha1.MaxStatusProbeResources + 10
	each := func(do func(context.Context, probe.Object) error) {
		t.Helper()
		errs := make(chan error)
		for i := range many {
			go func() { errs <- do(t.Context(), heldFoo(fmt.Sprintf("foo-%02d", i))) }()
		}
		for range many {
			must(t, <-errs)
		}
	}
	each(func(ctx context.Context, object probe.Object) error { return o.Hold(ctx, object, "migrating") })
	p := actual(t, o.key)
	if n := len(p.Status.ProbeResources); n != v1alpha1.MaxStatusProbeResources || p.Status.Summary.NotUpgradeable != many || p.Status.Summary.Omitted != 10 {
		t.Errorf("it lists %d, and counts %+v", n, p.Status.Summary)
	}
	if c := upgradeable(p); !strings.HasSuffix(c.Message, fmt.Sprintf("; and %d more", many-5)) {
		t.Errorf("the message is %s", c.Message)
	}
	last := heldFoo("foo-55")
	each(func(ctx context.Context, object probe.Object) error {
		if object == last {
			return nil
		}
		return o.Release(ctx, object)
	})
	if c := upgradeable(actual(t, o.key)); c.Status != metav1.ConditionFalse || c.Message != "Waiting for Foo default/foo-55: migrating" {
		t.Errorf("the last one does not hold: %+v", c)
	}
	must(t, o.Release(t.Context(), last))
	if c := upgradeable(actual(t, o.key)); c.Status != metav1.ConditionTrue {
		t.Errorf("it holds: %+v", c)
	}
}
