package tenant

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestStatusOfOurs verifies that no other user can write the status that operator-status reports, regardless of their
// rights in the namespace. An operator can write the status of its own Probe.
func TestStatusOfOurs(t *testing.T) {
	namespace := cluster.Namespace(t, "statuses")
	user := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "teller"}
	bind(t, namespace, user, "cluster-admin")
	role := metav1.ObjectMeta{Name: namespace}
	cluster.Create(t,
		&rbacv1.ClusterRole{ObjectMeta: role, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{platformv1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: role, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace}, Subjects: []rbacv1.Subject{user},
		})
	teller := as(t, user.Name)
	in := metav1.ObjectMeta{Namespace: namespace, Name: "foo"}
	sub := &v1alpha1.Subscription{ObjectMeta: in, Spec: &olm.SubscriptionSpec{Package: "foo", CatalogSource: "foo", CatalogSourceNamespace: namespace}}
	plan := &olm.InstallPlan{ObjectMeta: in, Spec: olm.InstallPlanSpec{Approval: olm.ApprovalManual, ClusterServiceVersionNames: []string{"foo"}}}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: in}
	csv.Spec.DisplayName, csv.Spec.InstallStrategy.StrategyName = "foo", olm.InstallStrategyNameDeployment
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []olm.StrategyDeploymentSpec{}
	op := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	op.Spec.Package.Name = "foo"
	ours := &v1alpha1.Probe{ObjectMeta: in, Spec: &v1alpha1.ProbeSpec{
		ServiceAccountName: "foo", ProbeResources: []v1alpha1.ProbeResource{{Name: "foos.example.com", Upgradeable: "!Migrating"}},
	}}
	theirs, unset := &v1alpha1.Probe{ObjectMeta: in, Spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator}}, &v1alpha1.Probe{ObjectMeta: in}
	theirs.Name, unset.Name = "theirs", "unset"
	for name, tc := range map[string]struct {
		reason string
		object client.Object
		status string
		allows bool
	}{
		"subscription": {reason: "It remembers what runs.", object: sub, status: `{"lastUpdated":"2026-01-01T00:00:00Z","installedCSV":"foo"}`},
		"plan":         {reason: "It remembers what was begun.", object: plan, status: `{"phase":"Complete","catalogSources":[]}`},
		"csv":          {reason: "Its phase reports what runs.", object: csv, status: `{"phase":"Succeeded"}`},
		"platform":     {reason: "The cluster's installation goes by it.", object: op, status: `{"failingMessage":"foo"}`},
		"probe":        {reason: "The gate goes by it.", object: ours, status: `{"upgradeable":false}`},
		"operator":     {reason: "It is the operator's to write.", object: theirs, status: `{"conditions":[]}`, allows: true},
		"unset":        {reason: "So it is where the spec is unset.", object: unset, status: `{"conditions":[]}`, allows: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.Create(t, tc.object)
			write := client.RawPatch(types.MergePatchType, []byte(`{"status":`+tc.status+`}`))
			if tc.allows {
				if err := teller.Status().Patch(t.Context(), tc.object, write); err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				return
			}
			cluster.Await(t, tc.object, func() string { // a policy takes effect a moment after its binding is created
				err := teller.Status().Patch(t.Context(), tc.object, write, client.DryRunAll)
				if apierrors.IsForbidden(err) && contains(err.Error(), "controller-manager alone") {
					return ""
				}
				return fmt.Sprintf("%s: %v", tc.reason, err)
			})
		})
	}
}

