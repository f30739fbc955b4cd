// Package metrics exposes the operators of a cluster to Prometheus: the present from the same inventory that the command
// line prints, and how long holds and installs took from the statuses of the objects.
package metrics

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
	"github.com/operator-status/operator-status/internal/operator"
)

// MaxSeries limits the series that name an object, of each metric. Beyond it the newest ones of the namespaces with the most are left out,
// and counted in operator_status_omitted_series.
const MaxSeries = 500

// scrapeTimeout is how long a scrape waits for the caches.
const scrapeTimeout = 5 * time.Second

var (
	operators = prometheus.NewDesc("operator_status_operators",
		"Operators by state, and by whether the newest version of their channel runs.", []string{"state", "up_to_date"}, nil)
	blocked = prometheus.NewDesc("operator_status_blocked_operators",
		"Operators that a user has to repair (Broken), or whose update waits (Held).", []string{"impact"}, nil)
	blockedSince = prometheus.NewDesc("operator_status_operator_blocked_since_timestamp_seconds",
		"When an operator became blocked, by the kind of the blocking object and the reason.",
		[]string{"namespace", "operator", "impact", "by", "reason"}, nil)
	noticeSince = prometheus.NewDesc("operator_status_operator_notice_since_timestamp_seconds",
		"When a notice about an operator began, by the kind of the reporting object and the reason.",
		[]string{"namespace", "operator", "by", "reason"}, nil)
	alertAfter = prometheus.NewDesc("operator_status_operator_alert_after_seconds",
		"After how long a Probe's hold raises an alert, where that is not the default.",
		[]string{"namespace", "operator", "by", "reason"}, nil)
	probes = prometheus.NewDesc("operator_status_probes",
		"Probes by their condition Upgradeable.", []string{"upgradeable"}, nil)
	platformOperators = prometheus.NewDesc("operator_status_platform_operators",
		"PlatformOperators by their condition Ready.", []string{"ready"}, nil)
	catalogs = prometheus.NewDesc("operator_status_catalogs",
		"CatalogSources by their health.", []string{"healthy"}, nil)
	catalogUnhealthySince = prometheus.NewDesc("operator_status_catalog_unhealthy_since_timestamp_seconds",
		"When a CatalogSource became unhealthy, or its health unknown.", []string{"namespace", "catalog", "reason"}, nil)
	catalogPolled = prometheus.NewDesc("operator_status_catalog_last_poll_timestamp_seconds",
		"When the image of a polled CatalogSource was last looked up.", []string{"namespace", "catalog"}, nil)
	omitted = prometheus.NewDesc("operator_status_omitted_series",
		"Series that are omitted because of the limit.", []string{"metric"}, nil)
)

// Operators is a collector of the operators of a cluster. It reads them from the cache whenever it is scraped, and
// collects nothing while another replica leads.
type Operators struct {
	installers installer.Installers
	reader     client.Reader
	leading    <-chan struct{}
	now        func() time.Time

	mu    sync.Mutex
	kinds []installer.Kind
	since time.Time // when it first collected
}

// NewOperators returns a collector that reads the kinds that are added to it from a cache, once leading is closed.
func NewOperators(installers installer.Installers, reader client.Reader, leading <-chan struct{}) *Operators {
	return &Operators{installers: installers, reader: reader, leading: leading, now: time.Now}
}

// Kinds returns the kinds that it can read. Each is to be added once it is installed.
func (o *Operators) Kinds() []installer.Kind { return o.installers.Kinds() }

// Add has the collector read a kind.
func (o *Operators) Add(kind installer.Kind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kinds = append(o.kinds, kind)
}

