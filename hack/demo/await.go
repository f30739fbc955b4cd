package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// patience is how long a step waits for something that should happen immediately.
const patience = time.Minute

// await watches an object until state returns want, and returns the object in that state.
func await[T client.Object](ctx context.Context, s *stage, o T, want string, state func(T) string) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	failed := &unexpected{want: want, saw: "no such object"}
	gvk, err := apiutil.GVKForObject(o, s.admin.Scheme())
	if err != nil {
		return o, err
	}
	failed.what = fmt.Sprintf("%s %s", gvk.Kind, strings.TrimPrefix(client.ObjectKeyFromObject(o).String(), "/"))
	for {
		done, err := watchOnce(ctx, s, o, func(now client.Object) bool {
			if now == nil {
				failed.saw, failed.object = "it does not exist", nil
				return false
			}
			o = now.(T)
			failed.saw, failed.object = state(o), withoutNoise(o)
			return failed.saw == want
		})
		switch {
		case done:
			return o, nil
		case err != nil && ctx.Err() == nil:
			return o, fmt.Errorf("watching %s: %w", failed.what, errors.Join(err, failed))
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return o, fmt.Errorf("after %s: %w", duration(patience), failed)
		case ctx.Err() != nil:
			return o, ctx.Err()
		}
	}
}

// awaitGone waits until an object does not exist.
func (s *stage) awaitGone(ctx context.Context, o client.Object, key types.NamespacedName) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := s.admin.Get(ctx, key, o)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		gone := &unexpected{what: fmt.Sprintf("%T %s", o, key), want: "it does not exist", saw: "it exists", object: withoutNoise(o)}
		return errors.Join(gone, err)
	}
	return nil
}

// watchOnce calls look with an object initially and after every change, with nil if it is deleted, until look returns
// true. It returns false if the API server ends the watch, and an error if a manager exits by itself.
func watchOnce(ctx context.Context, s *stage, o client.Object, look func(client.Object) bool) (done bool, err error) {
	list, err := listOf(s.admin, o)
	if err != nil {
		return false, err
	}
	w, err := s.admin.Watch(ctx, list, client.InNamespace(o.GetNamespace()), client.MatchingFields{"metadata.name": o.GetName()})
	if err != nil {
		return false, err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-s.exited:
			return false, errors.New("the manager has ended")
		case event, open := <-w.ResultChan():
			switch {
			case !open:
				return false, nil
			case event.Type == watch.Error:
				return false, apierrors.FromObject(event.Object)
			case event.Type == watch.Deleted:
				look(nil)
			case event.Type != watch.Bookmark && look(event.Object.(client.Object)):
				return true, nil
			}
		}
	}
}

func listOf(c client.Client, o client.Object) (client.ObjectList, error) {
	gvk, err := apiutil.GVKForObject(o, c.Scheme())
	if err != nil {
		return nil, err
	}
	gvk.Kind += "List"
	list, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, err
	}
	return list.(client.ObjectList), nil
}

// withoutNoise returns an object without its managed fields.
func withoutNoise(o client.Object) client.Object {
	o = o.DeepCopyObject().(client.Object)
	o.SetManagedFields(nil)
	return o
}
