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

// TestForeignAccounts verifies that an operator can name a service account that already exists.
func TestForeignAccounts(t *testing.T) {
	manager := cluster.StartManager(t, "--catalog-dir="+t.TempDir())
	t.Run("of another operator", func(t *testing.T) { accountOfAnother(t) })
	t.Run("of a person", func(t *testing.T) { accountOfAPerson(t) })
	t.Run("of another namespace", func(t *testing.T) { accountElsewhere(t) })
	manager.CheckAlive(t)
}

// accountOfAnother verifies that operators share a service account, as in OLM, which is deleted with the last one.
func accountOfAnother(t *testing.T) {
	first := testcatalog.Foo{Name: "sharing", Version: "1.0.0", Change: runningAs("shared")}
	second := testcatalog.Foo{Name: "sharingtoo", Version: "1.0.0", Change: runningAs("shared")}
	s := newStage(t, "accounts", publish(t, first), publish(t, second))
	sub := s.subscribe(t, first.Name)
	s.installed(t, sub, first.CSV())
	account := s.account(t, "shared")
	uid := account.UID

	later := s.subscribe(t, second.Name)
	s.installed(t, later, second.CSV())
	s.await(t, account, func() string { return ownersAre(account, first.CSV(), second.CSV()) })
	for _, o := range []client.Object{later, s.csv(second.CSV())} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, account, func() string { return ownersAre(account, first.CSV()) })
	if account.UID != uid {
		t.Error("the service account was recreated: pods that run as it have lost their token")
	}
	s.installed(t, sub, first.CSV())

	for _, o := range []client.Object{sub, s.csv(first.CSV())} {
		if err := cluster.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cluster.AwaitGone(t, account)
}

// accountOfAPerson verifies that a user's service account is neither changed nor deleted with the operator.
func accountOfAPerson(t *testing.T) {
	f := testcatalog.Foo{Name: "given", Version: "1.0.0", Change: runningAs("given")}
	s := newStage(t, "accounts", publish(t, f))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "given", Labels: map[string]string{"mine": "yes"}}}
	cluster.Create(t, account)
	before := account.ResourceVersion
	sub := s.subscribe(t, f.Name)
	s.installed(t, sub, f.CSV())
	if account = s.account(t, "given"); account.ResourceVersion != before {
		t.Errorf("a person's service account was changed: %+v", account)
	}
	s.leavesNothing(t, sub, f, s.custom(t, "given", "example", "[]"))
	s.account(t, "given")
}

// accountElsewhere verifies that a service account with the same name in another namespace is not affected.
func accountElsewhere(t *testing.T) {
	f := testcatalog.Foo{Name: "elsewhere", Version: "1.0.0", Change: runningAs("elsewhere")}
	s, other := newStage(t, "accounts", publish(t, f)), &stage{namespace: cluster.Namespace(t, "elsewhere")}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: other.namespace, Name: "elsewhere"}}
	cluster.Create(t, account)
	before := account.ResourceVersion
	s.installed(t, s.subscribe(t, f.Name), f.CSV())
	if why := ownersAre(s.account(t, "elsewhere"), f.CSV()); why != "" {
		t.Error(why)
	}
	if account = other.account(t, "elsewhere"); account.ResourceVersion != before {
		t.Errorf("a service account of another namespace was changed: %+v", account)
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

// ownersAre returns a message if the owners of an object are not those in want, which must be sorted.
func ownersAre(o client.Object, want ...string) string {
	var got []string
	for _, owner := range o.GetOwnerReferences() {
		got = append(got, owner.Name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Sprintf("%s belongs to %v, and should belong to %v", o.GetName(), got, want)
	}
	return ""
}