// TestAskedForMore verifies that fields that make operator-status do more than their writer may do are rejected.
func TestAskedForMore(t *testing.T) {
	namespace := cluster.Namespace(t, "asking")
	may := func(user string, rules ...rbacv1.PolicyRule) client.Client {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
		cluster.Create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		})
		return as(t, user)
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	const group = "operators.coreos.com"
	subscribe, probe := rule(group, "subscriptions", "*"), rule(group, "probes", "*")
	asks := func(change func(*v1alpha1.Subscription)) client.Object {
		out := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "foo-"}}
		out.Spec = &olm.SubscriptionSpec{Package: "foo", CatalogSource: "foo", CatalogSourceNamespace: namespace}
		change(out)
		return out
	}
	plain := func(*v1alpha1.Subscription) {}
	gated := func(s *v1alpha1.Subscription) {
		s.Labels = map[string]string{v1alpha1.LabelGate: v1alpha1.GateApproval}
	}
	allowed := func(s *v1alpha1.Subscription) {
		s.Annotations = map[string]string{v1alpha1.AnnotationAllowUpgrade: "foo.v2"}
	}
	reads := func() client.Object {
		return &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "foo-"}, Spec: &v1alpha1.ProbeSpec{
			ServiceAccountName: "operator", ProbeResources: []v1alpha1.ProbeResource{{Name: "deals.example.com", Upgradeable: "!Insolvent"}},
		}}
	}
	for name, tc := range map[string]struct {
		reason string
		may    []rbacv1.PolicyRule
		object client.Object
		want   string
	}{
		"plain":    {"Who may subscribe may.", []rbacv1.PolicyRule{subscribe}, asks(plain), ""},
		"gate":     {"The manager would approve for somebody who may not.", []rbacv1.PolicyRule{subscribe}, asks(gated), "update installplans"},
		"allow":    {"So it would let an update go ahead.", []rbacv1.PolicyRule{subscribe}, asks(allowed), "update installplans"},
		"approver": {"Who may approve may ask for it.", []rbacv1.PolicyRule{subscribe, rule(group, "installplans", "update")}, asks(gated), ""},
		"probe":    {"It reads with an account's rights, which the writer has not.", []rbacv1.PolicyRule{probe}, reads(), "pods or deployments"},
		"pods":     {"Who may run a pod has the account already.", []rbacv1.PolicyRule{probe, rule("", "pods", "create")}, reads(), ""},
		"own word": {"A Probe that reads nothing needs no account.", []rbacv1.PolicyRule{probe},
			&v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			user := may("asking-"+strings.ReplaceAll(name, " ", "-"), tc.may...)
			var err error
			_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
				err = user.Create(ctx, tc.object)
				return !isRBAC(err), nil
			}) // err remains if a Role takes no effect
			refused := apierrors.IsForbidden(err) && contains(err.Error(), tc.want)
			if tc.want == "" && err != nil || tc.want != "" && !refused {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}

// isRBAC reports whether a request was denied for lack of a permission, and not by a policy. A Role takes effect a moment
// after its binding is created.
func isRBAC(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource")
}

// TestManagersRights verifies that the account of the built-in loops has every right, and the manager's none of these.
func TestManagersRights(t *testing.T) {
	for account, every := range map[types.NamespacedName]bool{testcluster.ManagerAccount: false, testcluster.LifecycleAccount: true} {
		for what, attributes := range map[string]authorizationv1.ResourceAttributes{
			"everything":              {Group: "*", Resource: "*", Verb: "*"},
			"create Deployments":      {Group: "apps", Resource: "deployments", Verb: "create", Namespace: "default"},
			"bind ClusterRoles":       {Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Verb: "bind"},
			"read Secrets":            {Resource: "secrets", Verb: "get", Namespace: "default"},
			"write status of a plan":  {Group: "operators.coreos.com", Resource: "installplans", Subresource: "status", Verb: "patch", Namespace: "default"},
			"write status of a CSV":   {Group: "operators.coreos.com", Resource: "clusterserviceversions", Subresource: "status", Verb: "patch", Namespace: "default"},
			"write in its own secret": {Resource: "secrets", Verb: "update", Namespace: testcluster.ManagerAccount.Namespace},
		} {
			review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name), ResourceAttributes: &attributes,
			}}
			if err := cluster.Client.Create(t.Context(), review); err != nil {
				t.Fatal(err)
			}
			if review.Status.Allowed != every {
				t.Errorf("may %s %s? got %t: %s", account, what, review.Status.Allowed, review.Status.Reason)
			}
		}
	}
}

