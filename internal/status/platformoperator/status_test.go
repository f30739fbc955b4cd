package platformoperator

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/blang/semver/v4"
	"github.com/google/go-cmp/cmp"
	opversion "github.com/operator-framework/api/pkg/lib/version"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/api/platform/v1alpha1"
	"github.com/operator-status/operator-status/internal/readiness"
	"github.com/operator-status/operator-status/internal/status/condition"
	"github.com/operator-status/operator-status/internal/test/builder"
	"github.com/operator-status/operator-status/internal/test/golden"
	"github.com/operator-status/operator-status/internal/test/healthrows"
)

// noon is when each story begins. It is more precise than the API server stores.
var noon = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 12345, time.UTC))

type (
	given                 = func(*Inputs)
	clusterServiceVersion = operatorsv1alpha1.ClusterServiceVersion
)

// beginning returns the Inputs of foo once its objects exist, and nothing else has happened.
func beginning(changes ...given) Inputs {
	in := Inputs{Operator: builder.PlatformOperator(), DegradedInertia: 2 * time.Minute, Now: noon}
	for _, d := range Compose(in.Operator, existingWith()) {
		in.Objects = append(in.Objects, Object{Desired: d, Live: withUID(d.Object, types.UID("uid-"+d.Entry))})
	}
	return with(in, changes...)
}

func with(in Inputs, changes ...given) Inputs {
	in.Operator, in.Objects, in.Subscription = in.Operator.DeepCopy(), slices.Clone(in.Objects), in.Subscription.DeepCopy()
	for _, change := range changes {
		change(&in)
	}
	return in
}

// after returns the Inputs a second later, with the status computed from the previous ones.
func after(before Inputs, changes ...given) Inputs {
	out := with(before, changes...)
	out.Operator.Status, _ = Compute(before)
	out.Now = metav1.NewTime(before.Now.Add(time.Second))
	return out
}

// subscribed sets the Subscription: its current and installed CSV, message and conditions, each as "Type=Status/Reason:
// message".
func subscribed(current, installed, message string, conditions ...string) given {
	return func(in *Inputs) {
		in.Subscription = &operatorsv1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo"},
			Spec:       &olm.SubscriptionSpec{Package: "foo", CatalogSource: "operators", CatalogSourceNamespace: "global"},
			Status: operatorsv1alpha1.SubscriptionStatus{
				CurrentCSV: current, InstalledCSV: installed, Message: message, UpToDate: current != "" && current == installed && message == "",
			},
		}
		for _, c := range conditions {
			actual := conditionOf(c)
			in.Subscription.Status.Conditions = append(in.Subscription.Status.Conditions, operatorsv1alpha1.SubscriptionCondition{
				Type: operatorsv1alpha1.SubscriptionConditionType(actual.Type), Status: corev1.ConditionStatus(actual.Status),
				Reason: actual.Reason, Message: actual.Message,
			})
		}
	}
}

// conditionOf parses "Type=Status/Reason: message".
func conditionOf(words string) metav1.Condition {
	words, message, _ := strings.Cut(words, ": ")
	words, reason, _ := strings.Cut(words, "/")
	t, status, _ := strings.Cut(words, "=")
	return metav1.Condition{Type: t, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
}

// csvs sets the CSVs.
// generations sets those of the Subscription, whose last one is 2: that which was read, and that of which its status is, or 0 if unknown.
func generations(read, observed int64) given {
	return func(in *Inputs) {
		in.Subscription = in.Subscription.DeepCopy()
		in.Subscription.UID, in.Subscription.Generation, in.Subscription.Status.ObservedGeneration = "foo", read, observed
		for i := range in.Objects {
			if o := &in.Objects[i]; o.Entry == "subscription" {
				o.Live = o.Live.DeepCopy()
				o.Live.SetUID("foo")
				o.Live.SetGeneration(2)
			}
		}
	}
}

func csvs(those ...*clusterServiceVersion) given {
	return func(in *Inputs) {
		in.CSVs = map[string]*clusterServiceVersion{}
		for _, csv := range those {
			in.CSVs[csv.Name] = csv
		}
	}
}

// csv returns a CSV with the phases that it went through, as the built-in loops record them. foo.v1 has version 1.0.0.
func csv(name, replaces string, phases ...olm.ClusterServiceVersionPhase) *clusterServiceVersion {
	out := &clusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: name}}
	out.Spec.Replaces = replaces
	out.Spec.Version = opversion.OperatorVersion{Version: semver.MustParse(strings.TrimPrefix(name, "foo.v") + ".0.0")}
	for _, phase := range phases {
		out.Status.Phase = phase
		out.Status.LastTransitions = append(out.Status.LastTransitions, operatorsv1alpha1.ClusterServiceVersionTransition{Phase: phase})
	}
	return out
}

// byOLM records the phases of a CSV as OLM does.
func byOLM(csv *clusterServiceVersion) *clusterServiceVersion {
	for _, t := range csv.Status.LastTransitions {
		csv.Status.Conditions = append(csv.Status.Conditions, operatorsv1alpha1.ClusterServiceVersionCondition{Phase: t.Phase})
	}
	csv.Status.LastTransitions = nil
	return csv
}

func withReason(csv *clusterServiceVersion, reason olm.ConditionReason, message string) *clusterServiceVersion {
	csv.Status.Reason, csv.Status.Message = reason, message
	return csv
}

func withInstallModes(csv *clusterServiceVersion, supported ...olm.InstallModeType) *clusterServiceVersion {
	csv.Spec.InstallModes = existingWith(modes(supported...)).InstallModes
	return csv
}

func succeeded(name, replaces string) *clusterServiceVersion {
	return csv(name, replaces, olm.CSVPhasePending, olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded)
}

// beingReplaced returns foo.v1, which serves until its replacement has Succeeded.
func beingReplaced() *clusterServiceVersion {
	return csv("foo.v1", "", olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded, olm.CSVPhaseReplacing)
}

// probed sets the Probe of the running operator.
func probed(conditions ...string) given {
	return func(in *Inputs) {
		in.Probe = &operatorsv1alpha1.Probe{ObjectMeta: metav1.ObjectMeta{Namespace: "foo", Name: "foo.v1"}}
		for _, c := range conditions {
			in.Probe.Status.Conditions = append(in.Probe.Status.Conditions, conditionOf(c))
		}
	}
}

// withObject adds an entry with a live object.
func withObject(entry string, live *unstructured.Unstructured) given {
	return func(in *Inputs) {
		in.Objects = append(in.Objects, Object{Desired: Desired{Entry: entry, Object: live}, Live: live})
	}
}

// withLeavingObject adds an object that is no longer desired.
func withLeavingObject(entry string, live *unstructured.Unstructured) given {
	return func(in *Inputs) {
		in.Objects = append(in.Objects, Object{Desired: Desired{Entry: entry, Object: live}, Live: live, Leaving: true})
	}
}

// problem sets a Problem on the object of an entry, which then does not exist.
func problem(entry, reason, message string) given {
	return func(in *Inputs) {
		for i := range in.Objects {
			if in.Objects[i].Entry == entry {
				in.Objects[i].Live, in.Objects[i].Problem = nil, &condition.Problem{Reason: reason, Message: message}
			}
		}
	}
}

func withUID(o *unstructured.Unstructured, uid types.UID) *unstructured.Unstructured {
	out := o.DeepCopy()
	out.SetUID(uid)
	return out
}

// withOperator changes the PlatformOperator itself.
func withOperator(changes ...builder.Change) given {
	return func(in *Inputs) {
		for _, change := range changes {
			change(in.Operator)
		}
	}
}

// withoutObjects removes the composed objects.
func withoutObjects(in *Inputs) { in.Objects = nil }

// runs returns the Inputs of foo.v1, which is up to date and has a status that reports it.
func runs(changes ...given) Inputs {
	installing := beginning(subscribed("foo.v1", "", "Waiting"), csvs(csv("foo.v1", "", olm.CSVPhaseInstalling)))
	running := after(installing, subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", "")))
	return after(running, changes...)
}

// runningConditions returns the conditions of an operator that runs and has no Probe, with changes.
func runningConditions(changes ...string) map[string]string {
	return builder.Changed(map[string]string{
		"Important":   "False/NoProbe",
		"Installed":   "True/Installed",
		"Progressing": "False/AsDesired",
		"Ready":       "True/Available",
		"Synced":      "True/Synced",
		"UpToDate":    "True/NewestRuns",
		"Upgradeable": "True/NoProbe",
	}, changes...)
}

// installingConditions returns the conditions of an operator that has never run.
func installingConditions(changes ...string) map[string]string {
	return runningConditions(append([]string{
		"Installed=False/Installing", "Progressing=True/Installing", "Ready=False/Creating", "UpToDate=False/NewestDoesNotRun",
	}, changes...)...)
}

// allResources returns the resources of a PlatformOperator that is ready, except for the Subscription.
func allResources(subscription string, more ...string) []string {
	return append([]string{"namespace", "operatorgroup", strings.TrimSpace("subscription " + subscription)}, more...)
}

type statusRow struct {
	reason    string
	in        Inputs
	want      map[string]string
	messages  map[string]string // messages of the conditions that the row is about
	version   string
	resources []string // each as "entry (Reason): Message", or the entry alone if it is ready
	failing   string   // failingReason
}

func TestCompute(t *testing.T) {
	statuses := golden.Open(t)
	seen := map[string]bool{}
	for of, rows := range map[string]map[string]statusRow{
		"Install": installRows(), "Run": runRows(), "Update": updateRows(), "Regress": regressRows(), "Resources": resourceRows(),
		"Observe": observeRows(), "Others": othersRows(), "OLM": olmRows(),
	} {
		for name, tc := range rows {
			t.Run(of+"/"+name, func(t *testing.T) {
				before := copied(tc.in)
				got, _ := Compute(tc.in)
				statuses.Check(t, of+"/"+name, got)
				actual := map[string]string{}
				for _, c := range got.Conditions {
					actual[c.Type] = fmt.Sprintf("%s/%s", c.Status, c.Reason)
					seen[fmt.Sprintf("%s=%s", c.Type, c.Status)] = true
					if want, ok := tc.messages[c.Type]; ok && c.Message != want {
						t.Errorf("%s\nmessage of %s: -want +got\n%s", tc.reason, c.Type, cmp.Diff(want, c.Message))
					}
				}
				if diff := cmp.Diff(tc.want, actual); diff != "" {
					t.Errorf("%s\nconditions: -want +got\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(tc.resources, formatResources(got.Resources)); diff != "" {
					t.Errorf("%s\nresources: -want +got\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff([]string{tc.version, tc.failing}, []string{got.Version, got.FailingReason}); diff != "" {
					t.Errorf("%s\nversion, failingReason: -want +got\n%s", tc.reason, diff)
				}
				if diff := cmp.Diff(before, tc.in); diff != "" {
					t.Errorf("the inputs, which may be in a cache, were changed:\n%s", diff)
				}
				checkConditions(t, tc.in, got)
				checkStable(t, tc.in, got)
				checkFailing(t, tc.in, got)
				checkTimes(t, tc.in, got)
				checkReady(t, tc.in, got)
				op := tc.in.Operator.DeepCopy()
				op.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.PlatformOperatorKind))
				op.Status = got
				healthrows.Write(t, op, healthOf(got))
			})
		}
	}
	for c := range runningConditions() {
		for _, status := range []string{"True", "False"} {
			if !seen[c+"="+status] {
				t.Errorf("no case shows %s=%s", c, status)
			}
		}
	}
}

// healthOf returns the health that a PlatformOperator's status reports.
func healthOf(status v1alpha1.PlatformOperatorStatus) healthrows.Health {
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready.Status == metav1.ConditionTrue:
		return healthrows.Well
	case ready.Reason == v1alpha1.ReasonFailed || ready.Reason == v1alpha1.ReasonDegraded:
		return healthrows.Trouble
	}
	return healthrows.Progress
}

