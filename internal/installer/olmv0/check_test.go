package olmv0

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/installer"
	"github.com/operator-status/operator-status/internal/test/golden"
)

// TestCheck verifies the blockers that are reported before an update exists.
func TestCheck(t *testing.T) {
	running := func(changes ...func(*Cluster)) Cluster {
		out := Cluster{
			Subscriptions: []v1alpha1.Subscription{sub("foo.v1", "foo.v1")}, CatalogSources: []olm.CatalogSource{catalog()},
			ClusterServiceVersions: []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseSucceeded)},
			InstallPlans:           []olm.InstallPlan{plan(olm.InstallPlanPhaseComplete, "foo.v1")},
		}
		for _, change := range changes {
			change(&out)
		}
		return out
	}
	reports := func(status metav1.ConditionStatus) func(*Cluster) {
		return func(c *Cluster) {
			o := operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "foo.v1"}}
			o.Spec.Conditions = []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: status, Reason: "Busy", Message: "It rebalances"}}
			c.OperatorConditions = []operatorsv2.OperatorCondition{o}
		}
	}
	openShift := func(current, property string) func(*Cluster) {
		return func(c *Cluster) {
			c.ClusterVersions = []configv1.ClusterVersion{{Status: configv1.ClusterVersionStatus{Desired: configv1.Release{Version: current}}}}
			if property != "" {
				c.ClusterServiceVersions[0].Annotations = map[string]string{
					"operatorframework.io/properties": `{"properties":[{"type":"olm.package","value":{}},` + property + `]}`,
				}
			}
		}
	}
	limit := func(value string) string { return `{"type":"olm.maxOpenShiftVersion","value":` + value + `}` }
	const incompatible = "Held by ClusterServiceVersion default/foo.v1: IncompatibleOperatorsInstalled"
	busy := "Held by OperatorCondition default/foo.v1: " + v1alpha1.ReasonOperatorConditionNotUpgradeable
	cases := map[string]struct {
		reason string
		in     Cluster
		want   []string
	}{
		"Clear":       {"Nothing would hold an update.", running(), nil},
		"Upgradeable": {"Nor does an operator that allows it.", running(reports(metav1.ConditionTrue)), nil},
		"WouldHold":   {"There is no update yet, but it would be held.", running(reports(metav1.ConditionFalse)), []string{busy}},
		"Holds": {"What holds an update now is reported once.", running(reports(metav1.ConditionFalse), func(c *Cluster) {
			c.Subscriptions[0].Status.CurrentCSV = "foo.v2"
			c.ClusterServiceVersions = append(c.ClusterServiceVersions, csv("foo.v2", "foo.v1", olm.CSVPhasePending))
		}), []string{busy}},
		"Broken": {"What is broken is, before an update as at any time.", running(func(c *Cluster) {
			c.ClusterServiceVersions = []v1alpha1.ClusterServiceVersion{csv("foo.v1", "", olm.CSVPhaseFailed)}
		}), []string{"Broken by ClusterServiceVersion default/foo.v1: CSVFailed"}},
		"NotInstalled": {"Nothing holds a first install.",
			Cluster{Subscriptions: []v1alpha1.Subscription{sub("", "")}, CatalogSources: []olm.CatalogSource{catalog()}}, nil},
		"LastSupported": {"OLM keeps a cluster from the version after the last that an operator supports.", running(openShift("4.17.3", limit(`"4.17"`))),
			[]string{incompatible}},
		"Number": {"Some write a number.", running(openShift("4.17.3", limit(`4.17`))), []string{incompatible}},
		"Unreadable": {"OLM takes what it cannot read as a version that is not supported.", running(openShift("4.17.3", limit(`"latest"`))),
			[]string{incompatible}},
		"Empty":      {"An empty value is no version.", running(openShift("4.17.3", limit(`""`))), []string{incompatible}},
		"Patch":      {"OLM accepts minor versions only.", running(openShift("4.17.3", limit(`"4.18.1"`))), []string{incompatible}},
		"Twice":      {"Nor does it accept two.", running(openShift("4.17.3", limit(`"4.18"`)+","+limit(`"4.18"`))), []string{incompatible}},
		"Supported":  {"The next minor version is supported.", running(openShift("4.17.3", limit(`"4.18"`))), nil},
		"Zero":       {"A patch version of 0 is a minor version.", running(openShift("4.17.3", limit(`"4.18.0"`))), nil},
		"NextMajor":  {"4.23 is 5.0.", running(openShift("4.22.1", limit(`"5.0"`))), nil},
		"AfterMajor": {"5.1 comes after 4.23.", running(openShift("4.23.0", limit(`"5.0"`))), []string{incompatible}},
		"NoLimit":    {"Most operators have no limit.", running(openShift("4.17.3", "")), nil},
		"NoOpenShift": {"The limit is one of OpenShift.", running(openShift("", limit(`"4.17"`)), func(c *Cluster) {
			c.ClusterVersions = nil
		}), nil},
		"NotCopied": {"A copy is not an operator.", running(openShift("4.17.3", limit(`"4.17"`)), func(c *Cluster) {
			c.ClusterServiceVersions[0].Labels = map[string]string{olm.CopiedLabelKey: "other"}
			c.ClusterServiceVersions[0].Status.Reason = olm.CSVReasonCopied
		}), []string{"Broken by ClusterServiceVersion default/foo.v1: CSVMissing"}},
	}
	goldens := golden.Open(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			goldens.Check(t, name, descriptionOf(tc.reason, tc.in))
			operators := Check(tc.in)
			if len(operators) != 1 {
				t.Fatalf("%s\nthere are %d operators, want 1", tc.reason, len(operators))
			}
			got := inBrief(operators[0])
			if diff := cmp.Diff(tc.want, got.Blockers); diff != "" {
				t.Errorf("%s\nblockers: -want +got\n%s", tc.reason, diff)
			}
			for _, step := range got.Steps {
				if strings.Contains(step, "newer version is") || strings.HasPrefix(step, installer.ToUpdateAnyway) && name != "Holds" {
					t.Errorf("%s\na step names a version that there is not: %s", tc.reason, step)
				}
			}
		})
	}
}
