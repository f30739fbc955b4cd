package csv

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/operator-framework/api/pkg/lib/version"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
	"github.com/operator-status/operator-status/internal/test/golden"
)

var (
	past = metav1.Unix(1000, 0)
	now  = metav1.Unix(2000, 12345) // more precise than the API server
)

// etcd returns a version of the operator etcd, without a status.
func etcd(v string) *v1alpha1.ClusterServiceVersion {
	return &v1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "etcdoperator.v" + v, Annotations: map[string]string{
			csvchain.AnnotationProperties: fmt.Sprintf(`{"properties":[{"type":"olm.gvk","value":{"kind":"EtcdCluster"}},`+
				`{"type":"olm.package","value":{"packageName":"etcd","version":%q}}]}`, v),
		}},
		Spec: olm.ClusterServiceVersionSpec{Version: version.OperatorVersion{Version: semver.MustParse(v)}},
	}
}

// withHistory returns a ClusterServiceVersion after some earlier decisions.
func withHistory(csv *v1alpha1.ClusterServiceVersion, decisions ...Decision) *v1alpha1.ClusterServiceVersion {
	for _, d := range decisions {
		csv.Status = Compute(Inputs{CSV: csv, Decision: d, Now: past})
	}
	return csv
}

var (
	scheduling = Decision{olm.CSVPhasePending, v1alpha1.CSVReasonRequirementsUnknown, "Scheduling ClusterServiceVersion for requirement verification"}
	installing = Decision{olm.CSVPhaseInstalling, v1alpha1.CSVReasonInstallWaiting, "Deployment etcd is not available"}
	succeeded  = Decision{olm.CSVPhaseSucceeded, v1alpha1.CSVReasonInstallSuccessful, "Every deployment is available"}
	unhealthy  = Decision{olm.CSVPhaseFailed, v1alpha1.CSVReasonComponentUnhealthy, "Deployment etcd has no pod"}
	replacing  = Decision{olm.CSVPhaseReplacing, v1alpha1.CSVReasonBeingReplaced, "etcdoperator.v2.0.0 takes over"}
	deleting   = Decision{olm.CSVPhaseDeleting, v1alpha1.CSVReasonReplaced, "Replaced by ClusterServiceVersion etcdoperator.v2.0.0"}
)

