package manager_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestResourcesUnwatched verifies that resources of a PlatformOperator are kept as desired and deleted with it, even if
// the manager may not list their kind and only a service account may write them.
func TestResourcesUnwatched(t *testing.T) {
	cluster.StartManager(t)
	namespace := cluster.Namespace(t, "unwatched")
	in := metav1.ObjectMeta{Namespace: namespace, Name: "installer"}
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: in},
		&rbacv1.Role{ObjectMeta: in, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"get", "create", "patch", "delete"}},
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: in, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: in.Name}},
		})
	op := &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	op.Spec.Package.Name, op.Spec.Namespace, op.Spec.ServiceAccountName = namespace, namespace, in.Name
	op.Spec.Resources = []v1alpha1.Resource{{Name: "reader", Manifest: runtime.RawExtension{Raw: []byte(
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`)}}}
	cluster.Create(t, op)
	reader := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}}
	cluster.Await(t, reader, func() string { return "" })
	cluster.Await(t, op, func() string {
		for _, r := range op.Status.Resources {
			if r.Name == "reader" && r.Ready && r.Reference.UID == reader.UID {
				return ""
			}
		}
		return "it does not list the Role as ready"
	})
	reader.Rules = nil
	if err := cluster.Client.Update(t.Context(), reader); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, reader, func() string {
		if len(reader.Rules) == 0 {
			return "it is not put right"
		}
		return ""
	})
	if err := cluster.Client.Delete(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	cluster.AwaitGone(t, op)
	cluster.AwaitGone(t, reader)
}
