package upgradeholdpolicy

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
)

// TestGone verifies that the UpgradeHolds of a policy that is not in the cache are deleted only if it does not exist.
func TestGone(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := holdv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	policy := &holdv1alpha1.UpgradeHoldPolicy{ObjectMeta: metav1.ObjectMeta{Name: "audit", UID: "1"}}
	kind := holdv1alpha1.GroupVersion.WithKind(holdv1alpha1.UpgradeHoldPolicyKind)
	hold := func(name string) *holdv1alpha1.UpgradeHold {
		return &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "2"}}
	}
	own := hold("own")
	own.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(policy, kind)}
	cases := map[string]struct {
		reason string
		live   error // of the API server
		want   []string
		fails  bool
	}{
		"Deleted":     {"It is gone, and so are its UpgradeHolds.", apierrors.NewNotFound(schema.GroupResource{}, policy.Name), []string{"users"}, false},
		"Undecodable": {"The cache lacks one that cannot be decoded.", nil, []string{"own", "users"}, false},
		"Unknown":     {"Whether it exists is not known.", errors.New("no answer"), []string{"own", "users"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(own, hold("users")).Build()
			live := interceptor.NewClient(c, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
					if _, ok := o.(*metav1.PartialObjectMetadata); !ok {
						return errors.New("the object cannot be decoded")
					}
					return tc.live
				},
			})
			r := &Reconciler{Client: c, Live: live}
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(policy)})
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			list := &holdv1alpha1.UpgradeHoldList{}
			if err := c.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range list.Items {
				got = append(got, h.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
