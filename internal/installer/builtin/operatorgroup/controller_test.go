package operatorgroup

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

var applies int

var patches int

// reconciler returns a Reconciler for a cluster with the given objects. writes counts status updates.
func reconciler(t *testing.T, writes *int, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme, operatorsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	patches = 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&operatorsv1.OperatorGroup{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
				applies++
				return c.Apply(ctx, o, options...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
				if _, ok := o.(*operatorsv1.OperatorGroup); ok {
					patches++
				}
				return c.Patch(ctx, o, patch, options...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, options ...client.SubResourceUpdateOption) error {
				*writes++
				return c.SubResource(sub).Update(ctx, o, options...)
			},
		}).Build()
	return &Reconciler{Client: c, Now: func() time.Time { return time.Unix(1000, 0) }}
}

func group(name string, spec operatorsv1.OperatorGroupSpec) *operatorsv1.OperatorGroup {
	return &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: spec}
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
		"All": {reason: "A group without targets covers all namespaces.", want: []string{""}, writes: 1},
		"List": {reason: "The listed namespaces are sorted in the status.", spec: operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"b", "a"}}, want: []string{"a", "b"},
			writes: 1},
		"Selector": {reason: "The namespaces of the selector are listed in the status.", spec: blue(), want: []string{"ns-1"}, writes: 1},
		"SelectsNone": {
			reason: "An empty selection is written once, with the time, to show that the group was reconciled.",
			spec:   operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}}, writes: 1,
		},
		"Quiet": {
			reason: "Nothing is written if the namespaces did not change.",
			spec:   blue(), before: operatorsv1.OperatorGroupStatus{Namespaces: []string{"ns-1"}, LastUpdated: &now}, want: []string{"ns-1"},
		},
		"Fewer": {
			reason: "A namespace that lost its label is removed from the status.",
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
			for range 2 { // the second reconcile must be a no-op
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

func TestReconcileNotFound(t *testing.T) {
	var writes int
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "gone"}}
	if result, err := reconciler(t, &writes).Reconcile(t.Context(), request); err != nil || result != (reconcile.Result{}) || writes > 0 {
		t.Errorf("%v, %v, %d writes; want none", result, err, writes)
	}
}

// TestSelecting verifies that a namespace enqueues only the groups that name it or select by label.
func TestSelecting(t *testing.T) {
	var writes int
	r := reconciler(t, &writes, group("by-label", blue()), group("by-name", operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"a"}}),
		group("all", operatorsv1.OperatorGroupSpec{}))
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "default", Name: "by-label"}}}
	if diff := cmp.Diff(want, r.covering(t.Context(), metadata("b"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = append(want, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: "by-name"}})
	if diff := cmp.Diff(want, r.covering(t.Context(), metadata("a"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func metadata(name string) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// TestServiceAccount verifies that the status refers to the service account that a group names while it exists, and
// reports that it does not otherwise.
func TestServiceAccount(t *testing.T) {
	in := group("mine", operatorsv1.OperatorGroupSpec{ServiceAccountName: "installer"})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "installer", UID: "1"}}
	var writes int
	r := reconciler(t, &writes, in)
	if diff := cmp.Diff([]reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(in)}}, r.naming(t.Context(), account)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, step := range []struct {
		reason string
		change func() error
		ref    *corev1.ObjectReference
		got    bool
	}{
		{"A ServiceAccount that does not exist is reported.", func() error { return nil }, nil, true},
		{"A ServiceAccount that was created is referred to.", func() error { return r.Client.Create(t.Context(), account) },
			&corev1.ObjectReference{APIVersion: "v1", Kind: "ServiceAccount", Namespace: "default", Name: "installer", UID: "1"}, false},
		{"A ServiceAccount that was deleted is reported.", func() error { return r.Client.Delete(t.Context(), account) }, nil, true},
		{"A group without a ServiceAccount has neither a reference nor a condition.", func() error {
			group := in.DeepCopy()
			return r.Client.Patch(t.Context(), group, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"serviceAccountName":null}}`)))
		}, nil, false},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		writes = 0
		for range 2 { // the second reconcile must be a no-op
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(in)}); err != nil {
				t.Fatal(err)
			}
		}
		got := &operatorsv1.OperatorGroup{}
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(in), got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.ref, got.Status.ServiceAccountRef); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", step.reason, diff)
		}
		if got := meta.IsStatusConditionTrue(got.Status.Conditions, operatorsv1.OperatorGroupServiceAccountCondition); got != step.got || writes != 1 {
			t.Errorf("%s\nthe condition is True: %v, in %d writes; want %v in 1", step.reason, got, writes, step.got)
		}
	}
}

// TestLabels verifies that exactly the target namespaces of a group have its label, until the group is deleted.
func TestLabels(t *testing.T) {
	in := group("mine", operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"a", "b", "none"}})
	in.UID = "1"
	other := group("other", operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"b"}})
	other.Namespace, other.UID = "elsewhere", "2"
	var writes int
	r := reconciler(t, &writes, in, other)
	for _, name := range []string{"a", "b", "c"} {
		if err := r.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "blue"}}}); err != nil {
			t.Fatal(err)
		}
	}
	const one, two = "olm.operatorgroup.uid/1", "olm.operatorgroup.uid/2"
	spec := func(text string) func() error {
		return func() error {
			return r.Client.Patch(t.Context(), in.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":`+text+`}`)))
		}
	}
	for _, step := range []struct {
		reason string
		change func() error
		want   map[string][]string
	}{
		{"Existing target namespaces get the label.", func() error { return nil }, map[string][]string{"a": {one}, "b": {one, two}}},
		{"A namespace that is no longer a target loses the label.", spec(`{"targetNamespaces":["b","c"]}`), map[string][]string{"b": {one, two}, "c": {one}}},
		{"Beside another group, in whose namespace no operator runs, no namespace gets the label.", func() error {
			return errors.Join(r.Client.Create(t.Context(), group("second", blue())), spec(`{"targetNamespaces":["a","b","c"]}`)())
		}, map[string][]string{"b": {one, two}, "c": {one}}},
		{"Alone again it has its namespaces labelled.", func() error { return r.Client.Delete(t.Context(), group("second", blue())) },
			map[string][]string{"a": {one}, "b": {one, two}, "c": {one}}},
		{"No namespace is labelled for a group of all namespaces.", spec(`{"targetNamespaces":null}`), map[string][]string{"b": {two}}},
		{"The label of a deleted group is removed.", func() error {
			if err := spec(`{"targetNamespaces":["a"]}`)(); err != nil {
				return err
			}
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(in)}); err != nil {
				return err
			}
			return r.Client.Delete(t.Context(), in)
		}, map[string][]string{"b": {two}}},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		for _, g := range []*operatorsv1.OperatorGroup{in, other} {
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)}); err != nil {
				t.Fatal(err)
			}
		}
		namespaces := &corev1.NamespaceList{}
		if err := r.Client.List(t.Context(), namespaces); err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, n := range namespaces.Items {
			for _, label := range []string{one, two} {
				if _, ok := n.Labels[label]; ok {
					got[n.Name] = append(got[n.Name], label)
				}
			}
			if n.Labels["team"] != "blue" {
				t.Errorf("%s\nnamespace %s lost a label that is not ours", step.reason, n.Name)
			}
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", step.reason, diff)
		}
	}
}

