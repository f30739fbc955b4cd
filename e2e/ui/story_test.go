package ui

import (
	"fmt"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// catalog has all packages of the story.
var catalog = types.NamespacedName{Namespace: "olm", Name: "operators"}

// TestUI has k9s and Headlamp show the same story. Headlamp's pages complete it.
func TestUI(t *testing.T) {
	createStory(t)
	admin := cluster.Account(t, "default", "admin", "cluster-admin")
	t.Run("K9s", func(t *testing.T) { testK9s(t, admin) })
	t.Run("Headlamp", func(t *testing.T) { testHeadlamp(t, admin) })
	t.Run("K9sApproves", func(t *testing.T) { testK9sApproves(t, admin) })
}

// createStory installs operators and offers updates of them. In the end the update of database is held by two custom
// resources, and that of queue by one; cache waits for approval, mail has failed, and search, of a PlatformOperator, is up to
// date. Helm has installed billing.
func createStory(t *testing.T) {
	t.Helper()
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	cluster.Apply(t, "", builder.CRD("invoices", "billing.example.com"))
	cluster.Apply(t, "billing", release)
	offer(t, "1.0.0")
	subs := map[string]*v1alpha1.Subscription{}
	for _, name := range []string{"database", "queue", "cache", "mail"} {
		subs[name] = subscribe(t, name)
	}
	search := &platformv1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: "search"}}
	search.Spec.Package = platformv1alpha1.Package{
		Name: "search", Channel: "stable", Catalog: &platformv1alpha1.CatalogReference{Name: catalog.Name, Namespace: catalog.Namespace},
	}
	cluster.Create(t, search)
	for _, name := range []string{"database", "queue", "cache"} {
		awaitCondition(t, subs[name], v1alpha1.SubscriptionUpToDate)
	}
	awaitCondition(t, &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "search", Name: "search"}}, v1alpha1.SubscriptionUpToDate)
	awaitCondition(t, subs["mail"], v1alpha1.SubscriptionInstalledCSVFailed)

	fresh := cluster.Rediscovered(t) // it knows the operators' kinds
	for _, o := range [][2]string{{"database", "orders"}, {"database", "customers"}, {"queue", "events"}} {
		kind := testcatalog.Holding(o[0], "1.0.0")[0].Kind()
		fresh.Apply(t, o[0], fmt.Sprintf("apiVersion: %s.example.com/v1\nkind: %s\nmetadata: {name: %s}\nstatus: {conditions: [{type: Migrating, status: \"True\"}]}\n",
			o[0], kind, o[1]))
	}
	offer(t, "1.0.0", "1.1.0")
	awaitCondition(t, subs["database"], v1alpha1.SubscriptionUpgradeHeld)
	awaitCondition(t, subs["queue"], v1alpha1.SubscriptionUpgradeHeld)
	awaitCondition(t, subs["cache"], v1alpha1.SubscriptionInstallPlanAwaitingManualApproval)
}

// release is a release of Helm with an operator of invoices.
const release = `
apiVersion: v1
kind: Namespace
metadata: {name: billing}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: billing}
rules: [{apiGroups: [billing.example.com], resources: [invoices, invoices/status], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: billing}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: billing}
subjects: [{kind: ServiceAccount, namespace: billing, name: default}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: billing-operator
  labels: {app.kubernetes.io/managed-by: Helm, app.kubernetes.io/version: 2.4.0}
  annotations: {meta.helm.sh/release-name: billing, meta.helm.sh/release-namespace: billing}
spec:
  selector: {matchLabels: {app: billing}}
  template:
    metadata: {labels: {app: billing}}
    spec: {containers: [{name: manager, image: "example.com/billing:2.4.0"}]}
`

// offer publishes versions of all packages. mail and search have only one.
func offer(t *testing.T, versions ...string) {
	t.Helper()
	mail := testcatalog.Foo{Name: "mail", Version: "1.0.0", Change: testcatalog.NeverStarts}
	all := [][]testcatalog.Foo{{mail}, testcatalog.Holding("search", "1.0.0")}
	for _, name := range []string{"database", "queue", "cache"} {
		all = append(all, testcatalog.Holding(name, versions...))
	}
	var packages []testcatalog.Package
	for _, foos := range all {
		packages = append(packages, testcatalog.Published(t, foos...))
	}
	cluster.Offer(t, catalog, packages...)
}

// subscribe creates a Subscription in a namespace of its own. Updates of cache need approval.
func subscribe(t *testing.T, name string) *v1alpha1.Subscription {
	t.Helper()
	out := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name}}
	out.Spec = &olm.SubscriptionSpec{Package: name, Channel: "stable", CatalogSource: catalog.Name, CatalogSourceNamespace: catalog.Namespace}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "group"}}
	group.Spec.TargetNamespaces = []string{name}
	cluster.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, group, out)
	if name == "cache" {
		approveFirst(t, out)
	}
	return out
}

// approveFirst waits until the first version of an operator is installed, and has its updates wait for approval.
func approveFirst(t *testing.T, sub *v1alpha1.Subscription) {
	t.Helper()
	awaitCondition(t, sub, v1alpha1.SubscriptionUpToDate)
	sub.Spec.InstallPlanApproval = olm.ApprovalManual
	if err := cluster.Client.Update(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
}

// awaitCondition waits until a condition of a Subscription is True.
func awaitCondition(t *testing.T, sub *v1alpha1.Subscription, conditionType v1alpha1.SubscriptionConditionType) {
	t.Helper()
	cluster.Await(t, sub, func() string {
		if c := sub.Status.GetCondition(conditionType); c.Status != corev1.ConditionTrue {
			return fmt.Sprintf("%s is %s (%s): %s", conditionType, c.Status, c.Reason, c.Message)
		}
		return ""
	})
}
