package probe

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/kube"
)

// Operators finds the operators that Probes name.
type Operators struct {
	// Find returns an operator, or nil if no version of it has run.
	Find func(context.Context, holdv1alpha1.OperatorReference) (*installer.Installed, error)

	// Changes is the cache that Find reads from, and Kinds has an object of each kind that it reads. Of returns the operators that an
	// object may be a part of.
	Changes cache.Cache
	Kinds   []client.Object
	Of      func(context.Context, client.Object) []holdv1alpha1.OperatorReference
}

// watchParts enqueues the Probes that name an operator when a part of it changes.
func (r *StatusReconciler) watchParts(c controller.Controller) error {
	naming := handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, part client.Object) []reconcile.Request {
		var out []reconcile.Request
		for _, of := range r.Operators.Of(ctx, part) {
			named := func(p *v1alpha1.Probe) bool {
				operator, ok := holdv1alpha1.ProbedOperator(p)
				return ok && operator == of
			}
			out = append(out, kube.EnqueueListed(ctx, r.Client, &v1alpha1.ProbeList{}, named, client.InNamespace(of.Namespace))...)
		}
		return out
	})
	for _, kind := range r.Operators.Kinds {
		if err := c.Watch(source.Kind(r.Operators.Changes, kind, naming)); err != nil {
			return err
		}
	}
	return nil
}