// formatResources formats resources as the rows do.
func formatResources(resources []v1alpha1.ResourceStatus) []string {
	var out []string
	for _, r := range resources {
		line := r.Name
		if !r.Ready {
			line += fmt.Sprintf(" (%s): %s", r.Reason, r.Message)
		}
		out = append(out, line)
	}
	return out
}

// copied returns a copy that is deep enough to detect changes.
func copied(in Inputs) Inputs {
	out := in
	out.Operator, out.Duplicates = in.Operator.DeepCopy(), slices.Clone(in.Duplicates)
	out.Objects = nil
	for _, o := range in.Objects {
		o.Object, o.Live = o.Object.DeepCopy(), o.Live.DeepCopy()
		if o.Problem != nil {
			o.Problem = &condition.Problem{Reason: o.Problem.Reason, Message: o.Problem.Message}
		}
		out.Objects = append(out.Objects, o)
	}
	out.Subscription, out.Probe = in.Subscription.DeepCopy(), in.Probe.DeepCopy()
	out.CSVs = maps.Clone(in.CSVs)
	for name, csv := range out.CSVs {
		out.CSVs[name] = csv.DeepCopy()
	}
	return out
}

// installRows cover an operator that has never run.
func installRows() map[string]statusRow {
	const (
		noPackage = "CatalogSource global/operators has no package foo: correct spec.name"
		noCatalog = "CatalogSource global/operators not found: create it, or correct spec.source and spec.sourceNamespace"
		noBundle  = "Bundle foo.v1 is no registry+v1 bundle: it has two ClusterServiceVersions"
		refused   = `InstallPlan foo/install-1 for foo.v1 failed: Role foo/foo: forbidden. Once that is put right, delete the InstallPlan`
		rollout   = "ClusterServiceVersion foo/foo.v1 is Failed (InstallCheckFailed): Deployment foo is not available"
		approve   = "InstallPlan foo/install-1 for foo.v1 is waiting for a user to approve it: kubectl patch installplan.operators.coreos.com -n foo install-1"
		neither   = "The operator supports neither install mode AllNamespaces nor OwnNamespace: create an OperatorGroup in namespace foo that fits " +
			"its install modes, and name the namespace in spec.namespace"
	)
	failed := func(reason, message string, changes ...given) statusRow {
		return statusRow{
			in: beginning(changes...), want: installingConditions("Ready=False/Failed", "Installed=False/"+reason),
			messages: map[string]string{
				"Ready":     fmt.Sprintf("Subscription foo/foo is not ready (%s): %s", reason, message),
				"Installed": message, "Progressing": message,
			},
			resources: allResources(fmt.Sprintf("(%s): %s", reason, message)), failing: reason,
		}
	}
	waiting := func(message string, changes ...given) statusRow {
		return statusRow{
			in: beginning(changes...), want: installingConditions(),
			messages: map[string]string{
				"Ready":     "Subscription foo/foo is not ready (Installing): " + message,
				"Installed": message, "Progressing": message, "UpToDate": message,
			},
			resources: allResources("(Installing): " + message),
		}
	}
	rowWith := func(reason string, row statusRow) statusRow {
		row.reason = reason
		return row
	}
	unknown := func(row statusRow) statusRow {
		row.want["UpToDate"] = "False/NewestNotKnown"
		return row
	}
	unsubscribed := waiting("Waiting for a Subscription to package foo")
	unsubscribed.want["UpToDate"] = "False/SubscriptionNotFound"
	neverAvailable := withReason(csv("foo.v1", "", olm.CSVPhaseInstalling, olm.CSVPhaseFailed),
		"InstallCheckFailed", "Deployment foo is not available")
	unsupported := withReason(withInstallModes(csv("foo.v1", "", olm.CSVPhaseFailed), olm.InstallModeTypeSingleNamespace),
		olm.CSVReasonUnsupportedOperatorGroup, "")
	return map[string]statusRow{
		"JustCreated": rowWith("A PlatformOperator whose Subscription does not exist yet is being created.", unsubscribed),
		"NotResolved": rowWith("A Subscription that is not resolved reports the reason.",
			waiting("Waiting for CatalogSource global/operators to be read",
				subscribed("", "", "Waiting for CatalogSource global/operators to be read"))),
		"NotResolvedAndSilent": rowWith("A Subscription without a message is waiting to be resolved.",
			waiting("Waiting for Subscription foo/foo to be resolved", subscribed("", "", ""))),
		"PackageNotFound": rowWith("A package that does not exist is a failure.",
			unknown(failed("PackageNotFound", noPackage, subscribed("", "", noPackage,
				"ResolutionFailed=True/PackageNotFound: "+noPackage, "PackageChannelInvalid=True/PackageNotFound: "+noPackage)))),
		"HalfRefused": {
			reason: "An operator that runs although its InstallPlan failed is not installed.",
			in: beginning(subscribed("foo.v1", "foo.v1", refused, "InstallPlanFailed=True/InstallPlanFailed: "+refused),
				csvs(succeeded("foo.v1", ""))),
			want:    runningConditions("Installed=False/InstallPlanFailed", "Progressing=True/Installing", "Ready=False/Failed", "UpToDate=False/NewestDoesNotRun"),
			version: "1.0.0", resources: allResources("(InstallPlanFailed): " + refused), failing: "InstallPlanFailed",
		},
		"CatalogInvalid": rowWith("A catalog that does not exist is a failure.",
			unknown(failed("CatalogSourceNotFound", noCatalog, subscribed("", "", noCatalog,
				"CatalogSourceInvalid=True/CatalogSourceNotFound: "+noCatalog, "ResolutionFailed=True/CatalogSourceNotFound: "+noCatalog)))),
		"BundleInvalid": rowWith("An invalid bundle is a failure.",
			failed("BundleInvalid", noBundle, subscribed("", "", noBundle, "ResolutionFailed=True/BundleInvalid: "+noBundle))),
		"PlanRunning": rowWith("An InstallPlan that is being installed is waited for.",
			waiting("Waiting for InstallPlan foo/install-1, which installs foo.v1",
				subscribed("foo.v1", "", "Waiting for InstallPlan foo/install-1, which installs foo.v1"))),
		"PlanFailed": rowWith("An InstallPlan that failed is reported with a way to repair it.",
			failed("InstallPlanFailed", refused, subscribed("foo.v1", "", refused, "InstallPlanFailed=True/InstallPlanFailed: "+refused))),
		"AwaitingApproval": rowWith("A missing approval by a user is reported, and is not a failure.",
			waiting(approve, withOperator(approving(olm.ApprovalManual)),
				subscribed("foo.v1", "", approve, "InstallPlanAwaitingManualApproval=True/RequiresApproval: "+approve))),
		"NeitherInstallMode": rowWith("An operator without a supported install mode needs an OperatorGroup of a user.",
			failed("InstallModesUnsupported", neither, subscribed("foo.v1", "", "Waiting",
				"InstalledCSVFailed=True/CSVFailed: ClusterServiceVersion foo/foo.v1 is Failed"), csvs(unsupported))),
		"RolloutFailed": rowWith("A rollout that does not become available is a failure with the operator's own message.",
			failed("CSVFailed", rollout, csvs(neverAvailable),
				subscribed("foo.v1", "", rollout, "InstalledCSVFailed=True/CSVFailed: "+rollout))),
		"Installing": {
			reason: "The message of the ClusterServiceVersion is reported during the installation.",
			in: beginning(
				subscribed("foo.v1", "", "Waiting for ClusterServiceVersion foo/foo.v1, which is Installing"),
				csvs(installing("foo.v1", "")),
			),
			want: installingConditions(),
			messages: map[string]string{
				"Ready": "Subscription foo/foo is not ready (Installing): ClusterServiceVersion foo/foo.v1 is Installing (InstallWaiting): " +
					"0 of 1 pods are available",
				"Progressing": "ClusterServiceVersion foo/foo.v1 is Installing (InstallWaiting): 0 of 1 pods are available",
				"UpToDate":    "Waiting for ClusterServiceVersion foo/foo.v1, which is Installing",
				"Synced":      "Every object exists as declared",
				"Upgradeable": "The operator has no Probe, so this is not known",
			},
			resources: allResources("(Installing): ClusterServiceVersion foo/foo.v1 is Installing (InstallWaiting): 0 of 1 pods are available"),
		},
		"CatalogsUnhealthy": {
			reason: "Another catalog that is unhealthy does not block the installation.",
			in: beginning(
				subscribed("foo.v1", "foo.v1", "", "CatalogSourcesUnhealthy=True/UnhealthyCatalogSourceFound: other does not answer"),
				csvs(succeeded("foo.v1", ""))),
			want: runningConditions(), version: "1.0.0", resources: allResources(""),
		},
	}
}

func installing(name, replaces string) *clusterServiceVersion {
	return withReason(csv(name, replaces, olm.CSVPhasePending, olm.CSVPhaseInstalling), olm.CSVReasonWaiting, "0 of 1 pods are available")
}

