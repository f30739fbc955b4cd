package installplan

import (
	"errors"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/apply"
	"github.com/operator-status/operator-status/internal/record"
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