// TestManagerDeletes verifies that the manager may delete only Namespaces that it created for a PlatformOperator.
func TestManagerDeletes(t *testing.T) {
	manager := as(t, "system:serviceaccount:operator-status-system:operator-status-controller-manager")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace(t, "users")}}
	if err := manager.Delete(t.Context(), namespace); !apierrors.IsForbidden(err) || !contains(err.Error(), "only Namespaces that it made") {
		t.Errorf("the manager deletes a Namespace of somebody else: %v", err)
	}
	op := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name}}
	op.Spec.Package.Name = "foo"
	cluster.Create(t, op)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(op, platformv1alpha1.GroupVersion.WithKind(platformv1alpha1.PlatformOperatorKind)),
	}}}
	cluster.Create(t, made)
	if err := manager.Delete(t.Context(), made); err != nil {
		t.Errorf("the manager does not delete a Namespace of a PlatformOperator: %v", err)
	}
}

// TestManagerIsolates verifies that the manager, where it may run pods for Probes, writes no objects but those of a Probe.
func TestManagerIsolates(t *testing.T) {
	manager := as(t, "system:serviceaccount:operator-status-system:operator-status-controller-manager")
	namespace := cluster.Namespace(t, "isolates")
	p := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "owner"}}
	cluster.Create(t, p)
	deployment := func(name string, owners ...metav1.OwnerReference) *appsv1.Deployment {
		labels := map[string]string{"app": name}
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
			}},
		}
	}
	owned := *metav1.NewControllerRef(p, v1alpha1.GroupVersion.WithKind(v1alpha1.ProbeKind))
	owned.BlockOwnerDeletion = nil
	if err := manager.Create(t.Context(), deployment("early", owned)); !apierrors.IsForbidden(err) {
		t.Errorf("the manager runs pods where no admin has permitted it: %v", err)
	}

	cluster.PermitIsolation(t, namespace)
	mine := deployment("mine", owned)
	cluster.Await(t, p, func() string { // the authorizer learns of the binding by watching
		if err := manager.Create(t.Context(), mine); err != nil {
			return err.Error()
		}
		return ""
	})
	users := deployment("users")
	cluster.Create(t, users)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "any"}}
	for what, err := range map[string]error{
		"create a Deployment of nobody": manager.Create(t.Context(), deployment("nobodys")),
		"create a Role of nobody":       manager.Create(t.Context(), role),
		"delete a user's Deployment":    manager.Delete(t.Context(), users),
		"take over a user's Deployment": manager.Patch(t.Context(), deployment("users", owned), client.Merge),
		"give one away":                 manager.Patch(t.Context(), mine, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))),
	} {
		if !apierrors.IsForbidden(err) || !contains(err.Error(), "writes only Deployments, Roles and RoleBindings of a Probe") {
			t.Errorf("may the manager %s? %v", what, err)
		}
	}
	if err := manager.Delete(t.Context(), mine); err != nil {
		t.Errorf("the manager does not delete the Deployment of a Probe: %v", err)
	}
}

// TestBecomesCopy verifies that an installed ClusterServiceVersion cannot be marked as a copy of OLM's, whose update no Probe
// would hold.
func TestBecomesCopy(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(t, "copied"), Name: "foo"}}
	csv.Spec.DisplayName, csv.Spec.InstallStrategy.StrategyName = "foo", olm.InstallStrategyNameDeployment
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []olm.StrategyDeploymentSpec{}
	cluster.Create(t, csv)
	for name, tc := range map[string]struct {
		reason, patch string
		want          bool
	}{
		"label":     {"OLM labels its copies.", `{"metadata":{"labels":{"olm.copiedFrom":"elsewhere"}}}`, false},
		"namespace": {"It names the original's namespace on them, too.", `{"metadata":{"annotations":{"olm.operatorNamespace":"elsewhere"}}}`, false},
		"own":       {"An original has its own.", `{"metadata":{"annotations":{"olm.operatorNamespace":"` + csv.Namespace + `"}}}`, true},
		"other":     {"Other labels are a user's.", `{"metadata":{"labels":{"team":"a"}}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := cluster.Client.Patch(t.Context(), csv.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(tc.patch)))
			if tc.want && err != nil || !tc.want && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "olm.copiedFrom")) {
				t.Errorf("%s: %v", tc.reason, err)
			}
		})
	}
}
