package olm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
)

// TestOperatorConditionGate verifies that on a cluster without the policies, our conditions report a held update while OLM reports
// AtLatestKnown.
func TestOperatorConditionGate(t *testing.T) {
	cluster.WithoutHoldPolicy(t)
	cluster.StartManager(t)
	s := newStage(t, "late", publish(t, "late", "1.0.0"))
	sub := s.subscribe(t, "late")
	s.awaitRunning(t, sub, csvOf("late", "1.0.0"))

	example := s.createMigrating(t, "late")
	s.awaitNotUpgradeable(t, csvOf("late", "1.0.0"))
	s.offer(t, publish(t, "late", "1.0.0", "1.1.0"))
	s.awaitHeld(t, sub)
	checkMessage(t, sub, v1alpha1.SubscriptionUpgradeHeld, "OperatorCondition gate", "Migrating", "example", v1alpha1.AnnotationAllowUpgrade)
	cluster.Await(t, sub, func() string { // OLM reports this once it has begun the update, which is held before that
		if sub.Status.State != olm.SubscriptionStateAtLatest || sub.Status.InstalledCSV != csvOf("late", "1.1.0") {
			return fmt.Sprintf("while the update that OLM has begun is held, its state is %s with %s installed", sub.Status.State, sub.Status.InstalledCSV)
		}
		return ""
	})
	s.awaitHeld(t, sub)
	finishMigration(t, example)
	s.awaitRunning(t, sub, csvOf("late", "1.1.0"))
}

// TestManual verifies that an InstallPlan waits for approval and the Subscription reports how to approve it.
func TestManual(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "manual", publish(t, "manual", "1.0.0"))
	sub := s.subscribe(t, "manual", withManualApproval)
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "True " + v1alpha1.ReasonRequiresApproval,
		v1alpha1.SubscriptionUpToDate:                          "False " + v1alpha1.ReasonNewestDoesNotRun,
	})
	checkMessage(t, sub, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, "kubectl patch installplan.operators.coreos.com", s.awaitPlan(t, sub).Name)
	approve(t, s.awaitPlan(t, sub))
	s.awaitRunning(t, sub, csvOf("manual", "1.0.0"))
}

// TestInvalidSubscriptions verifies that conditions report a Subscription's invalid field and keep OLM's own condition.
func TestInvalidSubscriptions(t *testing.T) {
	cluster.StartManager(t)
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.Subscription)
		want   map[v1alpha1.SubscriptionConditionType]string
		words  []string
	}{
		"NoSuchPackage": {
			reason: "A package that is not in the catalog is reported.",
			change: func(sub *v1alpha1.Subscription) { sub.Spec.Package = "valod" },
			want: map[v1alpha1.SubscriptionConditionType]string{
				v1alpha1.SubscriptionPackageChannelInvalid: "True " + v1alpha1.ReasonPackageNotFound,
				v1alpha1.SubscriptionResolutionFailed:      "True ConstraintsNotSatisfiable",
				v1alpha1.SubscriptionUpToDate:              "False " + v1alpha1.ReasonNewestNotKnown,
			},
			words: []string{"valod"},
		},
		"NoSuchChannel": {
			reason: "A channel that is not in the package is reported.",
			change: func(sub *v1alpha1.Subscription) { sub.Spec.Channel = "stabel" },
			want: map[v1alpha1.SubscriptionConditionType]string{
				v1alpha1.SubscriptionPackageChannelInvalid: "True " + v1alpha1.ReasonChannelNotFound,
				v1alpha1.SubscriptionUpToDate:              "False " + v1alpha1.ReasonNewestNotKnown,
			},
			words: []string{"stabel", "valid"},
		},
		"NoSuchCatalog": {
			reason: "A CatalogSource that does not exist is reported, although OLM does not report it.",
			change: func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = "catalogue" },
			want: map[v1alpha1.SubscriptionConditionType]string{
				v1alpha1.SubscriptionCatalogSourceInvalid: "True " + v1alpha1.ReasonCatalogSourceNotFound,
				v1alpha1.SubscriptionUpToDate:             "False " + v1alpha1.ReasonNewestNotKnown,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, "invalid", publish(t, "valid", "1.0.0"))
			sub := s.subscribe(t, "valid", tc.change)
			s.awaitConditions(t, sub, tc.want)
			checkMessage(t, sub, v1alpha1.SubscriptionPackageChannelInvalid, tc.words...)
		})
	}
}

