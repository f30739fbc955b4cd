package clusteroperator

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"

	platformv1alpha1 "github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/golden"
)

// TestCompute verifies the status for each state of a PlatformOperator, at the first installation and later, alone and
// among others.
func TestCompute(t *testing.T) {
	statuses := golden.Open(t)
	const (
		installing = "Available=False/PlatformOperatorsInstalling Progressing=True/PlatformOperatorsInstalling "
		moving     = "Available=True/PlatformOperatorsInstalled Progressing=True/PlatformOperatorsUpdating "
		settled    = "Available=True/PlatformOperatorsInstalled Progressing=False/PlatformOperatorsInstalled "
		fine       = "Degraded=False/AsExpected"
		fails      = "Degraded=True/PlatformOperatorsFailing"
		release    = " version=1.0.0"

		notUpgradeable = " Upgradeable=False/PlatformOperatorsNotUpgradeable"
	)
	for name, tc := range map[string]struct {
		reason       string
		bar          platformv1alpha1.PlatformOperator
		first, later string
		words        texts // contained in the messages, at either time
	}{
		"package does not exist": {
			reason: "A package that does not exist fails the installation of the cluster, and the message names it.",
			bar:    healthy("bar", broken(noPackage)),
			first:  installing + fails, later: moving + fails + release,
			words: texts{
				"Progressing": "bar (PackageNotFound): There is no package bar in catalog olm/operators",
				"Degraded":    "Failing for 2m or longer: bar (PackageNotFound): There is no package bar in catalog olm/operators",
			},
		},
		"bundle cannot be unpacked": {
			reason: "A bundle that cannot be unpacked fails the installation of the cluster, and the message names it.",
			bar:    healthy("bar", broken(noUnpack)),
			first:  installing + fails, later: moving + fails + release,
			words: texts{
				"Progressing": "bar (BundleInvalid): Bundle bar.v1 cannot be unpacked",
				"Degraded":    "bar (BundleInvalid): Bundle bar.v1 cannot be unpacked: its manifests have no ClusterServiceVersion",
			},
		},
		"manifests refused": {
			reason: "Manifests that do not pass the API server's validation fail the installation of the cluster.",
			bar:    healthy("bar", broken(refused)),
			first:  installing + fails, later: moving + fails + release,
			words: texts{
				"Progressing": "bar (InstallPlanFailed): InstallPlan bar/install-1: the API server refuses Service bar",
				"Degraded":    "bar (InstallPlanFailed): InstallPlan bar/install-1: the API server refuses Service bar: spec.ports: Required value",
			},
		},
		"rollout never available": {
			reason: "A rollout that does not become available fails the installation of the cluster.",
			bar:    healthy("bar", broken(noRollout)),
			first:  installing + fails, later: moving + fails + release,
			words: texts{
				"Progressing": "bar (InstallCheckFailed): Deployment bar/bar-operator has 0 of 1 pods available",
				"Degraded":    "bar (InstallCheckFailed): Deployment bar/bar-operator has 0 of 1 pods available: back-off pulling image",
			},
		},
		"failing for a minute": {
			reason: "A failure of less than two minutes may be transient. It does not set Degraded, but the message of Progressing reports it.",
			bar:    healthy("bar", broken(noPackage), failing(time.Minute, noPackage)),
			first:  installing + fine, later: moving + fine + release,
			words: texts{
				"Progressing": "bar (PackageNotFound): There is no package bar in catalog olm/operators",
				"Degraded":    "No PlatformOperator has been failing for 2m",
			},
		},
		"pending": {
			reason: "A PlatformOperator that is being installed is waited for, and is not failing.",
			bar:    healthy("bar", withCondition("Installed", "False/"+onItsWay)),
			first:  installing + fine, later: moving + fine + release,
			words: texts{"Progressing": "bar (Installing): Waiting for InstallPlan bar/install-1 to be complete"},
		},
		"not looked at yet": {
			reason: "A new PlatformOperator without a status is not installed.",
			bar:    healthy("bar", unread),
			first:  installing + fine, later: moving + fine + release,
			words: texts{"Progressing": "PlatformOperators: bar has not been reconciled yet"},
		},
		"updating": {
			reason: "A PlatformOperator that is being updated is installed, so the version is reported.",
			bar:    healthy("bar", withCondition("Progressing", "True/"+beingMoved)),
			first:  moving + fine + release, later: moving + fine + release,
			words: texts{
				"Available":   "Every PlatformOperator is installed",
				"Progressing": "bar (Updating): bar.v2 is being installed",
			},
		},
		"spec has changed": {
			reason: "A PlatformOperator whose changed spec was not reconciled is installed and Progressing.",
			bar:    healthy("bar", outdated),
			first:  moving + fine + release, later: moving + fine + release,
			words: texts{"Progressing": "PlatformOperators: bar has changed and has not been reconciled since"},
		},
		"healthy": {
			reason: "The version is reported once the last PlatformOperator is installed.",
			bar:    healthy("bar"),
			first:  settled + fine + release, later: settled + fine + release,
			words: texts{
				"Available":   "Every PlatformOperator is installed",
				"Progressing": "Every PlatformOperator is installed, and none is being updated",
				"Degraded":    "No PlatformOperator has been failing for 2m",
			},
		},
		"installed and failing": {
			reason: "A PlatformOperator that is installed and failing is not Progressing.",
			bar:    healthy("bar", failing(10*time.Minute, noRollout)),
			first:  settled + fails + release, later: settled + fails + release,
			words: texts{"Degraded": "longer: bar (InstallCheckFailed): Deployment bar/bar-operator"},
		},
		"update fails": {
			reason: "The message of a failed update takes precedence over that of its progress.",
			bar:    healthy("bar", withCondition("Progressing", "True/"+beingMoved), failing(2*time.Minute, noRollout)),
			first:  moving + fails + release, later: moving + fails + release,
			words: texts{
				"Progressing": "bar (InstallCheckFailed): Deployment bar/bar-operator has 0 of 1 pods available",
				"Degraded":    "bar (InstallCheckFailed): Deployment bar/bar-operator has 0 of 1 pods available",
			},
		},
		"flapping, good just now": {
			reason: "A failure that ended a minute ago still sets Degraded.",
			bar:    healthy("bar", failing(10*time.Minute, noPackage), quiet(time.Minute)),
			first:  settled + fails + release, later: settled + fails + release,
			words: texts{
				"Degraded": "bar (PackageNotFound): There is no package bar in catalog olm/operators",
			},
		},
		"flapping, on its way just now": {
			reason: "Progressing reports the current reason while a recent failure sets Degraded.",
			bar:    healthy("bar", withCondition("Installed", "False/"+onItsWay), failing(10*time.Minute, noPackage), quiet(time.Second)),
			first:  installing + fails, later: moving + fails + release,
			words: texts{
				"Progressing": "bar (Installing): Waiting for InstallPlan bar/install-1 to be complete",
				"Degraded":    "bar (PackageNotFound): There is no package bar",
			},
		},
		"flapping, bad just now": {
			reason: "The duration of a failure includes short recoveries.",
			bar:    healthy("bar", broken(noPackage), failing(2*time.Minute, noPackage)),
			first:  installing + fails, later: moving + fails + release,
			words: texts{"Degraded": "longer: bar (PackageNotFound): There is no package bar"},
		},
		"a short trouble": {
			reason: "A failure that lasted less than two minutes does not set Degraded.",
			bar:    healthy("bar", failing(150*time.Second, noPackage), quiet(100*time.Second)),
			first:  settled + fine + release, later: settled + fine + release,
		},
		"being deleted": {
			reason: "A PlatformOperator that is being deleted is ignored, whatever its conditions.",
			bar:    healthy("bar", broken(noPackage), deleting, holds, withCondition("Upgradeable", "False/Busy: It is busy")),
			first:  settled + fine + release, later: settled + fine + release,
		},
		"deletion asked for": {
			reason: "It holds them before the deletion has begun, too.",
			bar:    healthy("bar", broken(noPackage), leaving(platformv1alpha1.ReasonSynced), holds, withCondition("Upgradeable", "False/Busy: It is busy")),
			first:  settled + fine + notUpgradeable + release, later: settled + fine + notUpgradeable + release,
		},
		"uninstalling": {
			reason: "It holds nothing once its operator is being uninstalled.",
			bar:    healthy("bar", broken(noPackage), leaving(platformv1alpha1.ReasonDeleting), holds, withCondition("Upgradeable", "False/Busy: It is busy")),
			first:  settled + fine + release, later: settled + fine + release,
		},
		"waits for users": {
			reason: "While its deletion waits for users' data it holds the cluster's updates: its operator runs.",
			bar:    healthy("bar", broken(noPackage), leaving(platformv1alpha1.ReasonUsersData), holds, withCondition("Upgradeable", "False/Busy: It is busy")),
			first:  settled + fine + notUpgradeable + release, later: settled + fine + notUpgradeable + release,
		},
	} {
		for _, moment := range []struct {
			name    string
			current configv1.ClusterOperatorStatus
			want    string
		}{{"first", first, tc.first}, {"later", later, tc.later}} {
			for count, operators := range map[string][]platformv1alpha1.PlatformOperator{
				"one":  {tc.bar},
				"many": {healthy("foo"), tc.bar, healthy("ape"), healthy("zoo")},
			} {
				t.Run(strings.Join([]string{name, moment.name, count}, "/"), func(t *testing.T) {
					got := checked(t, Inputs{Current: moment.current, Operators: operators, Cluster: Cluster{Release: "1.0.0", Reached: true}, Now: now})
					statuses.Check(t, strings.TrimPrefix(t.Name(), "TestCompute/"), got)
					want := moment.want
					if count == "one" && tc.bar.DeletionTimestamp != nil {
						want = strings.NewReplacer("PlatformOperatorsInstalled", "NoPlatformOperators", "AsExpected", "NoPlatformOperators").Replace(want)
					}
					if got := reader(got); got != want {
						t.Errorf("%s\nwant %s\ngot  %s", tc.reason, want, got)
					}
					for conditionType, words := range tc.words {
						if got := message(got, conditionType); !strings.Contains(got, words) {
							t.Errorf("%s\n%s does not contain: %s\ngot: %s", tc.reason, conditionType, words, got)
						}
					}
				})
			}
		}
	}
}

