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
	"github.com/operator-status/operator-status/internal/clusteroperator/cvotest"
	"github.com/operator-status/operator-status/internal/testcatalog"
	"github.com/operator-status/operator-status/internal/testcluster"
)

// inertia is the DegradedInertia that these tests have: as short as lets what comes before it be seen.
const inertia = 20 * time.Second

// degradedWithin is how long it takes at most until a trouble, or its end, is told: that, and what is under way.
const degradedWithin = inertia + testcluster.Timeout

// TestRollUp plays the source's scenarios: until every PlatformOperator has installed, the installation of the cluster does not
// succeed, and says which is failing and why. After that it stays Available, whatever happens.
func TestRollUp(t *testing.T) {
	co := cluster.InstallClusterOperator(t)
	cvotest.Watch(t, cluster.Config, cluster.Client.Scheme())
	s := newStageOf(t, troubled(t))
	fine := create(t, "fine")
	perl := create(t, "perl")
	broken, refused, stuck := create(t, "broken"), create(t, "refused"), create(t, "stuck")
	awaits(t, co, "Available=False/PlatformOperatorsInstalling", "Progressing=True/PlatformOperatorsInstalling", "Degraded=False/AsExpected")
	// Each says what is wrong with it.
	runs(t, fine, "1.0.0")
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
		tells(t, op, v1alpha1.ConditionInstalled, words...)
	}
	// And so does the ClusterOperator, of all of them.
	awaits(t, co, "Available=False/PlatformOperatorsInstalling", "Progressing=True/PlatformOperatorsInstalling")
	for _, kind := range []configv1.ClusterStatusConditionType{configv1.OperatorAvailable, configv1.OperatorProgressing} {
		explains(t, co, kind, "4 of 5 PlatformOperators", `perl \(PackageNotFound\)`, `broken \(ImagePullFailed\)`, `refused \(InstallComponentFailed\)`,
			`stuck \(CSVFailed\)`, "Not_A_Name", "InstallCheckFailed")
	}
	if len(co.Status.Versions) > 0 {
		t.Errorf("there is a version already: %+v", co.Status.Versions)
	}
	awaits(t, co, "Available=False/PlatformOperatorsInstalling", "Degraded=True/PlatformOperatorsFailing")
	explains(t, co, configv1.OperatorDegraded, `perl \(PackageNotFound\)`, "broken", "refused", "stuck")

	// One is mended, the others are given up: that is a successful installation. What has been failing is not forgotten at once.
	for _, op := range []*v1alpha1.PlatformOperator{broken, refused, stuck} {
		if err := cluster.Client.Delete(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	s.offer(t, publish(t, "fine", "1.0.0"), publish(t, "perl", "1.0.0"))
	runs(t, perl, "1.0.0")
	awaits(t, co, "Available=True/PlatformOperatorsInstalled", "Progressing=False/PlatformOperatorsInstalled", "Degraded=True/PlatformOperatorsFailing")
	explains(t, co, configv1.OperatorDegraded, "perl, not just now but until a moment ago")
	if len(co.Status.Versions) != 1 || co.Status.Versions[0].Name != "operator" || co.Status.Versions[0].Version == "" {
		t.Errorf("the version is not written: %+v", co.Status.Versions)
	}

	// From then on it stays Available.
	late := create(t, "ruby")
	says(t, late, "Ready=False/Failed")
	awaits(t, co, "Available=True/PlatformOperatorsInstalled", "Progressing=True/PlatformOperatorsUpdating")
	explains(t, co, configv1.OperatorProgressing, `1 of 3 PlatformOperators: ruby \(PackageNotFound\)`)
	if err := cluster.Client.Delete(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	awaits(t, co, "Available=True/PlatformOperatorsInstalled", "Progressing=False/PlatformOperatorsInstalled", "Degraded=False/AsExpected")
	if err := cvotest.Resolve(t.Context(), cluster.Client, cluster.Rediscovered(t).Client.RESTMapper(), co); err != nil {
		t.Error(err)
	}
}

// troubled is a catalog in which one package is fine. Of the others one cannot be unpacked, one has a manifest that the API server
// refuses, and one has a Deployment that never becomes available.
func troubled(t *testing.T) declcfg.DeclarativeConfig {
	t.Helper()
	config, err := testcatalog.Config(
		publish(t, "fine", "1.0.0"), publish(t, "pearl", "1.0.0"), publish(t, "broken", "1.0.0"),
		foosOf(t, testcatalog.Foo{Name: "refused", Version: "1.0.0", More: []string{"{apiVersion: v1, kind: ConfigMap, metadata: {name: Not_A_Name}}"}}),
		foosOf(t, testcatalog.Foo{Name: "stuck", Version: "1.0.0", Change: testcatalog.NeverStarts}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for i := range config.Bundles {
		if config.Bundles[i].Package == "broken" {
			only := declcfg.DeclarativeConfig{Bundles: []declcfg.Bundle{config.Bundles[i]}}
			testcatalog.Refer(&only, func(string) string { return "127.0.0.1:1/broken" }) // where nobody listens
			config.Bundles[i] = only.Bundles[0]
		}
	}
	return config
}

// awaits waits until conditions of the ClusterOperator are "Type=Status/Reason".
func awaits(t *testing.T, co *configv1.ClusterOperator, want ...string) {
	t.Helper()
	cluster.AwaitWithin(t, degradedWithin, co, func() string {
		var got []string
		for _, c := range co.Status.Conditions {
			got = append(got, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
			if !registered[c.Reason] {
				t.Errorf("reason %s of %s is no constant of the API", c.Reason, c.Type)
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

// explains waits until the message of a condition tells all of the words.
func explains(t *testing.T, co *configv1.ClusterOperator, kind configv1.ClusterStatusConditionType, words ...string) {
	t.Helper()
	cluster.Await(t, co, func() string {
		for _, c := range co.Status.Conditions {
			for _, w := range words {
				if c.Type == kind && !regexp.MustCompile(w).MatchString(c.Message) {
					return fmt.Sprintf("%s does not tell %q: %s", kind, w, c.Message)
				}
			}
		}
		return ""
	})
}
