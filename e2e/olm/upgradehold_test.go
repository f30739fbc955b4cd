package olm

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// TestUpgradeHold verifies that OLM begins no update with automatic approval while the running operator does not allow it, also
// while no manager runs, and that nothing of the new version is on the cluster meanwhile.
func TestUpgradeHold(t *testing.T) {
	manager := cluster.StartManager(t)
	s := newStage(t, "whole", publish(t, "whole", "1.0.0"))
	sub := s.subscribe(t, "whole")
	s.awaitRunning(t, sub, csvOf("whole", "1.0.0"))
	example := s.createMigrating(t, "whole")
	hold := s.awaitUpgradeHold(t, sub, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")

	manager.Kill(t)
	before := definition(t, "whole")
	s.offer(t, packageWithCRDChange(t, "whole"))
	s.awaitDenied(t, sub, "The update to "+csvOf("whole", "1.1.0")+" is held", "Migrating",
		v1alpha1.AnnotationAllowUpgrade+"="+csvOf("whole", "1.1.0"))
	cluster.StartManager(t)
	s.awaitHeld(t, sub)
	checkMessage(t, sub, v1alpha1.SubscriptionUpgradeHeld, csvOf("whole", "1.1.0"), "Migrating", "example", v1alpha1.AnnotationAllowUpgrade)
	s.checkNothingOf(t, csvOf("whole", "1.1.0"))
	if after := definition(t, "whole"); after.ResourceVersion != before.ResourceVersion {
		t.Error("the CustomResourceDefinition has changed while the update was held")
	}
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("whole", "1.1.0"))
	cluster.AwaitGone(t, hold)
}

// TestUpgradeHoldOfUser verifies that a user holds the updates of an operator whose conditions allow them, until a time, and that the
// UpgradeHold that operator-status created is created again if a user deletes it.
func TestUpgradeHoldOfUser(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "frozen", publish(t, "frozen", "1.0.0"))
	sub := s.subscribe(t, "frozen")
	s.awaitRunning(t, sub, csvOf("frozen", "1.0.0"))
	example := s.createMigrating(t, "frozen")
	reported := s.awaitUpgradeHold(t, sub, "Held=True/ProbeNotUpgradeable")
	if err := cluster.Client.Delete(t.Context(), reported); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s.awaitUpgradeHold(t, sub, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")
	t.Logf("a deleted UpgradeHold denies again after at most %s", time.Since(start).Round(time.Millisecond))
	s.checkEvent(t, v1alpha1.EventUpgradeHoldRestored)

	audit := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit-of-" + s.namespace}}
	audit.Spec = holdv1alpha1.UpgradeHoldSpec{Operator: holdv1alpha1.SubscribedOperator(s.namespace, "frozen"), Message: "audit", RequestedBy: "jane"}
	cluster.Create(t, audit)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), audit); err != nil {
			t.Error(err)
		}
	})
	cluster.Await(t, audit, func() string {
		return testcluster.Lacking(audit.Status.Conditions, "Held=True/HeldByUser", "Enforced=True/PolicyBound")
	})
	finishMigration(t, example)
	cluster.AwaitGone(t, reported)
	s.offer(t, publish(t, "frozen", "1.0.0", "1.1.0"))
	s.awaitDenied(t, sub, "The update to "+csvOf("frozen", "1.1.0")+" is held: UpgradeHold "+audit.Name, "audit")
	patch(t, audit, `{"spec":{"until":"`+time.Now().Add(5*time.Second).UTC().Format(time.RFC3339)+`"}}`)
	s.awaitRunning(t, sub, csvOf("frozen", "1.1.0"))
	cluster.Await(t, audit, func() string { return testcluster.Lacking(audit.Status.Conditions, "Held=False/Expired") })
}

