package kube

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// EnqueueListed returns requests for those objects of a list that are concerned; nil means all. c is a cache: an error is
// logged, since a mapping function cannot return it, and the cache is about to stop.
func EnqueueListed[O client.Object](ctx context.Context, c client.Reader, list client.ObjectList, concerned func(O) bool,
	options ...client.ListOption,
) []reconcile.Request {
	if err := c.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the objects to enqueue", "list", fmt.Sprintf("%T", list))
		return nil
	}
	var out []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { // fails only for an object that is not a list
		if o := item.(O); concerned == nil || concerned(o) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return out
}
