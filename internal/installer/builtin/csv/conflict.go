package csv

import (
	"context"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/operatorgroup"
)

// IndexStatic indexes OperatorGroups with spec.staticProvidedAPIs under "true".
const IndexStatic = "spec.staticProvidedAPIs"

func staticOf(o client.Object) []string {
	if o.(*operatorsv1.OperatorGroup).Spec.StaticProvidedAPIs {
		return []string{"true"}
	}
	return nil
}

// enqueueConflicting enqueues the CSVs of other namespaces whose conflicts may change with an OperatorGroup or a CSV: those that
// were rejected, and those that own a kind that is owned in its namespace or claimed by the group.
func (r *Reconciler) enqueueConflicting(ctx context.Context, o client.Object) []reconcile.Request {
	claimed := map[string]bool{}
	if group, ok := o.(*operatorsv1.OperatorGroup); ok && group.Spec.StaticProvidedAPIs {
		for _, api := range operatorgroup.AnnotatedAPIs(group) {
			claimed[api] = true
		}
	}
	here := &v1alpha1.ClusterServiceVersionList{}
	if err := r.Client.List(ctx, here, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the ClusterServiceVersions of an OperatorGroup")
		return nil
	}
	for i := range here.Items {
		for _, api := range operatorgroup.ProvidedAPIs(&here.Items[i]) {
			claimed[api] = true
		}
	}
	return r.list(ctx, func(csv *v1alpha1.ClusterServiceVersion) bool {
		return csv.Namespace != o.GetNamespace() && (operatorgroup.InConflict(csv) ||
			slices.ContainsFunc(operatorgroup.ProvidedAPIs(csv), func(api string) bool { return claimed[api] }))
	})
}

// groupMoved is a predicate for OperatorGroup events that may start or end conflicts in other namespaces. Of a group that selects
// namespaces by label, only the status changes with their labels. It is narrow, since each event makes enqueueConflicting list all
// CSVs of the cluster.
var groupMoved = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return staticOf(e.Object) != nil },
	UpdateFunc: func(e event.UpdateEvent) bool {
		const key = operatorsv1.OperatorGroupProvidedAPIsAnnotationKey
		before, after := e.ObjectOld.(*operatorsv1.OperatorGroup), e.ObjectNew.(*operatorsv1.OperatorGroup)
		return before.Generation != after.Generation || !slices.Equal(before.Status.Namespaces, after.Status.Namespaces) ||
			staticOf(after) != nil && before.Annotations[key] != after.Annotations[key]
	},
}

// ownershipEnded is a predicate for events after which other CSVs may own the kinds of a CSV. A new CSV is the youngest
// and takes nothing from others. One whose requirements turn out to be unmet does not either.
var ownershipEnded = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*v1alpha1.ClusterServiceVersion), e.ObjectNew.(*v1alpha1.ClusterServiceVersion)
		return !slices.Equal(crdsOf(before), crdsOf(after)) || isUnmet(after) && !isUnmet(before)
	},
}
