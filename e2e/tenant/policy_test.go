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
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestStatusWrittenByManagerOnly verifies that no other user can write the status that operator-status reports, regardless of
// their rights in the namespace. An operator can write the status of its own Probe.
func TestStatusWrittenByManagerOnly(t *testing.T) {
	namespace := cluster.Namespace(t, "statuses")
	user := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "teller"}
	bindRole(t, namespace, user, "cluster-admin")
	role := metav1.ObjectMeta{Name: namespace}
	cluster.Create(t,
		&rbacv1.ClusterRole{ObjectMeta: role, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{platformv1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}},
		}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: role, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: namespace}, Subjects: []rbacv1.Subject{user},
		})
	attacker := clientOf(t, user.Name)
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
		"subscription": {reason: "Users cannot write the status of a Subscription, which records the installed version.", object: sub, status: `{"lastUpdated":"2026-01-01T00:00:00Z","installedCSV":"foo"}`},
		"plan":         {reason: "Users cannot write the status of an InstallPlan, which records its progress.", object: plan, status: `{"phase":"Complete","catalogSources":[]}`},
		"csv":          {reason: "Users cannot write the status of a ClusterServiceVersion, which has its phase.", object: csv, status: `{"phase":"Succeeded"}`},
		"platform":     {reason: "Users cannot write the status of a PlatformOperator, which the ClusterOperator summarizes.", object: op, status: `{"failingMessage":"foo"}`},
		"probe":        {reason: "Users cannot write the status of a Probe that operator-status manages, which the gate evaluates.", object: ours, status: `{"upgradeable":false}`},
		"operator":     {reason: "Users can write the status of a Probe whose manager is the operator.", object: theirs, status: `{"conditions":[]}`, allows: true},
		"unset":        {reason: "Users can write the status of a Probe without a spec.", object: unset, status: `{"conditions":[]}`, allows: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.Create(t, tc.object)
			write := client.RawPatch(types.MergePatchType, []byte(`{"status":`+tc.status+`}`))
			if tc.allows {
				if err := attacker.Status().Patch(t.Context(), tc.object, write); err != nil {
					t.Errorf("%s The write returned %v", tc.reason, err)
				}
				return
			}
			cluster.Await(t, tc.object, func() string { // a policy takes effect a moment after its binding is created
				err := attacker.Status().Patch(t.Context(), tc.object, write, client.DryRunAll)
				if apierrors.IsForbidden(err) && containsAll(err.Error(), "controller-manager alone") {
					return ""
				}
				return fmt.Sprintf("%s The write returned %v, want Forbidden", tc.reason, err)
			})
		})
	}
}

// TestFieldsRequirePermissions verifies that fields that make operator-status do more than their writer may do are rejected.
func TestFieldsRequirePermissions(t *testing.T) {
	namespace := cluster.Namespace(t, "asking")
	newUser := func(user string, rules ...rbacv1.PolicyRule) client.Client {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
		cluster.Create(t, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		})
		return clientOf(t, user)
	}
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	const group = "operators.coreos.com"
	subscribe, probe := rule(group, "subscriptions", "*"), rule(group, "probes", "*")
	newSubscription := func(change func(*v1alpha1.Subscription)) client.Object {
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
	newProbe := func() client.Object {
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
		"plain":    {"A user who may write Subscriptions can create a plain one.", []rbacv1.PolicyRule{subscribe}, newSubscription(plain), ""},
		"gate":     {"The approval gate requires the right to update InstallPlans.", []rbacv1.PolicyRule{subscribe}, newSubscription(gated), "update installplans"},
		"allow":    {"The allow-upgrade annotation requires the right to update InstallPlans.", []rbacv1.PolicyRule{subscribe}, newSubscription(allowed), "update installplans"},
		"approver": {"A user who may update InstallPlans can enable the approval gate.", []rbacv1.PolicyRule{subscribe, rule(group, "installplans", "update")}, newSubscription(gated), ""},
		"probe":    {"A Probe with a service account requires the right to create pods or Deployments.", []rbacv1.PolicyRule{probe}, newProbe(), "pods or deployments"},
		"pods":     {"A user who may create pods can create a Probe with a service account.", []rbacv1.PolicyRule{probe, rule("", "pods", "create")}, newProbe(), ""},
		"no resources": {"A Probe without resources requires no right to create pods.", []rbacv1.PolicyRule{probe},
			&v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			user := newUser("asking-"+strings.ReplaceAll(name, " ", "-"), tc.may...)
			var err error
			_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
				err = user.Create(ctx, tc.object)
				return !isRBAC(err), nil
			}) // err remains if a Role takes no effect
			refused := apierrors.IsForbidden(err) && containsAll(err.Error(), tc.want)
			if tc.want == "" && err != nil || tc.want != "" && !refused {
				t.Errorf("%s The creation returned %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

// isRBAC reports whether a request was denied for lack of a permission, and not by a policy. A Role takes effect a moment
// after its binding is created.
func isRBAC(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot create resource")
}

// TestManagerPermissions verifies that the account of the built-in loops has every right, and the manager's none of these.
func TestManagerPermissions(t *testing.T) {
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
				t.Errorf("%s may %s: got %t, want %t: %s", account, what, review.Status.Allowed, every, review.Status.Reason)
			}
		}
	}
}

