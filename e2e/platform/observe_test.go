package platform

import (
	"fmt"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
)

// TestObservedOperatorWithForeignSubscriptions verifies that Subscriptions to the same package that others create do not
// change the status of an observed operator, nor end its hold of the cluster's updates, and are not observed by themselves.
func TestObservedOperatorWithForeignSubscriptions(t *testing.T) {
	co := cluster.InstallClusterOperator(t)
	s := newStage(t, publish(t, "seen", "1.0.0"))
	subscribed := func(namespace, catalogNamespace string) *operatorsv1alpha1.Subscription {
		sub := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}}
		sub.Spec = &olm.SubscriptionSpec{Package: "seen", CatalogSource: s.catalog.Name, CatalogSourceNamespace: catalogNamespace}
		cluster.Create(t, sub)
		return sub
	}
	observe := func(op *v1alpha1.PlatformOperator) {
		op.Spec.Package.Name, op.Spec.ManagementPolicy, op.Spec.HoldClusterUpdates = "seen", v1alpha1.ManagementObserve, true
	}
	tenant := cluster.Namespace(t, "tenant")
	subscribed(tenant, tenant)

	op := create(t, "observer", observe)
	awaitConditions(t, op, "Ready=False/Failed", "Installed=False/SubscriptionNotFound")
	checkMessage(t, op, v1alpha1.ConditionInstalled, "to observe one of them", tenant+"/theirs", "spec.package.catalog")

	namespace := cluster.Namespace(t, "real")
	cluster.Create(t, &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "group"}})
	sub := subscribed(namespace, global)
	awaitConditions(t, op, "Ready=True/Available", "UpToDate=True/NewestRuns")
	cluster.Rediscovered(t).Apply(t, namespace, `{apiVersion: seen.example.com/v1, kind: Seen, metadata: {name: busy}, status: {conditions: [{type: Migrating, status: "True"}]}}`)
	awaitConditions(t, op, "Upgradeable=False/NotUpgradeable")
	awaitClusterOperator(t, co, "Upgradeable=False/PlatformOperatorsNotUpgradeable")

	// Another from the same catalog. Once a new PlatformOperator reports the ambiguity, the manager has observed it; those before keep to
	// the first.
	subscribed(cluster.Namespace(t, "other"), global)
	for i := 0; ; i++ {
		late := create(t, fmt.Sprintf("late%d", i), observe)
		var installed *metav1.Condition
		cluster.Await(t, late, func() string {
			if installed = meta.FindStatusCondition(late.Status.Conditions, v1alpha1.ConditionInstalled); installed == nil {
				return "it does not report Installed"
			}
			return ""
		})
		if installed.Reason == v1alpha1.ReasonSubscriptionAmbiguous {
			break
		}
		if i == 100 {
			t.Fatalf("the manager does not observe the second Subscription: %v", installed)
		}
		if err := cluster.Client.Delete(t.Context(), late); err != nil {
			t.Fatal(err)
		}
	}
	awaitConditions(t, op, "Ready=True/Available", "Upgradeable=False/NotUpgradeable")
	awaitClusterOperator(t, co, "Upgradeable=False/PlatformOperatorsNotUpgradeable")

	if err := cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(sub), sub); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Client.Delete(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	awaitConditions(t, op, "Ready=False/Degraded", "Installed=False/SubscriptionNotFound", "Upgradeable=False/NotUpgradeable")
	checkMessage(t, op, v1alpha1.ConditionInstalled, "in namespace "+namespace)
	awaitClusterOperator(t, co, "Upgradeable=False/PlatformOperatorsNotUpgradeable")
	awaitMessage(t, co, configv1.OperatorUpgradeable, "observer")

	// Objects that no PlatformOperator installed are not deleted with one.
	plan := metav1.ObjectMeta{Namespace: namespace, Name: sub.Status.InstallPlanRef.Name}
	csv := metav1.ObjectMeta{Namespace: namespace, Name: csvOf("seen")}
	for _, o := range []client.Object{&olm.InstallPlan{ObjectMeta: plan}, &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: csv}} {
		if err := cluster.Client.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		cluster.AwaitGone(t, o)
	}
	cluster.AwaitGone(t, &operatorsv1alpha1.Probe{ObjectMeta: csv})
}