// runRows cover an operator that is up to date, and the conditions of its Probe.
func runRows() map[string]statusRow {
	return map[string]statusRow{
		"Running": {
			reason: "An operator that runs is ready, and the messages contain its name.",
			in:     runs(), want: runningConditions(), version: "1.0.0", resources: allResources(""),
			messages: map[string]string{
				"Ready": "foo.v1 runs", "Installed": "foo.v1 is installed", "UpToDate": "foo.v1 is the newest, and runs",
				"Progressing": "Nothing is being installed or updated",
			},
		},
		"FirstSeenRunning": {
			reason: "An operator that ran before the first reconcile, such as an adopted one, is ready.",
			in:     beginning(subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))),
			want:   runningConditions(), version: "1.0.0", resources: allResources(""),
		},
		"Probe": {
			reason: "The Probe's conditions are copied with their reasons and messages.",
			in: runs(probed("Upgradeable=True/AllUpgradeable: 2 of 2 allow it",
				"Important=True/ConditionsTrue: BadConnectivity is True of Foo foo/example")),
			want:    runningConditions("Upgradeable=True/AllUpgradeable", "Important=True/ConditionsTrue"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Upgradeable": "2 of 2 allow it", "Important": "BadConnectivity is True of Foo foo/example"},
		},
		"ProbeSaysNo": {
			reason: "An operator that must not be updated now is ready.",
			in: runs(probed("Upgradeable=False/NotUpgradeable: Foo foo/example: Migrating is True",
				"Important=False/NothingImportant: Nothing is")),
			want:    runningConditions("Upgradeable=False/NotUpgradeable", "Important=False/NothingImportant"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Upgradeable": "Foo foo/example: Migrating is True"},
		},
		"ProbeSilent": {
			reason: "The conditions are Unknown until the Probe sets them.",
			in:     runs(probed()), want: runningConditions("Upgradeable=Unknown/NotRead", "Important=Unknown/NotRead"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Upgradeable": "Probe foo/foo.v1 does not report it yet"},
		},
	}
}

// updateRows cover an operator with an update available.
func updateRows() map[string]statusRow {
	const (
		available = "InstalledCSVReplacementAvailable=True/ReplacementAvailable: foo.v2 will replace foo.v1"
		held      = "The update to foo.v2 is held: Probe foo/foo.v1 reports Upgradeable=False: Foo foo/example: Migrating is True"
		unread    = "The update to foo.v2 is held: waiting to read the custom resources of Probe foo/foo.v1"
		objects   = "The update to foo.v2 is held: OperatorCondition foo/foo.v1 reports Upgradeable=False: it is busy"
		neighbour = "InstallPlan foo/install-2 is waiting for a user to approve it for Subscription foo/bar"
		approve   = "InstallPlan foo/install-2 for foo.v2 is waiting for a user to approve it: kubectl patch installplan.operators.coreos.com -n foo install-2"
		broken    = "ClusterServiceVersion foo/foo.v2 is Failed (InstallCheckFailed): Deployment foo is not available"
		refused   = "InstallPlan foo/install-2 for foo.v2 failed: CustomResourceDefinition foos.example.com: refused"
	)
	waitingRow := func(reason, conditionType, why, message string, probe given, upgradeable string) statusRow {
		return statusRow{
			reason: reason,
			in: runs(subscribed("foo.v2", "foo.v1", message, available, fmt.Sprintf("%s=True/%s: %s", conditionType, why, message)),
				probe),
			want:    runningConditions("UpToDate=False/NewestDoesNotRun", "Progressing=False/UpdateHeld", "Upgradeable="+upgradeable),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"UpToDate": message, "Progressing": message, "Ready": "foo.v1 runs"},
		}
	}
	none := func(*Inputs) {}
	busy := probed("Upgradeable=False/NotUpgradeable: Foo foo/example: Migrating is True")
	out := map[string]statusRow{
		"Available": {
			reason:  "A newer version is reported before it is installed.",
			in:      runs(subscribed("foo.v1", "foo.v1", "Waiting for an InstallPlan for foo.v2", available)),
			want:    runningConditions("UpToDate=False/NewestDoesNotRun"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"UpToDate": "Waiting for an InstallPlan for foo.v2"},
		},
		"Held": waitingRow("A held update is not a failure, and the message contains the cause of the hold.",
			"UpgradeHeld", "ProbeNotUpgradeable", held, busy, "False/NotUpgradeable"),
		"HeldUnread": waitingRow("While the gate waits to read the Probe, the previous condition of the Probe is ignored.",
			"UpgradeHeld", "ProbeNotRead", unread, probed("Upgradeable=True/AllUpgradeable: 2 of 2"), "False/ProbeNotRead"),
		"HeldByOperator": waitingRow("The operator's own OperatorCondition is reported like the condition of a Probe.",
			"UpgradeHeld", "OperatorConditionNotUpgradeable", objects, none, "False/OperatorConditionNotUpgradeable"),
		"HeldByNeighbour": waitingRow("A missing approval of another Subscription does not make this operator not upgradeable.",
			"UpgradeHeld", "ApprovalMissing", neighbour, none, "True/NoProbe"),
		"AwaitingApproval": waitingRow("A missing approval by a user does not make the operator not upgradeable, and the message contains the command.",
			"InstallPlanAwaitingManualApproval", "RequiresApproval", approve, none, "True/NoProbe"),
		"Changed": {
			reason:  "The status of the Subscription is of an earlier spec: the newest version of another channel runs.",
			in:      runs(generations(2, 1)),
			want:    runningConditions("UpToDate=Unknown/Updating", "Progressing=True/Updating"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Progressing": "Waiting for Subscription foo/foo to be resolved since its last change"},
		},
		"Observed": {
			reason: "The built-in loops have resolved the last change.", in: runs(generations(2, 2)), want: runningConditions(),
			version: "1.0.0", resources: allResources(""),
		},
		"Applied": {
			reason:  "OLM does not record of which spec its status is, but this one was just applied.",
			in:      runs(generations(1, 0)),
			want:    runningConditions("UpToDate=Unknown/Updating", "Progressing=True/Updating"),
			version: "1.0.0", resources: allResources(""),
		},
		"ByOLM": {
			reason: "Of an earlier change it is not known.", in: runs(generations(2, 0)), want: runningConditions(),
			version: "1.0.0", resources: allResources(""),
		},
		"Unpacking": {
			reason:  "OLM unpacks the bundle of the next version before it names it.",
			in:      runs(subscribed("foo.v1", "foo.v1", "", "BundleUnpacking=True/JobIncomplete: Unpacking")),
			want:    runningConditions("UpToDate=Unknown/Updating", "Progressing=True/Updating"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Progressing": "OLM is unpacking a bundle in namespace foo"},
		},
		"Updating": {
			reason: "The previous version is reported as running during an update.",
			in: runs(subscribed("foo.v2", "foo.v1", "Waiting for ClusterServiceVersion foo/foo.v2, which is Installing", available),
				csvs(beingReplaced(), installing("foo.v2", "foo.v1"))),
			want:    runningConditions("UpToDate=False/NewestDoesNotRun", "Progressing=True/Updating", "Ready=True/Updating"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{
				"Ready": "foo.v1 runs",
				"Progressing": "foo.v1 is being updated to foo.v2: ClusterServiceVersion foo/foo.v2 is Installing (InstallWaiting): " +
					"0 of 1 pods are available",
			},
		},
		"UpdateFailed": {
			reason: "A failed update is a failure, since the operator may no longer run.",
			in: after(runs(subscribed("foo.v2", "foo.v1", "Waiting", available), csvs(beingReplaced(), installing("foo.v2", "foo.v1"))),
				subscribed("foo.v2", "foo.v1", broken, available, "InstalledCSVFailed=True/CSVFailed: "+broken),
				csvs(beingReplaced(), withReason(csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling, olm.CSVPhaseFailed), "InstallCheckFailed",
					"Deployment foo is not available"))),
			want:      runningConditions("UpToDate=False/NewestDoesNotRun", "Progressing=True/Updating", "Ready=False/Degraded"),
			version:   "1.0.0",
			resources: allResources("(CSVFailed): " + broken), failing: "CSVFailed",
			messages: map[string]string{
				"Ready":     "Subscription foo/foo is not ready (CSVFailed): " + broken,
				"Installed": "foo.v1 is installed",
			},
		},
		"UpdateRefused": {
			reason: "An operator whose update is refused keeps running and is failing.",
			in: runs(subscribed("foo.v2", "foo.v1", refused, available, "InstallPlanFailed=True/InstallPlanFailed: "+refused),
				csvs(succeeded("foo.v1", ""))),
			want:     runningConditions("UpToDate=False/NewestDoesNotRun", "Progressing=True/Updating", "Ready=True/Updating"),
			messages: map[string]string{"Ready": "foo.v1 runs, but: " + refused},
			version:  "1.0.0", resources: allResources(""), failing: "InstallPlanFailed",
		},
		"CatalogGone": {
			reason: "An operator whose catalog can no longer be read keeps running and is failing.",
			in: runs(subscribed("foo.v1", "foo.v1", "CatalogSource global/operators is away",
				"CatalogSourceInvalid=True/CatalogSourceUnreadable: CatalogSource global/operators is away"), csvs(succeeded("foo.v1", ""))),
			want:     runningConditions("UpToDate=False/NewestNotKnown"),
			messages: map[string]string{"Ready": "foo.v1 runs, but: CatalogSource global/operators is away"},
			version:  "1.0.0", resources: allResources(""), failing: "CatalogSourceUnreadable",
		},
		"Updated": {
			reason: "The new version is reported as running once it has Succeeded.",
			in: after(runs(subscribed("foo.v2", "foo.v1", "Waiting", available), csvs(beingReplaced(), installing("foo.v2", "foo.v1"))),
				subscribed("foo.v2", "foo.v2", ""), csvs(beingReplaced(), succeeded("foo.v2", "foo.v1"))),
			want: runningConditions(), version: "2.0.0", resources: allResources(""),
			messages: map[string]string{"Ready": "foo.v2 runs"},
		},
		"HeldAndIll": {
			reason: "An operator that no longer runs is degraded although its update is held.",
			in: runs(busy, subscribed("foo.v2", "foo.v1", held, available, "UpgradeHeld=True/ProbeNotUpgradeable: "+held),
				csvs(withReason(csv("foo.v1", "", olm.CSVPhaseSucceeded, olm.CSVPhaseInstalling), "NeedsReinstall", "Deployment foo is gone"))),
			want: runningConditions("UpToDate=False/NewestDoesNotRun", "Progressing=False/UpdateHeld", "Upgradeable=False/NotUpgradeable",
				"Ready=False/Degraded"),
			version: "1.0.0", failing: "NeedsReinstall",
			resources: allResources("(NeedsReinstall): ClusterServiceVersion foo/foo.v1 is Installing (NeedsReinstall): Deployment foo is gone"),
			messages: map[string]string{
				"Ready": "Subscription foo/foo is not ready (NeedsReinstall): " +
					"ClusterServiceVersion foo/foo.v1 is Installing (NeedsReinstall): Deployment foo is gone",
			},
		},
		"UpdateAcrossTwo": {
			reason: "A version that never ran is not reported as running.",
			in: runs(subscribed("foo.v3", "foo.v1", "Waiting", available),
				csvs(beingReplaced(), csv("foo.v2", "foo.v1", olm.CSVPhasePending, olm.CSVPhaseReplacing), installing("foo.v3", "foo.v2"))),
			want:    runningConditions("UpToDate=False/NewestDoesNotRun", "Progressing=True/Updating", "Ready=True/Updating"),
			version: "1.0.0", resources: allResources(""),
		},
	}
	for _, name := range []string{"Held", "HeldUnread", "HeldAndIll"} { // whose Probe does not set Important
		out[name].want["Important"] = "Unknown/NotRead"
	}
	return out
}

// regressRows cover an operator that ran, and no longer runs.
func regressRows() map[string]statusRow {
	const gone = "ClusterServiceVersion foo/foo.v1 was installed and no longer exists: the operator is missing until it is installed again"
	unhealthy := func(phase olm.ClusterServiceVersionPhase, message string) *clusterServiceVersion {
		return withReason(csv("foo.v1", "", olm.CSVPhaseInstalling, olm.CSVPhaseSucceeded, phase), olm.CSVReasonComponentUnhealthy, message)
	}
	ill := "ClusterServiceVersion foo/foo.v1 is Failed (ComponentUnhealthy): Deployment foo has no pods"
	pending := "ClusterServiceVersion foo/foo.v1 is Pending (ComponentUnhealthy): Deployment foo has no pods"
	missing := func(in *Inputs) {
		subscribed("foo.v1", "foo.v1", gone, "InstalledCSVMissing=True/CSVMissing: "+gone)(in)
		csvs()(in)
	}
	unsubscribed := func(in *Inputs) { in.Subscription = nil }
	lost := runningConditions("Installed=False/CSVMissing", "Progressing=True/Installing", "Ready=False/Degraded", "UpToDate=False/NewestDoesNotRun")
	return map[string]statusRow{
		"Failed": {
			reason: "An operator that failed after it ran is degraded and installed.",
			in: after(runs(), subscribed("foo.v1", "foo.v1", ill, "InstalledCSVFailed=True/CSVFailed: "+ill),
				csvs(unhealthy(olm.CSVPhaseFailed, "Deployment foo has no pods"))),
			want: runningConditions("Ready=False/Degraded", "UpToDate=False/NewestDoesNotRun"), version: "1.0.0",
			resources: allResources("(CSVFailed): " + ill), failing: "CSVFailed",
			messages: map[string]string{"Ready": "Subscription foo/foo is not ready (CSVFailed): " + ill},
		},
		"FailedButNotToldYet": {
			reason: "The failure of a ClusterServiceVersion is reported before its Subscription reports it.",
			in:     after(runs(), csvs(unhealthy(olm.CSVPhaseFailed, "Deployment foo has no pods"))),
			want:   runningConditions("Ready=False/Degraded"), version: "1.0.0",
			resources: allResources("(ComponentUnhealthy): " + ill), failing: "ComponentUnhealthy",
			messages: map[string]string{"Ready": "Subscription foo/foo is not ready (ComponentUnhealthy): " + ill},
		},
		"PendingAgain": {
			reason: "An operator that is Pending after it ran is degraded, and is not being created.",
			in: after(runs(), subscribed("foo.v1", "foo.v1", "Waiting for "+pending),
				csvs(unhealthy(olm.CSVPhasePending, "Deployment foo has no pods"))),
			want: runningConditions("Ready=False/Degraded", "UpToDate=False/NewestDoesNotRun"), version: "1.0.0",
			resources: allResources("(ComponentUnhealthy): " + pending), failing: "ComponentUnhealthy",
		},
		"PendingAfterFailed": {
			reason: "An operator that is Pending after a failure is degraded, and is not being created.",
			in: after(after(runs(), csvs(unhealthy(olm.CSVPhaseFailed, "Deployment foo has no pods")),
				subscribed("foo.v1", "foo.v1", ill, "InstalledCSVFailed=True/CSVFailed: "+ill)),
				subscribed("foo.v1", "foo.v1", "Waiting for "+pending), csvs(unhealthy(olm.CSVPhasePending, "Deployment foo has no pods"))),
			want: runningConditions("Ready=False/Degraded", "UpToDate=False/NewestDoesNotRun"), version: "1.0.0",
			resources: allResources("(ComponentUnhealthy): " + pending), failing: "ComponentUnhealthy",
		},
		"PendingAfterChange": {
			reason: "An operator that is Pending is degraded even if the spec changes.",
			in: after(after(runs(), csvs(unhealthy(olm.CSVPhasePending, "Deployment foo has no pods"))),
				withOperator(func(op *v1alpha1.PlatformOperator) { op.Generation++ })),
			want: runningConditions("Ready=False/Degraded"), version: "1.0.0",
			resources: allResources("(ComponentUnhealthy): " + pending), failing: "ComponentUnhealthy",
		},
		"Recovered": {
			reason: "An operator that runs again is ready.",
			in:     after(after(runs(), csvs(unhealthy(olm.CSVPhasePending, ""))), csvs(succeeded("foo.v1", ""))),
			want:   runningConditions(), version: "1.0.0", resources: allResources(""), failing: "ComponentUnhealthy",
		},
		"Gone": {
			reason: "An operator whose ClusterServiceVersion was deleted is degraded and not installed.",
			in:     after(runs(), missing), want: lost,
			resources: allResources("(CSVMissing): " + gone), failing: "CSVMissing",
		},
		"GoneStill": {
			reason: "An operator whose ClusterServiceVersion was deleted stays degraded.",
			in:     after(after(runs(), missing)), want: lost,
			resources: allResources("(CSVMissing): " + gone), failing: "CSVMissing",
		},
		"ComingBack": {
			reason: "An operator that is reinstalled is degraded, and is not being created.",
			in: after(after(after(runs(), missing)), subscribed("foo.v1", "foo.v1", "Waiting for it"),
				csvs(installing("foo.v1", ""))),
			want: runningConditions("Installed=False/Installing", "Progressing=True/Installing", "Ready=False/Degraded", "UpToDate=False/NewestDoesNotRun"),
			resources: allResources("(Installing): ClusterServiceVersion foo/foo.v1 is Installing (InstallWaiting): " +
				"0 of 1 pods are available"), failing: "Installing",
		},
		"Unsubscribed": {
			reason: "An operator whose Subscription was deleted is degraded, and is not being created.",
			in:     after(after(runs(), unsubscribed)),
			want: runningConditions("Installed=False/Installing", "Progressing=True/Installing", "Ready=False/Degraded",
				"UpToDate=False/SubscriptionNotFound"),
			resources: allResources("(Installing): Waiting for a Subscription to package foo"), failing: "Installing",
		},
		"SubscriptionTerminating": {
			reason: "A Subscription that is being deleted no longer reports on the operator.",
			in: after(runs(), func(in *Inputs) {
				in.Objects[2].Live = builder.WithField(in.Objects[2].Live.DeepCopy(), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
			}),
			want: runningConditions("Ready=False/Degraded"), version: "1.0.0",
			resources: allResources("(Terminating): It is being deleted"), failing: "Terminating",
		},
	}
}

// resourceRows cover the other objects of an operator.
func resourceRows() map[string]statusRow {
	const (
		kindless  = "Foo example: the cluster does not serve the kind example.com/v1, Kind=Foo"
		forbidden = "Foo example: foos.example.com is forbidden"
		refused   = "Foo example: spec.size: Invalid value"
		conflicts = "Subscription foo/foo already exists and is not changed. To hand it over: kubectl annotate -n foo"
		taken     = "OperatorGroup foo/foo belongs to PlatformOperator bar, and is not changed"
	)
	example := func(conditions ...string) given {
		return withObject("example", builder.FooWithConditions(conditions...))
	}
	waiting := example("Ready=False/Provisioning: 1 of 3 nodes are there")
	crashed := example("Degraded=True/CrashLoop: node 2 does not start")
	withOtherObject := func(entry, name string, conditions ...string) given {
		o := builder.FooWithConditions(conditions...)
		o.SetName(name)
		return withObject(entry, o)
	}
	withExample := func(conditions ...string) given {
		return func(in *Inputs) { in.Objects[3].Live = builder.FooWithConditions(conditions...) }
	}
	changedSpec := withOperator(func(op *v1alpha1.PlatformOperator) { op.Generation++ })
	lacksKind := problem("example", "KindNotFound", kindless)
	neverReady := func(changes ...given) Inputs { // the operator runs, but the PlatformOperator was never Ready
		return beginning(append([]given{subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))}, changes...)...)
	}
	notYet := func(reason string) map[string]string {
		return runningConditions("Ready=False/"+reason, "Installed=False/Installing", "Progressing=True/Installing")
	}
	out := map[string]statusRow{
		"Ready": {
			reason: "An object that is ready has no message.",
			in:     runs(example("Ready=True/AllThere: 3 of 3")), want: runningConditions(), version: "1.0.0", resources: allResources("", "example"),
		},
		"Creating": {
			reason: "The operator is installed once all objects are ready, and until then the message of the object is reported.",
			in:     neverReady(waiting), want: notYet("Creating"), version: "1.0.0",
			resources: allResources("", "example (Provisioning): 1 of 3 nodes are there"),
			messages: map[string]string{
				"Ready":     "Foo example is not ready (Provisioning): 1 of 3 nodes are there",
				"Installed": "Foo example is not ready (Provisioning): 1 of 3 nodes are there",
			},
		},
		"Failing": {
			reason: "An object that reports a failure fails the PlatformOperator, with its own message.",
			in:     neverReady(crashed), want: notYet("Failed"), version: "1.0.0",
			resources: allResources("", "example (CrashLoop): node 2 does not start"), failing: "CrashLoop",
			messages: map[string]string{"Ready": "Foo example is not ready (CrashLoop): node 2 does not start"},
		},
		"FailingBesideWaiting": {
			reason: "The failure of an object takes precedence over an object that is not ready.",
			in:     neverReady(waiting, withOtherObject("other", "other", "Degraded=True/CrashLoop: node 2 does not start")),
			want:   notYet("Failed"), version: "1.0.0",
			resources: allResources("", "example (Provisioning): 1 of 3 nodes are there", "other (CrashLoop): node 2 does not start"),
			failing:   "CrashLoop",
			messages: map[string]string{"Ready": "Foo example is not ready (Provisioning): 1 of 3 nodes are there; " +
				"Foo other is not ready (CrashLoop): node 2 does not start"},
		},
		"WasReady": {
			reason: "An object that is no longer ready makes the operator degraded.",
			in:     after(runs(example("Ready=True/AllThere: 3 of 3")), withExample("Ready=False/NodeLost: 2 of 3")),
			want:   runningConditions("Ready=False/Degraded"), version: "1.0.0", resources: allResources("", "example (NodeLost): 2 of 3"), failing: "NodeLost",
		},
		"Added": {
			reason: "An object that is added to a running operator is being created.",
			in:     after(runs(), changedSpec, waiting), want: runningConditions("Ready=False/Creating"), version: "1.0.0",
			resources: allResources("", "example (Provisioning): 1 of 3 nodes are there"),
		},
		"AddedLater": {
			reason: "An added object is still being created at the next reconcile.",
			in:     after(after(runs(), changedSpec, waiting)), want: runningConditions("Ready=False/Creating"), version: "1.0.0",
			resources: allResources("", "example (Provisioning): 1 of 3 nodes are there"),
		},
		"AddedAndFailing": {
			reason: "An added object that fails makes the operator degraded.",
			in:     after(runs(), changedSpec, crashed), want: runningConditions("Ready=False/Degraded"), version: "1.0.0",
			resources: allResources("", "example (CrashLoop): node 2 does not start"), failing: "CrashLoop",
		},
		"Exchanged": {
			reason: "An object that takes the place of another one is being created.",
			in: after(runs(example("Ready=True/AllThere: 3 of 3")), changedSpec, func(in *Inputs) {
				gone := builder.WithField(builder.FooWithConditions("Ready=True"), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
				in.Objects[3].Live, in.Objects[3].Leaving = gone, true
			}, withOtherObject("other", "other", "Ready=False/Provisioning: 1 of 3")),
			want: runningConditions("Ready=False/Creating"), version: "1.0.0",
			resources: allResources("", "example (Terminating): It is being deleted", "other (Provisioning): 1 of 3"),
		},
		"KindComesWithOperator": {
			reason: "A kind that does not exist is waited for during the installation, since the operator may create it.",
			in:     beginning(subscribed("foo.v1", "", "Waiting"), csvs(installing("foo.v1", "")), waiting, lacksKind),
			want:   installingConditions("Synced=False/KindNotFound"),
			resources: allResources("(Installing): ClusterServiceVersion foo/foo.v1 is Installing (InstallWaiting): 0 of 1 pods are available",
				"example (KindNotFound): "+kindless),
			messages: map[string]string{"Synced": kindless},
		},
		"KindDoesNotCome": {
			reason:    "A kind that does not exist after the installation is a failure.",
			in:        neverReady(waiting, lacksKind),
			want:      runningConditions("Synced=False/KindNotFound", "Ready=False/Failed", "Installed=False/KindNotFound", "Progressing=True/Installing"),
			version:   "1.0.0",
			resources: allResources("", "example (KindNotFound): "+kindless), failing: "KindNotFound",
		},
		"KindGone": {
			reason: "A kind that no longer exists makes the operator degraded.",
			in:     after(runs(example("Ready=True")), lacksKind),
			want:   runningConditions("Synced=False/KindNotFound", "Ready=False/Degraded"), version: "1.0.0",
			resources: allResources("", "example (KindNotFound): "+kindless), failing: "KindNotFound",
		},
		"Conflict": {
			reason: "An object of another owner is a conflict, which is a failure.",
			in:     beginning(problem("subscription", "Conflict", conflicts)),
			want: installingConditions("Synced=False/Conflict", "Ready=False/Failed", "Installed=False/Conflict",
				"UpToDate=False/SubscriptionNotFound"),
			resources: allResources("(Conflict): " + conflicts), failing: "Conflict",
			messages: map[string]string{
				"Synced": conflicts, "Installed": conflicts, "Ready": "Subscription foo/foo is not ready (Conflict): " + conflicts,
			},
		},
		"NamespaceReserved": {
			reason: "A reserved namespace is a failure.",
			in: with(beginning(), func(in *Inputs) {
				in.Objects, in.Blocked = nil, &condition.Problem{Reason: "NamespaceReserved", Message: "It is reserved"}
			}),
			want: installingConditions("Synced=False/NamespaceReserved", "Ready=False/Failed", "Installed=False/NamespaceReserved",
				"UpToDate=False/SubscriptionNotFound"),
			failing:  "NamespaceReserved",
			messages: map[string]string{"Synced": "It is reserved", "Installed": "It is reserved"},
		},
		"ConflictAndKindNotFound": {
			reason: "All problems are reported, under the reason that does not end without a user.",
			in:     beginning(waiting, lacksKind, problem("operatorgroup", "Conflict", taken)),
			want: installingConditions("Synced=False/Conflict", "Ready=False/Failed", "Installed=False/Conflict",
				"UpToDate=False/SubscriptionNotFound"),
			resources: []string{
				"namespace", "operatorgroup (Conflict): " + taken, "subscription (Installing): Waiting for a Subscription to package foo",
				"example (KindNotFound): " + kindless,
			},
			failing:  "Conflict",
			messages: map[string]string{"Synced": taken + "; " + kindless},
		},
		"KindNotFoundFirst": {
			reason: "The reason of the problems does not depend on the order of the objects.",
			in: with(beginning(waiting, lacksKind, problem("operatorgroup", "Conflict", taken)), func(in *Inputs) {
				slices.Reverse(in.Objects)
			}),
			want: installingConditions("Synced=False/Conflict", "Ready=False/Failed", "Installed=False/Conflict",
				"UpToDate=False/SubscriptionNotFound"),
			resources: []string{
				"example (KindNotFound): " + kindless, "subscription (Installing): Waiting for a Subscription to package foo",
				"operatorgroup (Conflict): " + taken, "namespace",
			},
			failing: "Conflict",
		},
		"Forbidden": {
			reason:    "An object that may not be created is reported.",
			in:        neverReady(waiting, problem("example", "Forbidden", forbidden)),
			want:      runningConditions("Synced=False/Forbidden", "Ready=False/Failed", "Installed=False/Forbidden", "Progressing=True/Installing"),
			version:   "1.0.0",
			resources: allResources("", "example (Forbidden): "+forbidden), failing: "Forbidden",
			messages: map[string]string{"Synced": forbidden, "Installed": forbidden},
		},
		"Refused": {
			reason: "An object that the API server refuses is reported, even if it existed before.",
			in:     after(runs(example("Ready=True")), problem("example", "ApplyFailed", refused)),
			want:   runningConditions("Synced=False/ApplyFailed", "Ready=False/Degraded"), version: "1.0.0",
			resources: allResources("", "example (ApplyFailed): "+refused), failing: "ApplyFailed",
			messages: map[string]string{"Synced": refused},
		},
		"Leaving": {
			reason: "An object that is being deleted is reported, and does not affect the conditions.",
			in: with(runs(), withLeavingObject("old", builder.WithField(builder.FooWithConditions("Ready=False/Going: bye"), "2026-01-01T00:00:00Z",
				"metadata", "deletionTimestamp"))),
			want: runningConditions(), version: "1.0.0", resources: allResources("", "old (Terminating): It is being deleted"),
		},
		"NotThere": {
			reason: "An object that does not exist is not ready.",
			in:     neverReady(waiting, func(in *Inputs) { in.Objects[3].Live = nil }), want: notYet("Creating"), version: "1.0.0",
			resources: allResources("", "example (NotFound): Not found"),
		},
		"Checks": {
			reason: "The readiness checks of an entry replace the conventions of the kind.",
			in:     neverReady(waiting, func(in *Inputs) { in.Objects[3].Checks = builder.Checks(builder.None) }), want: runningConditions(), version: "1.0.0",
			resources: allResources("", "example"),
		},
	}
	return out
}

// gone removes the Subscription, and the objects that are only read with it.
func gone(in *Inputs) { in.Subscription, in.CSVs, in.Probe = nil, nil, nil }

func observeRows() map[string]statusRow {
	observed := func(names ...string) given { return func(in *Inputs) { in.Observed.Candidates = names } }
	return map[string]statusRow{
		"None": {
			reason: "A PlatformOperator that only observes fails without a Subscription.",
			in:     beginning(withOperator(observing), withoutObjects),
			want: installingConditions("Synced=True/ObserveOnly", "Ready=False/Failed", "Installed=False/SubscriptionNotFound",
				"UpToDate=False/SubscriptionNotFound"),
			failing: "SubscriptionNotFound",
			messages: map[string]string{
				"Synced":    "Nothing is created or changed, since managementPolicy is Observe",
				"Ready":     "The operator is not ready (SubscriptionNotFound): No Subscription to package foo found",
				"Installed": "No Subscription to package foo found",
			},
		},
		"One": {
			reason: "An observed Subscription is reported like one of the PlatformOperator.",
			in:     beginning(withOperator(observing), withoutObjects, observed("foo/foo"), subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))),
			want:   runningConditions("Synced=True/ObserveOnly"), version: "1.0.0",
			messages: map[string]string{"Ready": "foo.v1 runs"},
		},
		"OneInTrouble": {
			reason: "The problem of an observed Subscription is reported.",
			in: beginning(withOperator(observing), withoutObjects, observed("foo/foo"),
				subscribed("", "", "No", "ResolutionFailed=True/ChannelNotFound: No channel")),
			want:     installingConditions("Synced=True/ObserveOnly", "Ready=False/Failed", "Installed=False/ChannelNotFound"),
			failing:  "ChannelNotFound",
			messages: map[string]string{"Ready": "The operator is not ready (ChannelNotFound): No channel"},
		},
		"Several": {
			reason: "Several Subscriptions to the package are ambiguous.",
			in:     beginning(withOperator(observing), withoutObjects, observed("foo/foo", "other/foo")),
			want: installingConditions("Synced=True/ObserveOnly", "Ready=False/Failed", "Installed=False/SubscriptionAmbiguous",
				"UpToDate=False/SubscriptionNotFound"),
			failing: "SubscriptionAmbiguous",
			messages: map[string]string{
				"Installed": "2 Subscriptions to package foo exist: foo/foo, other/foo. To select one, " +
					"set spec.package.catalog, or recreate the PlatformOperator with spec.namespace",
			},
		},
		"Regressed": {
			reason: "An operator that no longer runs is degraded, even if it is only observed.",
			in: after(beginning(withOperator(observing), withoutObjects, observed("foo/foo"), subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))),
				csvs(withReason(csv("foo.v1", "", olm.CSVPhaseSucceeded, olm.CSVPhasePending), olm.CSVReasonComponentUnhealthy, "no pods"))),
			want: runningConditions("Synced=True/ObserveOnly", "Ready=False/Degraded"), version: "1.0.0", failing: "ComponentUnhealthy",
		},
		"GoneAgain": {
			reason: "An observed Subscription that was deleted makes the operator degraded.",
			in: after(beginning(withOperator(observing), withoutObjects, observed("foo/foo"), subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))),
				observed(), gone),
			want: installingConditions("Synced=True/ObserveOnly", "Ready=False/Degraded", "Installed=False/SubscriptionNotFound",
				"UpToDate=False/SubscriptionNotFound"),
			failing: "SubscriptionNotFound",
		},
		"GoneWhileHeld": {
			reason: "Upgradeable keeps its last status after the observed Subscription was deleted.",
			in: after(beginning(withOperator(observing), withoutObjects, observed("foo/foo"), subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", "")),
				probed("Upgradeable=False/Migrating: It migrates")), observed(), gone),
			want: installingConditions("Synced=True/ObserveOnly", "Ready=False/Degraded", "Installed=False/SubscriptionNotFound",
				"UpToDate=False/SubscriptionNotFound", "Upgradeable=False/Migrating"),
			failing:  "SubscriptionNotFound",
			messages: map[string]string{"Upgradeable": "It migrates"},
		},
	}
}

