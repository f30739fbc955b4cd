package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestExistingServiceAccounts verifies that an operator can name a service account that already exists.
func TestExistingServiceAccounts(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	t.Run("of another operator", func(t *testing.T) { accountOfAnotherOperator(t) })
	t.Run("of a user", func(t *testing.T) { accountOfUser(t) })
	t.Run("in another namespace", func(t *testing.T) { accountInAnotherNamespace(t) })
	manager.CheckAlive(t)
}

// accountOfAnotherOperator verifies that operators share a service account, as in OLM, which is deleted with the last one.
func accountOfAnotherOperator(t *testing.T) {
	first := testcatalog.Foo{Name: "sharing", Version: "1.0.0", Change: runningAs("shared")}
	second := testcatalog.Foo{Name: "sharingtoo", Version: "1.0.0", Change: runningAs("shared")}
	s := newStage(t, "accounts", publish(t, first), publish(t, second))
	sub := s.subscribe(t, first.Name)
	s.awaitInstalled(t, sub, first.CSV())
	account := s.account(t, "shared")
	uid := account.UID

	later := s.subscribe(t, second.Name)
	s.awaitInstalled(t, later, second.CSV())
	s.await(t, account, func() string { return checkOwners(account, first.CSV(), second.CSV()) })
	for _, o := range []client.Object{later, s.csv(second.CSV())} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, account, func() string { return checkOwners(account, first.CSV()) })
	if account.UID != uid {
		t.Error("the service account was recreated, so the tokens of its pods are invalid")
	}
	s.awaitInstalled(t, sub, first.CSV())

	for _, o := range []client.Object{sub, s.csv(first.CSV())} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.AwaitGone(t, account)
}

// accountOfUser verifies that a user's service account is neither changed nor deleted with the operator.
func accountOfUser(t *testing.T) {
	f := testcatalog.Foo{Name: "given", Version: "1.0.0", Change: runningAs("given")}
	s := newStage(t, "accounts", publish(t, f))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "given", Labels: map[string]string{"mine": "yes"}}}
	cluster.Create(t, account)
	before := account.ResourceVersion
	sub := s.subscribe(t, f.Name)
	s.awaitInstalled(t, sub, f.CSV())
	if account = s.account(t, "given"); account.ResourceVersion != before {
		t.Errorf("the user's service account was changed: %+v", account)
	}
	s.checkUninstall(t, sub, f, s.custom(t, "given", "example", "[]"))
	s.account(t, "given")
}

// accountInAnotherNamespace verifies that a service account with the same name in another namespace is not affected.
func accountInAnotherNamespace(t *testing.T) {
	f := testcatalog.Foo{Name: "elsewhere", Version: "1.0.0", Change: runningAs("elsewhere")}
	s, other := newStage(t, "accounts", publish(t, f)), &stage{namespace: cluster.Namespace(t, "elsewhere")}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: other.namespace, Name: "elsewhere"}}
	cluster.Create(t, account)
	before := account.ResourceVersion
	s.awaitInstalled(t, s.subscribe(t, f.Name), f.CSV())
	if why := checkOwners(s.account(t, "elsewhere"), f.CSV()); why != "" {
		t.Error(why)
	}
	if account = other.account(t, "elsewhere"); account.ResourceVersion != before {
		t.Errorf("the service account in the other namespace was changed: %+v", account)
	}
}

// runningAs returns a Change: the operator runs as a service account and requests its permissions for it.
func runningAs(name string) func(csv, crd *unstructured.Unstructured) {
	return func(csv, _ *unstructured.Unstructured) {
		spec, _, _ := unstructured.NestedMap(csv.Object, "spec", "install", "spec")
		for _, field := range []string{"permissions", "clusterPermissions"} {
			spec[field].([]any)[0].(map[string]any)["serviceAccountName"] = name
		}
		deployment := spec["deployments"].([]any)[0].(map[string]any)
		_ = unstructured.SetNestedField(deployment, name, "spec", "template", "spec", "serviceAccountName")
		_ = unstructured.SetNestedMap(csv.Object, spec, "spec", "install", "spec")
	}
}

func (s *stage) account(t *testing.T, name string) *corev1.ServiceAccount {
	t.Helper()
	out := &corev1.ServiceAccount{}
	if err := cluster.Client.Get(t.Context(), s.key(name), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// checkOwners returns a message if the owners of an object are not those in want, which must be sorted.
func checkOwners(o client.Object, want ...string) string {
	var got []string
	for _, owner := range o.GetOwnerReferences() {
		got = append(got, owner.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("the owners of %s are %v, want %v", o.GetName(), got, want)
	}
	return ""
}
