package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// Change changes a PlatformOperator.
type Change = func(*v1alpha1.PlatformOperator)

// PlatformOperator returns PlatformOperator foo, whose spec has only a package.
func PlatformOperator(changes ...Change) *v1alpha1.PlatformOperator {
	out := &v1alpha1.PlatformOperator{
		ObjectMeta: metav1.ObjectMeta{Name: "foo", UID: "uid-foo", Generation: 3},
		Spec:       v1alpha1.PlatformOperatorSpec{Package: v1alpha1.Package{Name: "foo"}},
	}
	for _, change := range changes {
		change(out)
	}
	return out
}

// InNamespaceBar sets a namespace that does not have the name of the PlatformOperator.
func InNamespaceBar(op *v1alpha1.PlatformOperator) { op.Spec.Namespace = "bar" }
