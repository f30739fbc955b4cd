package csv

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/drift"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// same reports whether an object is as it was applied: the hash and all desired fields match. Fields that the API
// server or others added are ignored.
func same(desired, actual client.Object, applied string) (bool, error) {
	if !ownedAlike(desired, actual) || !drift.Within(labels(desired), labels(actual)) {
		return false, nil
	}
	if _, bare := actual.(*metav1.PartialObjectMetadata); bare {
		return true, nil
	}
	if actual.GetAnnotations()[install.AnnotationApplied] != applied {
		return false, nil // a field is no longer desired
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

// ownedAlike reports whether an object has the desired owners, and the desired owner in its label.
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

// fields returns the content of an object without metadata and status, and its annotations under "metadata".
func fields(o client.Object) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	annotations := map[string]any{}
	for name, value := range o.GetAnnotations() {
		annotations[name] = value
	}
	for _, name := range []string{"apiVersion", "kind", "status"} { // a cache may omit the first two
		delete(out, name)
	}
	out["metadata"] = annotations
	return out, nil
}

// contains reports whether all fields of desired are in actual, which may be nil.
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
