package csv

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/install"
	"github.com/operator-status/operator-status/internal/messages"
	"github.com/operator-status/operator-status/internal/operand"
)

// requirements checks that the kinds that the operator owns and needs are on the cluster.
func (r *Reconciler) requirements(ctx context.Context, s *situation) (*Verdict, error) {
	met := true
	var statuses, explained []olm.RequirementStatus // statuses have OLM's messages, explained more detailed ones for the verdict
	add := func(status olm.RequirementStatus, explanation string) {
		met = met && status.Status == olm.RequirementStatusReasonPresent
		statuses = append(statuses, status)
		status.Message = cmp.Or(explanation, status.Message)
		explained = append(explained, status)
	}
	for _, d := range s.csv.GetAllCRDs() {
		status, explanation, err := r.crdStatus(ctx, d)
		if err != nil {
			return nil, err
		}
		add(status, explanation)
	}
	for _, d := range s.csv.Spec.APIServiceDefinitions.Required {
		add(r.kindStatus("APIService", d.Version+"."+d.Group, schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind}), "")
	}
	for _, kind := range s.csv.Spec.NativeAPIs {
		add(r.kindStatus(kind.Kind, kind.Kind, schema.GroupVersionKind(kind)), "")
	}
	s.requirements = statuses
	if met {
		return nil, nil
	}
	return pending(explained), nil
}

// pending returns the verdict for requirements that are not met. Its message names them.
func pending(statuses []olm.RequirementStatus) *Verdict {
	var missing []string
	for _, status := range statuses {
		if status.Status != olm.RequirementStatusReasonPresent {
			missing = append(missing, fmt.Sprintf("%s %s: %s", status.Kind, status.Name, status.Message))
		}
	}
	slices.Sort(missing)
	return &Verdict{
		Phase: olm.CSVPhasePending, Reason: v1alpha1.CSVReasonRequirementsNotMet,
		Message: "Requirements not met: " + listed(missing),
	}
}

const maxListed = 5

// listed joins the first few reasons.
func listed(reasons []string) string { return messages.List(reasons, maxListed, "; ") }

// crdStatus returns whether a CustomResourceDefinition is established and serves the version, with OLM's messages,
// which scripts compare. The explanation is empty if the message suffices.
func (r *Reconciler) crdStatus(ctx context.Context, d olm.CRDDescription) (out olm.RequirementStatus, explanation string, err error) {
	out = olm.RequirementStatus{
		Group: apiextensions.GroupName, Version: "v1", Kind: "CustomResourceDefinition", Name: d.Name,
		Status: olm.RequirementStatusReasonNotPresent, Message: "CRD is not present",
	}
	crd := &apiextensions.CustomResourceDefinition{}
	if err := r.Client.Get(ctx, types.NamespacedName{Name: d.Name}, crd); client.IgnoreNotFound(err) != nil {
		return out, "", fmt.Errorf("getting CustomResourceDefinition %s: %w", d.Name, err)
	} else if err != nil {
		return out, "not found", nil
	}
	i := slices.IndexFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established
	})
	const notAvailable = "CRD is present but the Established condition is False (not available)"
	switch {
	case d.Version != "" && !operand.Serves(crd, d.Version):
		out.Message, explanation = "CRD version not served", fmt.Sprintf("it does not serve version %s", d.Version)
	case i < 0:
		out.Status, out.Message, explanation = olm.RequirementStatusReasonNotAvailable, notAvailable, "not established"
	case crd.Status.Conditions[i].Status != apiextensions.ConditionTrue:
		out.Status, out.Message = olm.RequirementStatusReasonNotAvailable, notAvailable
		explanation = "not established: " + crd.Status.Conditions[i].Message
	default:
		out.Status, out.Message, out.UUID = olm.RequirementStatusReasonPresent, "CRD is present and Established condition is true", string(crd.UID)
	}
	return out, explanation, nil
}

// kindStatus returns whether a kind is served.
func (r *Reconciler) kindStatus(kind, name string, gvk schema.GroupVersionKind) olm.RequirementStatus {
	out := olm.RequirementStatus{Group: gvk.Group, Version: gvk.Version, Kind: kind, Name: name, Status: olm.RequirementStatusReasonPresent}
	_, err := r.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		out.Status, out.Message = olm.RequirementStatusReasonNotPresent, fmt.Sprintf("kind %s is not served", gvk)
	case err != nil:
		out.Status, out.Message = olm.RequirementStatusReasonNotAvailable, "the API server does not report whether it is served"
	}
	return out
}

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
	out.Again = r.backOff(s)
	return out, r.Rights.Watch(r.controller, r.enqueueDenied)
}

// permissionStatuses compares the permissions that the operator asks for with those of its service accounts.
func (r *Reconciler) permissionStatuses(ctx context.Context, s *situation) (bool, []olm.RequirementStatus, error) {
	strategy := s.csv.Spec.InstallStrategy.StrategySpec
	if s.grant != nil || len(strategy.Permissions)+len(strategy.ClusterPermissions) == 0 {
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
