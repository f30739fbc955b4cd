package probepolicy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/csvchain"
)

func TestAdded(t *testing.T) {
	const foos, bars = "foos.example.com", "bars.example.com"
	resource := func(crd, upgradeable, important string) v1alpha1.ProbeResource {
		return v1alpha1.ProbeResource{Name: crd, Upgradeable: upgradeable, Important: important}
	}
	policy := func(resources ...v1alpha1.ProbeResource) holdv1alpha1.ProbePolicy {
		return holdv1alpha1.ProbePolicy{Spec: holdv1alpha1.ProbePolicySpec{ProbeResources: resources}}
	}
	restricted := func(match holdv1alpha1.OperatorMatch) holdv1alpha1.ProbePolicy {
		out := policy(resource(foos, "Ready", ""))
		out.Spec.Match = &match
		return out
	}
	type resources = []v1alpha1.ProbeResource
	long := strings.Repeat("A", 600)
	cases := map[string]struct {
		reason   string
		declared resources
		policies []holdv1alpha1.ProbePolicy
		want     resources
	}{
		"None":     {"Without policies nothing is added.", nil, nil, nil},
		"Owned":    {"An operator gets the resources that it owns.", nil, []holdv1alpha1.ProbePolicy{policy(resource(foos, "Ready", ""), resource("others.example.com", "Ready", ""))}, resources{resource(foos, "Ready", "")}},
		"Resource": {"A resource may be named by either field.", nil, []holdv1alpha1.ProbePolicy{policy(v1alpha1.ProbeResource{Resource: foos, Upgradeable: "Ready"})}, resources{resource(foos, "Ready", "")}},
		"Declared": {"Annotations take precedence, for each CustomResourceDefinition.", resources{resource(foos, "!Migrating", "")},
			[]holdv1alpha1.ProbePolicy{policy(resource(foos, "Ready", ""), resource(bars, "Ready", ""))}, resources{resource(bars, "Ready", "")}},
		"Both": {"All policies have to allow the update.", nil,
			[]holdv1alpha1.ProbePolicy{policy(resource(foos, "Ready || Paused", "A")), policy(resource(foos, "!Migrating", "B || A"))},
			resources{resource(foos, "(Ready || Paused) && !Migrating", "A || B")}},
		"Text": {"A text may contain an operator.", nil,
			[]holdv1alpha1.ProbePolicy{policy(resource(foos, "", `status.a == "b || c"`)), policy(resource(foos, "", `A || status.a=="b || c"`))},
			resources{resource(foos, "", `status.a == "b || c" || A`)}},
		"Equal": {"The same expression is not repeated.", nil, []holdv1alpha1.ProbePolicy{policy(resource(foos, "Ready", "")), policy(resource(foos, "Ready", ""))},
			resources{resource(foos, "Ready", "")}},
		"Long": {"Expressions that are too long together stay apart.", nil,
			[]holdv1alpha1.ProbePolicy{policy(resource(foos, long, "")), policy(resource(foos, "!"+long, ""))},
			resources{resource(foos, long, ""), resource(foos, "!"+long, "")}},
		"Package":        {"A policy may be for a package.", nil, []holdv1alpha1.ProbePolicy{restricted(holdv1alpha1.OperatorMatch{Packages: []string{"foo"}})}, resources{resource(foos, "Ready", "")}},
		"OtherPackage":   {"It is for no other.", nil, []holdv1alpha1.ProbePolicy{restricted(holdv1alpha1.OperatorMatch{Packages: []string{"bar"}})}, nil},
		"Installer":      {"A policy may be for an installer.", nil, []holdv1alpha1.ProbePolicy{restricted(holdv1alpha1.OperatorMatch{Installers: []holdv1alpha1.Installer{"Helm", "OLM"}})}, resources{resource(foos, "Ready", "")}},
		"OtherInstaller": {"It is for no other.", nil, []holdv1alpha1.ProbePolicy{restricted(holdv1alpha1.OperatorMatch{Installers: []holdv1alpha1.Installer{"Helm"}})}, nil},
		"OtherNamespace": {"All fields have to match.", nil, []holdv1alpha1.ProbePolicy{restricted(holdv1alpha1.OperatorMatch{Packages: []string{"foo"}, Namespaces: []string{"b"}})}, nil},
	}
	csv := &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "foo.v1.0.0",
		Annotations: map[string]string{csvchain.AnnotationProperties: `{"properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}}]}`},
	}}
	csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: bars}, {Name: foos}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Added(OfCSV(csv, tc.declared, nil), tc.policies)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSettle(t *testing.T) {
	policy := func(crd string, seconds int) (out holdv1alpha1.ProbePolicy) {
		out.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: crd, Upgradeable: "Ready"}}
		if seconds > 0 {
			out.Spec.Settle = &metav1.Duration{Duration: time.Duration(seconds) * time.Second}
		}
		return out
	}
	cases := map[string]struct {
		reason   string
		policies []holdv1alpha1.ProbePolicy
		want     time.Duration
	}{
		"None":    {"Without it, nothing settles.", []holdv1alpha1.ProbePolicy{policy("foos.example.com", 0)}, 0},
		"Longest": {"The longest counts.", []holdv1alpha1.ProbePolicy{policy("foos.example.com", 1), policy("foos.example.com", 3), policy("foos.example.com", 2)}, 3 * time.Second},
		"Other":   {"That of a policy for another operator does not.", []holdv1alpha1.ProbePolicy{policy("bars.example.com", 3), policy("foos.example.com", 0)}, 0},
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: "foos.example.com"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := time.Duration(0)
			if settle := Settle(OfCSV(csv, nil, nil), tc.policies); settle != nil {
				got = settle.Duration
			}
			if got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestYieldAfter(t *testing.T) {
	policy := func(crd string, hours int) (out holdv1alpha1.ProbePolicy) {
		out.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: crd, Upgradeable: "Ready"}}
		if hours > 0 {
			out.Spec.YieldAfter = &metav1.Duration{Duration: time.Duration(hours) * time.Hour}
		}
		return out
	}
	const foos, bars = "foos.example.com", "bars.example.com"
	cases := map[string]struct {
		reason    string
		annotated bool
		policies  []holdv1alpha1.ProbePolicy
		want      time.Duration
	}{
		"None":      {"By default, nothing yields.", false, []holdv1alpha1.ProbePolicy{policy(foos, 0)}, 0},
		"Longest":   {"The longest counts.", false, []holdv1alpha1.ProbePolicy{policy(foos, 1), policy(foos, 3), policy(foos, 2)}, 3 * time.Hour},
		"Never":     {"One that never yields counts most.", false, []holdv1alpha1.ProbePolicy{policy(foos, 1), policy(foos, 0)}, 0},
		"Other":     {"Unless it is for another operator.", false, []holdv1alpha1.ProbePolicy{policy(bars, 0), policy(foos, 1)}, time.Hour},
		"Annotated": {"No policy has the author's own expressions yield.", true, []holdv1alpha1.ProbePolicy{policy(foos, 1)}, 0},
	}
	csv := &v1alpha1.ClusterServiceVersion{}
	csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: foos}, {Name: "bazs.example.com"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var annotated []v1alpha1.ProbeResource
			if tc.annotated {
				annotated = []v1alpha1.ProbeResource{{Name: "bazs.example.com", Upgradeable: "Ready"}}
			}
			got := time.Duration(0)
			if after := YieldAfter(OfCSV(csv, annotated, nil), tc.policies); after != nil {
				got = after.Duration
			}
			if got != tc.want {
				t.Errorf("%s\ngot %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAlertAfter(t *testing.T) {
	const foos, bars = "foos.example.com", "bars.example.com"
	policy := func(crd string, after time.Duration) (out holdv1alpha1.ProbePolicy) {
		out.Spec.ProbeResources = []v1alpha1.ProbeResource{{Name: crd, Upgradeable: "Ready"}}
		if after > 0 {
			out.Spec.AlertAfter = &metav1.Duration{Duration: after}
		}
		return out
	}
	cases := map[string]struct {
		reason   string
		policies []holdv1alpha1.ProbePolicy
		want     *metav1.Duration
	}{
		"None": {"The alert has a default.", []holdv1alpha1.ProbePolicy{policy(foos, 0)}, nil},
		"Shortest": {"The alert that is raised first counts.", []holdv1alpha1.ProbePolicy{policy(foos, 3), policy(foos, 1), policy(foos, 2), policy(foos, 0)},
			&metav1.Duration{Duration: 1}},
		"Other": {"A policy for another operator does not count.", []holdv1alpha1.ProbePolicy{policy(bars, 1), policy(foos, 2)}, &metav1.Duration{Duration: 2}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, AlertAfter(Operator{Definitions: []string{foos}}, tc.policies)); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestUnowned verifies which CustomResourceDefinitions an operator serves although its ClusterServiceVersion does not own them.
func TestUnowned(t *testing.T) {
	const disks, jobs = "disks.example.com", "jobs.example.com"
	rule := func(group, resource string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}
	}
	cases := map[string]struct {
		reason      string
		owned, uses string
		rules       []rbacv1.PolicyRule
		want        []string
	}{
		"Reports": {"Its controller, whose rights it gives away, reports on disks.", "foos.example.com", "", rule("example.com", "disks/status", "patch"), []string{disks}},
		"All":     {"It may do everything in its API group.", "foos.example.com", "", rule("example.com", "*", "*"), []string{disks, jobs}},
		"Reads":   {"It only reads them.", "foos.example.com", "", rule("example.com", "*", "get", "list", "watch"), nil},
		"Creates": {"It creates them, and another operator reports on them.", "foos.example.com", "", rule("example.com", "disks", "*"), nil},
		"Admin":   {"An administrator's rights tell nothing.", "foos.example.com", "", rule("*", "*", "*"), nil},
		"Foreign": {"It owns nothing in the API group, and may do everything there as a user.", "foos.other.example.com", "", rule("example.com", "*", "*"), nil},
		"Needs":   {"The other operator that it needs serves disks.", "foos.example.com", disks, rule("example.com", "*", "*"), []string{jobs}},
		"Owned":   {"What it owns is not unowned.", disks, "", rule("example.com", "*", "*"), []string{jobs}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			csv := &v1alpha1.ClusterServiceVersion{}
			csv.Spec.CustomResourceDefinitions.Owned = []olm.CRDDescription{{Name: tc.owned}}
			if tc.uses != "" {
				csv.Spec.CustomResourceDefinitions.Required = []olm.CRDDescription{{Name: tc.uses}}
			}
			csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []olm.StrategyDeploymentPermissions{{ServiceAccountName: "foo", Rules: tc.rules}}
			if diff := cmp.Diff(tc.want, Unowned(csv, []string{disks, jobs, "disks.other.org"})); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
