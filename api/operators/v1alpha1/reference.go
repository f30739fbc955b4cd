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

// CannotReferenceError says why there can be no reference to something.
//
// +kubebuilder:object:generate=false
type CannotReferenceError struct {
	// Type is the Go type of what was to be referred to.
	Type string
	Err  error
}

// Error is the whole sentence.
func (e *CannotReferenceError) Error() string {
	return fmt.Sprintf("cannot refer to a %s: %s", e.Type, e.Err)
}

// Unwrap gives the cause.
func (e *CannotReferenceError) Unwrap() error { return e.Err }

// ObjectReferenceFor is a reference to an object of any kind that the scheme knows, or that says its kind itself. It
// holds neither resourceVersion nor field, so that it stays the same for as long as the object is there.
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

// kindOf is the kind of an object: by its Go type, or as the object says where that decides nothing.
func kindOf(scheme *runtime.Scheme, obj runtime.Object) (schema.GroupVersionKind, error) {
	if _, err := conversion.EnforcePtr(obj); err != nil {
		return schema.GroupVersionKind{}, err
	}
	kinds, _, err := scheme.ObjectKinds(obj)
	if len(kinds) == 1 {
		return kinds[0], nil
	}
	said := obj.GetObjectKind().GroupVersionKind()
	if said.Kind != "" && said.Version != "" {
		return said, nil
	}
	if err == nil {
		err = errors.New("its Go type stands for several kinds, and the object does not say which")
	}
	return said, err
}