// TestUpgradeHoldPolicy verifies which requests the policy denies while an operator is held, and that the API server refuses to hold
// the updates of Kubernetes itself.
func TestUpgradeHoldPolicy(t *testing.T) {
	namespace, other := cluster.Namespace(t, "denied"), cluster.Namespace(t, "neighbour")
	hold := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	hold.Spec.Operator = holdv1alpha1.SubscribedOperator(namespace, "foo")
	cluster.Create(t, hold)
	t.Cleanup(func() {
		if err := cluster.Client.Delete(context.Background(), hold); err != nil {
			t.Error(err)
		}
	})
	plan := func(namespace string, approved bool, names ...string) *olm.InstallPlan {
		out := &olm.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "install-"}}
		out.Spec = olm.InstallPlanSpec{Approval: olm.ApprovalAutomatic, Approved: approved, ClusterServiceVersionNames: append([]string{}, names...)}
		return out
	}
	before, waiting := plan(namespace, true, "foo.v1.1.0"), plan(namespace, false, "foo.v1.1.0")
	cluster.Create(t, before, waiting)
	hold.Status.Message = "it is busy. To update anyway: annotate it with <version>"
	hold.Status.Denied = &holdv1alpha1.DeniedUpdates{InstallPlans: &holdv1alpha1.DeniedInstallPlans{
		Namespace: namespace, Pattern: `^foo\.v?[0-9]`, Versions: []string{"renamed"}, Except: []string{"foo.v1.0.0", "foo.v1.2.0"},
	}}
	if err := cluster.Client.Status().Update(t.Context(), hold); err != nil {
		t.Fatal(err)
	}
	create := func(o client.Object) func() error {
		return func() error { return cluster.Client.Create(t.Context(), o, client.DryRunAll) }
	}
	merge := func(o client.Object, patch string) func() error {
		return func() error {
			return cluster.Client.Patch(t.Context(), o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
		}
	}
	cases := map[string]struct {
		reason  string
		request func() error
		denied  string // part of the error, or empty
	}{
		"Update":         {"An update begins with an approved plan.", create(plan(namespace, true, "foo.v1.1.0")), "The update to foo.v1.1.0 is held: it is busy. To update anyway: annotate it with foo.v1.1.0"},
		"OtherName":      {"A version may have a name of its own.", create(plan(namespace, true, "renamed")), "The update to renamed is held"},
		"Together":       {"A plan is applied as a whole.", create(plan(namespace, true, "bar.v1", "foo.v1.1.0")), "The update to foo.v1.1.0, in one InstallPlan with bar.v1, is held"},
		"Approval":       {"So does one that is approved later.", merge(waiting, `{"spec":{"approved":true}}`), "The update to foo.v1.1.0 is held"},
		"NotApproved":    {"A plan that waits changes nothing.", create(plan(namespace, false, "foo.v1.1.0")), ""},
		"Running":        {"The version that runs may be installed again.", create(plan(namespace, true, "foo.v1.0.0")), ""},
		"Allowed":        {"So may the one that an administrator allows.", create(plan(namespace, true, "foo.v1.2.0")), ""},
		"Neighbour":      {"Another operator may be updated.", create(plan(namespace, true, "bar.v2.0.0", "foo-bar.v1.0.0")), ""},
		"OtherNamespace": {"The operator may be updated elsewhere.", create(plan(other, true, "foo.v1.1.0")), ""},
		"Nothing":        {"A plan may install nothing.", create(plan(namespace, true)), ""},
		"Began":          {"A plan that was approved before goes on.", merge(before, `{"metadata":{"labels":{"a":"b"}}}`), ""},
		"Label":          {"One that waits may change otherwise.", merge(waiting, `{"metadata":{"labels":{"a":"b"}}}`), ""},
		"OfKubernetes": {"The updates of Kubernetes cannot be held.", create(&holdv1alpha1.UpgradeHold{
			ObjectMeta: metav1.ObjectMeta{Name: "everything"}, Spec: holdv1alpha1.UpgradeHoldSpec{Operator: holdv1alpha1.SubscribedOperator("kube-system", "foo")},
		}), "cannot be held"},
		"AnotherOperator": {"An UpgradeHold stays that of its operator.", merge(hold, `{"spec":{"operator":{"name":"bar"}}}`), "cannot be changed"},
	}
	first := cases["Update"].request
	cluster.Await(t, hold, func() string { // the API server reads what the policy depends on a moment later
		if first() == nil {
			return "it is not enforced yet"
		}
		return ""
	})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.request()
			if tc.denied == "" && err != nil || tc.denied != "" && (err == nil || !strings.Contains(err.Error(), tc.denied)) {
				t.Errorf("%s\ngot %v, want %q", tc.reason, err, tc.denied)
			}
		})
	}
}

// awaitUpgradeHold waits until the UpgradeHold that operator-status created for a Subscription has the conditions, each as
// "Type=Status/Reason".
func (s *stage) awaitUpgradeHold(t *testing.T, sub *v1alpha1.Subscription, conditions ...string) *holdv1alpha1.UpgradeHold {
	t.Helper()
	out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: holdv1alpha1.SubscribedOperator(sub.Namespace, sub.Name).HoldName()}}
	cluster.Await(t, out, func() string { return testcluster.Lacking(out.Status.Conditions, conditions...) })
	return out
}

// awaitDenied waits until OLM reports on a Subscription that its InstallPlan was denied, with the words.
func (s *stage) awaitDenied(t *testing.T, sub *v1alpha1.Subscription, words ...string) {
	t.Helper()
	cluster.Await(t, sub, func() string {
		c := sub.Status.GetCondition(v1alpha1.SubscriptionConditionType(olm.SubscriptionBundleUnpackFailed))
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Sprintf("OLM's condition lacks %q: %+v", word, c)
			}
		}
		return ""
	})
}

// checkNothingOf verifies that neither a ClusterServiceVersion nor an InstallPlan of a version exists.
func (s *stage) checkNothingOf(t *testing.T, csv string) {
	t.Helper()
	s.checkAbsent(t, csv)
	plans := &olm.InstallPlanList{}
	if err := cluster.Client.List(t.Context(), plans, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, plan := range plans.Items {
		for _, name := range plan.Spec.ClusterServiceVersionNames {
			if name == csv {
				t.Errorf("InstallPlan %s installs %s", plan.Name, csv)
			}
		}
	}
}

// enforced reports whether the API server enforces UpgradeHolds.
func enforced(t *testing.T) bool {
	t.Helper()
	out, err := upgradehold.EnforcementOf(t.Context(), cluster.Client, holdv1alpha1.InstallerOLM)
	if err != nil {
		t.Fatal(err)
	}
	return out == upgradehold.Enforced
}
