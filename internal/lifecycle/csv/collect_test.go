package csv

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/operator-status/operator-status/internal/lifecycle/csv/install"
)

// TestCollect: what a ClusterServiceVersion brought goes when it is gone, and not when the cache has yet to hear of it.
func TestCollect(t *testing.T) {
	owner := csv("v1")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
		Name: "brought", Labels: install.OwnerLabels(owner), Annotations: map[string]string{install.AnnotationApplied: "install-1"},
	}}
	cases := map[string]struct {
		reason string
		live   []client.Object
		stays  bool
	}{
		"Gone":       {reason: "Nobody else takes what is cluster-scoped.", live: nil},
		"NotYetSeen": {reason: "An InstallPlan has just applied both, and of the role the cache heard first.", live: []client.Object{owner}, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := reconciler(t, role.DeepCopy())
			r.Reader = reconciler(t, tc.live...).Client
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(owner)}); err != nil {
				t.Fatal(err)
			}
			err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(role), &rbacv1.ClusterRole{})
			if gone := apierrors.IsNotFound(err); gone == tc.stays {
				t.Errorf("%s\nthe role is gone: %t", tc.reason, gone)
			}
		})
	}
}
