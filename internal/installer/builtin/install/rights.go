package install

import (
	"cmp"
	"encoding/json"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Missing returns the rules in need that have does not cover, each broken down to one verb on one resource.
func Missing(have, need []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	_, missing := validation.Covers(have, need)
	return missing
}

// Rights holds the roles and bindings that were read.
type Rights struct {
	Roles               []rbacv1.Role
	RoleBindings        []rbacv1.RoleBinding
	ClusterRoles        []rbacv1.ClusterRole
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
}

// Of returns the rules of a service account in a namespace. For the empty namespace it returns those that apply to all
// namespaces and to cluster-scoped resources.
func (r Rights) Of(account types.NamespacedName, namespace string) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, b := range r.ClusterRoleBindings {
		if binds(b.Subjects, account, metav1.NamespaceNone) {
			out = append(out, r.rules(b.RoleRef, metav1.NamespaceNone)...)
		}
	}
	for _, b := range r.RoleBindings {
		if namespace != "" && b.Namespace == namespace && binds(b.Subjects, account, b.Namespace) {
			out = append(out, r.rules(b.RoleRef, b.Namespace)...)
		}
	}
	return out
}

func (r Rights) rules(ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	if ref.Kind == "ClusterRole" {
		for _, role := range r.ClusterRoles {
			if role.Name == ref.Name {
				return role.Rules
			}
		}
		return nil
	}
	for _, role := range r.Roles {
		if role.Namespace == namespace && role.Name == ref.Name {
			return role.Rules
		}
	}
	return nil
}

// binds reports whether the subjects of a binding include an account or one of its groups. namespace is that of the
// binding.
func binds(subjects []rbacv1.Subject, account types.NamespacedName, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			return s.Name == account.Name && cmp.Or(s.Namespace, namespace) == account.Namespace
		case rbacv1.UserKind:
			return s.Name == serviceaccount.MakeUsername(account.Namespace, account.Name)
		case rbacv1.GroupKind:
			return s.Name == user.AllAuthenticated || slices.Contains(serviceaccount.MakeGroupNames(account.Namespace), s.Name)
		default:
			return false
		}
	})
}

// PermissionStatuses returns, for each service account that the CSV asks permissions for, whether it exists and has
// them, and whether all do. accounts are those of the CSV's namespace. It is for a CSV whose permissions other users
// grant. As in OLM, permissions in other target namespaces are not checked.
func PermissionStatuses(csv *v1alpha1.ClusterServiceVersion, accounts []corev1.ServiceAccount, rights Rights) (bool, []olm.RequirementStatus) {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	var names []string
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		names = append(names, p.ServiceAccountName)
	}
	met := true
	var out []olm.RequirementStatus
	for _, name := range sorted(names) {
		status := accountStatus(csv, name, accounts)
		if status.Status == olm.RequirementStatusReasonPresent {
			account := types.NamespacedName{Namespace: csv.Namespace, Name: name}
			ruleStatuses(&status, strategy.Permissions, rights.Of(account, csv.Namespace), "namespaced")
			ruleStatuses(&status, strategy.ClusterPermissions, rights.Of(account, metav1.NamespaceAll), "cluster")
		}
		met = met && status.Status == olm.RequirementStatusReasonPresent
		out = append(out, status)
	}
	return met, out
}

// accountStatus returns whether a service account exists and does not belong to another CSV.
func accountStatus(csv *v1alpha1.ClusterServiceVersion, name string, accounts []corev1.ServiceAccount) olm.RequirementStatus {
	out := olm.RequirementStatus{
		Version: corev1.SchemeGroupVersion.Version, Kind: "ServiceAccount", Name: name,
		Status: olm.RequirementStatusReasonPresent,
	}
	i := slices.IndexFunc(accounts, func(a corev1.ServiceAccount) bool { return a.Namespace == csv.Namespace && a.Name == name })
	if i < 0 {
		out.Status, out.Message = olm.RequirementStatusReasonNotPresent, "Service account does not exist"
		return out
	}
	owners := Owners(&accounts[i])
	if len(owners) > 0 && !slices.Contains(owners, types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}) {
		out.Status = olm.RequirementStatusReasonPresentNotSatisfied
		out.Message = "Service account belongs to ClusterServiceVersion " + owners[0].Name
	}
	return out
}

// ruleStatuses adds a dependent for each rule that the account must have.
func ruleStatuses(status *olm.RequirementStatus, permissions []olm.StrategyDeploymentPermissions, have []rbacv1.PolicyRule, scope string) {
	for _, p := range permissions {
		if p.ServiceAccountName != status.Name {
			continue
		}
		for _, rule := range p.Rules {
			raw, _ := json.Marshal(rule) // cannot fail: it has only strings
			dependent := olm.DependentStatus{
				Group: rbacv1.GroupName, Version: rbacv1.SchemeGroupVersion.Version, Kind: "PolicyRule",
				Status:  olm.DependentStatusReasonSatisfied,
				Message: scope + " rule:" + string(raw),
			}
			if len(Missing(have, []rbacv1.PolicyRule{rule})) > 0 {
				dependent.Status = olm.DependentStatusReasonNotSatisfied
				status.Status, status.Message = olm.RequirementStatusReasonPresentNotSatisfied, "Policy rule not satisfied for service account"
			}
			status.Dependents = append(status.Dependents, dependent)
		}
	}
}
