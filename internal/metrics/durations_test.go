package metrics

import (
	"testing"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

func TestDurations(t *testing.T) {
	later := metav1.Unix(1090, 0)
	held := sub("foo", condition(v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, &began))
	released := sub("foo", v1alpha1.SubscriptionCondition{Type: v1alpha1.SubscriptionUpgradeHeld, Status: corev1.ConditionFalse, LastTransitionTime: &later})
	plan := func(phase olm.InstallPlanPhase) *olm.InstallPlan {
		return &olm.InstallPlan{Status: olm.InstallPlanStatus{Phase: phase, StartTime: &began}}
	}
	succeeded := csv(olm.CSVPhaseSucceeded)
	succeeded.Status.LastTransitionTime = &later
	cases := map[string]struct {
		reason        string
		before, after client.Object
		metric        string // the one whose sum is 90 s, or empty
	}{
		"HoldEnded":     {"A hold that ends is observed with the reason that it had.", held, released, "operator_status_hold_duration_seconds"},
		"StillHeld":     {"A hold that goes on is not observed.", held, held, ""},
		"PlanComplete":  {"An InstallPlan is observed when it ends.", plan(olm.InstallPlanPhaseInstalling), plan(olm.InstallPlanPhaseComplete), "operator_status_install_plan_duration_seconds"},
		"PlanUnchanged": {"A further update of a plan that ended is not.", plan(olm.InstallPlanPhaseComplete), plan(olm.InstallPlanPhaseComplete), ""},
		"Installed":     {"An install takes from Installing to Succeeded.", csv(olm.CSVPhaseInstalling), succeeded, "operator_status_operator_install_duration_seconds"},
		"Pending":       {"What waited was not being installed.", csv(olm.CSVPhasePending), succeeded, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			registry, leading := prometheus.NewPedanticRegistry(), make(chan struct{})
			d, err := NewDurations(registry, leading)
			if err != nil {
				t.Fatal(err)
			}
			d.now = func() time.Time { return later.Time }
			d.Handler().OnUpdate(tc.before, tc.after) // by a replica that does not lead
			close(leading)
			d.Handler().OnUpdate(tc.before, tc.after)
			if got := sums(t, registry); tc.metric == "" && len(got) != 0 || tc.metric != "" && got[tc.metric] != 90 {
				t.Errorf("\n%s\ngot %v, want 90 s of %q", tc.reason, got, tc.metric)
			}
			if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
				t.Errorf("promlint: %v %v", problems, err)
			}
		})
	}
}

// sums returns the sums of the histograms that have observed something.
func sums(t *testing.T, registry prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			if m.GetHistogram().GetSampleCount() > 0 {
				out[f.GetName()] += m.GetHistogram().GetSampleSum()
			}
		}
	}
	return out
}
