package installplan

import (
	"context"
	"fmt"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/resolve"
)

// decide evaluates the gate for every operator that the plan would update. It reads Probes, OperatorConditions,
// Subscriptions and the OperatorGroup from the API server, since the cache may be stale.
func (r *Reconciler) decide(ctx context.Context, namespace string, choices []resolve.Choice) (gate.Decision, error) {
	updates, err := r.updates(ctx, namespace, choices)
	if err != nil || len(updates) == 0 {
		return gate.Decision{}, err
	}
	targets, err := operatorgroup.HashOf(ctx, r.Reader, r.Client, namespace)
	if err != nil {
		return gate.Decision{}, err
	}
	reader, err := r.ProbeReader(ctx)
	if err != nil {
		return gate.Decision{}, err
	}
	var inputs []gate.Inputs
	for _, u := range updates {
		in, err := r.gateInputs(ctx, u, reader, targets)
		if err != nil {
			return gate.Decision{}, err
		}
		inputs = append(inputs, in)
	}
	return gate.EvaluatePlan(inputs), nil
}

func (r *Reconciler) gateInputs(ctx context.Context, u update, reader, targets string) (out gate.Inputs, err error) {
	out.Running, out.Target, out.Reader, out.Targets = u.running, u.target, reader, targets
	key := client.ObjectKeyFromObject(u.running)
	if out.Probe, err = annotations.Find(ctx, r.Reader, key); err != nil {
		return out, err
	}
	if out.Probe != nil {
		if out.Reader, err = isolation.LiveReader(ctx, r.Reader, out.Probe, reader); err != nil {
			return out, err
		}
	}
	if out.OptedIn, err = annotations.OptedIn(ctx, r.Client, u.running); err != nil {
		return out, err
	}
	if out.OperatorCondition, err = r.operatorCondition(ctx, key); err != nil {
		return out, err
	}
	out.Subscription, err = r.allowing(ctx, u)
	return out, err
}

func (r *Reconciler) operatorCondition(ctx context.Context, key types.NamespacedName) (*operatorsv2.OperatorCondition, error) {
	out := &operatorsv2.OperatorCondition{}
	if err := r.Reader.Get(ctx, key, out); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("getting OperatorCondition %s: %w", key, err)
	}
	return out, nil
}

// allowing returns the Subscription on which an administrator allows the target, else the one that has the running CSV
// installed; nil if neither exists.
func (r *Reconciler) allowing(ctx context.Context, u update) (*v1alpha1.Subscription, error) {
	list := &v1alpha1.SubscriptionList{}
	if err := r.Reader.List(ctx, list, client.InNamespace(u.running.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the Subscriptions of namespace %s: %w", u.running.Namespace, err)
	}
	var out *v1alpha1.Subscription
	for i := range list.Items {
		sub := &list.Items[i]
		if sub.Annotations[v1alpha1.AnnotationAllowUpgrade] == u.target {
			return sub, nil
		}
		if sub.Status.InstalledCSV == u.running.Name || sub.Name == u.running.Annotations[v1alpha1.AnnotationSubscription] {
			out = sub
		}
	}
	return out, nil
}