// othersRows cover other PlatformOperators for the package, and a cluster without Subscriptions.
func othersRows() map[string]statusRow {
	duplicates := func(names ...string) given { return func(in *Inputs) { in.Duplicates = names } }
	yieldsToOlder := func(in *Inputs) { in.Yields = true }
	younger := "Package foo is also installed by PlatformOperator bar: delete all but one. This one is newer and is ignored"
	noOLM := func(in *Inputs) { in.NoOLM = true }
	lacksKinds := func(in *Inputs) {
		problem("operatorgroup", "KindNotFound", "OperatorGroup foo/foo: the cluster does not serve the kind")(in)
		problem("subscription", "KindNotFound", "Subscription foo/foo: the cluster does not serve the kind")(in)
	}
	const install = "The cluster does not serve Subscriptions: install OLM, or the built-in loops of operator-status " +
		"(crds-lifecycle.yaml and install-lifecycle.yaml of the release)"
	return map[string]statusRow{
		"Older": {
			reason: "The oldest PlatformOperator of a package stays active, and reports the others.",
			in:     runs(duplicates("bar", "baz")),
			want:   runningConditions("Synced=False/DuplicatePackage"), version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Synced": "Package foo is also installed by PlatformOperator bar, baz: delete all but one. " +
				"This one is the oldest and stays active"},
		},
		"OlderInstalling": {
			reason: "The oldest PlatformOperator of a package stays active while it is being installed.",
			in:     beginning(duplicates("bar"), subscribed("", "", "Waiting")), want: installingConditions("Synced=False/DuplicatePackage"),
			resources: allResources("(Installing): Waiting"),
		},
		"Younger": {
			reason: "A younger PlatformOperator of a package fails, and creates nothing.",
			in:     beginning(duplicates("bar"), yieldsToOlder, withoutObjects),
			want: installingConditions("Synced=False/DuplicatePackage", "Ready=False/Failed", "Installed=False/DuplicatePackage",
				"UpToDate=False/SubscriptionNotFound"),
			failing: "DuplicatePackage",
			messages: map[string]string{
				"Synced": younger, "Installed": younger, "Ready": "The operator is not ready (DuplicatePackage): " + younger,
			},
		},
		"NoOLM": {
			reason: "A cluster without OLM is a failure.",
			in:     beginning(noOLM, lacksKinds),
			want: installingConditions("Synced=False/KindNotFound", "Ready=False/Failed", "Installed=False/OLMNotFound",
				"UpToDate=False/SubscriptionNotFound"),
			resources: []string{
				"namespace", "operatorgroup (KindNotFound): OperatorGroup foo/foo: the cluster does not serve the kind",
				"subscription (OLMNotFound): " + install,
			},
			failing:  "OLMNotFound",
			messages: map[string]string{"Installed": install, "Progressing": install},
		},
		"NoOLMToObserve": {
			reason: "A cluster without OLM is a failure even if the operator is only observed.",
			in:     beginning(noOLM, withOperator(observing), withoutObjects),
			want: installingConditions("Synced=True/ObserveOnly", "Ready=False/Failed", "Installed=False/OLMNotFound",
				"UpToDate=False/SubscriptionNotFound"),
			failing:  "OLMNotFound",
			messages: map[string]string{"Ready": "The operator is not ready (OLMNotFound): " + install},
		},
		"OLMGone": {
			reason: "An operator is degraded after OLM was removed, and stays so.",
			in: after(after(runs(), noOLM, lacksKinds, func(in *Inputs) {
				in.Subscription, in.CSVs = nil, nil
			})),
			want: installingConditions("Synced=False/KindNotFound", "Ready=False/Degraded", "Installed=False/OLMNotFound",
				"UpToDate=False/SubscriptionNotFound"),
			resources: []string{
				"namespace", "operatorgroup (KindNotFound): OperatorGroup foo/foo: the cluster does not serve the kind",
				"subscription (OLMNotFound): " + install,
			},
			failing: "OLMNotFound",
		},
	}
}

