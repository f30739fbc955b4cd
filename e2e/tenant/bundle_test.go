package tenant

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer/builtin/install"
)

// TestBundle verifies that a bundle from a tenant's own catalog is not installed without a service account, and with
// one only as far as the account has the rights. It is installed once a cluster admin grants them.
func TestBundle(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	for name, tc := range map[string]struct {
		reason  string
		objects func(*tenant) []string
		never   string // the reason for which it is refused regardless of the account's rights
		words   []string
		made    func(*tenant) client.Object
	}{
		"cluster-role-binding": {
			reason:  "A ClusterRoleBinding to cluster-admin requires the rights of cluster-admin.",
			objects: func(n *tenant) []string { return []string{clusterBinding(n.user)} },
			words:   []string{"clusterrolebindings"},
			made:    func(n *tenant) client.Object { return clusterBindingOf(n.user) },
		},
		"scope-spoofed": {
			reason: "A CustomResourceDefinition that declares a cluster-scoped kind as namespaced is rejected.",
			objects: func(n *tenant) []string {
				return []string{spoofedCRD("apiextensions.k8s.io", "CustomResourceDefinition"), spoofedCRD("rbac.authorization.k8s.io", "ClusterRoleBinding"), clusterBinding(n.user)}
			},
			never: v1alpha1.PlanReasonComponentFailed, words: []string{"CustomResourceDefinition evils.", "does not serve"},
			made: func(n *tenant) client.Object { return clusterBindingOf(n.user) },
		},
		"role-binding": {
			reason: "A RoleBinding to cluster-admin requires the rights of cluster-admin in its namespace.",
			objects: func(n *tenant) []string {
				return []string{fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: all-mine}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %s}]
`, n.user)}
			},
			words: []string{"rolebindings"},
			made: func(n *tenant) client.Object {
				return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "all-mine"}}
			},
		},
		"webhook": {
			reason: "A webhook requires rights on webhook configurations, since it can change the objects of all users.",
			objects: func(n *tenant) []string {
				return []string{fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: %s}
webhooks: []
`, n.user)}
			},
			words: []string{"mutatingwebhookconfigurations"},
			made: func(n *tenant) client.Object {
				out := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}}
				out.SetName(n.user)
				return out
			},
		},
		"probe": {
			reason: "A Probe requires rights on Probes, since it can read custom resources as any account of its namespace.",
			objects: func(*tenant) []string {
				return []string{"{apiVersion: operators.coreos.com/v1alpha1, kind: Probe, metadata: {name: spy}, spec: {serviceAccountName: strong, probeResources: []}}"}
			},
			words: []string{"probes"},
			made: func(n *tenant) client.Object {
				return &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "spy"}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			user := "intruder-" + name
			without := newTenant(t, user, "")
			awaitServiceAccountRequired(t, without.subscribe(t, tc.objects(without)...))

			weak := newTenant(t, user+"-weak", "weak")
			sub := weak.subscribe(t, tc.objects(weak)...)
			if tc.never != "" {
				awaitRejected(t, sub, v1alpha1.SubscriptionInstallPlanFailed, tc.never, tc.words...)
			} else {
				awaitInstallForbidden(t, sub, tc.words...)
			}

			for _, n := range []*tenant{without, weak} {
				n.checkNotAdmin(t)
				checkAbsent(t, tc.made(n))
			}
			if tc.never != "" {
				return
			}
			// It is installed once a cluster admin grants the account the rights.
			bindClusterAdmin(t, weak.namespace, "weak")
			cluster.Await(t, sub, func() string {
				if sub.Status.InstalledCSV != "evil.v1.0.0" {
					return fmt.Sprintf("%s The bundle is not installed: %s", tc.reason, sub.Status.Message)
				}
				return ""
			})
			if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(tc.made(weak)), tc.made(weak)); err != nil {
				t.Errorf("%s The granted object was not created: %v", tc.reason, err)
			}
		})
	}
}

// bindClusterAdmin binds a service account to cluster-admin, as a cluster admin.
func bindClusterAdmin(t *testing.T, namespace, account string) {
	t.Helper()
	cluster.Create(t, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})
}

