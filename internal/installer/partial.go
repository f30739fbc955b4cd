package installer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pointer is a pointer to a T, which is an object.
type pointer[T any] interface {
	*T
	Object
}

// partialList is a list of objects of another program's kind. T has the parts of them that are read.
type partialList[T any, P pointer[T]] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []T `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *partialList[T, P]) DeepCopyObject() runtime.Object {
	out := &partialList[T, P]{TypeMeta: l.TypeMeta}
	l.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items = append(out.Items, *P(&l.Items[i]).DeepCopyObject().(P))
	}
	return out
}

// PartialKind returns how the objects of another program's kind are read, which describe operators of any namespace. T has the parts of them
// that are read.
func PartialKind[T any, P pointer[T]](gvk schema.GroupVersionKind) Kind {
	return Kind{
		GroupVersionKind: gvk, Plural: gvk.Kind + "s", AllNamespaces: true, Background: true,
		AddToScheme: func(s *runtime.Scheme) error {
			s.AddKnownTypeWithName(gvk, P(new(T)))
			s.AddKnownTypeWithName(gvk.GroupVersion().WithKind(gvk.Kind+"List"), &partialList[T, P]{})
			metav1.AddToGroupVersion(s, gvk.GroupVersion())
			return nil
		},
		List: func() List { return &partialList[T, P]{} },
		Trim: DropFields,
	}
}
