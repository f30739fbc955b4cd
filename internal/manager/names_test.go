package manager_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	authorizationv1 "k8s.io/api/authorization/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestNames verifies that --hide-foreign-names hides custom resources outside a namespace from its users, even if they
// were named before, and that resources which the account may no longer read are hidden too. Held updates stay held.
func TestNames(t *testing.T) {
	const group = "names.example.com"
	cluster.InstallOLM(t)
	cluster.WithoutHoldPolicy(t)
	m := cluster.StartManager(t)
	own, other := cluster.Namespace(t, "names"), cluster.Namespace(t, "others")
	account(t, cluster, own, group)
	cluster.Apply(t, own, builder.CRD("foos", group, upgradeableNotMigrating))
	foo(t, cluster, group, own, "mine", "Migrating=True")
	foo(t, cluster, group, other, "acquisition-1", "Migrating=True")
	foo(t, cluster, group, other, "acquisition-2", "Migrating=True")
	operator := csv(own, "foo-operator.v1", "foos."+group)
	cluster.Create(t, operator)
	condition := &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: operator.Name}}
	cluster.Create(t, condition)
	p := awaitProbe(t, cluster, key(operator), "Upgradeable=False/NotUpgradeable")
	awaitGate(t, key(operator), metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable)
	if !readable(t, own, "acquisition") || !readable(t, own, "mine") {
		t.Error("names are missing without the flag")
	}

	m.Kill(t)
	m = cluster.StartManager(t, "--hide-foreign-names")
	awaitNotReadable(t, own, "acquisition")
	p = awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "Upgradeable", "Waiting for Foo "+own+"/mine: Migrating is True; and 2 more, not shown", message(p, v1alpha1.ConditionUpgradeable))
	checkEqual(t, "summary", &v1alpha1.ProbeSummary{Total: 3, NotUpgradeable: 3}, p.Status.Summary)

	t.Log("the account loses its permissions")
	m.Kill(t)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "foo-operator-of-" + own}}
	cluster.Await(t, binding, func() string { return "" })
	mustDelete(t, binding)
	awaitDenied(t, "system:serviceaccount:"+own+":foo-operator", group)
	m = cluster.StartManager(t)
	awaitNotReadable(t, own, "mine")
	p = awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "Synced=False/Forbidden")
	checkEqual(t, "Upgradeable", "Waiting for 3 custom resources whose names are not shown", message(p, v1alpha1.ConditionUpgradeable))
	awaitGate(t, key(operator), metav1.ConditionFalse, v1alpha1.ReasonProbeNotUpgradeable)

	t.Log("the account gets its permissions back")
	binding.ResourceVersion, binding.UID = "", ""
	cluster.Create(t, binding)
	p = awaitProbe(t, cluster, key(p), "Upgradeable=False/NotUpgradeable", "Synced=True/Synced")
	checkEqual(t, "number of names after the permission was granted again", 3, len(p.Status.ProbeResources))
	m.CheckAlive(t)
}

// readable reports whether anything that operator-status writes in a namespace contains that word.
func readable(t *testing.T, namespace, word string) bool {
	t.Helper()
	for _, list := range []client.ObjectList{
		&v1alpha1.ProbeList{}, &v1alpha1.ClusterServiceVersionList{}, &v1alpha1.SubscriptionList{},
		&operatorsv2.OperatorConditionList{}, &eventsv1.EventList{},
	} {
		if err := cluster.Client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), word) {
			return true
		}
	}
	return false
}

func awaitNotReadable(t *testing.T, namespace, word string) {
	t.Helper()
	poll(t, "mentions of "+word+" to be removed", func() bool { return !readable(t, namespace, word) })
}

// awaitDenied waits until the API server denies an account to list a group.
func awaitDenied(t *testing.T, user, group string) {
	t.Helper()
	cluster.AwaitAllowed(t, user, authorizationv1.ResourceAttributes{Group: group, Resource: "foos", Verb: "list"}, false)
}

func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, testcluster.Timeout, true, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
