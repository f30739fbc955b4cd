package library_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// documented returns the rights in the description of the package.
func documented(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../../pkg/probe/doc.go", nil, parser.ParseComments)
	must(t, err)
	_, section, _ := strings.Cut(file.Doc.Text(), "# Rights\n")
	var block strings.Builder
	for line := range strings.Lines(section) {
		if rule, indented := strings.CutPrefix(line, "\t"); indented {
			block.WriteString(rule)
		}
	}
	role := rbacv1.Role{}
	must(t, yaml.UnmarshalStrict([]byte(block.String()), &role))
	if len(role.Rules) == 0 {
		t.Fatal("the description of the package lists no rights")
	}
	return role.Rules
}

// newAccount creates a service account with rights in its namespace, and waits until they are in effect.
func newAccount(t *testing.T, namespace, name string, rules ...rbacv1.PolicyRule) types.NamespacedName {
	t.Helper()
	in := metav1.ObjectMeta{Namespace: namespace, Name: name}
	cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: in}, &rbacv1.Role{ObjectMeta: in, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: in, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}},
	})
	for _, r := range rules {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				awaitRight(t, namespace, name, r.APIGroups[0], resource, verb)
			}
		}
	}
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func awaitRight(t *testing.T, namespace, name, group, resource, verb string) {
	t.Helper()
	resource, subresource, _ := strings.Cut(resource, "/")
	cluster.AwaitAllowed(t, "system:serviceaccount:"+namespace+":"+name, authorizationv1.ResourceAttributes{
		Namespace: namespace, Group: group, Resource: resource, Subresource: subresource, Verb: verb,
	}, true)
}

// TestRights verifies that the documented rights are sufficient for everything that the package does, also where the
// policies of config/policy apply, and that none of them is superfluous.
func TestRights(t *testing.T) {
	rules := documented(t)
	awaitPolicy(t)
	// uses creates a Probe, claims another one, and reads and writes its condition.
	uses := func(t *testing.T, rules []rbacv1.PolicyRule) error {
		key := csv(t)
		config := as(t, newAccount(t, key.Namespace, "operator", rules...))
		o := startWith(t, config, key)
		if err := o.SetUpgradeable(t.Context(), metav1.ConditionFalse, "Migrating", ""); err != nil {
			return err
		}
		users := types.NamespacedName{Namespace: key.Namespace, Name: "users"}
		cluster.Create(t, &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: users.Namespace, Name: users.Name},
			Spec: &v1alpha1.ProbeSpec{ServiceAccountName: "operator"}})
		o = startWith(t, config, users)
		if err := o.SetUpgradeable(t.Context(), metav1.ConditionTrue, "Idle", ""); err != nil {
			return err
		}
		c, err := o.Upgradeable(t.Context())
		if err == nil && c.Status != metav1.ConditionTrue {
			t.Errorf("read back: %+v", c)
		}
		return err
	}
	t.Run("All", func(t *testing.T) { must(t, uses(t, rules)) })
	for i, r := range rules {
		for j, verb := range r.Verbs {
			t.Run(fmt.Sprintf("Without_%s_%s", verb, strings.ReplaceAll(r.Resources[0], "/", "_")), func(t *testing.T) {
				fewer := slices.Clone(rules)
				fewer[i].Verbs = slices.Delete(slices.Clone(r.Verbs), j, j+1)
				err := uses(t, slices.DeleteFunc(fewer, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 }))
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "cannot "+verb) {
					t.Errorf("without %s on %s: %v", verb, r.Resources, err)
				}
			})
		}
	}
}

// awaitPolicy waits until the policies of config/policy apply: an operator with all rights on Probes cannot write the
// status of a Probe made from annotations.
func awaitPolicy(t *testing.T) {
	t.Helper()
	namespace := cluster.Namespace(t, "policy")
	account := newAccount(t, namespace, "operator", rbacv1.PolicyRule{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"probes/status"},
		Verbs: []string{"patch"}})
	operator, err := client.New(as(t, account), client.Options{Scheme: cluster.Client.Scheme()})
	must(t, err)
	p := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "annotated"},
		Spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerCRDAnnotations}}
	cluster.Create(t, p)
	cluster.Await(t, p, func() string {
		err := operator.Status().Patch(t.Context(), p.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`)),
			client.DryRunAll)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "controller-manager alone") {
			return ""
		}
		return fmt.Sprintf("the status of a Probe that is made from annotations may be written: %v", err)
	})
}
