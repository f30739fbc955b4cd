package workloads

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
)

// Mapping returns the operators that an object is about.
type Mapping = handler.TypedMapFunc[client.Object, holdv1alpha1.OperatorReference]

// Enqueue enqueues the operators that an object is about.
func Enqueue(of Mapping) handler.TypedEventHandler[client.Object, holdv1alpha1.OperatorReference] {
	return handler.TypedEnqueueRequestsFromMapFunc(of)
}

// OfProbe is a Mapping of Probes: it returns the operator that a Probe names, if any.
func OfProbe(_ context.Context, probe client.Object) []holdv1alpha1.OperatorReference {
	if named, ok := holdv1alpha1.ProbedOperator(probe.(*v1alpha1.Probe)); ok {
		return []holdv1alpha1.OperatorReference{named}
	}
	return nil
}

// Moves selects the events of workloads that appear, go, or may belong to another operator or serve other CustomResourceDefinitions now.
var Moves predicate.Predicate = predicate.Funcs{UpdateFunc: moved}

// moved reports whether a workload may belong to another operator now, or serve other CustomResourceDefinitions.
func moved(e event.UpdateEvent) bool {
	if Remarked(e) {
		return true
	}
	before, _ := installer.WorkloadOf(e.ObjectOld)
	after, _ := installer.WorkloadOf(e.ObjectNew)
	return before.ServiceAccount != after.ServiceAccount || before.OfCSV != after.OfCSV || before.Controlled != after.Controlled ||
		controllers.Owner(before) != controllers.Owner(after)
}

// Remarked reports whether an object may have been installed together with others now.
func Remarked(e event.UpdateEvent) bool {
	marks := func(o client.Object) []string { return installer.Marks(o.GetLabels(), o.GetAnnotations()) }
	return !slices.Equal(marks(e.ObjectOld), marks(e.ObjectNew))
}
