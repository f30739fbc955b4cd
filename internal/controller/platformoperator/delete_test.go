package platformoperator

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
)

// TestOrphanedWithoutOLM verifies that a PlatformOperator can be deleted when OLM's kinds are no longer served.
func TestOrphanedWithoutOLM(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "")
	cl := fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return gone
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return gone },
	}).Build()
	op := builder.PlatformOperator()
	op.Status.RelatedObjects = []corev1.ObjectReference{{
		APIVersion: operatorsv1alpha1.GroupVersion.String(), Kind: operatorsv1alpha1.ClusterServiceVersionKind, Namespace: "foo", Name: "foo.v1",
	}}
	c := composer{Reconciler: &Reconciler{Client: cl, Reader: cl}, op: op}
	if left, err := c.uninstallOperator(t.Context(), corev1.ObjectReference{Namespace: "foo", Name: "foo"}); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v", left, err)
	}
}

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
	subscription := func(name, pkg, installed string) *operatorsv1alpha1.Subscription {
		out := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: name}, Spec: &olm.SubscriptionSpec{Package: pkg}}
		out.Status.InstalledCSV = installed
		return out
	}
	foreign := csv("foo.v1", "")
	foreign.SetNamespace("bar")
	for name, tc := range map[string]struct {
		reason             string
		installed, current string
		recorded           string // in the status, if the Subscription was deleted
		objects            []client.Object
		want               []string
	}{
		"One": {reason: "The CSV of the Subscription is deleted, and no other.", installed: "foo.v1", current: "foo.v1",
			objects: []client.Object{csv("foo.v1", ""), csv("bar.v1", "")}, want: []string{"foo.v1"}},
		"Predecessor": {reason: "One that it replaces is deleted before it.", installed: "foo.v2", current: "foo.v2",
			objects: []client.Object{csv("foo.v2", "foo.v1"), csv("foo.v1", "foo.v0")}, want: []string{"foo.v1", "foo.v2"}},
		"FailForward": {reason: "All from the running to the newest one are deleted.", installed: "foo.v1", current: "foo.v3",
			objects: []client.Object{csv("foo.v3", "foo.v2"), csv("foo.v2", "foo.v1"), csv("foo.v1", "")}, want: []string{"foo.v1", "foo.v2", "foo.v3"}},
		"Cycle": {reason: "Each is deleted once.", installed: "foo.v2", current: "foo.v2",
			objects: []client.Object{csv("foo.v2", "foo.v1"), csv("foo.v1", "foo.v2")}, want: []string{"foo.v1", "foo.v2"}},
		"Copied": {reason: "A copy of a CSV of another namespace stays.", installed: "foo.v2", current: "foo.v2",
			objects: []client.Object{csv("foo.v2", "foo.v1"), copied}, want: []string{"foo.v2"}},
		"None": {reason: "Nothing is deleted before the operator was installed.", objects: []client.Object{csv("bar.v1", "")}},
		"Orphaned": {reason: "A CSV whose Subscription was deleted is, and no other.", recorded: "foo.v1",
			objects: []client.Object{csv("foo.v1", ""), csv("bar.v1", "")}, want: []string{"foo.v1"}},
		"OrphanedUpdate": {reason: "So are those that have replaced it meanwhile.", recorded: "foo.v1",
			objects: []client.Object{csv("foo.v3", "foo.v2"), csv("foo.v2", "foo.v1")}, want: []string{"foo.v2", "foo.v3"}},
		"OrphanedCopy":  {reason: "A copy stays.", recorded: "foo.v1", objects: []client.Object{copied}},
		"OrphanedThere": {reason: "One of the name in another namespace stays.", recorded: "foo.v1", objects: []client.Object{foreign}},
		"Adopted": {reason: "One that another Subscription has stays.", recorded: "foo.v1",
			objects: []client.Object{csv("foo.v1", ""), subscription("mine", "bar", "foo.v1")}},
		"AboutToBeAdopted": {reason: "Once another Subscription is for the package, it stays.", recorded: "foo.v1",
			objects: []client.Object{csv("foo.v1", ""), subscription("mine", "foo-package", "")}},
		"Neighbour": {reason: "A Subscription to another package does not keep it.", recorded: "foo.v1",
			objects: []client.Object{csv("foo.v1", ""), subscription("mine", "bar", "bar.v1")}, want: []string{"foo.v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			op := builder.PlatformOperator()
			op.Spec.Package.Name = "foo-package"
			if tc.recorded == "" {
				sub := subscription("foo", "foo-package", tc.installed)
				sub.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(op, v1alpha1.GroupVersion.WithKind(v1alpha1.PlatformOperatorKind))}
				sub.Status.CurrentCSV = tc.current
				tc.objects = append(tc.objects, sub)
			} else {
				op.Status.RelatedObjects = []corev1.ObjectReference{{
					APIVersion: operatorsv1alpha1.GroupVersion.String(), Kind: operatorsv1alpha1.ClusterServiceVersionKind, Namespace: "foo", Name: tc.recorded,
				}}
			}
			var deleted []string
			cl := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.objects...).WithInterceptorFuncs(interceptor.Funcs{
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
