package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// TestPrometheus verifies with a real Prometheus that the metrics of an update that is held, and then installed, match
// docs/metrics.md, that every query of the alerts and of the dashboard has a result, and that the hold raises an alert after
// spec.alertAfter of its policy.
func TestPrometheus(t *testing.T) {
	program := filepath.Join(testcluster.Root(), "bin", "prometheus", "prometheus")
	if _, err := os.Stat(program); err != nil {
		t.Skipf("Prometheus is not installed: make e2e downloads it on Debian: %v", err)
	}
	_, addresses := cluster.StartServingMetrics(t, "--catalog-dir="+t.TempDir())
	versions := []testcatalog.Foo{{Name: "metered", Version: "1.0.0"}, {Name: "metered", Version: "2.0.0"}}
	policy := &holdv1alpha1.ProbePolicy{ObjectMeta: metav1.ObjectMeta{Name: "metered"}}
	policy.Spec.AlertAfter = &metav1.Duration{Duration: 2 * time.Second}
	policy.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: versions[0].CRD(), Upgradeable: "!Migrating", Important: "Migrating"}}
	cluster.Create(t, policy)
	s := newStage(t, "metered", publish(t, versions[0]))
	p := startPrometheus(t, program, scraper(t, s.namespace), addresses)

	sub := s.subscribe(t, "metered")
	s.awaitInstalled(t, sub, versions[0].CSV())
	busy := s.custom(t, "metered", "busy", `[{type: Migrating, status: "True"}]`)
	s.awaitProbe(t, versions[0].CSV(), metav1.ConditionFalse) // what holds later than the update waits gives the metric another time
	s.offer(t, publish(t, versions...))
	s.awaitTrue(t, sub, v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, "busy")
	held := fmt.Sprintf(`operator_status_operator_blocked_since_timestamp_seconds{namespace=%q, operator="metered", impact="Held", by="Probe", reason="ProbeNotUpgradeable"}`,
		s.namespace)
	condition := sub.Status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
	p.await(t, fmt.Sprintf("%s == %d", held, condition.LastTransitionTime.Unix()))
	p.await(t, `operator_status_operators{state="Running", up_to_date="False"} > 0 and on () operator_status_blocked_operators{impact="Held"} > 0`)

	alert := fmt.Sprintf(`ALERTS{alertname="HeldTooLong", alertstate="firing", namespace=%q, operator="metered", by="Probe"}`, s.namespace)
	p.await(t, alert)
	notice := fmt.Sprintf(`operator_status_operator_notice_since_timestamp_seconds{namespace=%q, operator="metered", by="Probe", reason="ConditionsTrue"}`, s.namespace)
	p.await(t, notice)

	finishMigration(t, busy)
	s.awaitInstalled(t, sub, versions[1].CSV())
	p.await(t, `operator_status_hold_duration_seconds_count{reason="ProbeNotUpgradeable"} > 0`)
	p.await(t, fmt.Sprintf("absent(%s) and on () absent(%s) and on () absent(%s)", held, alert, notice))

	for _, name := range documentedMetrics(t) {
		if !onlyOfFailures.MatchString(name) {
			p.await(t, fmt.Sprintf(`count_over_time({__name__=~"%s(_count)?"}[10m])`, name))
		}
	}
	for _, series := range p.query(t, `group by (__name__) ({__name__=~"operator_status_.+"})`) {
		name := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(series.Metric["__name__"], "")
		if !slices.Contains(documentedMetrics(t), name) {
			t.Errorf("the manager serves %s, which docs/metrics.md does not list", name)
		}
	}
	for _, query := range queries(t) {
		p.query(t, query) // fails the test if Prometheus cannot execute it
	}
}

// onlyOfFailures matches the metrics without series in a cluster in which nothing fails, and whose catalogs are not polled.
var onlyOfFailures = regexp.MustCompile("_undecodable_objects$|_watch_errors_total$|_catalog_(unhealthy_since|last_poll)_")

