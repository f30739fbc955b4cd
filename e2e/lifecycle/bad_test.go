package lifecycle

import (
	"context"
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

const secondCSV = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: another.v1.0.0}
spec: {displayName: Another, version: 1.0.0, install: {strategy: deployment, spec: {deployments: []}}}
`

// TestBadInput verifies that each problem is reported on the Subscription with a reason and a helpful message, and that
// another Subscription in the same namespace is installed nevertheless.
func TestBadInput(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	for name, tc := range map[string]struct {
		reason    string
		change    func(f *testcatalog.Foo)
		subscribe func(sub *v1alpha1.Subscription)
		kind      v1alpha1.SubscriptionConditionType
		want      string
		words     []string
	}{
		"package": {
			reason:    "An unknown package is reported with a suggestion of a similar name.",
			subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.Package += "x" },
			kind:      v1alpha1.SubscriptionPackageChannelInvalid, want: v1alpha1.ReasonPackageNotFound, words: []string{"did you mean"},
		},
		"channel": {
			reason:    "An unknown channel is reported with the existing ones.",
			subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.Channel = "stabel" },
			kind:      v1alpha1.SubscriptionPackageChannelInvalid, want: v1alpha1.ReasonChannelNotFound, words: []string{"stable"},
		},
		"catalog": {
			reason:    "The message names a CatalogSource that does not exist.",
			subscribe: func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = "nowhere" },
			kind:      v1alpha1.SubscriptionCatalogSourceInvalid, want: v1alpha1.ReasonCatalogSourceNotFound, words: []string{"nowhere"},
		},
		"twocsvs": {
			reason: "A bundle with two ClusterServiceVersions is invalid.",
			change: func(f *testcatalog.Foo) { f.More = []string{secondCSV} },
			kind:   v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonBundleInvalid, words: []string{"another.v1.0.0"},
		},
		"crd": {
			reason: "A manifest that the API server rejects fails the InstallPlan, with the name of the object and the API server's message.",
			change: func(f *testcatalog.Foo) {
				f.Change = func(_, crd *unstructured.Unstructured) {
					_ = unstructured.SetNestedField(crd.Object, "Everywhere", "spec", "scope")
				}
			},
			kind: v1alpha1.SubscriptionInstallPlanFailed, want: v1alpha1.PlanReasonComponentFailed, words: []string{"CustomResourceDefinition", "Everywhere"},
		},
		"installmode": {
			reason: "A ClusterServiceVersion that does not support the OperatorGroup fails.",
			change: func(f *testcatalog.Foo) {
				f.Change = func(csv, _ *unstructured.Unstructured) {
					_ = unstructured.SetNestedSlice(csv.Object, []any{map[string]any{"type": "AllNamespaces", "supported": true}}, "spec", "installModes")
				}
			},
			kind: v1alpha1.SubscriptionInstalledCSVFailed, want: v1alpha1.ReasonCSVFailed, words: []string{v1alpha1.CSVReasonUnsupportedOperatorGroup},
		},
		"requirement": {
			reason: "A requirement that no package provides is reported with the bundle that has it.",
			change: func(f *testcatalog.Foo) { f.Requires = []string{"nobody"} },
			kind:   v1alpha1.SubscriptionResolutionFailed, want: v1alpha1.ReasonConstraintsNotSatisfiable, words: []string{"Nobody", "requirement-operator.v1.0.0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad, good := testcatalog.Foo{Name: name, Version: "1.0.0"}, testcatalog.Foo{Name: "near" + name, Version: "1.0.0"}
			if tc.change != nil {
				tc.change(&bad)
			}
			s := newStage(t, "bad-"+name, publish(t, bad), publish(t, good))
			sub := s.subscribe(t, name, func(sub *v1alpha1.Subscription) {
				if tc.subscribe != nil {
					tc.subscribe(sub)
				}
			})
			neighbour := s.subscribe(t, good.Name)
			s.awaitTrue(t, sub, tc.kind, tc.want, tc.words...)
			if sub.Status.Message == "" || sub.Status.UpToDate {
				t.Errorf("%s: message %q, UpToDate %v", tc.reason, sub.Status.Message, sub.Status.UpToDate)
			}
			s.awaitInstalled(t, neighbour, good.CSV())
		})
	}
	manager.CheckAlive(t)
}

// TestDuplicateSubscription verifies that of two Subscriptions to a package the older wins and the other reports it.
func TestDuplicateSubscription(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	f := testcatalog.Foo{Name: "twice", Version: "1.0.0"}
	s := newStage(t, "twice", publish(t, f))
	first := s.subscribe(t, "twice")
	s.awaitInstalled(t, first, f.CSV())
	second := s.subscribe(t, "twice", func(sub *v1alpha1.Subscription) { sub.Name = "twice-again" })
	s.awaitTrue(t, second, v1alpha1.SubscriptionResolutionFailed, v1alpha1.ReasonDuplicateSubscription, "twice")
}

// TestOperatorGroups verifies that nothing is planned without an OperatorGroup or with two, that the Subscription
// reports why, and that the installation continues with exactly one.
func TestOperatorGroups(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	f := testcatalog.Foo{Name: "groups", Version: "1.0.0"}
	s := newStage(t, "groups", publish(t, f))
	first := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "group"}}
	second := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "second"}}
	cluster.Create(t, second)
	sub := s.subscribe(t, "groups")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionResolutionFailed, v1alpha1.ReasonTooManyOperatorGroups, "second")
	if err := cluster.Client.Delete(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	s.awaitInstalled(t, sub, f.CSV())

	f = testcatalog.Foo{Name: "nogroup", Version: "1.0.0"}
	s = newStage(t, "nogroup", publish(t, f))
	first.Namespace = s.namespace
	if err := cluster.Client.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	sub = s.subscribe(t, "nogroup")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionResolutionFailed, v1alpha1.ReasonOperatorGroupMissing)
	again := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "again"}}
	again.Spec.TargetNamespaces = []string{s.namespace}
	cluster.Create(t, again)
	s.awaitInstalled(t, sub, f.CSV())
}

// TestUntrustedCatalogNeedsServiceAccount verifies that a catalog in the Subscription's namespace is used only with a service
// account's rights.
func TestUntrustedCatalogNeedsServiceAccount(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	f := testcatalog.Foo{Name: "owncatalog", Version: "1.0.0"}
	s := newStage(t, "owncatalog", publish(t, f))
	s.catalog.Namespace, s.catalog.Name = s.namespace, "own"
	s.offer(t, publish(t, f))
	sub := s.subscribe(t, "owncatalog")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionResolutionFailed, v1alpha1.PlanReasonServiceAccountRequired, "spec.serviceAccountName", "--trusted-catalogs")
	s.checkAbsent(t, &apiextensions.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: f.CRD()}})
	s.checkAbsent(t, s.csv(f.CSV()))
}

// TestServiceAccount verifies that installation is limited to the rights of the service account in the OperatorGroup.
func TestServiceAccount(t *testing.T) {
	cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	f := testcatalog.Foo{Name: "account", Version: "1.0.0"}
	s := newStage(t, "account", publish(t, f))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "installer"}}
	group := &operatorsv1.OperatorGroup{}
	if err := cluster.Client.Get(t.Context(), s.key("group"), group); err != nil {
		t.Fatal(err)
	}
	group.Spec.ServiceAccountName = account.Name
	if err := cluster.Client.Update(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	cluster.Create(t, account)
	sub := s.subscribe(t, "account")
	s.awaitTrue(t, sub, v1alpha1.SubscriptionInstallPlanPending, v1alpha1.PlanReasonForbidden, "system:serviceaccount:"+s.namespace+":installer", "forbidden")
	s.checkAbsent(t, s.csv(f.CSV()))

	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}
	binding.Subjects = []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.namespace, Name: account.Name}}
	cluster.Create(t, binding)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), binding); client.IgnoreNotFound(err) != nil {
			t.Log(err)
		}
	})
	s.awaitInstalled(t, sub, f.CSV())
}