func clusterBindingOf(user string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "root-of-" + user}}
}

func clusterBinding(user string) string {
	return fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: root-of-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: %[1]s}]
`, user)
}

// spoofedCRD returns a CustomResourceDefinition that declares a built-in kind to be namespaced.
func spoofedCRD(group, kind string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: evils.%[1]s
  annotations: {api-approved.kubernetes.io: "unapproved, says the intruder"}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: evils, singular: evil, kind: %[2]s, listKind: %[2]sEvilList}
  versions:
  - {name: v9, served: false, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, group, kind)
}

// TestForeignDataNotRevealed verifies that checking a CustomResourceDefinition against the existing custom resources reveals
// nothing about those that the service account may not read.
func TestForeignDataNotRevealed(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	vault := func(password string) string {
		return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: vaults.acme.example.com}
spec:
  group: acme.example.com
  scope: Namespaced
  names: {plural: vaults, singular: vault, kind: Vault, listKind: VaultList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {password: %s}}}}}
`, password)
	}
	cluster.Apply(t, "", vault("{type: string}"))
	cluster.Rediscovered(t).AwaitCRD(t, "vaults.acme.example.com")
	victim := cluster.Namespace(t, "victim")
	cluster.Rediscovered(t).Apply(t, victim, "apiVersion: acme.example.com/v1\nkind: Vault\nmetadata: {name: prod}\nspec: {password: hunter2}\n")

	n := newTenant(t, "reader", "weak")
	sub := n.subscribe(t, vault("{type: string, enum: [x]}"))
	awaitInstallForbidden(t, sub, "customresourcedefinitions")
	plans := &olm.InstallPlanList{}
	if err := n.List(t.Context(), plans, client.InNamespace(n.namespace)); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v %+v", sub.Status, plans.Items)
	for _, secret := range []string{"hunter2", "prod", victim} {
		if strings.Contains(got, secret) {
			t.Errorf("the tenant can read %q in\n%s", secret, got)
		}
	}
}

// TestForeignObjectNotDeleted verifies that an object of others, which a tenant's account could patch, is not deleted with
// the operator by the manager once the account is deleted.
func TestForeignObjectNotDeleted(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	class := func(name string) *schedulingv1.PriorityClass {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 10}
	}
	n := newTenant(t, "taker", "weak")
	ofOthers, own := class(n.namespace+"-shared"), class(n.namespace+"-own")
	cluster.Create(t, ofOthers)
	bindClusterAdmin(t, n.namespace, "weak")
	manifest := func(c *schedulingv1.PriorityClass) string {
		return fmt.Sprintf("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: 10}", c.Name)
	}
	sub := n.subscribe(t, manifest(ofOthers), manifest(own))
	cluster.Await(t, sub, func() string {
		if sub.Status.InstalledCSV != "evil.v1.0.0" {
			return "the bundle is not installed: " + sub.Status.Message
		}
		return ""
	})
	in := metav1.ObjectMeta{Namespace: n.namespace}
	deleteAndWait(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: "weak"}})
	deleteAndWait(t, sub)
	deleteAndWait(t, &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: in.Namespace, Name: "evil.v1.0.0"}})
	cluster.AwaitGone(t, own) // it was created for the operator
	cluster.AwaitIdle(t, 2*time.Second)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(ofOthers), ofOthers); err != nil {
		t.Errorf("getting the foreign PriorityClass: %v", err)
	}
}

// TestForeignClusterRoleNotDeleted verifies that another ClusterRole with the labels of an OperatorGroup is not deleted with
// the group.
func TestForeignClusterRoleNotDeleted(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(t, "labelled"), Name: "group"}}
	cluster.Create(t, group)
	important := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "important-" + group.Namespace, Labels: install.GroupLabels(group)}}
	important.Labels[install.LabelManaged] = "true"
	cluster.Create(t, important)
	var own []client.Object
	for _, name := range install.GroupRoleNames(group) {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
		cluster.Await(t, role, func() string { return "" })
		own = append(own, role)
	}
	deleteAndWait(t, group)
	for _, role := range own {
		cluster.AwaitGone(t, role)
	}
	cluster.AwaitIdle(t, 2*time.Second)
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(important), important); err != nil {
		t.Errorf("getting the foreign ClusterRole: %v", err)
	}
	deleteAndWait(t, important)
}

