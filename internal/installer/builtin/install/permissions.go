package install

import (
	"encoding/json"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// defaultAccount exists in every namespace.
	defaultAccount = "default"

	// labelContentHash on a role or binding is a hash of its content.
	labelContentHash = "olm.permissions.hash"
)

// viewNamespaces is the rule that an operator needs to list its namespaces if it targets all.
var viewNamespaces = rbacv1.PolicyRule{
	Verbs: []string{"get", "list", "watch"}, APIGroups: []string{corev1.GroupName}, Resources: []string{"namespaces"},
}

// serviceAccounts renders the service accounts that are granted anything. Others that a Deployment names are not
// created.
func serviceAccounts(in Install, out *Rendered) {
	var names []string
	for _, p := range slices.Concat(in.Grant.Permissions, in.Grant.ClusterPermissions) {
		names = append(names, p.ServiceAccountName)
	}
	for _, name := range sorted(names) {
		if name == "" || name == defaultAccount {
			continue
		}
		out.Objects = append(out.Objects, Object{
			Object:   &corev1.ServiceAccount{TypeMeta: typeMeta(corev1.SchemeGroupVersion, "ServiceAccount"), ObjectMeta: in.own(name)},
			IfAbsent: true,
			For:      "service account " + name,
		})
	}
}

// permissions renders the namespaced permissions, in the CSV's namespace and in every target namespace that exists.
func permissions(in Install, out *Rendered) {
	lift := in.extendsPermissions()
	for _, p := range distinct(in.Grant.Permissions) {
		name := generateName(in.CSV.Name+"-"+p.ServiceAccountName, struct {
			Name       string                            `json:"name,omitempty"`
			Permission olm.StrategyDeploymentPermissions `json:"permission"`
		}{in.CSV.Name, p})
		purpose := "permissions of service account " + p.ServiceAccountName
		out.add(purpose, in.role(in.CSV.Namespace, name, p)...)
		switch {
		case !lift:
		case in.allNamespaces():
			lifted := *p.DeepCopy()
			lifted.Rules = append(lifted.Rules, viewNamespaces)
			out.add(purpose+" in all namespaces", in.clusterRole(name, lifted)...)
		default:
			for _, target := range in.Targets {
				if target != in.CSV.Namespace && !slices.Contains(in.Absent, target) {
					out.add(purpose+" in namespace "+target, in.role(target, name, p)...)
				}
			}
		}
	}
}

// extendsPermissions reports whether the namespaced permissions have to be granted outside the CSV's namespace, too. All
// of them are, unless the cluster permissions cover them all.
func (in Install) extendsPermissions() bool {
	for _, p := range in.Grant.Permissions {
		var have []rbacv1.PolicyRule
		for _, c := range in.Grant.ClusterPermissions {
			if c.ServiceAccountName == p.ServiceAccountName {
				have = append(have, c.Rules...)
			}
		}
		if len(Missing(have, p.Rules)) > 0 {
			return true
		}
	}
	return false
}

func clusterPermissions(in Install, out *Rendered) {
	for _, p := range distinct(in.Grant.ClusterPermissions) {
		name := generateName(in.CSV.Name, struct {
			Name       string                            `json:"name,omitempty"`
			Namespace  string                            `json:"namespace,omitempty"`
			Permission olm.StrategyDeploymentPermissions `json:"permission"`
		}{in.CSV.Name, in.CSV.Namespace, p})
		out.add("cluster permissions of service account "+p.ServiceAccountName, in.clusterRole(name, p)...)
	}
}

func (in Install) role(namespace, name string, p olm.StrategyDeploymentPermissions) objects {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	subjects := []rbacv1.Subject{subject(in.account(p.ServiceAccountName))}
	return objects{
		&rbacv1.Role{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "Role"),
			ObjectMeta: in.owned(namespace, name, rulesHash(p.Rules)),
			Rules:      p.Rules,
		},
		&rbacv1.RoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "RoleBinding"),
			ObjectMeta: in.owned(namespace, name, bindingHash(ref, subjects)),
			RoleRef:    ref, Subjects: subjects,
		},
	}
}

func (in Install) clusterRole(name string, p olm.StrategyDeploymentPermissions) objects {
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	subjects := []rbacv1.Subject{subject(in.account(p.ServiceAccountName))}
	return objects{
		&rbacv1.ClusterRole{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRole"),
			ObjectMeta: in.owned(metav1.NamespaceNone, name, rulesHash(p.Rules)),
			Rules:      p.Rules,
		},
		&rbacv1.ClusterRoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRoleBinding"),
			ObjectMeta: in.owned(metav1.NamespaceNone, name, bindingHash(ref, subjects)),
			RoleRef:    ref, Subjects: subjects,
		},
	}
}

func subject(account types.NamespacedName) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}
}

func rulesHash(rules []rbacv1.PolicyRule) map[string]string {
	raw, _ := json.Marshal(rules) // cannot fail: it has only strings
	return map[string]string{labelContentHash: base62(raw)}
}

func bindingHash(ref rbacv1.RoleRef, subjects []rbacv1.Subject) map[string]string {
	raw, _ := json.Marshal(struct {
		RoleRef  rbacv1.RoleRef
		Subjects []rbacv1.Subject
	}{ref, subjects})
	return map[string]string{labelContentHash: base62(raw)}
}

// distinct removes duplicates, and permissions without a service account.
func distinct(list []olm.StrategyDeploymentPermissions) []olm.StrategyDeploymentPermissions {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(list), func(p olm.StrategyDeploymentPermissions) bool {
		key := fmt.Sprintf("%s/%s", p.ServiceAccountName, hash(p.Rules))
		again := seen[key]
		seen[key] = true
		return again || p.ServiceAccountName == ""
	})
}
