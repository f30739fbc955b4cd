package install

import (
	"fmt"
	"hash/fnv"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// accessLevels are the access levels of users, with the verbs that each allows on the APIs of an operator.
var accessLevels = []struct {
	name  string
	verbs []string
}{
	{"admin", []string{"*"}},
	{"edit", []string{"create", "update", "patch", "delete"}},
	{"view", []string{"get", "list", "watch"}},
}

// apiRoles renders ClusterRoles by which users who administer, edit or view a namespace do the same with the APIs that
// the CSV owns. CSVs in different namespaces may own the same API, so the roles are the same for all and belong to
// none.
func apiRoles(in Install, out *Rendered) {
	before := len(out.Objects)
	seen := map[string]bool{}
	for _, owned := range in.Grant.APIs {
		plural, group, ok := strings.Cut(owned.CRD, ".")
		prefix := owned.CRD + "-" + owned.Version + "-"
		if !ok || seen[prefix] {
			continue
		}
		seen[prefix] = true
		purpose := fmt.Sprintf("roles for the API %s %s", owned.CRD, owned.Version)
		for _, level := range accessLevels {
			out.add(purpose, in.apiRole(owned, prefix+level.name, level.name, rbacv1.PolicyRule{
				Verbs: level.verbs, APIGroups: []string{group}, Resources: []string{plural},
			}))
		}
		out.add(purpose, in.apiRole(owned, prefix+"crdview", "view", rbacv1.PolicyRule{
			Verbs: []string{"get"}, APIGroups: []string{apiextensionsv1.GroupName},
			Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{owned.CRD},
		}))
	}
	for i := range out.Objects[before:] {
		out.Objects[before+i].Alike = true
	}
}

func (in Install) apiRole(owned API, name, level string, rule rbacv1.PolicyRule) client.Object {
	role := &rbacv1.ClusterRole{
		TypeMeta: typeMeta(rbacv1.SchemeGroupVersion, "ClusterRole"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			"rbac.authorization.k8s.io/aggregate-to-" + level: "true",
			aggregationLabel(owned, level):                    "true",
			LabelManaged:                                      "true",
		}},
		Rules: []rbacv1.PolicyRule{rule},
	}
	if uid := in.CRDs[owned.CRD]; uid != "" {
		no := false
		role.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition",
			Name: owned.CRD, UID: uid, Controller: &no, BlockOwnerDeletion: &no,
		}}
	}
	return role
}

// aggregationLabel returns the label that selects the roles of an access level for an API.
func aggregationLabel(owned API, level string) string {
	_, group, _ := strings.Cut(owned.CRD, ".")
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s.%s.%s", owned.Kind, owned.Version, group)
	return fmt.Sprintf("olm.opgroup.permissions/aggregate-to-%x-%s", sum.Sum64(), level)
}

// GroupRoles returns the ClusterRoles of an OperatorGroup that users are bound to, one per access level. Each
// aggregates the roles for the APIs of the CSVs in the group; its rules are empty, since the API server fills them in.
func GroupRoles(group *operatorsv1.OperatorGroup, csvs map[string]*v1alpha1.ClusterServiceVersion) []*rbacv1.ClusterRole {
	var out []*rbacv1.ClusterRole
	for _, level := range accessLevels {
		var gathered []string
		for _, csv := range csvs {
			for _, owned := range apisOf(&csv.Spec) {
				gathered = append(gathered, aggregationLabel(owned, level.name))
			}
		}
		role := &rbacv1.ClusterRole{
			TypeMeta:   typeMeta(rbacv1.SchemeGroupVersion, "ClusterRole"),
			ObjectMeta: metav1.ObjectMeta{Name: groupRoleName(group, level.name), Labels: GroupLabels(group)},
		}
		role.Labels[LabelManaged] = "true"
		for _, label := range sorted(gathered) {
			if role.AggregationRule == nil {
				role.AggregationRule = &rbacv1.AggregationRule{}
			}
			role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors,
				metav1.LabelSelector{MatchLabels: map[string]string{label: "true"}})
		}
		out = append(out, role)
	}
	return out
}

// GroupLabels returns the labels that select the ClusterRoles of an OperatorGroup.
func GroupLabels(group metav1.Object) map[string]string {
	return ownerLabels(group, operatorsv1.OperatorGroupKind)
}

// GroupRoleNames returns the names of the ClusterRoles of an OperatorGroup.
func GroupRoleNames(group metav1.Object) []string {
	var out []string
	for _, level := range accessLevels {
		out = append(out, groupRoleName(group, level.name))
	}
	return out
}

func groupRoleName(group metav1.Object, level string) string {
	suffix := "." + level + "-" + base62([]byte(group.GetNamespace()+"/"+group.GetName()+"/"+level))
	prefix := "olm.og." + group.GetName()
	return prefix[:min(len(prefix), validation.DNS1123SubdomainMaxLength-len(suffix))] + suffix
}
