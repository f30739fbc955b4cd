package upgradehold

import (
	"context"
	"fmt"
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/operand"
	"github.com/operator-status/operator-status/internal/workloads"
)

// +kubebuilder:rbac:groups=operators.coreos.com,resources=operatorconditions,verbs=get;list;watch

// conditions returns the OperatorConditions that hold the updates of operators without ClusterServiceVersion.
func (r *Reconciler) conditions(ctx context.Context) ([]*operatorsv2.OperatorCondition, error) {
	served, err := operand.IsServed(ctx, r.Client, installer.OperatorConditions, operatorsv2.GroupVersion.Version)
	if err != nil || !served {
		return nil, err
	}
	list := &operatorsv2.OperatorConditionList{}
	if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the OperatorConditions: %w", err)
	}
	var out []*operatorsv2.OperatorCondition
	for i := range list.Items {
		if oc := &list.Items[i]; !installer.OfCSV(oc) && gate.IsHolding(oc) {
			out = append(out, oc)
		}
	}
	return out, nil
}

// writtenBy returns those of some OperatorConditions that an operator writes. installed may be nil.
func writtenBy(installed *installer.Installed, all []*operatorsv2.OperatorCondition) []*operatorsv2.OperatorCondition {
	var out []*operatorsv2.OperatorCondition
	for _, oc := range all {
		if installed != nil && slices.Contains(installed.Conditions, client.ObjectKeyFromObject(oc)) {
			out = append(out, oc)
		}
	}
	return out
}

// unknown is enqueued for an OperatorCondition that no workload names yet: workloads are watched from then on.
var unknown holdv1alpha1.OperatorReference

// WatchConditions enqueues the operators that write an OperatorCondition when that changes, or when a workload begins to write one.
func (r *Reconciler) WatchConditions(c cache.Cache, writers workloads.Mapping) error {
	enqueue := workloads.Enqueue(func(ctx context.Context, o client.Object) []holdv1alpha1.OperatorReference {
		if installer.OfCSV(o) {
			return nil
		}
		return append(writers(ctx, o), unknown)
	})
	return r.controller.Watch(source.TypedKind[client.Object](c, &operatorsv2.OperatorCondition{}, enqueue))
}
