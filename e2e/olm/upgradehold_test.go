package olm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/manager"
	"github.com/operator-status/operator-status/internal/test/story"
	"github.com/operator-status/operator-status/internal/test/testcluster"
	"github.com/operator-status/operator-status/internal/upgradehold"
)

// TestUpgradeHold verifies that OLM begins no update while the running operator does not allow it, also while no manager runs, and that
// nothing of the new version is on the cluster meanwhile.
func TestUpgradeHold(t *testing.T) {
	cases := map[string]struct {
		reason   string
		approval olm.Approval
	}{
		"Automatic": {"OLM would begin the update at once.", olm.ApprovalAutomatic},
		"Manual":    {"A user approves the InstallPlan, and is denied.", olm.ApprovalManual},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			operator := "whole-" + strings.ToLower(name)
			manager := cluster.StartManager(t)
			s := newStage(t, operator, publish(t, operator, "1.0.0"))
			sub := s.subscribe(t, operator)
			s.awaitRunning(t, sub, csvOf(operator, "1.0.0"))
			patch(t, sub, `{"spec":{"installPlanApproval":"`+string(tc.approval)+`"}}`)
			example := s.createMigrating(t, operator)
			hold := s.awaitUpgradeHold(t, sub, "Held=True/ProbeNotUpgradeable", "Enforced=True/PolicyBound")

			manager.Kill(t)
			cluster.AwaitIdle(t, 3*time.Second, byOLM...) // it labels the objects of an operator after it runs
			cluster.AwaitNoneTerminating(t)
			before, crd := story.Snapshot(t, cluster, ofOLM), definition(t, operator)
			s.offer(t, packageWithCRDChange(t, operator))
			next := csvOf(operator, "1.1.0")
			denial := []string{"The update to " + next + " is held", "Migrating", v1alpha1.AnnotationAllowUpgrade + "=" + next}
			if tc.approval == olm.ApprovalAutomatic {
				s.awaitDenied(t, sub, denial...)
			} else {
				s.checkDenied(t, s.awaitPlanOf(t, sub, next), denial...)
			}
			if diff := cmp.Diff(before, story.Snapshot(t, cluster, ofOLM)); diff != "" {
				t.Errorf("%s\nthe cluster has changed while the update was held:\n%s", tc.reason, diff)
			}
			cluster.StartManager(t)
			s.awaitHeld(t, sub)
			s.checkAbsent(t, next)
			if tc.approval == olm.ApprovalAutomatic {
				s.checkNoPlanOf(t, next)
			}
			if after := definition(t, operator); after.ResourceVersion != crd.ResourceVersion {
				t.Error("the CustomResourceDefinition has changed while the update was held")
			}
			checkMessage(t, sub, v1alpha1.SubscriptionUpgradeHeld, next, "Migrating", "example", v1alpha1.AnnotationAllowUpgrade)
			if diff := cmp.Diff(before, story.Snapshot(t, cluster, ofOLM)); diff != "" {
				t.Errorf("%s\nthe cluster has changed since a manager runs:\n%s", tc.reason, diff)
			}
			finishMigration(t, example)
			cluster.AwaitGone(t, hold)
			if tc.approval == olm.ApprovalManual {
				s.approveUntil(t, sub, next)
			}
			s.awaitRunning(t, sub, next)
		})
	}
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
	cluster.AwaitEvent(t, s.namespace, v1alpha1.EventUpgradeHoldRestored, "")

	audit := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: "audit-of-" + s.namespace}}
	audit.Spec = holdv1alpha1.UpgradeHoldSpec{
		Operator: holdv1alpha1.SubscribedOperator(s.namespace, "frozen"), HoldTerms: holdv1alpha1.HoldTerms{Message: "audit", RequestedBy: "jane"},
	}
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
		cluster.IndexUpgradeHolds(t)
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
	cluster.IndexUpgradeHolds(t)
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

// awaitPlanOf waits until OLM has created an InstallPlan that installs a version and waits for approval.
func (s *stage) awaitPlanOf(t *testing.T, sub *v1alpha1.Subscription, csv string) *olm.InstallPlan {
	t.Helper()
	var out *olm.InstallPlan
	cluster.Await(t, sub, func() string {
		if sub.Status.InstallPlanRef == nil {
			return "it refers to no InstallPlan"
		}
		out = s.awaitPlan(t, sub)
		if !slices.Contains(out.Spec.ClusterServiceVersionNames, csv) || out.Status.Phase != olm.InstallPlanPhaseRequiresApproval {
			return fmt.Sprintf("InstallPlan %s installs %v and is %s", out.Name, out.Spec.ClusterServiceVersionNames, out.Status.Phase)
		}
		return ""
	})
	return out
}

// checkNoPlanOf verifies that no InstallPlan of a version exists.
func (s *stage) checkNoPlanOf(t *testing.T, csv string) {
	t.Helper()
	plans := &olm.InstallPlanList{}
	if err := cluster.Client.List(t.Context(), plans, client.InNamespace(s.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, plan := range plans.Items {
		if slices.Contains(plan.Spec.ClusterServiceVersionNames, csv) {
			t.Errorf("InstallPlan %s installs %s", plan.Name, csv)
		}
	}
}

// checkDenied verifies that the API server denies the approval of an InstallPlan, with the words.
func (s *stage) checkDenied(t *testing.T, plan *olm.InstallPlan, words ...string) {
	t.Helper()
	err := cluster.Client.Patch(t.Context(), plan, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approved":true}}`)))
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the approval of InstallPlan %s returns %v, want %q", plan.Name, err, word)
		}
	}
}

// ofOLM selects the objects in which OLM is asked for an update and prepares it: it reads the catalog, and unpacks a bundle, before it
// writes an InstallPlan.
func ofOLM(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case v1alpha1.SubscriptionKind, olm.CatalogSourceKind, olm.InstallPlanKind, "PackageManifest":
		return true
	case "ConfigMap", "Job":
		return o.GetLabels()["operatorframework.io/bundle-unpack-ref"] != ""
	default:
		return false
	}
}

// enforced reports whether the API server enforces UpgradeHolds.
func enforced(t *testing.T) bool {
	t.Helper()
	out, err := upgradehold.EnforcementOf(t.Context(), cluster.Client, []string{holdv1alpha1.DeniesInstallPlans}, manager.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	return out == upgradehold.Enforced
}
