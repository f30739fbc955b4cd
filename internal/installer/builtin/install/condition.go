package install

import (
	"slices"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// operatorCondition renders the OperatorCondition, by which the operator can block its upgrade, and the permission to
// write it. It is applied with server-side apply, which preserves the fields of the operator and admins.
func operatorCondition(in Install, out *Rendered) {
	accounts := conditionAccounts(in.CSV)
	var subjects []rbacv1.Subject
	for _, name := range accounts {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name})
	}
	var deployments []string
	for _, d := range in.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		deployments = append(deployments, d.Name)
	}
	condition := &operatorsv2.OperatorCondition{
		TypeMeta:   typeMeta(operatorsv2.GroupVersion, "OperatorCondition"),
		ObjectMeta: in.own(in.CSV.Name),
		Spec:       operatorsv2.OperatorConditionSpec{ServiceAccounts: accounts, Deployments: deployments},
	}
	yes := true
	condition.OwnerReferences[0].Controller = &yes
	out.add("operator condition",
		condition,
		&rbacv1.Role{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "Role"),
			ObjectMeta: in.own(in.CSV.Name),
			Rules: []rbacv1.PolicyRule{{
				Verbs: []string{"get", "update", "patch"}, APIGroups: []string{operatorsv2.GroupVersion.Group},
				Resources: []string{"operatorconditions"}, ResourceNames: []string{in.CSV.Name},
			}},
		},
		&rbacv1.RoleBinding{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "RoleBinding"),
			ObjectMeta: in.own(in.CSV.Name),
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: in.CSV.Name},
			Subjects:   subjects,
		},
	)
}

// conditionAccounts returns the service account of each permission, cluster permissions first, with duplicates. Without
// permissions it returns the default one.
func conditionAccounts(csv *v1alpha1.ClusterServiceVersion) []string {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	var out []string
	for _, p := range slices.Concat(strategy.ClusterPermissions, strategy.Permissions) {
		out = append(out, p.ServiceAccountName)
	}
	if len(out) == 0 {
		return []string{defaultAccount}
	}
	return out
}
