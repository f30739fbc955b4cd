package watch

import (
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var watches = prometheus.NewDesc("operator_status_watches", "Open watches on custom resources.", nil, nil)

func newErrors() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "operator_status_watch_errors_total", Help: "Failed attempts to list or watch custom resources, by the reason of the API server.",
	}, []string{"reason"})
}

// reasonOf returns the reason of a failure as a label: that of the API server, or Other.
func reasonOf(err error) string {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	return "Other"
}

// Describe implements prometheus.Collector.
func (e *Engine) Describe(out chan<- *prometheus.Desc) {
	out <- watches
	e.errors.Describe(out)
}

// Collect implements prometheus.Collector.
func (e *Engine) Collect(out chan<- prometheus.Metric) {
	e.mu.Lock()
	open := len(e.sources)
	e.mu.Unlock()
	out <- prometheus.MustNewConstMetric(watches, prometheus.GaugeValue, float64(open))
	e.errors.Collect(out)
}
