package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestUpdate verifies that an object is written only to the version that was read, and that another version is no error of a
// reconcile.
func TestUpdate(t *testing.T) {
	writes := map[string]func(context.Context, client.Client, *corev1.Pod, *corev1.Pod) error{
		"Update": func(ctx context.Context, c client.Client, _, after *corev1.Pod) error {
			return UpdateStatus(ctx, c, after, "test")
		},
		"PatchStatus": func(ctx context.Context, c client.Client, before, after *corev1.Pod) error {
			return PatchStatus(ctx, c, before, after, "test")
		},
		"Patch": func(ctx context.Context, c client.Client, before, after *corev1.Pod) error {
			after.Spec.NodeName = "node"
			return Patch(ctx, c, before, after, "test")
		},
	}
	cases := map[string]struct {
		reason    string
		meanwhile func(context.Context, client.Client, *corev1.Pod) error
		outdated  bool
	}{
		"Unchanged": {"An object that did not change since it was read is written.", func(context.Context, client.Client, *corev1.Pod) error { return nil }, false},
		"Changed": {"An object that changed since it was read is not written.", func(ctx context.Context, c client.Client, o *corev1.Pod) error {
			o.Labels = map[string]string{"a": "b"}
			return c.Update(ctx, o)
		}, true},
		"Deleted": {"An object that was deleted since it was read is not written.",
			func(ctx context.Context, c client.Client, o *corev1.Pod) error { return c.Delete(ctx, o) }, true},
	}
	for name, tc := range cases {
		for how, write := range writes {
			t.Run(how+"/"+name, func(t *testing.T) {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
				c := fake.NewClientBuilder().WithObjects(pod).WithStatusSubresource(pod).Build()
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
					t.Fatal(err)
				}
				if err := tc.meanwhile(t.Context(), c, pod.DeepCopy()); err != nil {
					t.Fatal(err)
				}
				after := pod.DeepCopy()
				after.Status.Phase = corev1.PodRunning
				err := write(t.Context(), c, pod, after)
				if Outdated(err) != tc.outdated || !tc.outdated && err != nil {
					t.Fatalf("%s\ngot %v", tc.reason, err)
				}
				if err != nil && !strings.Contains(err.Error(), " Pod default/a: ") {
					t.Errorf("the error does not contain the name of the object: %v", err)
				}
				if live := (&corev1.Pod{}); !tc.outdated {
					if err := c.Get(t.Context(), client.ObjectKeyFromObject(pod), live); err != nil || live.Status.Phase != corev1.PodRunning && live.Spec.NodeName == "" {
						t.Errorf("%s\nthe API server has %+v, %v", tc.reason, live, err)
					}
				}
			})
		}
	}
}

func TestRequeue(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	later, now := reconcile.Result{RequeueAfter: time.Hour}, reconcile.Result{Requeue: true} //nolint:staticcheck // see Requeue
	conflict, absent := apierrors.NewConflict(pods, "a", errors.New("changed")), apierrors.NewNotFound(pods, "a")
	cases := map[string]struct {
		reason string
		err    error
		want   reconcile.Result
		fails  bool
	}{
		"None":     {"Without an error the result of the reconcile is returned.", nil, later, false},
		"Conflict": {"A conflict is retried at once, since the cache is about to have the new version.", fmt.Errorf("approving: %w", conflict), now, false},
		"Deleted":  {"A deletion is retried at once, since the cache is about to have it.", &deletedError{absent}, now, false},
		"NotFound": {"Another object that does not exist is an error.", absent, later, true},
		"Other":    {"Other errors are retried with backoff.", errors.New("away"), later, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Requeue(later, tc.err)
			if got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s\ngot %v, %v; want %v", tc.reason, got, err, tc.want)
			}
		})
	}
}
