package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rightsOf returns two Roles and a ClusterRole, bound to a subject, and a binding whose Role does not exist.
func rightsOf(subject rbacv1.Subject) Rights {
	namespaced := metav1.ObjectMeta{Namespace: "operators", Name: "r"}
	other := metav1.ObjectMeta{Namespace: "other", Name: "r"}
	cluster := metav1.ObjectMeta{Name: "r"}
	role := rbacv1.RoleRef{Kind: "Role", Name: "r"}
	clusterRole := rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}
	return Rights{
		Roles: []rbacv1.Role{
			{ObjectMeta: namespaced, Rules: []rbacv1.PolicyRule{rule("get", "pods")}},
			{ObjectMeta: other, Rules: []rbacv1.PolicyRule{rule("get", "secrets")}},
		},
		ClusterRoles: []rbacv1.ClusterRole{{ObjectMeta: cluster, Rules: []rbacv1.PolicyRule{rule("get", "nodes")}}},
		RoleBindings: []rbacv1.RoleBinding{
			{ObjectMeta: namespaced, RoleRef: role, Subjects: []rbacv1.Subject{subject}},
			{ObjectMeta: other, RoleRef: role, Subjects: []rbacv1.Subject{subject}},
			{ObjectMeta: other, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "gone"}, Subjects: []rbacv1.Subject{subject}},
		},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{{ObjectMeta: cluster, RoleRef: clusterRole, Subjects: []rbacv1.Subject{subject}}},
	}
}

func TestRights(t *testing.T) {
	cases := map[string]struct {
		reason    string
		subject   rbacv1.Subject
		namespace string
		want      []rbacv1.PolicyRule
	}{
		"in its namespace": {
			reason:    "A service account has the rights of the cluster and of the namespace.",
			subject:   rbacv1.Subject{Kind: "ServiceAccount", Namespace: "operators", Name: "foo"},
			namespace: "operators",
			want:      []rbacv1.PolicyRule{rule("get", "nodes"), rule("get", "pods")},
		},
		"in another": {
			reason:    "A service account does not have the rights of a namespace other than the one in question.",
			subject:   rbacv1.Subject{Kind: "User", Name: "system:serviceaccount:operators:foo"},
			namespace: "other",
			want:      []rbacv1.PolicyRule{rule("get", "nodes"), rule("get", "secrets")},
		},
		"everywhere": {
			reason:  "Rights in a namespace are not rights in all namespaces.",
			subject: rbacv1.Subject{Kind: "Group", Name: "system:serviceaccounts:operators"},
			want:    []rbacv1.PolicyRule{rule("get", "nodes")},
		},
		"no namespace": {
			reason:    "A ServiceAccount subject without a namespace is in the namespace of the binding.",
			subject:   rbacv1.Subject{Kind: "ServiceAccount", Name: "foo"},
			namespace: "operators",
			want:      []rbacv1.PolicyRule{rule("get", "pods")},
		},
		"someone else": {
			reason:    "A service account of the same name in another namespace is another subject.",
			subject:   rbacv1.Subject{Kind: "ServiceAccount", Namespace: "other", Name: "foo"},
			namespace: "operators",
		},
		"another group": {
			reason:    "A service account is not a member of other groups.",
			subject:   rbacv1.Subject{Kind: "Group", Name: "system:masters"},
			namespace: "operators",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := rightsOf(tc.subject).Of(types.NamespacedName{Namespace: "operators", Name: "foo"}, tc.namespace)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	need := []rbacv1.PolicyRule{{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods", "secrets"}}}
	have := []rbacv1.PolicyRule{rule("*", "pods"), rule("get", "*")}
	if diff := cmp.Diff([]rbacv1.PolicyRule{rule("list", "secrets")}, Missing(have, need)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestPermissionStatuses(t *testing.T) {
	account := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "foo"}}
	others := *account.DeepCopy()
	others.OwnerReferences = []metav1.OwnerReference{{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "bar.v1"}}
	dependent := func(status olm.StatusReason, message string) olm.DependentStatus {
		return olm.DependentStatus{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "PolicyRule", Status: status, Message: message}
	}
	inNamespace := `namespaced rule:{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}`
	everywhere := `cluster rule:{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}`
	cases := map[string]struct {
		reason   string
		changes  []change
		accounts []corev1.ServiceAccount
		met      bool
		want     []olm.RequirementStatus
	}{
		"nothing asked": {reason: "The requirements are met without permissions.", met: true},
		"met": {
			reason:   "The requirements are met if the service account exists and has the permissions.",
			changes:  []change{withPermissions(grants("foo", rule("get", "pods")))},
			accounts: []corev1.ServiceAccount{account},
			met:      true,
			want: []olm.RequirementStatus{{
				Version: "v1", Kind: "ServiceAccount", Name: "foo", Status: "Present",
				Dependents: []olm.DependentStatus{dependent("Satisfied", inNamespace)},
			}},
		},
		"no account": {
			reason:  "A service account that does not exist is reported without its permissions.",
			changes: []change{withPermissions(grants("foo", rule("get", "pods")))},
			want: []olm.RequirementStatus{{
				Version: "v1", Kind: "ServiceAccount", Name: "foo", Status: "NotPresent", Message: "Service account does not exist",
			}},
		},
		"another's account": {
			reason:   "A service account that another operator owns is reported, since it is deleted with that operator.",
			changes:  []change{withPermissions(grants("foo", rule("get", "pods")))},
			accounts: []corev1.ServiceAccount{others},
			want: []olm.RequirementStatus{{
				Version: "v1", Kind: "ServiceAccount", Name: "foo", Status: "PresentNotSatisfied",
				Message: "Service account belongs to ClusterServiceVersion bar.v1",
			}},
		},
		"a rule is missing": {
			reason:   "A permission in one namespace does not satisfy a cluster permission.",
			changes:  []change{withPermissions(grants("foo", rule("get", "pods"))), withClusterPermissions(grants("foo", rule("get", "secrets")))},
			accounts: []corev1.ServiceAccount{account},
			want: []olm.RequirementStatus{{
				Version: "v1", Kind: "ServiceAccount", Name: "foo", Status: "PresentNotSatisfied",
				Message:    "Policy rule not satisfied for service account",
				Dependents: []olm.DependentStatus{dependent("Satisfied", inNamespace), dependent("NotSatisfied", everywhere)},
			}},
		},
	}
	rights := rightsOf(rbacv1.Subject{Kind: "ServiceAccount", Namespace: "operators", Name: "foo"})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			met, got := PermissionStatuses(plain(t, tc.changes...).CSV, tc.accounts, rights)
			if met != tc.met {
				t.Errorf("%s\nmet: %t", tc.reason, met)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
