package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/installer/controllers"
	"github.com/operator-status/operator-status/internal/installer/olmv0"
)

var (
	began   = metav1.Unix(1000, 0)
	scraped = time.Unix(5000, 0)
)

func sub(name string, conditions ...v1alpha1.SubscriptionCondition) *v1alpha1.Subscription {
	out := &v1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	out.Spec = &olm.SubscriptionSpec{Package: name, Channel: "stable", CatalogSource: "catalog", CatalogSourceNamespace: "olm"}
	out.Status.InstalledCSV, out.Status.CurrentCSV = name+".v1", name+".v1"
	out.Status.Conditions = append(conditions, v1alpha1.SubscriptionCondition{
		Type: v1alpha1.SubscriptionUpToDate, Status: corev1.ConditionFalse, Reason: v1alpha1.ReasonNewestDoesNotRun, LastTransitionTime: &began,
	})
	return out
}

func csv(phase olm.ClusterServiceVersionPhase) *v1alpha1.ClusterServiceVersion {
	out := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
	out.Status.Phase, out.Status.LastTransitionTime = phase, &began
	return out
}

func condition(t v1alpha1.SubscriptionConditionType, reason string, since *metav1.Time) v1alpha1.SubscriptionCondition {
	return v1alpha1.SubscriptionCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: reason, LastTransitionTime: since}
}

func catalog(name, state string) *olm.CatalogSource {
	out := &olm.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: "olm", Name: name}}
	out.Status.GRPCConnectionState = &olm.GRPCConnectionState{LastObservedState: state, LastConnectTime: began}
	out.Status.LatestImageRegistryPoll = &began
	return out
}

// hold returns the UpgradeHold of an operator of an installer.
func hold(name string, of holdv1alpha1.Installer, held metav1.ConditionStatus) *holdv1alpha1.UpgradeHold {
	out := &holdv1alpha1.UpgradeHold{ObjectMeta: metav1.ObjectMeta{Name: name}}
	out.Spec.Operator = holdv1alpha1.OperatorReference{Installer: of, Namespace: "default", Name: name}
	out.Status.Conditions = []metav1.Condition{{Type: holdv1alpha1.ConditionHeld, Status: held, LastTransitionTime: began}}
	out.Status.Holds = []holdv1alpha1.HoldCause{{Reason: v1alpha1.ReasonProbeNotUpgradeable, By: "Probe default/" + name, Since: &began}}
	return out
}

// unnoted returns an UpgradeHold whose causes have no times.
func unnoted(h *holdv1alpha1.UpgradeHold) *holdv1alpha1.UpgradeHold {
	for i := range h.Status.Holds {
		h.Status.Holds[i].Since = nil
	}
	return h
}

// alerting returns a Probe whose hold raises an alert after some time.
func alerting(name string, after time.Duration) *v1alpha1.Probe {
	return &v1alpha1.Probe{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: &v1alpha1.ProbeSpec{AlertAfter: &metav1.Duration{Duration: after}},
	}
}

// important returns a Probe that reports an important condition, of an operator of its name if that has an installer.
func important(name string, of string) *v1alpha1.Probe {
	out := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: &v1alpha1.ProbeSpec{}}
	if of != "" {
		out.Spec.Operator = &v1alpha1.ProbedOperator{Installer: of, Name: name}
	}
	out.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionImportant, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConditionsTrue, LastTransitionTime: began,
	}}
	return out
}

// collector returns a collector of those objects, of a manager that leads.
func collector(t *testing.T, objects ...client.Object) *Operators {
	t.Helper()
	installers, scheme := installer.Installers{olmv0.Installer{}, controllers.Reported{}}, runtime.NewScheme()
	for _, kind := range installers.Kinds() {
		if err := kind.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
	}
	leading := make(chan struct{})
	close(leading)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	out := NewOperators(installers, reader, leading)
	out.now = func() time.Time { return scraped }
	for _, kind := range out.Kinds() {
		out.Add(kind)
	}
	return out
}