// scraper returns the file with the token of an account that may read metrics.
func scraper(t *testing.T, namespace string) string {
	t.Helper()
	account := cluster.Account(t, namespace, "prometheus", "operator-status-metrics-reader")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(cluster.Token(t, account)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// prometheus is a running Prometheus.
type prometheus struct{ address string }

// startPrometheus starts a Prometheus that scrapes those addresses, as the ServiceMonitor has it do, and loads the alerts.
func startPrometheus(t *testing.T, program, tokenFile string, targets []string) prometheus {
	t.Helper()
	dir := t.TempDir()
	config := map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{"alerts.yaml"},
		"scrape_configs": []any{map[string]any{
			"job_name": "operator-status", "scheme": "https", "honor_labels": true,
			"authorization":  map[string]any{"credentials_file": tokenFile},
			"tls_config":     map[string]any{"insecure_skip_verify": true}, // the manager signs its certificate itself
			"static_configs": []any{map[string]any{"targets": targets}},
		}},
	}
	for file, content := range map[string]any{"prometheus.yaml": config, "alerts.yaml": alerts(t)["spec"]} {
		data, err := yaml.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := prometheus{testcluster.FreeAddress(t)}
	log, err := os.Create(filepath.Join(t.ArtifactDir(), "prometheus.log"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yaml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+out.address)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = command.Wait() // it was killed
		_ = log.Close()
		if t.Failed() {
			if text, err := os.ReadFile(log.Name()); err == nil {
				t.Logf("Prometheus: %s", text)
			}
		}
	})
	return out
}

// series is one element of the result of a query.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  []any             `json:"value"`
}

// result runs a query.
func (p prometheus) result(ctx context.Context, query string) ([]series, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read as a whole
	var body struct {
		Status, Error string
		Data          struct{ Result []series }
	}
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
		return nil, err
	}
	if body.Status != "success" {
		return nil, fmt.Errorf("query %s: %s", query, body.Error)
	}
	return body.Data.Result, nil
}

// query returns the result of a query.
func (p prometheus) query(t *testing.T, query string) []series {
	t.Helper()
	out, err := p.result(t.Context(), query)
	if err != nil {
		t.Error(err)
	}
	return out
}

// await waits until a query has a result.
func (p prometheus) await(t *testing.T, query string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, testcluster.Timeout, true, func(ctx context.Context) (bool, error) {
		got, err := p.result(ctx, query)
		last = err
		return len(got) > 0, nil
	})
	if err != nil {
		t.Fatalf("query %s has no result: %v; operator_status_operator_blocked_since_timestamp_seconds is %v", query, last,
			p.query(t, "operator_status_operator_blocked_since_timestamp_seconds"))
	}
}

// documentedMetrics returns the metrics that docs/metrics.md lists.
func documentedMetrics(t *testing.T) (out []string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testcluster.Root(), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile("(?m)^\\| `(operator_status_\\w+)`").FindAllStringSubmatch(string(data), -1) {
		out = append(out, found[1])
	}
	return out
}

// alerts returns the manifest of the alerts.
func alerts(t *testing.T) (out map[string]any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "prometheus", "alerts.yaml"))
	if err == nil {
		err = yaml.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// queries returns the queries of the alerts and of the dashboard, whose variables select everything.
func queries(t *testing.T) (out []string) {
	t.Helper()
	dashboard, err := os.ReadFile(filepath.Join(testcluster.Root(), "config", "prometheus", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := json.Marshal(alerts(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`"expr": ?("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(string(dashboard)+string(rules), -1) {
		var query string
		if err := json.Unmarshal([]byte(found[1]), &query); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.NewReplacer("$job", ".+", "$instance", ".+", "$__rate_interval", "1m").Replace(query))
	}
	if len(out) < 15 {
		t.Fatalf("found only %d queries", len(out))
	}
	return out
}