// TestManagerDeletesOwnNamespacesOnly verifies that the manager may delete only Namespaces that it created for a
// PlatformOperator.
func TestManagerDeletesOwnNamespacesOnly(t *testing.T) {
	manager := clientOf(t, "system:serviceaccount:operator-status-system:operator-status-controller-manager")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: cluster.Namespace(t, "users")}}
	if err := manager.Delete(t.Context(), namespace); !apierrors.IsForbidden(err) || !containsAll(err.Error(), "only Namespaces that it made") {
		t.Errorf("deleting a user's Namespace as the manager returned %v, want Forbidden", err)
	}
	op := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name}}
	op.Spec.Package.Name = "foo"
	cluster.Create(t, op)
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(op, platformv1alpha1.GroupVersion.WithKind(platformv1alpha1.PlatformOperatorKind)),
	}}}
	cluster.Create(t, made)
	if err := manager.Delete(t.Context(), made); err != nil {
		t.Errorf("deleting the Namespace of a PlatformOperator as the manager: %v", err)
	}
}

// TestDefinitionsStay verifies that a CustomResourceDefinition of operator-status, and with it all objects of its kind, is deleted only if an
// annotation allows it.
func TestDefinitionsStay(t *testing.T) {
	namespace := cluster.Namespace(t, "stays")
	cluster.Apply(t, namespace, builder.CRD("stays", "stays.example.com"))
	for name, tc := range map[string]struct {
		reason, crd       string
		annotated, denied bool
	}{
		"own":       {"Probes would be deleted.", "probes.operators.coreos.com", false, true},
		"loops":     {"ClusterServiceVersions and the workloads that they own would be deleted.", "clusterserviceversions.operators.coreos.com", false, true},
		"annotated": {"An administrator wants it.", "probes.operators.coreos.com", true, false},
		"other":     {"It belongs to others.", "stays.stays.example.com", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: tc.crd}}
			if tc.annotated {
				annotate := func(value string) {
					patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, platformv1alpha1.AnnotationDeleteAnyway, value)
					if err := cluster.Client.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, patch)); err != nil {
						t.Fatal(err)
					}
				}
				annotate(`"true"`)
				defer annotate("null")
			}
			var err error
			_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
				err = cluster.Client.Delete(ctx, crd, client.DryRunAll)
				return (err != nil) == tc.denied, nil
			}) // the API server notices policies and annotations after a moment
			denied := apierrors.IsForbidden(err) && containsAll(err.Error(), "kubectl annotate customresourcedefinition "+tc.crd)
			if denied != tc.denied || !denied && err != nil {
				t.Errorf("%s Deleting it returned %v", tc.reason, err)
			}
		})
	}
}