func TestCompute(t *testing.T) {
	statuses := golden.Open(t)
	etcdVersion := func(v string) v1alpha1.OperatorVersion { return v1alpha1.OperatorVersion{Name: "etcd", Version: v} }
	cases := map[string]struct {
		reason     string
		csv        *v1alpha1.ClusterServiceVersion
		replaced   *v1alpha1.ClusterServiceVersion
		decision   Decision
		conditions []string // "Type=Status/Reason: message"
		version    v1alpha1.OperatorVersion
	}{
		"New": {
			reason: "A CSV without a decision is Progressing.",
			csv:    etcd("1.0.0"),
			conditions: []string{
				"Available=False/: ",
				"Progressing=True/: Working towards v1.0.0",
			},
		},
		"InstallReady": {
			reason:   "The reason and message of a phase before Succeeded are copied to the conditions.",
			csv:      withHistory(etcd("1.0.0"), scheduling),
			decision: Decision{olm.CSVPhaseInstallReady, v1alpha1.CSVReasonRequirementsMet, "All is there"},
			conditions: []string{
				"Available=False/AllRequirementsMet: All is there",
				"Progressing=True/: Working towards v1.0.0",
			},
		},
		"Installing": {
			reason:   "The version is empty until an operator has run.",
			csv:      withHistory(etcd("1.0.0"), scheduling),
			decision: installing,
			conditions: []string{
				"Available=False/InstallWaiting: Deployment etcd is not available",
				"Progressing=True/: Working towards v1.0.0",
			},
		},
		"Succeeded": {
			reason:   "The conditions of an operator that runs have no message except the version.",
			csv:      withHistory(etcd("1.0.0"), scheduling, installing),
			decision: succeeded,
			conditions: []string{
				"Available=True/: ",
				"Progressing=False/: Deployed version v1.0.0",
			},
			version: etcdVersion("1.0.0"),
		},
		"FailedBefore": {
			reason:   "An operator that fails during installation is not Progressing.",
			csv:      withHistory(etcd("1.0.0"), scheduling),
			decision: Decision{olm.CSVPhaseFailed, v1alpha1.CSVReasonInstallCheckFailed, "Deployment etcd makes no progress"},
			conditions: []string{
				"Available=False/InstallCheckFailed: Deployment etcd makes no progress",
				"Progressing=False/: Failed to deploy version v1.0.0",
			},
		},
		"FailedAfterwards": {
			reason:   "An operator that fails after it ran keeps its version.",
			csv:      withHistory(etcd("1.0.0"), succeeded),
			decision: unhealthy,
			conditions: []string{
				"Available=False/ComponentUnhealthy: Deployment etcd has no pod",
				"Progressing=False/: Deployed version v1.0.0",
			},
			version: etcdVersion("1.0.0"),
		},
		"BeingPutRight": {
			reason:   "An operator that is repaired after it ran is Progressing.",
			csv:      withHistory(etcd("1.0.0"), succeeded, unhealthy),
			decision: Decision{olm.CSVPhasePending, v1alpha1.CSVReasonNeedsReinstall, "Deployment etcd is gone"},
			conditions: []string{
				"Available=False/NeedsReinstall: Deployment etcd is gone",
				"Progressing=True/: Working towards v1.0.0",
			},
			version: etcdVersion("1.0.0"),
		},
		"Updating": {
			reason:   "During an update the version is the one that ran before.",
			csv:      etcd("2.0.0"),
			replaced: withHistory(etcd("1.0.0"), succeeded, replacing),
			decision: installing,
			conditions: []string{
				"Available=False/InstallWaiting: Deployment etcd is not available",
				"Progressing=True/: Working towards v2.0.0",
			},
			version: etcdVersion("1.0.0"),
		},
		"UpdatingFromUnreported": {
			reason: "During an update the previous version is derived if its status does not have it.",
			csv:    etcd("2.0.0"),
			replaced: func() *v1alpha1.ClusterServiceVersion {
				out := etcd("1.0.0")
				out.Status.Phase = olm.CSVPhaseSucceeded
				return out
			}(),
			decision: scheduling,
			conditions: []string{
				"Available=False/RequirementsUnknown: " + scheduling.Message,
				"Progressing=True/: Working towards v2.0.0",
			},
			version: etcdVersion("1.0.0"),
		},
		"UpdatingFromNeverRun": {
			reason:   "During an update a version that never ran is not reported.",
			csv:      etcd("2.0.0"),
			replaced: withHistory(etcd("1.0.0"), scheduling, replacing),
			decision: scheduling,
			conditions: []string{
				"Available=False/RequirementsUnknown: " + scheduling.Message,
				"Progressing=True/: Working towards v2.0.0",
			},
		},
		"UpdatingTwice": {
			reason:   "A version that is replaced before it ran passes on the one that ran before it.",
			csv:      etcd("3.0.0"),
			replaced: &v1alpha1.ClusterServiceVersion{Status: Compute(Inputs{CSV: etcd("2.0.0"), Replaced: withHistory(etcd("1.0.0"), succeeded), Decision: replacing})},
			decision: scheduling,
			conditions: []string{
				"Available=False/RequirementsUnknown: " + scheduling.Message,
				"Progressing=True/: Working towards v3.0.0",
			},
			version: etcdVersion("1.0.0"),
		},
		"FailedAfterUpdate": {
			reason:   "After an update the new version is reported even if it fails before the old CSV is deleted.",
			csv:      withHistory(etcd("2.0.0"), succeeded),
			replaced: withHistory(etcd("1.0.0"), succeeded, replacing, deleting),
			decision: unhealthy,
			conditions: []string{
				"Available=False/ComponentUnhealthy: Deployment etcd has no pod",
				"Progressing=False/: Deployed version v2.0.0",
			},
			version: etcdVersion("2.0.0"),
		},
		"Replacing": {
			reason:   "An operator that is being replaced is neither Available nor Progressing.",
			csv:      withHistory(etcd("1.0.0"), succeeded),
			decision: replacing,
			conditions: []string{
				"Available=False/BeingReplaced: etcdoperator.v2.0.0 takes over",
				"Progressing=False/: ",
			},
			version: etcdVersion("1.0.0"),
		},
		"Deleting": {
			reason:   "An operator that was replaced is neither Available nor Progressing.",
			csv:      withHistory(etcd("1.0.0"), succeeded, replacing),
			decision: deleting,
			conditions: []string{
				"Available=False/Replaced: Replaced by ClusterServiceVersion etcdoperator.v2.0.0",
				"Progressing=False/: ",
			},
			version: etcdVersion("1.0.0"),
		},
		"Unknown": {
			reason:   "The conditions are Unknown if the phase is Unknown.",
			csv:      withHistory(etcd("1.0.0"), succeeded),
			decision: Decision{olm.CSVPhaseUnknown, v1alpha1.CSVReasonInstallCheckFailed, "The API server does not answer"},
			conditions: []string{
				"Available=Unknown/InstallCheckFailed: The API server does not answer",
				"Progressing=Unknown/InstallCheckFailed: The API server does not answer",
			},
			version: etcdVersion("1.0.0"),
		},
		"NoVersionAtAll": {
			reason:     "The name is used for an operator without a version.",
			csv:        &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "etcd"}},
			decision:   succeeded,
			conditions: []string{"Available=True/: ", "Progressing=False/: Deployed version etcd"},
			version:    v1alpha1.OperatorVersion{Name: "etcd"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Inputs{CSV: tc.csv, Replaced: tc.replaced, Decision: tc.decision, Now: now}
			got := Compute(in)
			statuses.Check(t, name, got)
			if diff := cmp.Diff(tc.conditions, formatConditions(got)); diff != "" {
				t.Errorf("%s\nconditions: -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.version, got.Version); diff != "" {
				t.Errorf("%s\nversion: -want +got\n%s", tc.reason, diff)
			}
			for _, c := range got.Conditions {
				if c.Phase != tc.decision.Phase || c.LastUpdateTime == nil || c.LastTransitionTime == nil {
					t.Errorf("%s has phase %s, lastUpdateTime %v and lastTransitionTime %v", c.Type, c.Phase, c.LastUpdateTime, c.LastTransitionTime)
				}
			}
			if d := (Decision{got.Phase, got.Reason, got.Message}); d != tc.decision {
				t.Errorf("phase, reason and message are %v", d)
			}
			checkStable(t, in, got)
		})
	}
}