const none = "Available=True/NoPlatformOperators Progressing=False/NoPlatformOperators Degraded=False/NoPlatformOperators version=1.0.0"

// TestLasts verifies that the status must be recomputed exactly when the next failure has lasted two minutes.
func TestLasts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		bar    platformv1alpha1.PlatformOperator
		want   time.Duration
	}{
		"healthy":            {"A status without failures is not recomputed.", healthy("bar"), 0},
		"failing":            {"A failure of 90 seconds is recomputed in 30 seconds.", healthy("bar", failing(90*time.Second, "")), 30 * time.Second},
		"since this moment":  {"A new failure is recomputed in two minutes.", healthy("bar", failing(0, "")), 2 * time.Minute},
		"degraded":           {"A PlatformOperator that is Degraded causes an event when the failure ends.", healthy("bar", failing(2*time.Minute, "")), 0},
		"quiet":              {"A PlatformOperator that recovered causes an event when it fails again.", healthy("bar", failing(90*time.Second, ""), quiet(time.Second)), 0},
		"quiet and degraded": {"A PlatformOperator stays Degraded after a recovery until its controller clears the failure.", healthy("bar", failing(10*time.Minute, ""), quiet(time.Second)), 0},
		"being deleted":      {"The failure of a PlatformOperator that is being deleted is ignored.", healthy("bar", failing(90*time.Second, ""), deleting), 0},
	} {
		t.Run(name, func(t *testing.T) {
			in := Inputs{Current: later, Cluster: Cluster{Release: "1.0.0", Reached: true}, DegradedInertia: inertia, Now: now}
			for i, others := range [][]platformv1alpha1.PlatformOperator{
				nil, {healthy("foo"), healthy("ape", failing(time.Hour, ""))}, {healthy("foo", failing(time.Second, ""))},
			} {
				in.Operators = append(others, tc.bar)
				checked(t, in)
				want := tc.want
				if i == 2 && (want == 0 || want > 119*time.Second) {
					want = 119 * time.Second
				}
				if _, got := Compute(in); got != want {
					t.Errorf("%s\nwant %s, got %s", tc.reason, want, got)
				}
			}
		})
	}
}

