package workloads

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/kube"
)

// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles;clusterrolebindings;roles;rolebindings,verbs=list;watch

// RoleKinds returns an object of each kind that gives service accounts rights.
func RoleKinds() []client.Object {
	return []client.Object{&rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}, &rbacv1.Role{}, &rbacv1.RoleBinding{}}
}

// roles has the rights of service accounts, since thousands of workloads may have one service account, and an account thousands of roles.
type roles struct {
	known kube.Memo[question, controllers.Rights]
	indexes
}

// question is which of some CustomResourceDefinitions an account may report on, by a hash of their names.
type question struct {
	account     types.NamespacedName
	definitions [sha256.Size]byte
}

// Definitions are some CustomResourceDefinitions that operators may serve.
type Definitions struct {
	controllers.Definitions

	hash [sha256.Size]byte // of their names
}

// AllDefinitions returns those of all CustomResourceDefinitions.
func AllDefinitions(all []apiextensions.CustomResourceDefinition) Definitions {
	return definitionsOf(all, func(string) bool { return true })
}

// NewDefinitions returns those of all CustomResourceDefinitions that have one of some names.
func NewDefinitions(all []apiextensions.CustomResourceDefinition, names []string) Definitions {
	return definitionsOf(all, sets.New(names...).Has)
}

func definitionsOf(all []apiextensions.CustomResourceDefinition, included func(name string) bool) Definitions {
	out := Definitions{Definitions: controllers.Definitions{}}
	for i := range all {
		if included(all[i].Name) {
			out.Add(&all[i])
		}
	}
	out.hash = sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(out.Definitions)), ",")))
	return out
}

// RolesChanged has Served read roles again. Call it after a role or binding has changed.
func (c Cache) RolesChanged() { c.roles.known.Forget() }

// Served returns which of some CustomResourceDefinitions a workload serves. Callers must not change it.
func (c Cache) Served(ctx context.Context, w installer.Workload, definitions Definitions) (controllers.Served, error) {
	rights, err := c.roles.known.Get(question{w.Account(), definitions.hash}, func() (controllers.Rights, error) {
		return c.rights(ctx, w.Account(), definitions.Definitions)
	})
	return rights.Served(w, definitions.Definitions), err
}

// AccountsIn returns the service accounts that a binding is for.
func AccountsIn(binding client.Object) []types.NamespacedName {
	switch b := binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		return controllers.Accounts("", b.Subjects)
	case *rbacv1.RoleBinding:
		return controllers.Accounts(b.Namespace, b.Subjects)
	}
	return nil
}

// rights reads the roles of a service account.
func (c Cache) rights(ctx context.Context, account types.NamespacedName, definitions controllers.Definitions) (out controllers.Rights, err error) {
	if err := c.roles.add(ctx, c.Cache); err != nil {
		return out, err
	}
	var cluster installer.Cluster
	for _, list := range []installer.List{&rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}} {
		if err := c.List(ctx, list, client.MatchingFields{byAccount: account.String()}, client.UnsafeDisableDeepCopy); err != nil {
			return out, fmt.Errorf("listing the roles of service account %s: %w", account, err)
		}
		if err := cluster.Add(list, nil); err != nil {
			return out, err
		}
	}
	for _, binding := range slices.Clone(cluster.Objects) {
		if err := c.addRole(ctx, &cluster, binding); err != nil {
			return out, err
		}
	}
	return controllers.RightsIn(cluster, definitions)[account], nil
}

// RunAs returns the workloads that have a service account.
func (c Cache) RunAs(ctx context.Context, account types.NamespacedName) ([]installer.Workload, error) {
	return c.workloads(ctx, client.InNamespace(account.Namespace), client.MatchingFields{byAccount: account.String()})
}

// workloads returns those that indexes select.
func (c Cache) workloads(ctx context.Context, options ...client.ListOption) ([]installer.Workload, error) {
	if err := c.roles.add(ctx, c.Cache); err != nil {
		return nil, err
	}
	return c.list(ctx, options...)
}

// addRole adds the role of a binding.
func (c Cache) addRole(ctx context.Context, cluster *installer.Cluster, binding installer.Object) error {
	ref, key := refOf(binding)
	var role client.Object
	switch ref.Kind {
	case "":
		return nil
	case "Role":
		role = &rbacv1.Role{}
	default:
		role, key.Namespace = &rbacv1.ClusterRole{}, ""
	}
	if err := c.Get(ctx, key, role); err != nil {
		return client.IgnoreNotFound(err)
	}
	cluster.Objects = append(cluster.Objects, role)
	return nil
}

// refOf returns the role of a binding, or nothing for another object.
func refOf(binding metav1.Object) (rbacv1.RoleRef, types.NamespacedName) {
	var out rbacv1.RoleRef
	switch b := binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		out = b.RoleRef
	case *rbacv1.RoleBinding:
		out = b.RoleRef
	}
	return out, types.NamespacedName{Namespace: binding.GetNamespace(), Name: out.Name}
}

// Bound returns the service accounts that a role or a binding is for.
func (c Cache) Bound(ctx context.Context, o client.Object) ([]types.NamespacedName, error) {
	lists := []client.ObjectList{&rbacv1.RoleBindingList{}}
	kind := "Role"
	switch o.(type) {
	case *rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding:
		return AccountsIn(o), nil
	case *rbacv1.ClusterRole:
		lists, kind = append(lists, &rbacv1.ClusterRoleBindingList{}), "ClusterRole"
	}
	var out []types.NamespacedName
	for _, list := range lists {
		if err := c.List(ctx, list, client.InNamespace(o.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the bindings of %s %s: %w", kind, o.GetName(), err)
		}
		var bindings installer.Cluster
		if err := bindings.Add(list, nil); err != nil {
			return nil, err
		}
		for _, b := range bindings.Objects {
			if ref, _ := refOf(b); ref.Kind == kind && ref.Name == o.GetName() {
				out = append(out, AccountsIn(b.(client.Object))...)
			}
		}
	}
	return out, nil
}

// trimRole returns a role with the rules that let a service account serve CustomResourceDefinitions, a binding with its service
// accounts, or nil for another object.
func trimRole(o client.Object) client.Object {
	small := metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
	if value, ok := o.GetLabels()[controllers.LabelBootstrapping]; ok {
		small.Labels = map[string]string{controllers.LabelBootstrapping: value}
	}
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		return &rbacv1.ClusterRole{ObjectMeta: small, Rules: reporting(o.Rules)}
	case *rbacv1.Role:
		return &rbacv1.Role{ObjectMeta: small, Rules: reporting(o.Rules)}
	case *rbacv1.ClusterRoleBinding:
		return &rbacv1.ClusterRoleBinding{ObjectMeta: small, RoleRef: o.RoleRef, Subjects: serviceAccounts(o.Subjects)}
	case *rbacv1.RoleBinding:
		return &rbacv1.RoleBinding{ObjectMeta: small, RoleRef: o.RoleRef, Subjects: serviceAccounts(o.Subjects)}
	}
	return nil
}

func reporting(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, r := range rules {
		if controllers.Reports(r) {
			out = append(out, rbacv1.PolicyRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources})
		}
	}
	return out
}

func serviceAccounts(subjects []rbacv1.Subject) []rbacv1.Subject {
	var out []rbacv1.Subject
	for _, s := range subjects {
		if len(controllers.Accounts("", []rbacv1.Subject{s})) > 0 {
			out = append(out, s)
		}
	}
	return out
}
