package operatorgroup

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// reconciler is one beside a cluster that holds those objects; writes counts what it writes.
func reconciler(t *testing.T, writes *int, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, operatorsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&operatorsv1.OperatorGroup{}).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
				*writes++
				return c.SubResource(sub).Update(ctx, o, options...)
			},
		}).Build()
	return &Reconciler{Client: c, Now: func() time.Time { return time.Unix(1000, 0) }}
}

func group(name string, spec operatorsv1.OperatorGroupSpec) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: spec}
}

func blue() operatorsv1.OperatorGroupSpec {
	return operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}}
}

func TestReconcile(t *testing.T) {
	now := metav1.Unix(1000, 0)
	cases := map[string]struct {
		reason string
		spec   operatorsv1.OperatorGroupSpec
		before operatorsv1.OperatorGroupStatus
		want   []string
		writes int
	}{
		"All":      {reason: "A new group is said to cover all.", want: []string{""}, writes: 1},
		"List":     {reason: "Its namespaces are told sorted.", spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"b", "a"}}, want: []string{"a", "b"}, writes: 1},
		"Selector": {reason: "So are those that it selects.", spec: blue(), want: []string{"ns-1"}, writes: 1},
		"SelectsNone": {
			reason: "That it covers none is told once, with the time, so that others know it has been looked at.",
			spec:   operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}}, writes: 1,
		},
		"Quiet": {
			reason: "Where nothing changed, nothing is written.",
			spec:   blue(), before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"ns-1"}, LastUpdated: &now}, want: []string{"ns-1"},
		},
		"Fewer": {
			reason: "A namespace that lost its label is covered no more.",
			spec:   blue(), before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"ns-1", "ns-2"}, LastUpdated: &now}, want: []string{"ns-1"}, writes: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := group("mine", tc.spec)
			in.Status = tc.before
			var writes int
			r := reconciler(t, &writes, in,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-1", Labels: map[string]string{"team": "blue"}}},
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-2"}})
			key := client.ObjectKeyFromObject(in)
			for range 2 { // the second time there is never anything to do
				if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
					t.Fatal(err)
				}
			}
			got := &operatorsv1.OperatorGroup{}
			if err := r.Client.Get(t.Context(), key, got); err != nil {
				t.Fatal(err)
			}
			want := operatorsv1.OperatorGroupStatus{Namespaces: tc.want, LastUpdated: &now}
			if diff := cmp.Diff(want, got.Status); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
			if writes != tc.writes {
				t.Errorf("%s\n%d writes; want %d", tc.reason, writes, tc.writes)
			}
		})
	}
}

func TestReconcileWhatIsGone(t *testing.T) {
	var writes int
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	if result, err := reconciler(t, &writes).Reconcile(t.Context(), request); err != nil || result != (reconcile.Result{}) || writes > 0 {
		t.Errorf("%v, %v, %d writes; want nothing of it", result, err, writes)
	}
}

// TestSelecting: a namespace concerns the groups that select by label, and no other.
func TestSelecting(t *testing.T) {
	var writes int
	r := reconciler(t, &writes, group("by-label", blue()), group("by-name", operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"a"}}), group("all", operatorsv1.OperatorGroupSpec{}))
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "default", Name: "by-label"}}}
	if diff := cmp.Diff(want, r.selecting(t.Context(), nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
