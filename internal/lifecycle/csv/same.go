package csv

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/drift"
	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
)

// same reports whether an object is as it was applied, by the hash of that. What the API server or others add is not ours to take
// away.
func same(desired, actual client.Object, applied string) (bool, error) {
	if !ownedAlike(desired, actual) || !drift.Within(labels(desired), labels(actual)) {
		return false, nil
	}
	if _, bare := actual.(*metav1.PartialObjectMetadata); bare {
		return true, nil
	}
	if actual.GetAnnotations()[install.AnnotationApplied] != applied {
		return false, nil // something is desired no more
	}
	is, err := fields(actual)
	if err != nil {
		return false, err
	}
	should, err := fields(desired)
	if err != nil {
		return false, err
	}
	return drift.Within(should, is), nil
}

// ownedAlike is true where an object has the owners that it should, and no other version's that our label still names.
func ownedAlike(desired, actual client.Object) bool {
	for _, owner := range desired.GetOwnerReferences() {
		if !slices.ContainsFunc(actual.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == owner.UID }) {
			return false
		}
	}
	return desired.GetLabels()[install.LabelOwner] == actual.GetLabels()[install.LabelOwner]
}

func labels(o client.Object) map[string]any {
	out := map[string]any{}
	for name, value := range o.GetLabels() {
		out[name] = value
	}
	return out
}

// fields are what an object says beside its metadata and status, and its annotations.
func fields(o client.Object) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	annotations := map[string]any{}
	for name, value := range o.GetAnnotations() {
		annotations[name] = value
	}
	for _, name := range []string{"apiVersion", "kind", "status"} { // the first two a cache may leave out
		delete(out, name)
	}
	out["metadata"] = annotations
	return out, nil
}

// contains is true where all of desired is in actual, which may be nil.
func contains[T any](actual, desired *T) bool {
	if actual == nil {
		return false
	}
	is, err := runtime.DefaultUnstructuredConverter.ToUnstructured(actual)
	if err != nil {
		return false
	}
	should, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	return err == nil && drift.Within(should, is)
}
