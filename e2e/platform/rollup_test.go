package platform

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/test/cvotest"
	"github.com/operator-status/operator-status/internal/test/testcatalog"
	"github.com/operator-status/operator-status/internal/test/testcluster"
)

// inertia is the DegradedInertia of these tests: short, but long enough for a test to see the state before.
const inertia = 20 * time.Second

// degradedWithin is the longest time until a problem, or its end, is reported: the inertia plus the time to reconcile.
const degradedWithin = inertia + testcluster.Timeout

// TestRollUp verifies that the ClusterOperator is not Available until every PlatformOperator is installed, and reports
// which ones fail and why. After that it stays Available regardless of later failures.
func TestRollUp(t *testing.T) {
	co := cluster.InstallClusterOperator(t)
	cvotest.Watch(t, cluster.Config, cluster.Client.Scheme())
	s := newStageOf(t, failingCatalog(t))
	fine := create(t, "fine")
	perl := create(t, "perl")
	broken, refused, stuck := create(t, "broken"), create(t, "refused"), create(t, "stuck")
	awaitClusterOperator(t, co, "Available=False/PlatformOperatorsInstalling", "Progressing=True/PlatformOperatorsInstalling", "Degraded=False/AsExpected")
	// Each PlatformOperator reports its own problem.
	awaitRunning(t, fine, "1.0.0")
	for op, words := range map[*v1alpha1.PlatformOperator][]string{
		perl:    {"perl", "pearl"},
		broken:  {"127.0.0.1:1/broken"},
		refused: {"ConfigMap", "Not_A_Name"},
		stuck:   {"stuck-operator"},
	} {
		cluster.Await(t, op, func() string {
			if op.Status.FailingSince == nil {
				return "it is not failing"
			}
			return ""
		})
		checkMessage(t, op, v1alpha1.ConditionInstalled, words...)
	}
	// The ClusterOperator reports all of them.
	awaitClusterOperator(t, co, "Available=False/PlatformOperatorsInstalling", "Progressing=True/PlatformOperatorsInstalling")
	for _, kind := range []configv1.ClusterStatusConditionType{configv1.OperatorAvailable, configv1.OperatorProgressing} {
		awaitMessage(t, co, kind, "4 of 5 PlatformOperators", `perl \(PackageNotFound\)`, `broken \(ImagePullFailed\)`, `refused \(InstallComponentFailed\)`,
			`stuck \(CSVFailed\)`, "Not_A_Name", "InstallCheckFailed")
	}
	if len(co.Status.Versions) > 0 {
		t.Errorf("the ClusterOperator has a version before it is Available: %+v", co.Status.Versions)
	}
	awaitClusterOperator(t, co, "Available=False/PlatformOperatorsInstalling", "Degraded=True/PlatformOperatorsFailing")
	awaitMessage(t, co, configv1.OperatorDegraded, `perl \(PackageNotFound\)`, "broken", "refused", "stuck")

	// One is fixed and the others are deleted, so the installation succeeds. A recent failure is still reported.
	for _, op := range []*v1alpha1.PlatformOperator{broken, refused, stuck} {
		if err := cluster.Client.Delete(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	s.offer(t, publish(t, "fine", "1.0.0"), publish(t, "perl", "1.0.0"))
	awaitRunning(t, perl, "1.0.0")
	awaitClusterOperator(t, co, "Available=True/PlatformOperatorsInstalled", "Progressing=False/PlatformOperatorsInstalled", "Degraded=True/PlatformOperatorsFailing")
	awaitMessage(t, co, configv1.OperatorDegraded, "perl")
	if len(co.Status.Versions) != 1 || co.Status.Versions[0].Name != "operator" || co.Status.Versions[0].Version == "" {
		t.Errorf("the ClusterOperator has no version: %+v", co.Status.Versions)
	}

	// From now on it stays Available.
	late := create(t, "ruby")
	awaitConditions(t, late, "Ready=False/Failed")
	awaitClusterOperator(t, co, "Available=True/PlatformOperatorsInstalled", "Progressing=True/PlatformOperatorsUpdating")
	awaitMessage(t, co, configv1.OperatorProgressing, `1 of 3 PlatformOperators: ruby \(PackageNotFound\)`)
	if err := cluster.Client.Delete(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	awaitClusterOperator(t, co, "Available=True/PlatformOperatorsInstalled", "Progressing=False/PlatformOperatorsInstalled", "Degraded=False/AsExpected")
	if err := cvotest.Resolve(t.Context(), cluster.Client, cluster.Rediscovered(t).Client.RESTMapper(), co); err != nil {
		t.Error(err)
	}
}

// failingCatalog returns a catalog with valid packages, one whose bundle image cannot be pulled, one with a manifest that the
// API server rejects, and one whose Deployment never becomes available.
func failingCatalog(t *testing.T) declcfg.DeclarativeConfig {
	t.Helper()
	config, err := testcatalog.Config(
		publish(t, "fine", "1.0.0"), publish(t, "pearl", "1.0.0"), publish(t, "broken", "1.0.0"),
		testcatalog.Published(t, testcatalog.Foo{Name: "refused", Version: "1.0.0", More: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}"}}),
		testcatalog.Published(t, testcatalog.Foo{Name: "stuck", Version: "1.0.0", Change: testcatalog.NeverStarts}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for i := range config.Bundles {
		if config.Bundles[i].Package == "broken" {
			only := declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{config.Bundles[i]}}
			testcatalog.Refer(&only, func(string) string { return "127.0.0.1:1/broken" }) // no server listens there
			config.Bundles[i] = only.Bundles[0]
		}
	}
	return config
}

// awaitClusterOperator waits until the ClusterOperator has conditions, as "Type=Status/Reason".
func awaitClusterOperator(t *testing.T, co *configv1.ClusterOperator, want ...string) {
	t.Helper()
	cluster.AwaitWithin(t, degradedWithin, co, func() string {
		var got []string
		for _, c := range co.Status.Conditions {
			got = append(got, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
			if !registered[c.Reason] {
				t.Errorf("reason %s of %s is not a constant of the API", c.Reason, c.Type)
			}
		}
		for _, w := range want {
			if !strings.Contains(strings.Join(got, " ")+" ", w+" ") {
				return fmt.Sprintf("want %s, got %s", w, strings.Join(got, " "))
			}
		}
		return ""
	})
}

// awaitMessage waits until the message of a condition matches all the regular expressions.
func awaitMessage(t *testing.T, co *configv1.ClusterOperator, kind configv1.ClusterStatusConditionType, words ...string) {
	t.Helper()
	cluster.Await(t, co, func() string {
		for _, c := range co.Status.Conditions {
			for _, w := range words {
				if c.Type == kind && !regexp.MustCompile(w).MatchString(c.Message) {
					return fmt.Sprintf("the message of %s does not match %q: %s", kind, w, c.Message)
				}
			}
		}
		return ""
	})
}
