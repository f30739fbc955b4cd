package kube

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestListed(t *testing.T) {
	object := func(namespace, name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	c := fake.NewClientBuilder().WithObjects(object("a", "one"), object("a", "two"), object("b", "one")).Build()
	broken := interceptor.NewClient(c, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("stopped")
		},
	})
	named := func(name string) func(*corev1.ConfigMap) bool {
		return func(cm *corev1.ConfigMap) bool { return cm.Name == name }
	}
	request := func(namespace, name string) reconcile.Request {
		return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
	}
	cases := map[string]struct {
		reason    string
		c         client.Reader
		concerned func(*corev1.ConfigMap) bool
		options   []client.ListOption
		want      []reconcile.Request
	}{
		"All":       {"Without a filter all objects are enqueued.", c, nil, nil, []reconcile.Request{request("a", "one"), request("a", "two"), request("b", "one")}},
		"Concerned": {"Objects that the filter rejects are not enqueued.", c, named("one"), nil, []reconcile.Request{request("a", "one"), request("b", "one")}},
		"Options":   {"List options are passed to the cache.", c, nil, []client.ListOption{client.InNamespace("b")}, []reconcile.Request{request("b", "one")}},
		"None":      {"Nothing is enqueued if the filter rejects all objects.", c, named("three"), nil, nil},
		"Error":     {"Nothing is enqueued if the cache returns an error.", broken, nil, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := EnqueueListed(t.Context(), tc.c, &corev1.ConfigMapList{}, tc.concerned, tc.options...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