// Describe implements prometheus.Collector.
func (o *Operators) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		operators, blocked, blockedSince, noticeSince, alertAfter, probes, platformOperators, catalogs, catalogUnhealthySince, catalogPolled, omitted,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (o *Operators) Collect(out chan<- prometheus.Metric) {
	if !closed(o.leading) {
		return
	}
	c, err := o.cluster()
	if err != nil {
		out <- prometheus.NewInvalidMetric(operators, err)
		return
	}
	allProbes := installer.Values[v1alpha1.Probe](c)
	s := scrape{out: out, began: o.since, alertAfter: alertsOf(allProbes)}
	s.operators(o.installers.Operators(c))
	s.catalogs(olmv0.Catalogs(installer.Values[olm.CatalogSource](c)))
	counts(out, probes, allProbes, func(p *v1alpha1.Probe) string {
		return statusOf(p.Status.Conditions, v1alpha1.ConditionUpgradeable)
	})
	counts(out, platformOperators, installer.Values[platformv1alpha1.PlatformOperator](c), func(p *platformv1alpha1.PlatformOperator) string {
		return statusOf(p.Status.Conditions, platformv1alpha1.ConditionReady)
	})
}

// cluster reads the kinds that are installed.
func (o *Operators) cluster() (out installer.Cluster, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.since = o.now()
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for _, kind := range o.kinds {
		list := kind.List()
		if err := o.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return out, fmt.Errorf("listing %s: %w", kind.Plural, err)
		}
		if err := out.Add(list, nil); err != nil { // the objects belong to the cache, and are only read
			return out, fmt.Errorf("listing %s: %w", kind.Plural, err)
		}
	}
	return out, nil
}

// scrape is one collection.
type scrape struct {
	out   chan<- prometheus.Metric
	began time.Time // the first collection, which stands for unknown times

	alertAfter map[string]time.Duration // by installer.ByProbe
}

func alertsOf(probes []v1alpha1.Probe) map[string]time.Duration {
	out := map[string]time.Duration{}
	for i := range probes {
		if p := &probes[i]; p.Spec != nil && p.Spec.AlertAfter != nil {
			out[installer.ByProbe(p)] = p.Spec.AlertAfter.Duration
		}
	}
	return out
}

func (s scrape) operators(all []operator.Operator) {
	type key struct{ state, upToDate string }
	numbers := map[key]int{}
	for _, state := range operator.States {
		for _, status := range statuses {
			numbers[key{string(state), status}] = 0
		}
	}
	impacts := map[operator.Impact]int{operator.Broken: 0, operator.Held: 0}
	var blocking, notices series
	for _, o := range all {
		numbers[key{string(o.State), string(o.UpToDate)}]++
		for impact := range impacts {
			if slices.ContainsFunc(o.Blockers, func(b operator.Blocker) bool { return b.Impact == impact }) {
				impacts[impact]++
			}
		}
		s.addBlockers(&blocking, o)
		s.addNotices(&notices, o)
	}
	for k, n := range numbers {
		s.gauge(operators, float64(n), k.state, k.upToDate)
	}
	for impact, n := range impacts {
		s.gauge(blocked, float64(n), string(impact))
	}
	s.timestamps(blockedSince, "operator_status_operator_blocked_since_timestamp_seconds", blocking.all)
	s.timestamps(noticeSince, "operator_status_operator_notice_since_timestamp_seconds", notices.all)
	for _, n := range oldest(blocking.all, MaxSeries) {
		if n.alertAfter > 0 {
			s.gauge(alertAfter, n.alertAfter.Seconds(), n.labels[0], n.labels[1], n.labels[3], n.labels[4])
		}
	}
}

// addBlockers adds a series for each kind and reason of an operator's blockers, with the time of the oldest, and the shortest alertAfter.
func (s scrape) addBlockers(to *series, o operator.Operator) {
	for _, b := range o.Blockers {
		n := named{at: s.at(b.Since), labels: []string{o.Namespace, o.Name, string(b.Impact), kindOf(b), bounded(b.Reason)}}
		if b.Impact == operator.Held {
			n.alertAfter = s.alertAfter[b.By]
		}
		to.add(n)
	}
}

// addNotices adds a series for each kind and reason of an operator's notices, with the time of the oldest.
func (s scrape) addNotices(to *series, o operator.Operator) {
	for _, b := range o.Notices {
		to.add(named{at: s.at(b.Since), labels: []string{o.Namespace, o.Name, kindOf(b), bounded(b.Reason)}})
	}
}