// olmRows cover a Subscription that a real OLM writes, with our conditions on it.
func olmRows() map[string]statusRow {
	const (
		newest   = "UpToDate=True/NewestRuns: foo.v1 is the newest that OLM knows of, and runs"
		behind   = "UpToDate=False/NewestDoesNotRun: Waiting for ClusterServiceVersion foo/foo.v2, which is Pending"
		unpack   = "bundle unpacking failed. Reason: DeadlineExceeded, and Message: Job was active longer than specified deadline"
		conflict = "constraints not satisfiable: no operators found in package foo"
	)
	bridged := func(current, installed string, conditions ...string) given {
		return func(in *Inputs) {
			subscribed(current, installed, "", conditions...)(in)
			in.Subscription.Status.UpToDate = false // OLM's schema does not have the field
		}
	}
	running := runs(bridged("foo.v1", "foo.v1", newest), csvs(byOLM(succeeded("foo.v1", ""))))
	return map[string]statusRow{
		"UpToDate": {
			reason: "With OLM the condition UpToDate is used, since OLM's schema has no field for it.",
			in:     running, want: runningConditions(), version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"UpToDate": "foo.v1 is the newest that OLM knows of, and runs"},
		},
		"NotToldYet": {
			reason: "An operator is not up to date before the condition UpToDate is set.",
			in:     with(running, bridged("foo.v1", "foo.v1")), want: runningConditions("UpToDate=False/NewestDoesNotRun"),
			version: "1.0.0", resources: allResources(""),
		},
		"PendingIsInstalled": {
			reason: "A version that OLM calls installed before it runs is not reported as running.",
			in: after(running, bridged("foo.v2", "foo.v2", behind), csvs(byOLM(beingReplaced()),
				byOLM(withReason(csv("foo.v2", "foo.v1", olm.CSVPhasePending), "RequirementsNotMet", "CRD bars.example.com is missing")))),
			want:    runningConditions("Ready=True/Updating", "Progressing=True/Updating", "UpToDate=False/NewestDoesNotRun"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{
				"Ready": "foo.v1 runs", "Installed": "foo.v1 is installed",
				"Progressing": "foo.v1 is being updated to foo.v2: ClusterServiceVersion foo/foo.v2 is Pending (RequirementsNotMet): " +
					"CRD bars.example.com is missing",
			},
		},
		"HeldAfterThePlan": {
			reason: "An update that OLM itself holds is reported as held.",
			in: after(running, bridged("foo.v2", "foo.v2", behind, "UpgradeHeld=True/OperatorConditionNotUpgradeable: It is busy"),
				csvs(byOLM(beingReplaced()), byOLM(csv("foo.v2", "foo.v1", olm.CSVPhasePending)))),
			want: runningConditions("Progressing=False/UpdateHeld", "UpToDate=False/NewestDoesNotRun",
				"Upgradeable=False/OperatorConditionNotUpgradeable"),
			version: "1.0.0", resources: allResources(""),
			messages: map[string]string{"Progressing": "It is busy", "Upgradeable": "It is busy", "Ready": "foo.v1 runs"},
		},
		"FirstIsInstalled": {
			reason: "The first version is not installed before it runs, even if OLM calls it installed.",
			in:     beginning(bridged("foo.v1", "foo.v1", "UpToDate=False/NewestDoesNotRun: Waiting"), csvs(byOLM(installing("foo.v1", "")))),
			want:   installingConditions(),
			resources: allResources("(Installing): ClusterServiceVersion foo/foo.v1 is Installing (InstallWaiting): " +
				"0 of 1 pods are available"),
		},
		"FirstAwaitsApproval": {
			reason: "A missing approval of the first version is reported from its condition.",
			in:     beginning(bridged("foo.v1", "", "InstallPlanAwaitingManualApproval=True/RequiresApproval: Approve it")),
			want:   installingConditions(), messages: map[string]string{"Installed": "Approve it", "UpToDate": "Approve it"},
			resources: allResources("(Installing): Approve it"),
		},
		"UnpackFailed": {
			reason:   "A bundle that cannot be unpacked is reported, even if no other condition reports it.",
			in:       beginning(bridged("", "", "BundleUnpackFailed=True/BundleUnpackFailed: "+unpack)),
			want:     installingConditions("Ready=False/Failed", "Installed=False/BundleUnpackFailed"),
			messages: map[string]string{"Installed": unpack}, failing: "BundleUnpackFailed",
			resources: allResources("(BundleUnpackFailed): " + unpack),
		},
		"WithoutReason": {
			reason: "The condition type is the reason if OLM omits the reason.",
			in:     beginning(bridged("", "", "ResolutionFailed=True: "+conflict)),
			want:   installingConditions("Ready=False/Failed", "Installed=False/ResolutionFailed"),
			messages: map[string]string{
				"Installed": conflict, "Ready": "Subscription foo/foo is not ready (ResolutionFailed): " + conflict,
			},
			failing: "ResolutionFailed", resources: allResources("(ResolutionFailed): " + conflict),
		},
		"NoWord": {
			reason: "An invalid reason of a condition is replaced by Failed.",
			in:     beginning(bridged("", "", "ResolutionFailed=True/not a word: "+conflict)),
			want:   installingConditions("Ready=False/Failed", "Installed=False/Failed"), failing: "Failed",
			resources: allResources("(Failed): " + conflict),
		},
		"HeldWithoutReason": {
			reason:  "The condition type is the reason of a hold without a reason.",
			in:      with(running, bridged("foo.v2", "foo.v1", behind, "UpgradeHeld=True: It is busy")),
			want:    runningConditions("Progressing=False/UpdateHeld", "UpToDate=False/NewestDoesNotRun", "Upgradeable=False/UpgradeHeld"),
			version: "1.0.0", resources: allResources(""),
		},
		"RegressedThere": {
			reason: "The history of OLM shows that the operator ran before, so it is degraded.",
			in: after(running, bridged("foo.v1", "foo.v1", "UpToDate=False/NewestDoesNotRun: Waiting"),
				csvs(byOLM(withReason(csv("foo.v1", "", olm.CSVPhaseSucceeded, olm.CSVPhasePending), olm.CSVReasonComponentUnhealthy, "no pods")))),
			want: runningConditions("Ready=False/Degraded", "UpToDate=False/NewestDoesNotRun"), version: "1.0.0",
			resources: allResources("(ComponentUnhealthy): ClusterServiceVersion foo/foo.v1 is Pending (ComponentUnhealthy): no pods"),
			failing:   "ComponentUnhealthy",
		},
	}
}