func TestOperators(t *testing.T) {
	held := condition(v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, &began)
	broken := condition(v1alpha1.SubscriptionPackageChannelInvalid, v1alpha1.ReasonChannelNotFound, nil)
	odd := condition(v1alpha1.SubscriptionInstalledCSVFailed, "what a controller wrote: "+strings.Repeat("x", 100), &began)
	blind := &v1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}, Spec: &v1alpha1.ProbeSpec{}}
	blind.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionSynced, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonForbidden, LastTransitionTime: began,
	}}
	cases := map[string]struct {
		reason  string
		objects []client.Object
		metrics []string
		want    string
	}{
		"Blocked": {
			reason:  "Each reason has its time. What has none began when it was first seen.",
			objects: []client.Object{sub("foo", held, broken), csv(olm.CSVPhaseSucceeded), blind},
			metrics: []string{"operator_status_operator_blocked_since_timestamp_seconds", "operator_status_blocked_operators"},
			want: `# HELP operator_status_blocked_operators Operators that a user has to repair (Broken), or whose update waits (Held).
# TYPE operator_status_blocked_operators gauge
operator_status_blocked_operators{impact="Broken"} 1
operator_status_blocked_operators{impact="Held"} 1
# HELP operator_status_operator_blocked_since_timestamp_seconds When an operator became blocked, by the kind of the blocking object and the reason.
# TYPE operator_status_operator_blocked_since_timestamp_seconds gauge
operator_status_operator_blocked_since_timestamp_seconds{by="Subscription",impact="Broken",namespace="default",operator="foo",reason="ChannelNotFound"} 5000
operator_status_operator_blocked_since_timestamp_seconds{by="Probe",impact="Broken",namespace="default",operator="foo",reason="Forbidden"} 1000
operator_status_operator_blocked_since_timestamp_seconds{by="Probe",impact="Held",namespace="default",operator="foo",reason="ProbeNotUpgradeable"} 1000
`,
		},
		"SameName": {
			reason: "Two installers may have an operator of the same name. A cause without a time is as old as the hold.",
			objects: []client.Object{unnoted(hold("foo", holdv1alpha1.InstallerHelm, metav1.ConditionTrue)), func() client.Object {
				out := unnoted(hold("foo", holdv1alpha1.InstallerWorkload, metav1.ConditionTrue))
				out.Name = "other"
				return out
			}()},
			metrics: []string{"operator_status_operator_blocked_since_timestamp_seconds"},
			want: `# HELP operator_status_operator_blocked_since_timestamp_seconds When an operator became blocked, by the kind of the blocking object and the reason.
# TYPE operator_status_operator_blocked_since_timestamp_seconds gauge
operator_status_operator_blocked_since_timestamp_seconds{by="Probe",impact="Held",namespace="default",operator="foo",reason="ProbeNotUpgradeable"} 1000
`,
		},
		"HeldWithoutOLM": {
			reason: "Whatever installs an operator, it is held. One that OLM installs is counted with its Subscription.",
			objects: []client.Object{
				hold("a", holdv1alpha1.InstallerHelm, metav1.ConditionTrue), hold("b", holdv1alpha1.InstallerWorkload, metav1.ConditionFalse),
				hold("c", holdv1alpha1.InstallerOLM, metav1.ConditionTrue),
			},
			metrics: []string{"operator_status_operator_blocked_since_timestamp_seconds", "operator_status_blocked_operators"},
			want: `# HELP operator_status_blocked_operators Operators that a user has to repair (Broken), or whose update waits (Held).
# TYPE operator_status_blocked_operators gauge
operator_status_blocked_operators{impact="Broken"} 0
operator_status_blocked_operators{impact="Held"} 1
# HELP operator_status_operator_blocked_since_timestamp_seconds When an operator became blocked, by the kind of the blocking object and the reason.
# TYPE operator_status_operator_blocked_since_timestamp_seconds gauge
operator_status_operator_blocked_since_timestamp_seconds{by="Probe",impact="Held",namespace="default",operator="a",reason="ProbeNotUpgradeable"} 1000
`,
		},
		"Notices": {
			reason:  "Each notice has its time, whatever installs the operator. One of a Probe whose operator OLM does not install names that.",
			objects: []client.Object{sub("foo"), csv(olm.CSVPhaseSucceeded), important("foo.v1", ""), important("a", "Helm")},
			metrics: []string{"operator_status_operator_notice_since_timestamp_seconds", "operator_status_blocked_operators"},
			want: `# HELP operator_status_blocked_operators Operators that a user has to repair (Broken), or whose update waits (Held).
# TYPE operator_status_blocked_operators gauge
operator_status_blocked_operators{impact="Broken"} 0
operator_status_blocked_operators{impact="Held"} 0
# HELP operator_status_operator_notice_since_timestamp_seconds When a notice about an operator began, by the kind of the reporting object and the reason.
# TYPE operator_status_operator_notice_since_timestamp_seconds gauge
operator_status_operator_notice_since_timestamp_seconds{by="Probe",namespace="default",operator="a",reason="ConditionsTrue"} 1000
operator_status_operator_notice_since_timestamp_seconds{by="Probe",namespace="default",operator="foo",reason="ConditionsTrue"} 1000
`,
		},
		"AlertAfter": {
			reason: "A Probe decides when its hold raises an alert.",
			objects: []client.Object{
				hold("a", holdv1alpha1.InstallerHelm, metav1.ConditionTrue), hold("b", holdv1alpha1.InstallerHelm, metav1.ConditionTrue),
				alerting("a", 2*time.Hour), alerting("c", time.Hour),
			},
			metrics: []string{"operator_status_operator_alert_after_seconds"},
			want: `# HELP operator_status_operator_alert_after_seconds After how long a Probe's hold raises an alert, where that is not the default.
# TYPE operator_status_operator_alert_after_seconds gauge
operator_status_operator_alert_after_seconds{by="Probe",namespace="default",operator="a",reason="ProbeNotUpgradeable"} 7200
`,
		},
		"OddReason": {
			reason:  "A reason that is no identifier is no label.",
			objects: []client.Object{sub("foo", odd), csv(olm.CSVPhaseFailed)},
			metrics: []string{"operator_status_operator_blocked_since_timestamp_seconds"},
			want: `# HELP operator_status_operator_blocked_since_timestamp_seconds When an operator became blocked, by the kind of the blocking object and the reason.
# TYPE operator_status_operator_blocked_since_timestamp_seconds gauge
operator_status_operator_blocked_since_timestamp_seconds{by="ClusterServiceVersion",impact="Broken",namespace="default",operator="foo",reason="Other"} 1000
`,
		},
		"Catalogs": {
			reason:  "An unhealthy catalog is named with the time since, all are counted.",
			objects: []client.Object{catalog("catalog", "READY"), catalog("gone", "TRANSIENT_FAILURE"), catalog("new", "CONNECTING")},
			metrics: []string{"operator_status_catalogs", "operator_status_catalog_unhealthy_since_timestamp_seconds",
				"operator_status_catalog_last_poll_timestamp_seconds"},
			want: `# HELP operator_status_catalog_last_poll_timestamp_seconds When the image of a polled CatalogSource was last looked up.
# TYPE operator_status_catalog_last_poll_timestamp_seconds gauge
operator_status_catalog_last_poll_timestamp_seconds{catalog="catalog",namespace="olm"} 1000
operator_status_catalog_last_poll_timestamp_seconds{catalog="gone",namespace="olm"} 1000
operator_status_catalog_last_poll_timestamp_seconds{catalog="new",namespace="olm"} 1000
# HELP operator_status_catalog_unhealthy_since_timestamp_seconds When a CatalogSource became unhealthy, or its health unknown.
# TYPE operator_status_catalog_unhealthy_since_timestamp_seconds gauge
operator_status_catalog_unhealthy_since_timestamp_seconds{catalog="gone",namespace="olm",reason="Unreachable"} 1000
operator_status_catalog_unhealthy_since_timestamp_seconds{catalog="new",namespace="olm",reason="Connecting"} 1000
# HELP operator_status_catalogs CatalogSources by their health.
# TYPE operator_status_catalogs gauge
operator_status_catalogs{healthy="False"} 1
operator_status_catalogs{healthy="True"} 1
operator_status_catalogs{healthy="Unknown"} 1
`,
		},
		"None": {
			reason:  "A cluster without operators has a series for each state, so that rates and sums work.",
			metrics: []string{"operator_status_probes", "operator_status_platform_operators"},
			want: `# HELP operator_status_platform_operators PlatformOperators by their condition Ready.
# TYPE operator_status_platform_operators gauge
operator_status_platform_operators{ready="False"} 0
operator_status_platform_operators{ready="True"} 0
operator_status_platform_operators{ready="Unknown"} 0
# HELP operator_status_probes Probes by their condition Upgradeable.
# TYPE operator_status_probes gauge
operator_status_probes{upgradeable="False"} 0
operator_status_probes{upgradeable="True"} 0
operator_status_probes{upgradeable="Unknown"} 0
`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := collector(t, tc.objects...)
			if err := testutil.CollectAndCompare(c, strings.NewReader(tc.want), tc.metrics...); err != nil {
				t.Errorf("\n%s\n%v", tc.reason, err)
			}
			problems, err := testutil.CollectAndLint(c)
			if err != nil || len(problems) > 0 {
				t.Errorf("promlint: %v %v", problems, err)
			}
		})
	}
}

