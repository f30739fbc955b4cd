package metrics

import (
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
)

// Durations are histograms of holds, InstallPlans and installs that have ended, whether OLM or the built-in loops ran them.
// They are computed from the statuses before and after, so no loop has to measure.
type Durations struct {
	holds    *prometheus.HistogramVec
	plans    *prometheus.HistogramVec
	installs prometheus.Histogram
	leading  <-chan struct{}
	now      func() time.Time
}

// NewDurations returns Durations whose metrics are registered with registry. They observe nothing before leading is closed.
func NewDurations(registry prometheus.Registerer, leading <-chan struct{}) (*Durations, error) {
	out := &Durations{
		holds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "operator_status_hold_duration_seconds", Help: "Duration of holds that have ended.",
			Buckets: []float64{1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600},
		}, []string{"reason"}),
		plans: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "operator_status_install_plan_duration_seconds", Help: "How long InstallPlans took from their start to their end.",
			Buckets: seconds,
		}, []string{"phase"}),
		installs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "operator_status_operator_install_duration_seconds",
			Help: "How long ClusterServiceVersions were Installing until they Succeeded.", Buckets: seconds,
		}),
		leading: leading, now: time.Now,
	}
	for _, c := range []prometheus.Collector{out.holds, out.plans, out.installs} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// seconds are the buckets of work that is expected to take seconds or minutes.
var seconds = []float64{.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900}

// NewResolution returns a histogram of the durations of resolving a namespace, registered with registry.
func NewResolution(registry prometheus.Registerer) (prometheus.Observer, error) {
	out := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "operator_status_resolution_duration_seconds", Help: "How long it took to resolve all Subscriptions of a namespace.",
		Buckets: []float64{.0001, .001, .01, .1, .5, 1, 2.5, 5, 10},
	})
	return out, registry.Register(out)
}

// Handler returns a handler for the informers of Subscriptions, InstallPlans and ClusterServiceVersions.
func (d *Durations) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		if !closed(d.leading) {
			return
		}
		switch after := after.(type) {
		case *v1alpha1.Subscription:
			d.subscription(before.(*v1alpha1.Subscription), after)
		case *olm.InstallPlan:
			d.plan(before.(*olm.InstallPlan), after)
		case *v1alpha1.ClusterServiceVersion:
			d.csv(before.(*v1alpha1.ClusterServiceVersion), after)
		}
	}}
}

// subscription observes a hold that ended.
func (d *Durations) subscription(before, after *v1alpha1.Subscription) {
	was, is := before.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld), after.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
	if was.Status == corev1.ConditionTrue && is.Status != corev1.ConditionTrue && was.LastTransitionTime != nil {
		d.holds.WithLabelValues(bounded(was.Reason)).Observe(d.between(*was.LastTransitionTime, is.LastTransitionTime))
	}
}

// plan observes an InstallPlan that ended.
func (d *Durations) plan(before, after *olm.InstallPlan) {
	phase := after.Status.Phase
	if phase != before.Status.Phase && (phase == olm.InstallPlanPhaseComplete || phase == olm.InstallPlanPhaseFailed) && after.Status.StartTime != nil {
		d.plans.WithLabelValues(string(phase)).Observe(d.between(*after.Status.StartTime, nil))
	}
}

// csv observes a ClusterServiceVersion that was Installing and has Succeeded.
func (d *Durations) csv(before, after *v1alpha1.ClusterServiceVersion) {
	began := before.Status.LastTransitionTime
	if before.Status.Phase == olm.CSVPhaseInstalling && after.Status.Phase == olm.CSVPhaseSucceeded && began != nil {
		d.installs.Observe(d.between(*began, after.Status.LastTransitionTime))
	}
}

// between returns the seconds from one time to another, or to now if that is nil.
func (d *Durations) between(from metav1.Time, to *metav1.Time) float64 {
	end := d.now()
	if to != nil {
		end = to.Time
	}
	return max(end.Sub(from.Time).Seconds(), 0)
}