var reasonOfCondition = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// checkConditions verifies that the API server accepts the status, and that every condition is set.
func checkConditions(t *testing.T, in Inputs, got v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	for conditionType := range runningConditions() {
		c := meta.FindStatusCondition(got.Conditions, conditionType)
		if c == nil {
			t.Errorf("condition %s is missing", conditionType)
			continue
		}
		switch {
		case !reasonOfCondition.MatchString(c.Reason):
			t.Errorf("%s=%s has reason %q", c.Type, c.Status, c.Reason)
		case c.Message == "":
			t.Errorf("%s=%s/%s has no message", c.Type, c.Status, c.Reason)
		case len(c.Message) > maxMessage+len("…") || !utf8.ValidString(c.Message):
			t.Errorf("the message of %s has %d bytes: %s", c.Type, len(c.Message), c.Message)
		case c.LastTransitionTime.IsZero() || c.LastTransitionTime.Nanosecond() != 0:
			t.Errorf("%s is since %v", c.Type, c.LastTransitionTime)
		case c.ObservedGeneration != in.Operator.Generation:
			t.Errorf("%s has observedGeneration %d", c.Type, c.ObservedGeneration)
		}
	}
	if len(got.Conditions) != len(runningConditions()) || got.ObservedGeneration != in.Operator.Generation {
		t.Errorf("got %d conditions and observedGeneration %d", len(got.Conditions), got.ObservedGeneration)
	}
	if len(got.Resources) != len(in.Objects) {
		t.Errorf("%d objects, but %d are reported", len(in.Objects), len(got.Resources))
	}
	checkRelated(t, got)
}