// TestBounded verifies that a cluster in which everything is blocked does not flood Prometheus, and that the omitted series
// are counted and are the newest.
func TestBounded(t *testing.T) {
	var objects []client.Object
	for i := range MaxSeries + 7 {
		at := metav1.Unix(int64(1000+i), 0)
		objects = append(objects, sub(fmt.Sprintf("foo-%d", i), condition(v1alpha1.SubscriptionUpgradeHeld, v1alpha1.ReasonProbeNotUpgradeable, &at)))
	}
	c := collector(t, objects...)
	const metric = "operator_status_operator_blocked_since_timestamp_seconds"
	if got := testutil.CollectAndCount(c, metric); got != MaxSeries {
		t.Errorf("got %d series, want %d", got, MaxSeries)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	left, newest := 0.0, 0.0
	for _, f := range families {
		for _, m := range f.Metric {
			switch {
			case f.GetName() == metric:
				newest = max(newest, m.GetGauge().GetValue())
			case f.GetName() == "operator_status_omitted_series" && m.Label[0].GetValue() == metric:
				left = m.GetGauge().GetValue()
			}
		}
	}
	if left != 7 || newest != float64(1000+MaxSeries-1) {
		t.Errorf("got %v omitted series, the newest of those collected from %v; want 7 and %v", left, newest, 1000+MaxSeries-1)
	}
}

// TestStandby verifies that a replica that does not lead collects nothing: sums over replicas would count twice.
func TestStandby(t *testing.T) {
	c := NewOperators(nil, nil, make(chan struct{}))
	if got := testutil.CollectAndCount(c); got != 0 {
		t.Errorf("got %d series, want 0", got)
	}
}

func TestOldest(t *testing.T) {
	series := func(namespace string, at ...int64) []named {
		var out []named
		for _, seconds := range at {
			out = append(out, named{at: time.Unix(seconds, 0), labels: []string{namespace, strconv.FormatInt(seconds, 10)}})
		}
		return out
	}
	for name, tc := range map[string]struct {
		reason string
		all    []named
		want   []string
	}{
		"Few":   {"All are there, the oldest first.", slices.Concat(series("a", 3, 1), series("b", 2)), []string{"a 1", "b 2", "a 3"}},
		"One":   {"Of one namespace, the newest are left out.", series("a", 5, 4, 3, 2, 1), []string{"a 1", "a 2", "a 3"}},
		"Crowd": {"A namespace with many does not displace others.", slices.Concat(series("a", 1, 2, 3, 4, 5), series("b", 7), series("c", 6)), []string{"a 1", "c 6", "b 7"}},
		"Turns": {"They take turns.", slices.Concat(series("a", 1, 2, 3), series("b", 4, 5)), []string{"a 1", "b 4", "a 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range oldest(tc.all, 3) {
				got = append(got, strings.Join(s.labels, " "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}
