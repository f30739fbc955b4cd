package olm

import (
	"fmt"
	"strings"
	"testing"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// TestOperatorConditionGate: OLM says AtLatestKnown while the update it has begun is held, and the Subscription says in our
// conditions what is so.
func TestOperatorConditionGate(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "late", publish(t, "late", "1.0.0"))
	sub := s.subscribe(t, "late")
	s.runs(t, sub, csvOf("late", "1.0.0"))

	example := s.migrating(t, "late")
	s.objects(t, csvOf("late", "1.0.0"))
	s.offer(t, publish(t, "late", "1.0.0", "1.1.0"))
	s.held(t, sub)
	tells(t, sub, v1alpha1.SubscriptionUpgradeHeld, "OperatorCondition gate", "Migrating", "example", v1alpha1.AnnotationAllowUpgrade)
	if sub.Status.State != "AtLatestKnown" || sub.Status.InstalledCSV != csvOf("late", "1.1.0") {
		t.Errorf("OLM no longer says what it said in v0.40: %s, %s", sub.Status.State, sub.Status.InstalledCSV)
	}
	hasMigrated(t, example)
	s.runs(t, sub, csvOf("late", "1.1.0"))
}

// TestManual: an InstallPlan waits for a person, and the Subscription says how to approve it.
func TestManual(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "manual", publish(t, "manual", "1.0.0"))
	sub := s.subscribe(t, "manual", manual)
	s.conditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "True " + v1alpha1.ReasonRequiresApproval,
		v1alpha1.SubscriptionUpToDate:                          "False " + v1alpha1.ReasonNewestDoesNotRun,
	})
	tells(t, sub, v1alpha1.SubscriptionInstallPlanAwaitingManualApproval, "kubectl patch installplan", s.plan(t, sub).Name)
	approve(t, s.plan(t, sub))
	s.runs(t, sub, csvOf("manual", "1.0.0"))
}

// TestInvalidSubscriptions: what cannot be resolved says which word of the Subscription is wrong. OLM's own condition stays
// as OLM wrote it.
func TestInvalidSubscriptions(t *testing.T) {
	cluster.StartManager(t)
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.Subscription)
		want   map[v1alpha1.SubscriptionConditionType]string
		words  []string
	}{
		"NoSuchPackage": {
			reason: "A misspelt package is told.",
			change: func(sub *v1alpha1.Subscription) { sub.Spec.Package = "valod" },
			want: map[v1alpha1.SubscriptionConditionType]string{
				v1alpha1.SubscriptionPackageChannelInvalid: "True " + v1alpha1.ReasonPackageNotFound,
				v1alpha1.SubscriptionResolutionFailed:      "True ConstraintsNotSatisfiable",
				v1alpha1.SubscriptionUpToDate:              "False " + v1alpha1.ReasonNewestNotKnown,
			},
			words: []string{"valod"},
		},
		"NoSuchChannel": {
			reason: "So is a channel.",
			change: func(sub *v1alpha1.Subscription) { sub.Spec.Channel = "stabel" },
			want: map[v1alpha1.SubscriptionConditionType]string{
				v1alpha1.SubscriptionPackageChannelInvalid: "True " + v1alpha1.ReasonChannelNotFound,
				v1alpha1.SubscriptionUpToDate:              "False " + v1alpha1.ReasonNewestNotKnown,
			},
			words: []string{"stabel", "valid"},
		},
		"NoSuchCatalog": {
			reason: "A catalog that is not there is told, though OLM says nothing of it.",
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
			s.conditions(t, sub, tc.want)
			tells(t, sub, v1alpha1.SubscriptionPackageChannelInvalid, tc.words...)
		})
	}
}

// TestInstallPlanMissing: OLM makes another InstallPlan for one that is gone, and our conditions follow.
func TestInstallPlanMissing(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "planless", publish(t, "planless", "1.0.0"))
	sub := s.subscribe(t, "planless", manual)
	waits := map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionInstallPlanAwaitingManualApproval: "True " + v1alpha1.ReasonRequiresApproval,
		v1alpha1.SubscriptionUpToDate:                          "False " + v1alpha1.ReasonNewestDoesNotRun,
	}
	s.conditions(t, sub, waits)
	gone := s.plan(t, sub)
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
	s.conditions(t, sub, waits)
	approve(t, s.plan(t, sub))
	s.runs(t, sub, csvOf("planless", "1.0.0"))
}

// TestUnhealthyCatalog: a catalog that does not answer is told, on the Subscription that wants something from it.
func TestUnhealthyCatalog(t *testing.T) {
	cluster.StartManager(t)
	s := newStage(t, "mute", publish(t, "mute", "1.0.0"))
	source := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "mute"}}
	source.Spec.SourceType, source.Spec.Address = olm.SourceTypeGrpc, "127.0.0.1:1" // where nobody listens
	cluster.Create(t, source)
	sub := s.subscribe(t, "mute", func(sub *v1alpha1.Subscription) { sub.Spec.CatalogSource = source.Name })
	s.conditions(t, sub, map[v1alpha1.SubscriptionConditionType]string{
		v1alpha1.SubscriptionCatalogSourceInvalid: "True " + v1alpha1.ReasonCatalogSourceUnreadable,
		v1alpha1.SubscriptionUpToDate:             "False " + v1alpha1.ReasonNewestNotKnown,
	})
	tells(t, sub, v1alpha1.SubscriptionCatalogSourceInvalid, "127.0.0.1:1", "TRANSIENT_FAILURE")
}
