package probe

import "github.com/prometheus/client_golang/prometheus"

var (
	budgetUsed = prometheus.NewDesc("operator_status_probe_watches",
		"Watches that Probes need, each counted for every Probe that shares it.", nil, nil)
	budgetLimit = prometheus.NewDesc("operator_status_probe_watches_limit",
		"Maximum number of watches of all Probes. A Probe that would exceed it reports TooManyWatches.", nil, nil)
)

// Describe implements prometheus.Collector.
func (r *StatusReconciler) Describe(out chan<- *prometheus.Desc) {
	out <- budgetUsed
	out <- budgetLimit
}

// Collect implements prometheus.Collector.
func (r *StatusReconciler) Collect(out chan<- prometheus.Metric) {
	used, limit := r.readings.use()
	out <- prometheus.MustNewConstMetric(budgetUsed, prometheus.GaugeValue, float64(used))
	out <- prometheus.MustNewConstMetric(budgetLimit, prometheus.GaugeValue, float64(limit))
}