func formatConditions(status v1alpha1.ClusterServiceVersionStatus) []string {
	var out []string
	for _, c := range status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

// checkStable verifies that the status computed later from the same inputs, as the API server stores them, is the same.
func checkStable(t *testing.T, in Inputs, status v1alpha1.ClusterServiceVersionStatus) {
	t.Helper()
	data, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	var kept v1alpha1.ClusterServiceVersionStatus
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kept, status); diff != "" {
		t.Errorf("the status differs after a round trip through JSON: -stored +computed\n%s", diff)
	}
	in.CSV = in.CSV.DeepCopy()
	in.CSV.Status = kept
	in.Now = metav1.NewTime(in.Now.Add(time.Hour))
	if diff := cmp.Diff(kept, Compute(in)); diff != "" {
		t.Errorf("the second result differs, so it would be written again: -first +second\n%s", diff)
	}
}

func TestUpgradeable(t *testing.T) {
	got := func(status metav1.ConditionStatus) v1alpha1.ProbeStatus {
		return v1alpha1.ProbeStatus{Conditions: []metav1.Condition{{Type: "Upgradeable", Status: status, Reason: "NotUpgradeable", Message: "Waiting for Foo"}}}
	}
	cases := map[string]struct {
		reason string
		probe  *v1alpha1.Probe
		want   string
	}{
		"NoProbe": {"Without a Probe the condition is not set.", nil, ""},
		"No": {"The condition of the Probe is copied if it is False.", &v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{}, Status: got("False")},
			"Upgradeable=False/NotUpgradeable: Waiting for Foo"},
		"Yes": {"The condition of the Probe is copied if it is True.", &v1alpha1.Probe{Status: got("True")}, "Upgradeable=True/NotUpgradeable: Waiting for Foo"},
		"NotRead": {"Until the Probe has the condition, Upgradeable is Unknown.", &v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{}},
			"Upgradeable=Unknown/NotRead: The custom resources have not been read yet"},
		"OwnStatus": {"If the operator writes the Probe itself and has not yet, the condition is not set.",
			&v1alpha1.Probe{Spec: &v1alpha1.ProbeSpec{Manager: v1alpha1.ManagerOperator}}, ""},
		"NoSpec": {"If the Probe has no spec and no condition, the condition is not set.", &v1alpha1.Probe{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := Inputs{CSV: etcd("1.0.0"), Decision: succeeded, Now: past, Probe: &v1alpha1.Probe{Status: got("Unknown")}}
			before.CSV.Status = Compute(before)
			in := Inputs{CSV: before.CSV, Decision: succeeded, Now: now, Probe: tc.probe}
			got := Compute(in)
			want := []string{"Available=True/: ", "Progressing=False/: Deployed version v1.0.0"}
			if tc.want != "" {
				want = append(want, tc.want)
			}
			if diff := cmp.Diff(want, formatConditions(got)); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			checkStable(t, in, got)
		})
	}
}
