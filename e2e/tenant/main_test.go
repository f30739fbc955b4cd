// Package tenant verifies that a user who administers only a namespace gains no further rights through the manager.
// Most tests are attacks that once succeeded. Tenants have the roles that are aggregated to `admin`.
package tenant

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

var cluster *testcluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(testcluster.OnDevcluster(m, "lifecycle", func(c *testcluster.Cluster, _ string) { cluster = c }))
}

// tenant is a user who administers a namespace. A cluster admin created its OperatorGroup.
type tenant struct {
	client.Client
	user, namespace string
}

// newTenant creates a tenant whose OperatorGroup names a service account, unless account is empty. The service account
// has the tenant's rights and may write ClusterServiceVersions.
func newTenant(t *testing.T, user, account string) *tenant {
	t.Helper()
	out := &tenant{Client: clientOf(t, user), user: user, namespace: cluster.Namespace(t, user)}
	bindRole(t, out.namespace, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}, "admin")
	cluster.AwaitAllowed(t, user, authorizationv1.ResourceAttributes{Namespace: out.namespace, Resource: "configmaps", Verb: "create"}, true)
	cluster.Create(t, &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: out.namespace, Name: "group"},
		Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{out.namespace}, ServiceAccountName: account},
	})
	if account != "" {
		subject := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: out.namespace, Name: account}
		installs := metav1.ObjectMeta{Namespace: out.namespace, Name: "installs"}
		cluster.Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: out.namespace, Name: account}},
			&rbacv1.Role{ObjectMeta: installs, Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"clusterserviceversions"}, Verbs: []string{"*"}},
			}},
			&rbacv1.RoleBinding{
				ObjectMeta: installs, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "installs"}, Subjects: []rbacv1.Subject{subject},
			})
		bindRole(t, out.namespace, subject, "admin")
	}
	return out
}

// clientOf returns a client that impersonates a user.
func clientOf(t *testing.T, user string) client.Client {
	t.Helper()
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	out, err := client.New(config, client.Options{Scheme: cluster.Client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func bindRole(t *testing.T, namespace string, to rbacv1.Subject, role string) {
	t.Helper()
	cluster.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: role + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{to},
	})
}

// group returns the current OperatorGroup of the tenant's namespace.
func (n *tenant) group(t *testing.T) *operatorsv1.OperatorGroup {
	t.Helper()
	out := &operatorsv1.OperatorGroup{}
	if err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "group"}, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// evil is the ClusterServiceVersion in the catalogs of tenants.
const evil = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: evil.v1.0.0}
spec:
  displayName: evil
  version: 1.0.0
  installModes:
  - {type: OwnNamespace, supported: true}
  - {type: SingleNamespace, supported: true}
  - {type: MultiNamespace, supported: true}
  - {type: AllNamespaces, supported: true}
  install: {strategy: deployment, spec: {deployments: []}}
`

// subscribe creates, as the tenant, a catalog with the evil CSV and further objects, and an automatic Subscription.
func (n *tenant) subscribe(t *testing.T, objects ...string) *v1alpha1.Subscription {
	t.Helper()
	return n.subscribeToCSV(t, evil, olm.ApprovalAutomatic, objects...)
}

func (n *tenant) subscribeToCSV(t *testing.T, csv string, approval olm.Approval, objects ...string) *v1alpha1.Subscription {
	t.Helper()
	sub := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "evil"}, Spec: &olm.SubscriptionSpec{
		Package: "evil", Channel: "stable", CatalogSource: "mine", CatalogSourceNamespace: n.namespace, InstallPlanApproval: approval,
	}}
	createAs(t, n,
		&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "mine"},
			Data:       map[string]string{"catalog.json": catalogOf(t, append([]string{csv}, objects...))},
		},
		&olm.CatalogSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "mine"},
			Spec:       olm.CatalogSourceSpec{SourceType: olm.SourceTypeConfigmap, ConfigMap: "mine"},
		},
		sub,
	)
	return sub
}

// catalogOf returns a file-based catalog of one package with one bundle.
func catalogOf(t *testing.T, manifests []string) string {
	t.Helper()
	properties := []any{map[string]any{"type": "olm.package", "value": map[string]any{"packageName": "evil", "version": "1.0.0"}}}
	for _, manifest := range manifests {
		data := map[string]any{"data": base64.StdEncoding.EncodeToString([]byte(jsonOf(t, manifest)))}
		properties = append(properties, map[string]any{"type": "olm.bundle.object", "value": data})
	}
	bundle, err := json.Marshal(map[string]any{"schema": "olm.bundle", "name": "evil.v1.0.0", "package": "evil", "image": "", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	return `{"schema":"olm.package","name":"evil","defaultChannel":"stable"}
{"schema":"olm.channel","package":"evil","name":"stable","entries":[{"name":"evil.v1.0.0"}]}
` + string(bundle)
}

// awaitRejected waits until a condition of a Subscription is True with that reason and its message contains the words.
func awaitRejected(t *testing.T, sub *v1alpha1.Subscription, kind v1alpha1.SubscriptionConditionType, reason string, words ...string) {
	t.Helper()
	cluster.Await(t, sub, func() string {
		c := sub.Status.GetCondition(kind)
		if c.Status != corev1.ConditionTrue || c.Reason != reason {
			return fmt.Sprintf("%s is %s (%s): %s", kind, c.Status, c.Reason, c.Message)
		}
		for _, w := range words {
			if !strings.Contains(c.Message, w) {
				return fmt.Sprintf("the message does not contain %q: %s", w, c.Message)
			}
		}
		return ""
	})
}

// awaitServiceAccountRequired waits until a Subscription reports that a bundle is not installed without a service account.
func awaitServiceAccountRequired(t *testing.T, sub *v1alpha1.Subscription) {
	t.Helper()
	awaitRejected(t, sub, v1alpha1.SubscriptionResolutionFailed, v1alpha1.PlanReasonServiceAccountRequired, "spec.serviceAccountName", "--trusted-catalogs")
}

// awaitInstallForbidden waits until a Subscription reports that its OperatorGroup's account lacks the rights to install it.
func awaitInstallForbidden(t *testing.T, sub *v1alpha1.Subscription, words ...string) {
	t.Helper()
	awaitRejected(t, sub, v1alpha1.SubscriptionInstallPlanPending, v1alpha1.PlanReasonForbidden,
		append([]string{"system:serviceaccount:" + sub.Namespace}, words...)...)
}

// checkNotAdmin fails the test if the tenant has a right that only a cluster admin should have.
func (n *tenant) checkNotAdmin(t *testing.T) {
	t.Helper()
	err := n.List(t.Context(), &corev1.SecretList{}, client.InNamespace("kube-system"))
	if !apierrors.IsForbidden(err) {
		t.Errorf("%s can read the Secrets of kube-system: %v", n.user, err)
	}
}

// checkAbsent fails the test unless an object is not found.
func checkAbsent(t *testing.T, o client.Object) {
	t.Helper()
	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
		t.Errorf("getting %T %s returned %v, want not found", o, o.GetName(), err)
	}
}

// deleteAndWait deletes an object and waits until it does not exist.
func deleteAndWait(t *testing.T, o client.Object) {
	t.Helper()
	if err := cluster.Client.Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
		t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
	}
	cluster.AwaitGone(t, o)
}
