package controller

import (
	"context"
	"fmt"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/annotations"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer/olmv0/bridge"
	"github.com/operator-status/operator-status/internal/isolation"
	"github.com/operator-status/operator-status/internal/operatorgroup"
	"github.com/operator-status/operator-status/internal/optin"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// view reads namespaces.
type view struct {
	// cache has ClusterServiceVersions: they are large, and none of their changes holds an update.
	cache client.Reader

	// from has everything else: the cache, or the API server where an update depends on it.
	from client.Reader

	// optIns reads the operators' declarations from there.
	optIns *optin.Store
}

// cached returns a view of a cache.
func cached(c client.Reader, optIns *optin.Store) view { return view{c, c, optIns} }

// at returns a view of the API server.
func at(api, cache client.Reader, optIns *optin.Store) view {
	return view{cache, api, optIns.From(api)}
}

// read reads a namespace. The objects are read-only, since they may be shared with the cache.
func (v view) read(ctx context.Context, namespace, identity string) (bridge.Namespace, error) {
	out := bridge.Namespace{
		Probes:             map[string]*v1alpha1.Probe{},
		OperatorConditions: map[string]*operatorsv2.OperatorCondition{},
		Declared:           map[string]gate.Declaration{},
		Reader:             identity,
	}
	var err error
	if out.CSVs, err = operatorgroup.CSVs(ctx, v.cache, namespace); err != nil {
		return out, err
	}
	subs, probes, conditions := &v1alpha1.SubscriptionList{}, &v1alpha1.ProbeList{}, &operatorsv2.OperatorConditionList{}
	for name, list := range map[string]client.ObjectList{"Subscriptions": subs, "Probes": probes, "OperatorConditions": conditions} {
		if err := v.from.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
			return out, fmt.Errorf("listing the %s of namespace %s: %w", name, namespace, err)
		}
	}
	out.Subscriptions, out.Now = subs.Items, time.Now()
	if out.UpgradeHolds, err = upgradehold.List(ctx, v.from, v.optIns.Namespace, subs.Items); err != nil {
		return out, err
	}
	for i := range probes.Items {
		out.Probes[probes.Items[i].Name] = &probes.Items[i]
	}
	for i := range conditions.Items {
		out.OperatorConditions[conditions.Items[i].Name] = &conditions.Items[i]
	}
	return out, v.declared(ctx, namespace, &out)
}

// declared reads the declarations of a namespace's operators, including those that no longer exist.
func (v view) declared(ctx context.Context, namespace string, out *bridge.Namespace) error {
	records, err := v.optIns.In(ctx, namespace)
	if err != nil {
		return err
	}
	known := map[string]*optin.OptIn{}
	for i := range records {
		record := &records[i]
		known[record.Of.Name] = record
		if out.CSVs[record.Of.Name] == nil && len(record.Resources) > 0 {
			out.Uninstalled = append(out.Uninstalled, uninstalled(record))
		}
	}
	policies, err := annotations.Policies(ctx, v.from)
	if err != nil {
		return err
	}
	for name, csv := range out.CSVs {
		if !bridge.MayHaveRun(csv) {
			continue
		}
		if out.Declared[name], err = annotations.Declared(ctx, v.cache, known[name], policies, csv); err != nil {
			return err
		}
	}
	return nil
}

func uninstalled(record *optin.OptIn) bridge.Uninstalled {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: record.Of.Namespace, Name: record.Of.Name}}
	out := bridge.Uninstalled{Name: csv.Name, Probe: annotations.ProbeOf(csv, v1alpha1.ManagerCRDAnnotations, record.Resources)}
	for _, r := range record.Resources {
		out.Owned = append(out.Owned, r.CRDName())
	}
	return out
}

// readAll is like read, and also reads the Targets that the approval gate needs.
func (v view) readAll(ctx context.Context, namespace, identity string) (bridge.Namespace, error) {
	out, err := v.read(ctx, namespace, identity)
	if err != nil {
		return out, err
	}
	out.Targets, err = operatorgroup.HashOf(ctx, v.from, v.cache, namespace)
	return out, err
}

// readLive is like readAll, and also reads which pods of Probes are ready.
func (v view) readLive(ctx context.Context, namespace, identity string) (bridge.Namespace, error) {
	out, err := v.readAll(ctx, namespace, identity)
	if err != nil {
		return out, err
	}
	out.Readers = map[string]string{}
	for name, probe := range out.Probes {
		if out.Readers[name], err = isolation.LiveReader(ctx, v.from, probe, identity); err != nil {
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

// planOf returns the InstallPlan that a Subscription's status refers to, or nil.
func planOf(ctx context.Context, from client.Reader, sub *v1alpha1.Subscription) (*olm.InstallPlan, error) {
	if sub.Status.InstallPlanRef == nil {
		return nil, nil
	}
	return find[olm.InstallPlan](ctx, from, types.NamespacedName{Namespace: sub.Namespace, Name: sub.Status.InstallPlanRef.Name})
}
