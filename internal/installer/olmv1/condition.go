package olmv1

import (
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/internal/installer"
)

// OperatorCondition returns the OperatorCondition that the workloads of a ClusterExtension name, by its name, or nil if none does. It names no
// Deployments: OLM v0 looks for these among its own.
func OperatorCondition(extension metav1.Object, namespace string, workloads []installer.Workload) *operatorsv2.OperatorCondition {
	var spec operatorsv2.OperatorConditionSpec
	for _, w := range workloads {
		if w.Condition != extension.GetName() {
			continue
		}
		spec.ServiceAccounts = append(spec.ServiceAccounts, w.ServiceAccount)
	}
	if len(spec.ServiceAccounts) == 0 {
		return nil
	}
	slices.Sort(spec.ServiceAccounts)
	spec.ServiceAccounts = slices.Compact(spec.ServiceAccounts)
	return &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: extension.GetName(), OwnerReferences: ownedBy(extension, Kind.GroupVersion().String(), Kind.Kind),
		},
		Spec: spec,
	}
}

// RightsOf returns the Role and the RoleBinding by which an operator writes its OperatorCondition. They are those of OLM v0, which keeps the
// same ones if it is on the cluster, too.
func RightsOf(oc *operatorsv2.OperatorCondition) (*rbacv1.Role, *rbacv1.RoleBinding) {
	own := metav1.ObjectMeta{
		Namespace: oc.Namespace, Name: oc.Name, OwnerReferences: ownedBy(oc, operatorsv2.GroupVersion.String(), "OperatorCondition"),
	}
	role := &rbacv1.Role{ObjectMeta: own, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get", "update", "patch"}, APIGroups: []string{operatorsv2.GroupVersion.Group},
		Resources: []string{"operatorconditions"}, ResourceNames: []string{oc.Name},
	}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: own, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: oc.Name}}
	for _, account := range oc.Spec.ServiceAccounts {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: account})
	}
	return role, binding
}

// ownedBy returns the reference with which an object is deleted together with its controller, without rights on finalizers of that.
func ownedBy(controller metav1.Object, version, kind string) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: controller.GetName(), UID: controller.GetUID(), Controller: &yes}}
}