// TestFailedCSV verifies that a failed CSV is reported, and that it has recovered. OLM fails a CSV that does not
// support the target namespaces, and checks again when they change.
func TestFailedCSV(t *testing.T) {
	cluster.StartManager(t)
	everywhere := testcatalog.Foo{Name: "everywhere", Version: "1.0.0", Change: func(csv, _ *unstructured.Unstructured) {
		modes := []any{
			map[string]any{"type": string(olm.InstallModeTypeOwnNamespace), "supported": false},
			map[string]any{"type": string(olm.InstallModeTypeAllNamespaces), "supported": true},
		}
		csv.Object["spec"].(map[string]any)["installModes"] = modes
	}}
	s := newStage(t, "failed", testcatalog.Published(t, everywhere))
	sub := s.subscribe(t, everywhere.Name)
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstalledCSVFailed: "True " + v1alpha1.ReasonCSVFailed,
		v1alpha1.SubscriptionUpToDate:           "False " + v1alpha1.ReasonNewestDoesNotRun,
	})
	checkMessage(t, sub, v1alpha1.SubscriptionInstalledCSVFailed, v1alpha1.CSVReasonUnsupportedOperatorGroup)
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "group"}}
	if err := cluster.Client.Patch(t.Context(), group, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"targetNamespaces":null}}`))); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, sub, everywhere.CSV())
}

// TestMissingCSV verifies that a deleted CSV is reported.
func TestMissingCSV(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "missing", publish(t, "missing", "1.0.0"))
	sub := s.subscribe(t, "missing")
	s.awaitRunning(t, sub, csvOf("missing", "1.0.0"))
	plan := s.awaitPlan(t, sub)
	cluster.Await(t, plan, func() string { // until then OLM would create the ClusterServiceVersion again
		if plan.Status.Phase != olm.InstallPlanPhaseComplete {
			return fmt.Sprintf("its phase is %s", plan.Status.Phase)
		}
		return ""
	})
	cluster.AwaitIdle(t, 3*time.Second, byOLM...)
	cluster.Await(t, sub, func() string { // OLM also creates it again while its cache has the earlier plan: then it is deleted again
		if err := cluster.Client.Delete(t.Context(), s.csv(csvOf("missing", "1.0.0"))); client.IgnoreNotFound(err) != nil {
			return err.Error()
		}
		if sub.Status.GetCondition(v1alpha1.SubscriptionInstalledCSVMissing).Status != corev1.ConditionTrue {
			return "the ClusterServiceVersion is not reported missing"
		}
		return ""
	})
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstalledCSVMissing: "True " + v1alpha1.ReasonCSVMissing,
		v1alpha1.SubscriptionUpToDate:            "False " + v1alpha1.ReasonNewestDoesNotRun,
	})
	checkMessage(t, sub, v1alpha1.SubscriptionInstalledCSVMissing, csvOf("missing", "1.0.0"))
}

// TestInstallPlanMissing verifies that our conditions refer to the InstallPlan that replaces a deleted one.
func TestInstallPlanMissing(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "planless", publish(t, "planless", "1.0.0"))
	sub := s.subscribe(t, "planless", withManualApproval)
	waits := map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "True " + v1alpha1.ReasonRequiresApproval,
		v1alpha1.SubscriptionUpToDate:                          "False " + v1alpha1.ReasonNewestDoesNotRun,
	}
	s.awaitConditions(t, sub, waits)
	gone := s.awaitPlan(t, sub)
	if err := cluster.Client.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	cluster.Await(t, sub, func() string {
		c := sub.Status.GetCondition(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval)
		if ref := sub.Status.InstallPlanRef; ref == nil || ref.UID == gone.UID || !strings.Contains(c.Message, ref.Name) {
			return fmt.Sprintf("it refers to %+v: %s", ref, c.Message)
		}
		return ""
	})
	s.awaitConditions(t, sub, waits)
	approve(t, s.awaitPlan(t, sub))
	s.awaitRunning(t, sub, csvOf("planless", "1.0.0"))
}

// TestUnhealthyCatalog verifies that an unreachable catalog is reported on the Subscriptions that refer to it.
func TestUnhealthyCatalog(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "mute", publish(t, "mute", "1.0.0"))
	source := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "mute"}}
	source.Spec.SourceType, source.Spec.Address = olm.SourceTypeGrpc, "127.0.0.1:1" // no server listens there
	cluster.Create(t, source)
	sub := s.subscribe(t, "mute", func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = source.Name })
	s.awaitConditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionCatalogSourceInvalid: "True " + v1alpha1.ReasonCatalogSourceUnreadable,
		v1alpha1.SubscriptionUpToDate:             "False " + v1alpha1.ReasonNewestNotKnown,
	})
	checkMessage(t, sub, v1alpha1.SubscriptionCatalogSourceInvalid, "127.0.0.1:1", "TRANSIENT_FAILURE")
}
