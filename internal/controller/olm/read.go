package olm

import (
	"context"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/bridge"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// read reads a namespace. ClusterServiceVersions come from the cache: they are large, and none of their changes holds
// an update. Everything else comes from the given reader. The objects are read-only, since they may be shared with the
// cache.
func read(ctx context.Context, cache, from client.Reader, namespace, identity string) (bridge.Namespace, error) {
	out := bridge.Namespace{
		Probes:             map[string]*v1alpha1.Probe{},
		OperatorConditions: map[string]*operatorsv2.OperatorCondition{},
		OptedIn:            map[string]bool{},
		Reader:             identity,
	}
	var err error
	if out.CSVs, err = operatorgroup.CSVs(ctx, cache, namespace); err != nil {
		return out, err
	}
	subs, probes, conditions := &v1alpha1.SubscriptionList{}, &v1alpha1.ProbeList{}, &operatorsv2.OperatorConditionList{}
	for what, list := range map[string]client.ObjectList{"Subscriptions": subs, "Probes": probes, "OperatorConditions": conditions} {
		if err := from.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return out, fmt.Errorf("listing the %s of namespace %s: %w", what, namespace, err)
		}
	}
	out.Subscriptions = subs.Items
	for i := range probes.Items {
		out.Probes[probes.Items[i].Name] = &probes.Items[i]
	}
	for i := range conditions.Items {
		out.OperatorConditions[conditions.Items[i].Name] = &conditions.Items[i]
	}
	for name, csv := range out.CSVs {
		if !bridge.Begun(csv) {
			continue
		}
		if out.OptedIn[name], err = annotations.OptedIn(ctx, cache, csv); err != nil {
			return out, err
		}
	}
	return out, nil
}

// readAll is like read, and also reads the Targets that the approval gate needs.
func readAll(ctx context.Context, cache, from client.Reader, namespace, identity string) (bridge.Namespace, error) {
	out, err := read(ctx, cache, from, namespace, identity)
	if err != nil {
		return out, err
	}
	out.Targets, err = operatorgroup.HashOf(ctx, from, cache, namespace)
	return out, err
}

// readLive is like readAll, and also reads which pods of Probes are ready. It reads everything that holds an update from the
// API server.
func readLive(ctx context.Context, cache, live client.Reader, namespace, identity string) (bridge.Namespace, error) {
	out, err := readAll(ctx, cache, live, namespace, identity)
	if err != nil {
		return out, err
	}
	out.Readers = map[string]string{}
	for name, probe := range out.Probes {
		if out.Readers[name], err = isolation.LiveReader(ctx, live, probe, identity); err != nil {
			return out, err
		}
	}
	return out, nil
}

// find returns an object, or nil if it does not exist.
func find[T any, O interface {
	*T
	client.Object
}](ctx context.Context, from client.Reader, key types.NamespacedName) (O, error) {
	out := O(new(T))
	if err := from.Get(ctx, key, out); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("getting %T %s: %w", out, key, err)
	}
	return out, nil
}

// planOf returns the InstallPlan that a Subscription's status refers to; nil if there is none.
func planOf(ctx context.Context, from client.Reader, sub *v1alpha1.Subscription) (*olm.InstallPlan, error) {
	if sub.Status.InstallPlanRef == nil {
		return nil, nil
	}
	return find[olm.InstallPlan](ctx, from, types.NamespacedName{Namespace: sub.Namespace, Name: sub.Status.InstallPlanRef.Name})
}
