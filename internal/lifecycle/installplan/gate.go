package installplan

import (
	"context"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/lifecycle/surroundings"
	"github.com/operator-status/operator-status/internal/probe"
	"github.com/operator-status/operator-status/internal/subscription"
)

// update is a ClusterServiceVersion of a plan that replaces a running one.
type update struct {
	target  string
	running *v1alpha1.ClusterServiceVersion
}

// hold asks every operator that the plan would update whether it may: a plan is approved whole or not at all. It is
// nil where none has anything against it. Probes and OperatorConditions are read live, since a cache may not have
// heard yet.
func (r *Reconciler) hold(ctx context.Context, plan *olm.InstallPlan) (*subscription.Hold, error) {
	updates, err := r.updates(ctx, plan)
	if err != nil {
		return nil, err
	}
	var overridden *subscription.Hold
	for _, u := range updates {
		in, err := r.holdInputs(ctx, u)
		if err != nil {
			return nil, err
		}
		hold := subscription.Held(in)
		if hold.Holds() {
			return hold, nil
		}
		if hold != nil {
			overridden = hold
		}
	}
	return overridden, nil
}

// updates are the running ClusterServiceVersions that the plan would replace.
func (r *Reconciler) updates(ctx context.Context, plan *olm.InstallPlan) ([]update, error) {
	csvs, err := surroundings.CSVs(ctx, r.Client, plan.Namespace)
	if err != nil {
		return nil, err
	}
	var out []update
	for _, step := range plan.Status.Plan {
		if step.Resource.Kind != v1alpha1.ClusterServiceVersionKind {
			continue
		}
		object, err := Object(step)
		if err != nil {
			return nil, err
		}
		replaces, _, _ := unstructured.NestedString(object.Object, "spec", "replaces")
		if running := surroundings.Running(csvs, replaces); running != nil {
			out = append(out, update{step.Resource.Name, running})
		}
	}
	return out, nil
}

func (r *Reconciler) holdInputs(ctx context.Context, u update) (out subscription.HoldInputs, err error) {
	out.Running, out.Target = u.running, u.target
	key := client.ObjectKeyFromObject(u.running)
	if out.Probe, err = probe.Find(ctx, r.Reader, key); err != nil {
		return out, err
	}
	out.Unread = out.Probe != nil && !r.Judged(out.Probe)
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

// allowing is the Subscription that the target is for: the one on which an administrator allows it, or else that which
// has the running one installed.
func (r *Reconciler) allowing(ctx context.Context, u update) (*v1alpha1.Subscription, error) {
	list := &v1alpha1.SubscriptionList{}
	if err := r.Client.List(ctx, list, client.InNamespace(u.running.Namespace)); err != nil {
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
