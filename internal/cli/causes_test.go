package cli

import (
	"strings"
	"testing"
	"time"
)

// TestCauses verifies that `why` names causes that no condition of a Subscription reports.
func TestCauses(t *testing.T) {
	const (
		deleted = "creationTimestamp: 2025-01-01T00:00:00Z, deletionTimestamp: 2025-01-02T00:00:00Z"
		owning  = "customresourcedefinitions: {owned: [{name: foos.example.com, kind: Foo, version: v1}]}"
		sub     = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {namespace: apps, name: foo, creationTimestamp: 2025-01-01T00:00:00Z}
spec: {name: foo, channel: stable, source: catalog, sourceNamespace: olm}
`
		catalog = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {namespace: olm, name: catalog}
status: {connectionState: {lastObservedState: READY}}
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {namespace: elsewhere, name: install}
---
apiVersion: operators.coreos.com/v2
kind: OperatorCondition
metadata: {namespace: elsewhere, name: bar.v1}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {namespace: elsewhere, name: group}
`
		running = "status: {installedCSV: foo.v2, currentCSV: foo.v2, state: AtLatestKnown}\n"
		second  = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: apps, name: foo.v2}
spec: {version: 2.0.0, replaces: foo.v1, ` + owning + `}
status: {phase: Succeeded}
`
		first = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: apps, name: foo.v1, finalizers: [FINALIZER], ` + deleted + `}
spec: {version: 1.0.0, ` + owning + `}
status: {phase: Deleting}
`
		group = `
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {namespace: apps, name: NAME}
`
		pending = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: apps, name: foo.v1, creationTimestamp: 2025-01-01T00:00:00Z}
spec: {version: 1.0.0}
status:
  phase: Pending
  reason: RequirementsNotMet
  message: one or more requirements couldn't be found
  requirementStatus:
  - {group: apiextensions.k8s.io, version: v1, kind: CustomResourceDefinition, name: foos.example.com, status: Present, message: CRD is present}
  - {group: route.openshift.io, version: v1, kind: Route, name: Route, status: NotPresent, message: Native API does not exist}
`
		retried = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: InstallPlan
metadata: {namespace: apps, name: install-x}
spec: {approval: Automatic, approved: true, generation: 1, clusterServiceVersionNames: [foo.v1]}
status: {phase: Installing, message: "retrying execution due to error: spec.size is too small"}
`
		failing = `
---
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {namespace: apps, name: foo.v1}
spec: {version: 1.0.0}
status:
  phase: InstallReady
  conditions:
  - {phase: Failed, reason: InstallComponentFailed, message: exceeded quota}
  - {phase: Pending, reason: NeedsReinstall, message: exceeded quota}
  - {phase: InstallReady, reason: AllRequirementsMet, message: attempting install}
`
	)
	lost := strings.ReplaceAll(pending, "  requirementStatus:", "  conditions: [{phase: Succeeded}, {phase: Pending}]\n  requirementStatus:")
	one, two := strings.ReplaceAll(group, "NAME", "one"), strings.ReplaceAll(group, "NAME", "two")
	foreign, ours := strings.ReplaceAll(first, "FINALIZER", "example.com/nobody"), strings.ReplaceAll(first, "FINALIZER", "operators.coreos.com/csv-cleanup")
	terminating := func(name string) string {
		return `
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + name + `, finalizers: [customresourcecleanup.apiextensions.k8s.io], ` + deleted + `}
`
	}
	young := strings.ReplaceAll(sub, "2025-01-01T00:00:00Z", time.Now().UTC().Format(time.RFC3339))
	cases := map[string]struct {
		reason  string
		objects string
		args    []string
		code    int
		want    string
	}{
		"NoGroupYet": {"Nobody creates it as a part of the installation.", young + catalog, []string{"foo", "-n", "apps"}, exitHeld, "Namespace apps has no OperatorGroup"},
		"NoGroup": {"OLM reports nothing while a namespace has no OperatorGroup.", sub + catalog, []string{"foo", "-n", "apps"}, exitHeld,
			"Namespace apps has no OperatorGroup"},
		"TwoGroups": {"Nor while it has several.", sub + catalog + one + two, []string{"foo", "-n", "apps"}, exitBroken, "delete all but one of one, two"},
		"OneGroup":  {"With one, OLM is at fault.", sub + catalog + one, []string{"foo", "-n", "apps"}, exitHeld, "check that OLM, or the lifecycle manager of operator-status, runs"},
		"Finalizer": {"A version that cannot be deleted after it was replaced.", sub + running + catalog + one + second + foreign, []string{"foo", "-n", "apps"}, exitHeld,
			"Waiting by ClusterServiceVersion apps/foo.v1"},
		"CleaningUp": {"OLM's own finalizer is no cause.", sub + running + catalog + one + second + ours, []string{"foo", "-n", "apps"}, exitOK, "Nothing blocks it"},
		"Terminating": {"A CustomResourceDefinition that is deleted while its operator runs.", sub + running + catalog + one + second + terminating("foos.example.com"),
			[]string{"foo", "-n", "apps"}, exitBroken, "Broken by CustomResourceDefinition foos.example.com"},
		"TerminatingOfWorkload": {"Whatever installed the operator.", terminating("backups.postgresql.cnpg.io"), []string{"cloudnative-pg", "-n", "cnpg-system"}, exitBroken,
			"Broken by CustomResourceDefinition backups.postgresql.cnpg.io"},
		"Failing": {"OLM tries an installation that fails again and again.", sub + "status: {currentCSV: foo.v1}\n" + catalog + one + failing, []string{"foo", "-n", "apps"}, exitBroken,
			"Broken by ClusterServiceVersion apps/foo.v1"},
		"Lost": {"Nobody restores the requirements of a version that has run.", sub + "status: {currentCSV: foo.v1}\n" + catalog + one + lost, []string{"foo", "-n", "apps"},
			exitBroken, "couldn't be found: Route Route: Native API does not exist"},
		"Retried": {"The InstallPlan that OLM cannot carry out explains the missing requirement.",
			sub + "status: {currentCSV: foo.v1, installedCSV: foo.v1, state: AtLatestKnown, installPlanRef: {namespace: apps, name: install-x}}\n" + catalog + one + pending + retried,
			[]string{"foo", "-n", "apps"}, exitBroken, "Broken by InstallPlan apps/install-x"},
		"Requirement": {"OLM's message does not name the requirement.", sub + "status: {currentCSV: foo.v1}\n" + catalog + one + pending, []string{"foo", "-n", "apps"}, exitHeld,
			"couldn't be found: Route Route: Native API does not exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			out, _, code := onOperators(t, tc.objects, append([]string{"why"}, tc.args...)...)
			if code != tc.code || !strings.Contains(strings.Join(strings.Fields(out), " "), tc.want) {
				t.Errorf("%s\nexit code %d, want %d\n%s\nlacks %q", tc.reason, code, tc.code, out, tc.want)
			}
		})
	}
}