// TestRoles verifies that a group has a ClusterRole for each access level, which aggregates the APIs of its operators,
// follows them, is repaired, and is deleted with the group. Nothing is applied twice.
func TestRoles(t *testing.T) {
	in := group("mine", blue())
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: "foos.example.com", Version: "v1", Kind: "Foo"}}
	elsewhere := csv.DeepCopy()
	elsewhere.Namespace = "elsewhere"
	elsewhere.Spec.CustomResourceDefinitions.Owned[0].Kind = "Bar"
	var writes int
	r := reconciler(t, &writes, in, elsewhere, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "another"}})
	for _, step := range []struct {
		reason   string
		change   func() error
		applied  int
		gathered int
		roles    int
	}{
		{"A group without operators gets its ClusterRoles.", func() error { return nil }, 3, 0, 3},
		{"The APIs of a new operator are aggregated.", func() error { return r.Client.Create(t.Context(), csv) }, 3, 1, 3},
		{"Nothing is applied if nothing changed.", func() error { return nil }, 0, 1, 3},
		{"A ClusterRole that was deleted is recreated.", func() error {
			return r.Client.Delete(t.Context(), install.GroupRoles(in, nil)[1])
		}, 1, 1, 3},
		{"The APIs of a deleted operator are removed from the ClusterRoles.", func() error { return r.Client.Delete(t.Context(), csv) }, 3, 0, 3},
		{"Beside another group, in whose namespace no operator runs, nothing is applied.", func() error {
			return errors.Join(r.Client.Create(t.Context(), group("second", blue())), r.Client.Delete(t.Context(), install.GroupRoles(in, nil)[1]))
		}, 0, 0, 2},
		{"Alone again it gets its ClusterRoles.", func() error { return r.Client.Delete(t.Context(), group("second", blue())) }, 1, 0, 3},
		{"The ClusterRoles of a deleted group are deleted, and no others.", func() error { return r.Client.Delete(t.Context(), in) }, 0, 0, 0},
	} {
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		applies = 0
		for range 2 { // the second reconcile must be a no-op
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(in)}); err != nil {
				t.Fatal(err)
			}
		}
		roles := &rbacv1.ClusterRoleList{}
		if err := r.Client.List(t.Context(), roles, client.HasLabels{install.LabelOwner}); err != nil {
			t.Fatal(err)
		}
		gathered := 0
		for _, role := range roles.Items {
			if role.AggregationRule != nil {
				gathered = max(gathered, len(role.AggregationRule.ClusterRoleSelectors))
			}
		}
		if applies != step.applied || gathered != step.gathered || len(roles.Items) != step.roles {
			t.Errorf("%s\n%d applied, %d aggregated, %d roles; want %d, %d, %d", step.reason, applies, gathered, len(roles.Items),
				step.applied, step.gathered, step.roles)
		}
	}
}

// TestLast verifies that the deletion of a group enqueues the one that is alone then.
func TestLast(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		rest   []client.Object
		want   []string
	}{
		"None":   {reason: "It was the last."},
		"One":    {reason: "Its operators may run from now on.", rest: []client.Object{group("a", blue())}, want: []string{"a"}},
		"Others": {reason: "Nothing changes for those that are still several.", rest: []client.Object{group("a", blue()), group("b", blue()), group("c", blue())}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range reconciler(t, new(int), tc.rest...).last(t.Context(), group("deleted", blue())) {
				got = append(got, request.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOwner verifies that a ClusterRole enqueues the group that it belongs to, and any other none.
func TestOwner(t *testing.T) {
	in := group("mine", blue())
	want := []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(in)}}
	if diff := cmp.Diff(want, owner(t.Context(), install.GroupRoles(in, nil)[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := owner(t.Context(), &rbacv1.ClusterRole{}); got != nil {
		t.Errorf("a role without an owner enqueues %v", got)
	}
}