// checkRelated verifies that relatedObjects are sorted and unique, and include every composed object.
func checkRelated(t *testing.T, got v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	lines := related(got)
	if !slices.IsSorted(lines) || len(slices.Compact(slices.Clone(lines))) != len(lines) || len(lines) > v1alpha1.MaxRelatedObjects {
		t.Errorf("relatedObjects are not sorted, unique and 100 at most:\n%s", strings.Join(lines, "\n"))
	}
	for _, r := range got.Resources {
		r.Reference.UID = ""
		if !slices.Contains(got.RelatedObjects, r.Reference) && len(lines) < v1alpha1.MaxRelatedObjects {
			t.Errorf("%v is not among the related objects", r.Reference)
		}
	}
}

func related(got v1alpha1.PlatformOperatorStatus) []string {
	var out []string
	for _, r := range got.RelatedObjects {
		out = append(out, strings.Join([]string{r.APIVersion, r.Kind, r.Namespace, r.Name}, "\t"))
	}
	return out
}

// checkStable verifies that Compute keeps its own output, now and an hour later, except for a failure that has ended.
func checkStable(t *testing.T, in Inputs, first v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	second := with(in)
	second.Operator.Status = *first.DeepCopy()
	got, _ := Compute(second)
	if diff := cmp.Diff(first, got); diff != "" {
		t.Errorf("the second result differs: -first +second\n%s", diff)
	}
	second.Now = metav1.NewTime(in.Now.Add(time.Hour))
	got, _ = Compute(second)
	if first.QuietSince != nil {
		first.FailingSince, first.QuietSince, first.FailingReason, first.FailingMessage = nil, nil, "", ""
	}
	if diff := cmp.Diff(first, got); diff != "" {
		t.Errorf("the result differs an hour later: -first +second\n%s", diff)
	}
}

// checkFailing verifies that FailingSince is kept from the start of a failure until it has been over for two minutes.
func checkFailing(t *testing.T, in Inputs, got v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	before, ready := in.Operator.Status, meta.FindStatusCondition(got.Conditions, "Ready")
	now := metav1.NewTime(in.Now.Truncate(time.Second))
	bad := ready.Status == metav1.ConditionFalse && (ready.Reason == "Failed" || ready.Reason == "Degraded") ||
		strings.Contains(ready.Message, ", but: ")
	var since, quietSince *metav1.Time
	switch {
	case bad && before.FailingSince == nil:
		since = &now
	case bad:
		since = before.FailingSince
	case before.FailingSince == nil:
	case before.QuietSince == nil:
		since, quietSince = before.FailingSince, &now
	case now.Sub(before.QuietSince.Time) < 2*time.Minute:
		since, quietSince = before.FailingSince, before.QuietSince
	}
	if diff := cmp.Diff([]*metav1.Time{since, quietSince}, []*metav1.Time{got.FailingSince, got.QuietSince}); diff != "" {
		t.Errorf("Ready is %s/%s\nfailingSince, quietSince: -want +got\n%s", ready.Status, ready.Reason, diff)
	}
	if words := got.FailingReason != "" && got.FailingMessage != ""; words != (since != nil) {
		t.Errorf("failing since %v: %q %q", since, got.FailingReason, got.FailingMessage)
	}
	_, own, titled := strings.Cut(got.FailingMessage, ": ") // the object's title comes before its message
	if bad && !strings.Contains(ready.Message, got.FailingMessage) && (!titled || !strings.Contains(ready.Message, own)) {
		t.Errorf("failingMessage is %q, but the message of Ready is %q", got.FailingMessage, ready.Message)
	}
}

// checkTimes verifies that the lastTransitionTime of a condition changes only with its status.
func checkTimes(t *testing.T, in Inputs, got v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	for _, c := range got.Conditions {
		want := in.Now.Truncate(time.Second)
		if before := meta.FindStatusCondition(in.Operator.Status.Conditions, c.Type); before != nil && before.Status == c.Status {
			want = before.LastTransitionTime.Time
		}
		if !c.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s=%s is since %v; want %v", c.Type, c.Status, c.LastTransitionTime, want)
		}
	}
}

// checkReady verifies that Ready means that the operator runs and every object is ready.
func checkReady(t *testing.T, in Inputs, got v1alpha1.PlatformOperatorStatus) {
	t.Helper()
	if !meta.IsStatusConditionTrue(got.Conditions, "Ready") {
		return
	}
	for i, o := range in.Objects {
		switch {
		case o.Leaving:
		case o.Problem != nil || o.Live == nil || o.Live.GetDeletionTimestamp() != nil || !got.Resources[i].Ready:
			t.Errorf("Ready, but %s has the problem %v, and is reported as %v", Title(o.Object), o.Problem, got.Resources[i])
		case o.Entry != "subscription" && !readiness.Of(o.Live, o.Checks).Ready:
			t.Errorf("Ready, but %s is not", Title(o.Object))
		}
	}
	message := meta.FindStatusCondition(got.Conditions, "Installed").Message
	running := in.CSVs[strings.TrimSuffix(message, " is installed")]
	if running == nil {
		t.Fatalf("Ready, but nothing is installed: %s", message)
	}
	switch running.Status.Phase {
	case olm.CSVPhaseSucceeded, olm.CSVPhaseReplacing, olm.CSVPhaseDeleting:
	default:
		t.Errorf("Ready, but %s is %s", running.Name, running.Status.Phase)
	}
	if got.Version != running.Spec.Version.String() {
		t.Errorf("version is %q, but %s is installed", got.Version, running.Name)
	}
}

// TestTransitions verifies that a changed message alone does not change the lastTransitionTime.
func TestTransitions(t *testing.T) {
	first := beginning(subscribed("", "", "One"))
	second := with(after(first, subscribed("", "", "Two")), func(in *Inputs) { in.Now = metav1.NewTime(noon.Add(time.Hour)) })
	third := with(after(second, subscribed("foo.v1", "foo.v1", ""), csvs(succeeded("foo.v1", ""))), func(in *Inputs) {
		in.Now = metav1.NewTime(noon.Add(2 * time.Hour))
	})
	for name, tc := range map[string]struct {
		in    Inputs
		ready string
		since int
	}{
		"First": {first, "False", 12}, "Words": {second, "False", 12}, "Status": {third, "True", 14},
	} {
		got, _ := Compute(tc.in)
		c := meta.FindStatusCondition(got.Conditions, "Ready")
		if string(c.Status) != tc.ready || c.LastTransitionTime.Hour() != tc.since {
			t.Errorf("%s: Ready is %s since %v; want %s since %d", name, c.Status, c.LastTransitionTime, tc.ready, tc.since)
		}
	}
}

// TestLongWords verifies that the API server accepts the status regardless of the length of the messages in it.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("ä", 40000)
	var many []given
	for i := range 64 {
		o := builder.FooWithConditions("Degraded=True/Down: " + long)
		o.SetName(fmt.Sprintf("example-%d", i))
		many = append(many, withObject(fmt.Sprint(i), o))
	}
	for name, in := range map[string]Inputs{
		"Objects":      beginning(many...),
		"Subscription": beginning(subscribed("", "", long, "ResolutionFailed=True/No: "+long)),
		"CSV":          beginning(subscribed("foo.v1", "", ""), csvs(withReason(csv("foo.v1", ""), "RequirementsNotMet", long))),
		"Problem":      beginning(problem("subscription", "ApplyFailed", long)),
		"Probe":        runs(probed("Upgradeable=False/NotUpgradeable: "+long, "Important=True/ConditionsTrue: "+long)),
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := Compute(in)
			checkConditions(t, in, got)
			checkStable(t, in, got)
			for _, r := range got.Resources {
				if len(r.Message) > maxMessage+len("…") || !utf8.ValidString(r.Message) {
					t.Errorf("the message of %s has %d bytes", r.Name, len(r.Message))
				}
			}
			if len(got.FailingMessage) > maxMessage+len("…") {
				t.Errorf("failingMessage has %d bytes", len(got.FailingMessage))
			}
		})
	}
}