// kindOf returns the kind of the object that reports a blocker.
func kindOf(b operator.Blocker) string {
	kind, _, _ := strings.Cut(b.By, " ")
	return kind
}

// series are those of a metric. No two have the same labels, although two installers may have operators of the same name.
type series struct {
	all []named
	at  map[string]int // of the labels in all
}

// add adds a series, or merges it into one with the same labels.
func (s *series) add(n named) {
	key := strings.Join(n.labels, "\x00")
	at, found := s.at[key]
	if !found {
		if s.at == nil {
			s.at = map[string]int{}
		}
		s.at[key], s.all = len(s.all), append(s.all, n)
		return
	}
	known := &s.all[at]
	if n.at.Before(known.at) {
		known.at = n.at
	}
	if n.alertAfter > 0 && (known.alertAfter == 0 || n.alertAfter < known.alertAfter) {
		known.alertAfter = n.alertAfter
	}
}

func (s scrape) catalogs(all []olmv0.Catalog) {
	var unhealthy, polled []named
	for _, c := range all {
		if c.Healthy.Status != metav1.ConditionTrue {
			unhealthy = append(unhealthy, named{at: s.at(c.Healthy.LastTransitionTime), labels: []string{c.Namespace, c.Name, bounded(c.Healthy.Reason)}})
		}
		if !c.Polled.IsZero() {
			polled = append(polled, named{at: c.Polled.Time, labels: []string{c.Namespace, c.Name}})
		}
	}
	counts(s.out, catalogs, all, func(c *olmv0.Catalog) string { return string(c.Healthy.Status) })
	s.timestamps(catalogUnhealthySince, "operator_status_catalog_unhealthy_since_timestamp_seconds", unhealthy)
	s.timestamps(catalogPolled, "operator_status_catalog_last_poll_timestamp_seconds", polled)
}

// named is a series that names an object.
type named struct {
	at     time.Time
	labels []string

	alertAfter time.Duration // of a hold, or 0 for the default
}

// timestamps collects at most MaxSeries of a metric.
func (s scrape) timestamps(d *prometheus.Desc, name string, all []named) {
	for _, n := range oldest(all, MaxSeries) {
		s.gauge(d, float64(n.at.Unix()), n.labels...)
	}
	s.gauge(omitted, float64(max(len(all)-MaxSeries, 0)), name)
}

// oldest returns at most n series: in turn the oldest one of each namespace, so that none displaces those of the others. Their first label is
// the namespace.
func oldest(all []named, n int) []named {
	slices.SortFunc(all, func(a, b named) int { return cmp.Or(a.at.Compare(b.at), slices.Compare(a.labels, b.labels)) })
	if len(all) <= n {
		return all
	}
	before := map[string]int{}
	turns := make([][]named, 0, len(all))
	for _, s := range all {
		turn := before[s.labels[0]]
		before[s.labels[0]]++
		if turn == len(turns) {
			turns = append(turns, nil)
		}
		turns[turn] = append(turns[turn], s)
	}
	return slices.Concat(turns...)[:n]
}

func (s scrape) at(t metav1.Time) time.Time {
	if t.IsZero() {
		return s.began
	}
	return t.Time
}

func (s scrape) gauge(d *prometheus.Desc, value float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

var statuses = []string{string(metav1.ConditionTrue), string(metav1.ConditionFalse), string(metav1.ConditionUnknown)}

// counts collects the number of objects by a status.
func counts[T any](out chan<- prometheus.Metric, d *prometheus.Desc, all []T, status func(*T) string) {
	numbers := map[string]int{}
	for i := range all {
		numbers[status(&all[i])]++
	}
	for _, s := range statuses {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(numbers[s]), s)
	}
}

func statusOf(conditions []metav1.Condition, t string) string {
	if c := meta.FindStatusCondition(conditions, t); c != nil && slices.Contains(statuses, string(c.Status)) {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

var reasonForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)

// bounded returns a reason as a label. Reasons that other controllers write need not be identifiers.
func bounded(reason string) string {
	if reasonForm.MatchString(reason) {
		return reason
	}
	return "Other"
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