// TestForgedInstallPlanStatus verifies that a status that a user with every right in a namespace writes to an InstallPlan is
// not applied, even if no admission policy rejects the write.
func TestForgedInstallPlanStatus(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	deletePolicyBinding(t, "operator-status-lifecycle-status")
	n := newTenant(t, "forger", "")
	bindRole(t, n.namespace, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: n.user}, "cluster-admin")
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "forged"}}
	plan.Spec = olm.InstallPlanSpec{ClusterServiceVersionNames: []string{"evil.v1.0.0"}, Approval: olm.ApprovalAutomatic, Approved: true}
	if err := n.Create(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	forged := false
	cluster.Await(t, plan, func() string {
		if forged && plan.Status.Phase != olm.InstallPlanPhaseInstalling {
			return ""
		}
		if !forged {
			plan.Status = olm.InstallPlanStatus{Phase: olm.InstallPlanPhaseInstalling, CatalogSources: []string{}, Plan: []*olm.Step{{
				Resolving: "evil.v1.0.0", Status: olm.StepStatusUnknown, Resource: olm.StepResource{
					Group: rbacv1.GroupName, Version: "v1", Kind: "ClusterRoleBinding", Name: "root-of-forger", Manifest: jsonOf(t, clusterBinding(n.user)),
					CatalogSource: "x", CatalogSourceNamespace: "olm",
				},
			}}}
			forged = n.Status().Update(t.Context(), plan) == nil
		}
		return "its phase is " + string(plan.Status.Phase)
	})
	n.checkNotAdmin(t)
	checkAbsent(t, clusterBindingOf(n.user))
}

// deletePolicyBinding deletes the binding of an admission policy until the test ends.
func deletePolicyBinding(t *testing.T, policy string) {
	t.Helper()
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy}}
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		again := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: policy}, Spec: binding.Spec}
		cluster.Create(t, again)
	})
}

// TestInstallPlanKeepsServiceAccount verifies that a plan that was created for a service account does not run without one.
func TestInstallPlanKeepsServiceAccount(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	n := newTenant(t, "swapper", "weak")
	sub := n.subscribeToCSV(t, evil, olm.ApprovalManual, clusterBinding(n.user))
	awaitRejected(t, sub, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, v1alpha1.ReasonRequiresApproval)
	plan := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: sub.Status.InstallPlanRef.Name}}
	group := n.group(t)
	group.Spec.ServiceAccountName = ""
	if err := cluster.Client.Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	approve := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approved":true}}`))
	if err := n.Patch(t.Context(), plan, approve); err != nil && !apierrors.IsNotFound(err) {
		t.Fatalf("approving the InstallPlan as the tenant: %v", err)
	}
	awaitServiceAccountRequired(t, sub)
	n.checkNotAdmin(t)
	checkAbsent(t, clusterBindingOf(n.user))
}

// TestOperatorGroupRewritten verifies that a bundle does not change the OperatorGroup that a cluster admin created.
func TestOperatorGroupRewritten(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	const rewrite = "apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: group}\nspec: {targetNamespaces: [kube-system]}\n"
	without, weak := newTenant(t, "widener", ""), newTenant(t, "widener-weak", "weak")
	awaitServiceAccountRequired(t, without.subscribe(t, rewrite))
	awaitInstallForbidden(t, weak.subscribe(t, rewrite), "operatorgroups")
	for _, n := range []*tenant{without, weak} {
		if targets := n.group(t).Spec.TargetNamespaces; len(targets) != 1 || targets[0] != n.namespace {
			t.Errorf("the bundle changed the target namespaces of %s's OperatorGroup to %v", n.user, targets)
		}
	}
}

func jsonOf(t *testing.T, manifest string) string {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	return string(raw)
}
