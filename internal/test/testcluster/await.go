package testcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// resync is how often a wait checks without an event, since a check may read other objects, too.
const resync = 500 * time.Millisecond

// Await reads an object until check returns an empty string, and fails the test with its last result on timeout.
func (c *Cluster) Await(t testing.TB, o client.Object, check func() string) {
	t.Helper()
	c.AwaitWithin(t, Timeout, o, check)
}

// AwaitWithin is Await with a timeout of its own, for changes that take longer.
func (c *Cluster) AwaitWithin(t testing.TB, timeout time.Duration, o client.Object, check func() string) {
	t.Helper()
	key := client.ObjectKeyFromObject(o)
	var last string
	err := c.await(timeout, o, func(err error) bool {
		if err != nil {
			last = err.Error()
			return false
		}
		last = check()
		return last == ""
	})
	if err != nil {
		t.Fatalf("%s\n%T %s: %v: %s", Print(o), o, key, err, last)
	}
}

// AwaitAllowed waits until the API server allows a request to a user, or no longer does: it learns of bindings soon after they are created.
func (c *Cluster) AwaitAllowed(t testing.TB, user string, request authorizationv1.ResourceAttributes, allowed bool) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		review = &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &request}}
		err := c.Client.Create(ctx, review)
		return review.Status.Allowed == allowed, err
	})
	if err != nil {
		t.Fatalf("waiting until %s is allowed %+v (%t): %v: %s", user, request, allowed, err, review.Status.Reason)
	}
}

// AwaitGone waits until an object does not exist.
func (c *Cluster) AwaitGone(t testing.TB, o client.Object) {
	t.Helper()
	err := c.await(Timeout, o, func(err error) bool { return err != nil && client.IgnoreNotFound(err) == nil })
	if err != nil {
		t.Fatalf("%s\n%T %s is still there: %v", Print(o), o, client.ObjectKeyFromObject(o), err)
	}
}

// await reads an object and passes the error to done, again whenever the object changes, until done returns true. A
// watch costs the API server a fraction of frequent reads, which took a third of its time.
func (c *Cluster) await(timeout time.Duration, o client.Object, done func(error) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	key := client.ObjectKeyFromObject(o)
	if done(c.Client.Get(ctx, key, o)) {
		return nil
	}
	tick := time.NewTicker(resync)
	defer tick.Stop()
	changes := c.watch(ctx, o)
	defer func() { changes.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %w", timeout, ctx.Err())
		case _, open := <-changes.ResultChan():
			if !open {
				changes = watch.NewFake() // which has no events, until the next tick
			}
		case <-tick.C:
			if _, none := changes.(*watch.FakeWatcher); none {
				changes = c.watch(ctx, o)
			}
		}
		if done(c.Client.Get(ctx, key, o)) {
			return nil
		}
	}
}

// watch watches the metadata of an object. If its kind is not served, it returns a watch without events.
func (c *Cluster) watch(ctx context.Context, o client.Object) watch.Interface {
	kind, err := c.Client.GroupVersionKindFor(o)
	if err != nil {
		return watch.NewFake()
	}
	list := &metav1.PartialObjectMetadataList{}
	kind.Kind += "List"
	list.SetGroupVersionKind(kind)
	changes, err := c.Client.Watch(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()})
	if err != nil {
		return watch.NewFake()
	}
	return changes
}

// AwaitEvent waits until an Event in a namespace has that reason and "<object name>: <message>" contains the words. An Event
// is created after the status that it is about: a test that has seen the status still has to wait.
func (c *Cluster) AwaitEvent(t testing.TB, namespace, reason, words string) {
	t.Helper()
	events := &corev1.EventList{}
	err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
		if err := c.Client.List(ctx, events, client.InNamespace(namespace)); err != nil {
			return false, nil
		}
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == reason && strings.Contains(e.InvolvedObject.Name+": "+e.Message, words)
		}), nil
	})
	if err != nil {
		t.Errorf("no Event %s in namespace %s contains %q: %v\n%+v", reason, namespace, words, err, events.Items)
	}
}
