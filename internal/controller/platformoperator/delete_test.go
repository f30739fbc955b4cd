package platformoperator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestUninstallOperator verifies which CSVs are deleted with a PlatformOperator, and in which order.
func TestUninstallOperator(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := operatorsv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	csv := func(name, replaces string) client.Object {
		out := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: name}}
		out.Spec.Replaces = replaces
		return out
	}
	copied := csv("foo.v1", "")
	copied.SetLabels(map[string]string{"olm.copiedFrom": "other"})
	for name, tc := range map[string]struct {
		reason             string
		installed, current string
		csvs               []client.Object
		want               []string
	}{
		"One":         {"The CSV of the Subscription is deleted, and no other.", "foo.v1", "foo.v1", []client.Object{csv("foo.v1", ""), csv("bar.v1", "")}, []string{"foo.v1"}},
		"Predecessor": {"One that it replaces is deleted before it.", "foo.v2", "foo.v2", []client.Object{csv("foo.v2", "foo.v1"), csv("foo.v1", "foo.v0")}, []string{"foo.v1", "foo.v2"}},
		"FailForward": {"All from the running to the newest one are deleted.", "foo.v1", "foo.v3",
			[]client.Object{csv("foo.v3", "foo.v2"), csv("foo.v2", "foo.v1"), csv("foo.v1", "")}, []string{"foo.v1", "foo.v2", "foo.v3"}},
		"Cycle":  {"Each is deleted once.", "foo.v2", "foo.v2", []client.Object{csv("foo.v2", "foo.v1"), csv("foo.v1", "foo.v2")}, []string{"foo.v1", "foo.v2"}},
		"Copied": {"A copy of a CSV of another namespace stays.", "foo.v2", "foo.v2", []client.Object{csv("foo.v2", "foo.v1"), copied}, []string{"foo.v2"}},
		"None":   {"Nothing is deleted before the operator was installed.", "", "", []client.Object{csv("bar.v1", "")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			op := builder.PlatformOperator()
			sub := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(op, v1alpha1.GroupVersion.WithKind(v1alpha1.PlatformOperatorKind))}}}
			sub.Status.InstalledCSV, sub.Status.CurrentCSV = tc.installed, tc.current
			var deleted []string
			cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(tc.csvs, sub)...).WithInterceptorFuncs(interceptor.Funcs{
				Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
					deleted = append(deleted, o.GetName())
					return nil
				},
			}).Build()
			c := composer{Reconciler: &Reconciler{Client: cl, Reader: cl}, op: op}
			left, err := c.uninstallOperator(t.Context(), corev1.ObjectReference{Namespace: "foo", Name: "foo"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, deleted); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if len(left) != len(tc.want) {
				t.Errorf("%d are reported; want %d", len(left), len(tc.want))
			}
		})
	}
}
