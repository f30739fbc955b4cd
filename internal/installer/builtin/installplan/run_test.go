package installplan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/installer/builtin/record"
)

// TestWriteAsApproved verifies that nothing is written once the OperatorGroup names another account than the one that the
// plan was approved with.
func TestWriteAsApproved(t *testing.T) {
	as := func(account string) *operatorsv1.OperatorGroup {
		out := group()
		out.Spec.ServiceAccountName = account
		return out
	}
	cases := map[string]struct {
		reason   string
		approved apply.Identity
		there    []client.Object
		writes   bool
		changed  bool
	}{
		"Same":    {"It is the account that the plan was approved with.", apply.Identity{Namespace: "default", Name: "installer"}, []client.Object{as("installer")}, true, false},
		"Manager": {"Also if there is none.", apply.Identity{}, []client.Object{as("")}, true, false},
		"Another": {"Another account may have more permissions, or fewer.", apply.Identity{Namespace: "default", Name: "installer"},
			[]client.Object{as("admin")}, false, true},
		"Removed": {"The manager has more permissions than any.", apply.Identity{Namespace: "default", Name: "installer"}, []client.Object{as("")}, false, true},
		"Added":   {"Whoever adds an account wants it to be used.", apply.Identity{}, []client.Object{as("installer")}, false, true},
		"NoGroup": {"It is not known which account it is.", apply.Identity{Namespace: "default", Name: "installer"}, nil, false, false},
		"Two":     {"Nor with two.", apply.Identity{}, []client.Object{as(""), &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other"}}}, false, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, nothing, tc.there...)
			r := &run{Reconciler: &Reconciler{Client: c, Reader: c}, plan: plan(), content: &record.Content{Identity: tc.approved}, as: c}
			err := r.write(t.Context(), task{bundle: &record.Bundle{}, object: configMap("a")})
			_, changed := errors.AsType[*identityChanged](err)
			if (err == nil) != tc.writes || changed != tc.changed {
				t.Errorf("%s\ngot error %v", tc.reason, err)
			}
			got := c.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "a"}, &corev1.ConfigMap{})
			if written := !apierrors.IsNotFound(got); written != tc.writes {
				t.Errorf("%s\nwritten: %t", tc.reason, written)
			}
		})
	}
}

// TestRecordOutside verifies that the objects outside the namespace that belong to a CSV are recorded as they are written: nothing
// else deletes them with it.
func TestRecordOutside(t *testing.T) {
	role := object(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"foo"}}`)
	existing := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "foo", UID: "existing"}}
	reference := record.Reference{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "foo"}
	created, found := reference, reference
	created.Created, found.UID = true, "existing"
	cases := map[string]struct {
		reason string
		object *unstructured.Unstructured
		there  []client.Object
		want   []record.Reference
	}{
		"Created": {"It was created for the CSV.", role, nil, []record.Reference{created}},
		"Found":   {"It existed before, perhaps for another owner.", role, []client.Object{existing}, []record.Reference{found}},
		"Inside":  {"The garbage collector deletes it.", configMap("a"), nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, nothing, append(tc.there, group())...)
			r := &run{Reconciler: &Reconciler{Client: c, Reader: c}, plan: plan(), content: &record.Content{}, as: c, outsideNamespace: map[string][]record.Reference{}}
			if err := r.write(t.Context(), task{bundle: &record.Bundle{Name: "foo.v1"}, object: tc.object.DeepCopy()}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.outsideNamespace["foo.v1"]); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