// TestDescribed verifies that Degraded is not written each time the messages of PlatformOperators that come and go change,
// and at once if others are failing.
func TestDescribed(t *testing.T) {
	failing := func(name, message string) platformv1alpha1.PlatformOperator {
		out := healthy(name)
		out.Status.FailingSince, out.Status.FailingReason, out.Status.FailingMessage = before(time.Hour), "BundleInvalid", message
		return out
	}
	one := []platformv1alpha1.PlatformOperator{failing("foo", "First.")}
	in := Inputs{Current: later, Operators: one, Cluster: Cluster{Release: "1.0.0", Reached: true}, DegradedInertia: inertia, Now: now}
	status, _ := Compute(in)
	in.Current, in.Described = status, Described{Failing: Failing(in), At: now.Rfc3339Copy().Time}
	for name, tc := range map[string]struct {
		reason    string
		operators []platformv1alpha1.PlatformOperator
		after     time.Duration
		changes   bool
	}{
		"Same":      {"Degraded is not written if nothing changed.", one, time.Minute, false},
		"Message":   {"A changed message is not written at once.", []platformv1alpha1.PlatformOperator{failing("foo", "Second.")}, time.Minute, false},
		"Later":     {"A changed message is written after a while.", []platformv1alpha1.PlatformOperator{failing("foo", "Second.")}, messagePace, true},
		"Another":   {"Another failing PlatformOperator is written at once.", append(one, failing("bar", "Third.")), time.Second, true},
		"Recovered": {"The end of a failure is written at once.", []platformv1alpha1.PlatformOperator{healthy("foo")}, time.Second, true},
	} {
		in := in
		in.Operators, in.Now.Time = tc.operators, now.Add(tc.after)
		got, lasts := Compute(in)
		i := Find(&got, configv1.OperatorDegraded)
		if changes := got.Conditions[i].Message != status.Conditions[i].Message; changes != tc.changes {
			t.Errorf("%s: Degraded is %s: %s\n%s", name, got.Conditions[i].Status, got.Conditions[i].Message, tc.reason)
		}
		if !tc.changes && lasts != messagePace-tc.after {
			t.Errorf("%s: recomputed after %s, want a time at which the message may change", name, lasts)
		}
	}
}