func TestResourceReferences(t *testing.T) {
	got, _ := Compute(runs(withObject("example", withUID(builder.FooWithConditions("Ready=True"), "uid-example")),
		withLeavingObject("old", withUID(builder.FromJSON(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"bar","name":"old"}}`), "uid-old"))))

	want := []corev1.ObjectReference{
		{APIVersion: "v1", Kind: "Namespace", Name: "foo", UID: "uid-namespace"},
		{APIVersion: "operators.coreos.com/v1", Kind: "OperatorGroup", Namespace: "foo", Name: "foo", UID: "uid-operatorgroup"},
		{APIVersion: "operators.coreos.com/v1alpha1", Kind: "Subscription", Namespace: "foo", Name: "foo", UID: "uid-subscription"},
		{APIVersion: "example.com/v1", Kind: "Foo", Name: "example", UID: "uid-example"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "bar", Name: "old", UID: "uid-old"},
	}
	var refs []corev1.ObjectReference
	for _, r := range got.Resources {
		refs = append(refs, r.Reference)
	}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("each object should be reported, with its UID if it exists: -want +got\n%s", diff)
	}
}

func TestRelatedObjects(t *testing.T) {
	in := runs(subscribed("foo.v2", "foo.v1", "Waiting"), csvs(beingReplaced(), installing("foo.v2", "foo.v1")), probed(),
		withObject("example", builder.FooWithConditions("Ready=True")), withObject("again", builder.FooWithConditions("Ready=True")), func(in *Inputs) {
			in.Subscription.Status.InstallPlanRef = &corev1.ObjectReference{Kind: "InstallPlan", Namespace: "foo", Name: "install-2"}
		})
	got, _ := Compute(in)
	want := []string{
		"example.com/v1\tFoo\t\texample",
		"operators.coreos.com/v1\tOperatorGroup\tfoo\tfoo",
		"operators.coreos.com/v1alpha1\tCatalogSource\tglobal\toperators",
		"operators.coreos.com/v1alpha1\tClusterServiceVersion\tfoo\tfoo.v1",
		"operators.coreos.com/v1alpha1\tClusterServiceVersion\tfoo\tfoo.v2",
		"operators.coreos.com/v1alpha1\tInstallPlan\tfoo\tinstall-2",
		"operators.coreos.com/v1alpha1\tProbe\tfoo\tfoo.v1",
		"operators.coreos.com/v1alpha1\tSubscription\tfoo\tfoo",
		"v1\tNamespace\t\tfoo",
	}
	if diff := cmp.Diff(want, related(got)); diff != "" {
		t.Errorf("related objects, sorted, unique and without UIDs: -want +got\n%s", diff)
	}

	for i := range 120 {
		withLeavingObject("old", builder.FromJSON(fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"old-%03d"}}`, 119-i)))(&in)
	}
	got, _ = Compute(in)
	if len(got.RelatedObjects) != 100 {
		t.Errorf("there are %d related objects", len(got.RelatedObjects))
	}
	checkRelated(t, got)
}

// TestRelatedObserved verifies that relatedObjects include an observed Subscription, and nothing that does not exist.
func TestRelatedObserved(t *testing.T) {
	in := beginning(withOperator(observing), withoutObjects, subscribed("foo.v1", "foo.v1", ""))
	for name, tc := range map[string]struct {
		in   Inputs
		want []string
	}{
		"One": {in, []string{
			"operators.coreos.com/v1alpha1\tCatalogSource\tglobal\toperators", "operators.coreos.com/v1alpha1\tSubscription\tfoo\tfoo",
		}},
		"Specless": {with(in, func(in *Inputs) { in.Subscription.Spec = nil }), []string{
			"operators.coreos.com/v1alpha1\tSubscription\tfoo\tfoo",
		}},
		"None": {with(in, func(in *Inputs) { in.Subscription = nil }), nil},
	} {
		got, _ := Compute(tc.in)
		if diff := cmp.Diff(tc.want, related(got)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestFailing replays failures over time.
func TestFailing(t *testing.T) {
	const no, yes = false, true
	type moment struct {
		at           string // since noon
		bad          bool
		since, quiet string // since noon, or empty
		again        string
	}
	for name, tc := range map[string]struct {
		reason string
		play   []moment
	}{
		"Never": {"Without a failure nothing is recorded.", []moment{{at: "0s"}, {at: "1h"}}},
		"Stays": {"The start of a failure is kept.", []moment{
			{at: "0s"}, {at: "10s", bad: yes, since: "10s"}, {at: "20s", bad: yes, since: "10s"}, {at: "1h", bad: yes, since: "10s"},
		}},
		"ComesAgain": {"A failure that returns after a minute is the same failure.", []moment{
			{at: "0s", bad: yes, since: "0s"}, {at: "10s", since: "0s", quiet: "10s", again: "2m"},
			{at: "1m10s", since: "0s", quiet: "10s", again: "1m"}, {at: "1m11s", bad: yes, since: "0s"},
			{at: "3m", bad: yes, since: "0s"},
		}},
		"Ends": {"A failure ends after two minutes of quiet.", []moment{
			{at: "0s", bad: yes, since: "0s"}, {at: "10s", since: "0s", quiet: "10s", again: "2m"},
			{at: "2m9s", since: "0s", quiet: "10s", again: "1s"}, {at: "2m10s"}, {at: "3m"}, {at: "4m", bad: yes, since: "4m"},
		}},
		"EndsWhileNobodyLooks": {"A failure ends after two minutes of quiet even if it is not reconciled at that time.", []moment{
			{at: "0s", bad: yes, since: "0s"}, {at: "10s", since: "0s", quiet: "10s", again: "2m"}, {at: "5h"},
		}},
		"BadWhileNobodyLooks": {"A failure that is found again at the next reconcile continues from its start.", []moment{
			{at: "0s", bad: yes, since: "0s"}, {at: "10s", since: "0s", quiet: "10s", again: "2m"}, {at: "5h", bad: yes, since: "0s"},
			{at: "6h", since: "0s", quiet: "6h", again: "2m"},
		}},
		"Flaps": {"A failure that recovers for less than two minutes continues.", []moment{
			{at: "0s", bad: yes, since: "0s"}, {at: "90s", bad: no, since: "0s", quiet: "90s", again: "2m"},
			{at: "3m", bad: yes, since: "0s"}, {at: "4m", since: "0s", quiet: "4m", again: "2m"},
			{at: "5m59s", bad: yes, since: "0s"}, {at: "6m", since: "0s", quiet: "6m", again: "2m"},
			{at: "7m", since: "0s", quiet: "6m", again: "1m"}, {at: "7m59s", since: "0s", quiet: "6m", again: "1s"}, {at: "8m"},
		}},
		"ClockGoesBack": {"A clock that goes back does not end a failure.", []moment{
			{at: "1h", bad: yes, since: "1h"}, {at: "1h1m", since: "1h", quiet: "1h1m", again: "2m"},
			{at: "1h0m30s", since: "1h", quiet: "1h1m", again: "2m30s"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			trouble := subscribed("", "", "No", "ResolutionFailed=True/ChannelNotFound: There is no channel")
			in := beginning()
			in.Now = metav1.NewTime(noon.Truncate(time.Second))
			start := in.Now
			for _, m := range tc.play {
				in.Now = metav1.NewTime(start.Add(parseDuration(m.at)))
				in.Subscription = nil
				if m.bad {
					trouble(&in)
				}
				got, again := Compute(in)
				want := []string{m.since, m.quiet}
				if diff := cmp.Diff(want, []string{formatMoment(start, got.FailingSince), formatMoment(start, got.QuietSince)}); diff != "" {
					t.Fatalf("%s\nat %s: failingSince, quietSince: -want +got\n%s", tc.reason, m.at, diff)
				}
				if again != parseDuration(m.again) {
					t.Errorf("%s\nat %s: reconciled again in %v; want %q", tc.reason, m.at, again, m.again)
				}
				words := []string{got.FailingReason, got.FailingMessage}
				wantWords := []string{"", ""}
				if m.since != "" {
					wantWords = []string{"ChannelNotFound", "There is no channel"}
				}
				if diff := cmp.Diff(wantWords, words); diff != "" {
					t.Errorf("%s\nat %s: failingReason, failingMessage: -want +got\n%s", tc.reason, m.at, diff)
				}
				in.Operator.Status = got
			}
		})
	}
}

func parseDuration(words string) time.Duration {
	if words == "" {
		return 0
	}
	out, err := time.ParseDuration(words)
	if err != nil {
		panic(err)
	}
	return out
}

// formatMoment formats a moment as TestFailing does.
func formatMoment(start metav1.Time, moment *metav1.Time) string {
	if moment == nil {
		return ""
	}
	out := moment.Sub(start.Time).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(out, zero); ok {
			out = rest + zero[:1]
		}
	}
	return strings.Replace(out, "1m30s", "90s", 1)
}

// TestFailingChanges verifies that the reason and message of a failure are updated, but not when it began.
func TestFailingChanges(t *testing.T) {
	first := beginning(problem("subscription", "Forbidden", "May not"))
	second := after(first, problem("subscription", "ApplyFailed", "Does not"))
	got, _ := Compute(second)
	want := []any{noon.Truncate(time.Second), "ApplyFailed", "Does not"}
	if diff := cmp.Diff(want, []any{got.FailingSince.Time, got.FailingReason, got.FailingMessage}); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestDeleting verifies that a PlatformOperator is not failing during deletion, and keeps its objects in the status.
func TestDeleting(t *testing.T) {
	broken := beginning(problem("subscription", "Forbidden", "May not"))
	quietly := after(broken, withoutObjects)
	for name, before := range map[string]Inputs{
		"Running": runs(), "Failing": after(broken), "Quiet": after(quietly), "New": beginning(),
	} {
		t.Run(name, func(t *testing.T) {
			op := before.Operator.DeepCopy()
			op.Generation++
			op.DeletionTimestamp = &metav1.Time{Time: before.Now.Add(time.Minute)}
			left := beginning().Objects
			unchanged := op.DeepCopy()
			got := Deleting(op, left[:2], metav1.NewTime(before.Now.Add(time.Minute)))
			for _, conditionType := range []string{"Synced", "Ready"} {
				c := meta.FindStatusCondition(got.Conditions, conditionType)
				want := "False/Deleting: Waiting until these are deleted: Namespace foo, OperatorGroup foo/foo"
				if actual := fmt.Sprintf("%s/%s: %s", c.Status, c.Reason, c.Message); actual != want {
					t.Errorf("%s is %s; want %s", conditionType, actual, want)
				}
			}
			if got.FailingSince != nil || got.QuietSince != nil || got.FailingReason != "" || got.FailingMessage != "" {
				t.Errorf("failing since %v, quiet since %v: %s %s", got.FailingSince, got.QuietSince, got.FailingReason, got.FailingMessage)
			}
			if diff := cmp.Diff(op.Status.Resources, got.Resources); diff != "" {
				t.Errorf("related objects during deletion:\n%s", diff)
			}
			if got.ObservedGeneration != op.Generation {
				t.Errorf("observedGeneration is %d", got.ObservedGeneration)
			}
			if diff := cmp.Diff(unchanged, op); diff != "" {
				t.Errorf("the PlatformOperator, which may be in a cache, was changed:\n%s", diff)
			}
			op.Status = got
			if diff := cmp.Diff(got, Deleting(op, left[:2], metav1.NewTime(before.Now.Add(time.Hour)))); diff != "" {
				t.Errorf("the result differs later: -first +second\n%s", diff)
			}
		})
	}
}

// TestOrder verifies that the conditions of a new PlatformOperator, which has Ready by default, are in the order of all others.
func TestOrder(t *testing.T) {
	operator := &v1alpha1.PlatformOperator{ObjectMeta: metav1.ObjectMeta{Name: "foo"}}
	operator.Spec.Package.Name = "foo"
	operator.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending}}
	status, _ := Compute(Inputs{Operator: operator, Now: metav1.Now()})
	var got []string
	for _, c := range status.Conditions {
		got = append(got, c.Type)
	}
	if diff := cmp.Diff(order, got); diff != "" {
		t.Errorf("order of the conditions (-want +got):\n%s", diff)
	}
}
