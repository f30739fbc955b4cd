package v1alpha1

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CannotReferenceError is the error of ObjectReferenceFor.
//
// +kubebuilder:object:generate=false
type CannotReferenceError struct {
	// Type is the Go type of the object.
	Type string
	Err  error
}

// Error returns the type and the cause.
func (e *CannotReferenceError) Error() string {
	return fmt.Sprintf("cannot refer to a %s: %s", e.Type, e.Err)
}

// Unwrap returns the cause.
func (e *CannotReferenceError) Unwrap() error { return e.Err }

// ObjectReferenceFor returns a reference to an object whose kind is registered in the scheme or set in the object. It
// sets neither resourceVersion nor field path, so the reference stays the same for the lifetime of the object. Errors
// are of type *CannotReferenceError.
func ObjectReferenceFor(scheme *runtime.Scheme, obj runtime.Object) (*corev1.ObjectReference, error) {
	kind, err := kindOf(scheme, obj)
	if err != nil {
		return nil, &CannotReferenceError{Type: fmt.Sprintf("%T", obj), Err: err}
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return nil, &CannotReferenceError{Type: fmt.Sprintf("%T", obj), Err: err}
	}
	out := &corev1.ObjectReference{Namespace: metadata.GetNamespace(), Name: metadata.GetName(), UID: metadata.GetUID()}
	out.APIVersion, out.Kind = kind.ToAPIVersionAndKind()
	return out, nil
}

// kindOf returns the kind of an object: that of its Go type, or the kind set in the object if the type is not
// registered for exactly one.
func kindOf(scheme *runtime.Scheme, obj runtime.Object) (schema.GroupVersionKind, error) {
	if _, err := conversion.EnforcePtr(obj); err != nil {
		return schema.GroupVersionKind{}, err
	}
	kinds, _, err := scheme.ObjectKinds(obj)
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if gvk.Kind != "" && gvk.Version != "" {
		return gvk, nil
	}
	if err == nil {
		err = errors.New("its Go type has several kinds, and the object does not name one")
	}
	return gvk, err
}
