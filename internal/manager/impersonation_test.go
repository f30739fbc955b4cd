package manager_test

import (
	"os"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestImpersonation verifies that the manager has the read permissions of a service account while it impersonates
// that account. config/default and config/constrained differ in whether it may do more.
func TestImpersonation(t *testing.T) {
	namespace := cluster.Namespace(t, "impersonation")
	account := client.ObjectKey{Namespace: namespace, Name: "operator"}
	cluster.Apply(t, namespace, `
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operator}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: operator}
subjects: [{kind: ServiceAccount, name: operator, namespace: `+namespace+`}]
`)
	user := "system:serviceaccount:" + account.Namespace + ":" + account.Name
	cluster.AwaitAllowed(t, user, authorizationv1.ResourceAttributes{Namespace: namespace, Resource: "configmaps", Verb: "list"}, true)
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = cluster.Token(t, testcluster.ManagerAccount)
	config.Impersonate.UserName = user
	as, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme(), Mapper: cluster.Client.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Create(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "there"}})
	constrained := os.Getenv("CONFIG") == "constrained"
	for name, tt := range map[string]struct {
		do      func() error
		allowed bool
	}{
		"list": {func() error { return as.List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(namespace)) }, true},
		"get": {func() error {
			return as.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "there"}, &corev1.ConfigMap{})
		}, !constrained},
		"create": {func() error {
			return as.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "new"}})
		}, !constrained},
		"list of others": {func() error { return as.List(t.Context(), &corev1.ConfigMapList{}) }, false},
	} {
		if err := tt.do(); tt.allowed && err != nil || !tt.allowed && !apierrors.IsForbidden(err) {
			t.Errorf("%s, which is allowed: %t: %v", name, tt.allowed, err)
		}
	}
}
