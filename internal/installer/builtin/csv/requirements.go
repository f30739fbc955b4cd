package csv

import (
	"context"
	"fmt"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// permissions checks the permissions of an operator that no InstallPlan granted anything: another user may have granted
// them. Webhooks in leftOut are not registered, so the operator cannot work.
func (r *Reconciler) permissions(ctx context.Context, s *situation, leftOut []string) (*Verdict, error) {
	met, statuses, err := r.permissionStatuses(ctx, s)
	if err != nil {
		return nil, err
	}
	s.requirements = append(s.requirements, statuses...)
	if met && len(leftOut) == 0 {
		return nil, nil
	}
	out := pending(statuses)
	if met {
		out.Message = "Not granted: " + listed(leftOut)
	}
	out.Message += fmt.Sprintf(". No InstallPlan in namespace %s grants these permissions", s.csv.Namespace)
	if csvchain.Inherited(s.csv) {
		out.Message += ". Those that it has stay until its next version is installed, which is granted its own"
	}
	out.Again = r.backOff(s)
	return out, r.Rights.Watch(r.controller, r.enqueueDenied)
}

// permissionStatuses compares the permissions that the operator asks for with those of its service accounts.
func (r *Reconciler) permissionStatuses(ctx context.Context, s *situation) (bool, []olm.RequirementStatus, error) {
	strategy := s.csv.Spec.InstallStrategy.StrategySpec
	if s.grant() != nil || len(strategy.Permissions)+len(strategy.ClusterPermissions) == 0 {
		return true, nil, nil
	}
	accounts := &corev1.ServiceAccountList{}
	roles, bindings := &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}
	clusterRoles, clusterBindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	here := client.InNamespace(s.csv.Namespace)
	for _, read := range []struct {
		list    client.ObjectList
		options []client.ListOption
	}{{accounts, []client.ListOption{here}}, {roles, []client.ListOption{here}}, {bindings, []client.ListOption{here}}, {clusterRoles, nil},
		{clusterBindings, nil}} {
		if err := r.Reader.List(ctx, read.list, read.options...); err != nil {
			return false, nil, fmt.Errorf("listing the permissions of service accounts: %w", err)
		}
	}
	rights := install.Rights{Roles: roles.Items, RoleBindings: bindings.Items, ClusterRoles: clusterRoles.Items, ClusterRoleBindings: clusterBindings.Items}
	met, statuses := install.PermissionStatuses(s.csv, accounts.Items, rights)
	return met, statuses, nil
}