// TestMisspelt verifies that the API server warns the author of an opt-in that has no effect, and no other.
func TestMisspelt(t *testing.T) {
	namespace := cluster.Namespace(t, "misspelt")
	const authors = "olm.operatorframework.io/"
	for name, tc := range map[string]struct {
		reason string
		object client.Object
		want   string
	}{
		"Annotation": {"It is not the one that is read.", annotated(t, authors+"condition.Upgradable"), "annotation " + authors + "condition.Upgradable has no effect"},
		"Case":       {"Annotations are case-sensitive.", annotated(t, authors+"condition.upgradeable"), "annotation " + authors + "condition.upgradeable has no effect"},
		"OptIn":      {"It is one.", annotated(t, authors+"condition.Upgradeable"), ""},
		"Other":      {"It is none of ours.", annotated(t, authors+"installed-alongside-1"), ""},
		"Label":      {"It has one value.", labelled(namespace, "Approval"), "label operatorstatus.io/gate=Approval has no effect"},
		"Gate":       {"It is the value.", labelled(namespace, "approval"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			warned := &warnings{}
			config := rest.CopyConfig(cluster.Config)
			config.WarningHandler = warned
			c, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme()})
			if err != nil {
				t.Fatal(err)
			}
			_ = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
				if err := c.Create(ctx, tc.object.DeepCopyObject().(client.Object), client.DryRunAll); err != nil {
					t.Fatal(err)
				}
				return tc.want == "" || len(warned.texts) > 0, nil
			}) // the API server notices policies after a moment
			if got := strings.Join(warned.texts, "\n"); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%s The API server warns %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// warnings collects the warnings of the API server.
type warnings struct{ texts []string }

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }

// annotated returns a CustomResourceDefinition with an annotation.
func annotated(t *testing.T, key string) client.Object {
	t.Helper()
	objects, err := testcluster.Decode([]byte(builder.CRD("foos", "misspelt.example.com")))
	if err != nil {
		t.Fatal(err)
	}
	objects[0].SetAnnotations(map[string]string{key: "!Migrating"})
	return objects[0]
}

// labelled returns a Subscription with a gate.
func labelled(namespace, gate string) client.Object {
	return &v1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foo", Labels: map[string]string{v1alpha1.LabelGate: gate}},
		Spec:       &olm.SubscriptionSpec{Package: "foo", CatalogSource: "foo", CatalogSourceNamespace: namespace},
	}
}

// TestManagerWritesProbeObjectsOnly verifies that the manager, where it may run pods for Probes, writes no objects but those
// of a Probe.
func TestManagerWritesProbeObjectsOnly(t *testing.T) {
	manager := clientOf(t, "system:serviceaccount:operator-status-system:operator-status-controller-manager")
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
		t.Errorf("creating a Deployment without the role for isolation returned %v, want Forbidden", err)
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
		"create a Deployment without an owner": manager.Create(t.Context(), deployment("nobodys")),
		"create a Role without an owner":       manager.Create(t.Context(), role),
		"delete a user's Deployment":           manager.Delete(t.Context(), users),
		"take over a user's Deployment":        manager.Patch(t.Context(), deployment("users", owned), client.Merge),
		"remove the owner of a Deployment":     manager.Patch(t.Context(), mine, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))),
	} {
		if !apierrors.IsForbidden(err) || !containsAll(err.Error(), "writes only Deployments, Roles and RoleBindings of a Probe") {
			t.Errorf("request of the manager to %s returned %v, want Forbidden", what, err)
		}
	}
	if err := manager.Delete(t.Context(), mine); err != nil {
		t.Errorf("deleting the Deployment of a Probe as the manager: %v", err)
	}
}

// TestCopyMarkersRejected verifies that an installed ClusterServiceVersion cannot be marked as a copy of OLM's, whose update
// no Probe would hold.
func TestCopyMarkersRejected(t *testing.T) {
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace(t, "copied"), Name: "foo"}}
	csv.Spec.DisplayName, csv.Spec.InstallStrategy.StrategyName = "foo", olm.InstallStrategyNameDeployment
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []olm.StrategyDeploymentSpec{}
	cluster.Create(t, csv)
	for name, tc := range map[string]struct {
		reason, patch string
		want          bool
	}{
		"label":     {"The label of OLM's copies cannot be added.", `{"metadata":{"labels":{"olm.copiedFrom":"elsewhere"}}}`, false},
		"namespace": {"The annotation of OLM's copies cannot name another namespace.", `{"metadata":{"annotations":{"olm.operatorNamespace":"elsewhere"}}}`, false},
		"own":       {"The annotation can name the ClusterServiceVersion's own namespace.", `{"metadata":{"annotations":{"olm.operatorNamespace":"` + csv.Namespace + `"}}}`, true},
		"other":     {"Users can add other labels.", `{"metadata":{"labels":{"team":"a"}}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := cluster.Client.Patch(t.Context(), csv.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(tc.patch)))
			if tc.want && err != nil || !tc.want && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "olm.copiedFrom")) {
				t.Errorf("%s The patch returned %v", tc.reason, err)
			}
		})
	}
}
