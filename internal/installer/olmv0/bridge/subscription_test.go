package bridge

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	holdv1alpha1 "github.com/operator-status/operator-status/api/hold/v1alpha1"
	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
	"github.com/operator-status/operator-status/internal/test/golden"
)

type row struct {
	reason     string
	in         Inputs
	conditions map[string]string
	messages   map[string]string // only those that the case is about
}

func TestConditions(t *testing.T) {
	statuses := golden.Open(t)
	seen := map[string]bool{}
	for name, tc := range rows() {
		t.Run(name, func(t *testing.T) {
			got := Conditions(tc.in)
			statuses.Check(t, name, got)
			actual := map[string]string{}
			for _, c := range got {
				conditionType := string(c.Type)
				if _, ours := conditions()[conditionType]; !ours {
					continue
				}
				actual[conditionType] = fmt.Sprintf("%s/%s", c.Status, c.Reason)
				seen[fmt.Sprintf("%s=%s", conditionType, c.Status)] = true
				if c.Message == "" || c.LastTransitionTime == nil {
					t.Errorf("%s has message %q and lastTransitionTime %v", conditionType, c.Message, c.LastTransitionTime)
				}
				if want, ok := tc.messages[conditionType]; ok && c.Message != want {
					t.Errorf("%s\nmessage of %s: -want +got\n%s", tc.reason, conditionType, cmp.Diff(want, c.Message))
				}
			}
			if diff := cmp.Diff(tc.conditions, actual); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			checkFixed(t, tc.in, got)
		})
	}
	for c := range conditions() { // TestUpgradeHeld covers UpgradeHeld
		for _, status := range []string{"True", "False"} {
			if c != "UpgradeHeld" && !seen[c+"="+status] {
				t.Errorf("no case shows %s=%s", c, status)
			}
		}
	}
}

// checkFixed verifies that an hour later, with the computed conditions in place, the result is the same, times
// included.
func checkFixed(t *testing.T, in Inputs, first []v1alpha1.SubscriptionCondition) {
	t.Helper()
	if diff := cmp.Diff(first, again(in, first)); diff != "" {
		t.Errorf("computed again they differ: -first +second\n%s", diff)
	}
}

func again(in Inputs, first []v1alpha1.SubscriptionCondition) []v1alpha1.SubscriptionCondition {
	in.Subscription = in.Subscription.DeepCopy()
	in.Subscription.Status.Conditions = first
	in.Now = metav1.NewTime(in.Now.Add(time.Hour))
	return Conditions(in)
}

func rows() map[string]row {
	out := map[string]row{}
	for _, part := range []map[string]row{csvRows(), planRows(), catalogRows(), resolutionRows()} {
		maps.Copy(out, part)
	}
	return out
}

func csvRows() map[string]row {
	return map[string]row{
		"UpToDate": {
			reason:     "What OLM knows as the newest is installed and runs: nothing is wrong.",
			in:         settled(),
			conditions: conditions(),
			messages:   map[string]string{"UpToDate": "foo.v1 is the newest that OLM knows of, and runs"},
		},
		"AtLatestButPending": {
			reason: "OLM reports AtLatestKnown before the new CSV runs; the previous one still runs.",
			in: arriving(beingReplaced(),
				because(csv("foo.v2", "foo.v1", olm.CSVPhasePending), olm.CSVReasonRequirementsNotMet, "CRD bars.example.com is missing")),
			conditions: conditions(behind, replacement),
			messages: map[string]string{
				"UpToDate":                         "Waiting for ClusterServiceVersion default/foo.v2, which is Pending (RequirementsNotMet): CRD bars.example.com is missing",
				"InstalledCSVReplacementAvailable": "foo.v2 will replace foo.v1",
			},
		},
		"AcrossTwo": {
			reason: "A CSV in between that never ran does not count as running either.",
			in: arriving(beingReplaced(), csv("foo.v1.5", "foo.v1", olm.CSVPhasePending, olm.CSVPhaseReplacing),
				csv("foo.v2", "foo.v1.5", olm.CSVPhaseInstalling)),
			conditions: conditions(behind, replacement),
			messages:   map[string]string{"InstalledCSVReplacementAvailable": "foo.v2 will replace foo.v1"},
		},
		"UpdateFailed": {
			reason: "An update that failed may have left nothing running.",
			in: arriving(beingReplaced(),
				because(csv("foo.v2", "foo.v1", olm.CSVPhaseInstalling, olm.CSVPhaseFailed), olm.CSVReasonInstallCheckFailed, "Deployment foo makes no progress")),
			conditions: conditions(behind, replacement, "InstalledCSVFailed=True/CSVFailed"),
			messages: map[string]string{
				"InstalledCSVFailed": "ClusterServiceVersion default/foo.v2 is Failed (InstallCheckFailed): Deployment foo makes no progress",
			},
		},
		"Updated": {
			reason:     "Once the new one has Succeeded the old one does not matter.",
			in:         arriving(succeeded("foo.v2")),
			conditions: conditions(),
			messages:   map[string]string{"UpToDate": "foo.v2 is the newest that OLM knows of, and runs"},
		},
		"UpdatedBeforeOLMSaysSo": {
			reason:     "What has Succeeded is installed, though OLM has not noted it yet.",
			in:         with(updating(nil), func(in *Inputs) { in.CSVs = named(beingReplaced(), succeeded("foo.v2")) }),
			conditions: conditions(),
		},
		"FirstInstall": {
			reason: "A CSV that never ran is not installed, whatever OLM reports, and replaces nothing.",
			in: with(settled(), func(in *Inputs) {
				in.CSVs = named(csv("foo.v1", "", olm.CSVPhasePending, olm.CSVPhaseInstalling))
			}),
			conditions: conditions(behind, "InstallPlanAwaitingManualApproval=", "InstalledCSVMissing=",
				"InstalledCSVReplacementAvailable="),
		},
		"FirstInstallFailed": {
			reason: "A failed first install is reported.",
			in:     with(settled(), func(in *Inputs) { in.CSVs = named(csv("foo.v1", "", olm.CSVPhasePending, olm.CSVPhaseFailed)) }),
			conditions: conditions(behind, "InstalledCSVFailed=True/CSVFailed", "InstallPlanAwaitingManualApproval=", "InstalledCSVMissing=",
				"InstalledCSVReplacementAvailable="),
		},
		"FailedLater": {
			reason:     "So is an operator that ran and does not any more.",
			in:         with(settled(), func(in *Inputs) { in.CSVs = named(csv("foo.v1", "", olm.CSVPhaseSucceeded, olm.CSVPhaseFailed)) }),
			conditions: conditions(behind, "InstalledCSVFailed=True/CSVFailed"),
		},
		"Gone": {
			reason:     "What was installed and is gone is missed.",
			in:         with(settled(), func(in *Inputs) { in.CSVs = nil }),
			conditions: conditions(behind, "InstalledCSVFailed=", "InstalledCSVMissing=True/CSVMissing"),
			messages: map[string]string{
				"InstalledCSVMissing": "ClusterServiceVersion default/foo.v1 was installed and no longer exists: the operator is missing until it is installed again",
			},
		},
	}
}

func planRows() map[string]row {
	const command = `kubectl patch installplan.operators.coreos.com -n default install-2 --type=merge -p '{"spec":{"approved":true}}'`
	manually := func(in *Inputs) { byHand(in.Subscription) }
	return map[string]row{
		"AwaitingApproval": {
			reason:     "An update that waits for approval is reported, with the command to approve it.",
			in:         with(updating(planning([]string{"foo.v2"}, "sub")), manually),
			conditions: conditions(behind, replacement, "InstallPlanAwaitingManualApproval=True/RequiresApproval"),
			messages: map[string]string{
				"UpToDate":                          "InstallPlan default/install-2 for foo.v2 is waiting for a user to approve it: " + command,
				"InstallPlanAwaitingManualApproval": "InstallPlan default/install-2 for foo.v2 is waiting for a user to approve it: " + command,
			},
		},
		"AwaitingApprovalToInstall": {
			reason: "A first install waits for the same.",
			in: with(updating(planning([]string{"foo.v2"}, "sub")), manually, func(in *Inputs) {
				in.Subscription.Status.InstalledCSV, in.CSVs = "", nil
			}),
			conditions: conditions(behind, "InstallPlanAwaitingManualApproval=True/RequiresApproval", "InstalledCSVFailed=", "InstalledCSVMissing=",
				"InstalledCSVReplacementAvailable="),
		},
		"AwaitingUs": {
			reason: "operator-status approves it, so no user has to.",
			in: with(updating(planning([]string{"foo.v2"}, "sub")), func(in *Inputs) {
				in.Verdict = Judge(in.Plan, world(in.CSVs, byGate(in.Subscription)))
			}),
			conditions: conditions(behind, replacement),
			messages:   map[string]string{"UpToDate": "Waiting for InstallPlan default/install-2, which installs foo.v2"},
		},
		"AwaitingNeighbour": {
			reason: "A first install in the same plan as a held update reports the hold.",
			in: with(updating(planning([]string{"foo.v2", "bar.v2"}, "sub", "bar")), func(in *Inputs) {
				in.Subscription.Status.InstalledCSV, in.CSVs = "", named(succeeded("bar.v1"))
				in.Verdict = Judge(in.Plan, withProbes(world(in.CSVs, byGate(in.Subscription), bar()), probing("bar.v1", no)))
			}),
			conditions: conditions(behind, "InstalledCSVFailed=", "InstalledCSVMissing=", "InstalledCSVReplacementAvailable="),
			messages: map[string]string{"UpToDate": "InstallPlan default/install-2 also installs other operators, " +
				"and OLM applies it only as a whole: The update to bar.v2 is held: " +
				"Probe default/bar.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True. " +
				"To update anyway: kubectl annotate subscription.operators.coreos.com -n default bar operatorstatus.io/allow-upgrade=bar.v2"},
		},
		"Approved": {
			reason:     "A plan that a user has approved does not wait for approval.",
			in:         with(updating(approved(planning([]string{"foo.v2"}, "sub"), olm.InstallPlanPhaseRequiresApproval)), manually),
			conditions: conditions(behind, replacement),
		},
		"Installing": {
			reason:     "Something newer is known before it is there.",
			in:         updating(approved(planning([]string{"foo.v2"}, "sub"), olm.InstallPlanPhaseInstalling)),
			conditions: conditions(behind, replacement),
			messages:   map[string]string{"UpToDate": "Waiting for InstallPlan default/install-2, which installs foo.v2"},
		},
		"PlanGone": {
			reason:     "Whether a deleted plan waited for approval is not known.",
			in:         updating(nil),
			conditions: conditions(behind, replacement, "InstallPlanAwaitingManualApproval="),
			messages:   map[string]string{"UpToDate": "InstallPlan default/install-2 was deleted before foo.v2 was installed; waiting for a new InstallPlan"},
		},
	}
}

func catalogRows() map[string]row {
	silent := catalog("")
	silent.Status.GRPCConnectionState = nil
	return map[string]row{
		"NoCatalog": {
			reason:     "A Subscription reports that its CatalogSource does not exist.",
			in:         with(unresolved(), from(nil)),
			conditions: nothingYet("CatalogSourceInvalid=True/CatalogSourceNotFound", "PackageChannelInvalid="),
			messages: map[string]string{
				"CatalogSourceInvalid": "CatalogSource global/operators not found: create it, or correct spec.source and spec.sourceNamespace",
			},
		},
		"CatalogUnreachable": {
			reason:     "It also reports a CatalogSource that was never reached, with the connection state from OLM.",
			in:         with(unresolved(), from(catalog("TRANSIENT_FAILURE"))),
			conditions: nothingYet("CatalogSourceInvalid=True/CatalogSourceUnreadable", "PackageChannelInvalid="),
			messages: map[string]string{
				"CatalogSourceInvalid": "CatalogSource global/operators cannot be read: Unreachable: OLM's connection to operators.global.svc:50051 is TRANSIENT_FAILURE",
			},
		},
		"CatalogUnreachableLater": {
			reason:     "A catalog that cannot be reached just now was read before: what OLM found then decides.",
			in:         with(settled(), from(catalog("TRANSIENT_FAILURE"))),
			conditions: conditions(),
		},
		"CatalogConnecting": {
			reason:     "Nothing is reported about a catalog that OLM is connecting to.",
			in:         with(unresolved(), from(catalog("CONNECTING"))),
			conditions: nothingYet("CatalogSourceInvalid=", "PackageChannelInvalid="),
		},
		"CatalogSilent": {
			reason:     "Nor about one without a connection state from OLM.",
			in:         with(unresolved(), from(silent)),
			conditions: nothingYet("CatalogSourceInvalid=", "PackageChannelInvalid="),
		},
	}
}

func resolutionRows() map[string]row {
	const unsatisfiable = "ConstraintsNotSatisfiable"
	noCatalog := "constraints not satisfiable: no operators found from catalog operators in namespace global referenced by subscription sub, subscription sub exists"
	noPackage := "constraints not satisfiable: no operators found in package foo in the catalog referenced by subscription sub, subscription sub exists"
	noChannel := "constraints not satisfiable: subscription sub exists, no operators found in channel stable of package foo in the catalog referenced by subscription sub"
	noCSV := "constraints not satisfiable: no operators found with name foo.v9 in channel stable of package foo in the catalog referenced by subscription sub, subscription sub exists"
	another := strings.NewReplacer("subscription sub,", "subscription sub-2,", "subscription sub exists", "subscription sub-2 exists")
	theirs := another.Replace(noPackage)
	starting := func(in *Inputs) { in.Subscription.Spec.StartingCSV = "foo.v9" }
	bothThere := "constraints not satisfiable: clusterserviceversion foo.v1 exists and is not referenced by a subscription, subscription sub requires @existing/default//foo.v2"
	successor := csv("foo.v2", "foo.v1", olm.CSVPhaseSucceeded)
	return map[string]row{
		"NeverResolved": {
			reason:     "Until OLM has resolved a Subscription, the newest version is not known.",
			in:         unresolved(),
			conditions: nothingYet("PackageChannelInvalid="),
		},
		"CannotResolve": {
			reason:     "While OLM cannot resolve, it is not known whether a newer version exists.",
			in:         with(settled(), failing("ErrorPreventedResolution", "failed to list bundles: no answer")),
			conditions: conditions(notKnown, "PackageChannelInvalid=", "InstalledCSVReplacementAvailable="),
			messages:   map[string]string{"UpToDate": "failed to list bundles: no answer"},
		},
		"CannotResolveAnother": {
			reason:     "That holds where another Subscription of the namespace is at fault, but package and channel were there.",
			in:         with(settled(), failing(unsatisfiable, theirs)),
			conditions: conditions(notKnown, "InstalledCSVReplacementAvailable="),
		},
		"CannotResolveWithTheOneBefore": {
			reason:     "While an update is held OLM cannot resolve, since both versions are there.",
			in:         with(arriving(beingReplaced(), successor), failing(unsatisfiable, bothThere)),
			conditions: conditions(notKnown, "InstalledCSVReplacementAvailable="),
			messages:   map[string]string{"UpToDate": bothThere},
		},
		"TheOneBeforeIsGone": {
			reason:     "Once the one before is gone OLM would resolve, if it looked again: words of ours that differ wake it.",
			in:         with(arriving(successor), failing(unsatisfiable, bothThere)),
			conditions: conditions(notKnown, "InstalledCSVReplacementAvailable="),
			messages: map[string]string{
				"UpToDate": "Waiting for OLM to resolve it again: the last resolution failed because of ClusterServiceVersion foo.v1, which has since been deleted",
			},
		},
		"ResolvesAgain": {
			reason: "A failure that is over is over.",
			in: with(settled(), failing("", ""), func(in *Inputs) {
				in.Subscription.Status.Conditions[0].Status = corev1.ConditionFalse
			}),
			conditions: conditions(),
		},
		"Unpacking": {
			reason:     "While OLM unpacks the next version, the newest is not known.",
			in:         with(settled(), telling(olm.SubscriptionBundleUnpacking, "")),
			conditions: conditions(notKnown),
			messages:   map[string]string{"UpToDate": "OLM is unpacking the next bundle"},
		},
		"CannotUnpack": {
			reason:     "Nor if OLM cannot unpack it.",
			in:         with(settled(), telling(olm.SubscriptionBundleUnpackFailed, "bundle unpacking failed. Reason: DeadlineExceeded")),
			conditions: conditions(notKnown, "InstalledCSVReplacementAvailable="),
			messages:   map[string]string{"UpToDate": "bundle unpacking failed. Reason: DeadlineExceeded"},
		},
		"CannotResolveDuringUpdate": {
			reason:     "The update in progress is the newest known version, and does not run yet.",
			in:         with(arriving(beingReplaced(), csv("foo.v2", "foo.v1", olm.CSVPhasePending)), failing(unsatisfiable, theirs)),
			conditions: conditions(behind, replacement),
		},
		"NothingFromCatalog": {
			reason:     "If OLM found no operators in the catalog, it did not look for the package.",
			in:         with(unresolved(), failing(unsatisfiable, noCatalog)),
			conditions: nothingYet("PackageChannelInvalid="),
			messages:   map[string]string{"UpToDate": noCatalog},
		},
		"NothingFromCatalogAnyMore": {
			reason:     "Even if the catalog had the package before.",
			in:         with(settled(), failing(unsatisfiable, noCatalog)),
			conditions: conditions(notKnown, "PackageChannelInvalid=", "InstalledCSVReplacementAvailable="),
		},
		"NothingFromNoCatalog": {
			reason:     "For a wrong catalog name, only the missing catalog is reported.",
			in:         with(unresolved(), from(nil), failing(unsatisfiable, noCatalog)),
			conditions: nothingYet("CatalogSourceInvalid=True/CatalogSourceNotFound", "PackageChannelInvalid="),
		},
		"NoPackage": {
			reason:     "A package that the catalog does not have is recognized by OLM's message.",
			in:         with(unresolved(), failing(unsatisfiable, noPackage)),
			conditions: nothingYet("PackageChannelInvalid=True/PackageNotFound"),
			messages:   map[string]string{"PackageChannelInvalid": noPackage, "UpToDate": noPackage},
		},
		"NoPackageAnyMore": {
			reason:     "Also for an operator that was installed when the catalog had it.",
			in:         with(settled(), failing(unsatisfiable, noPackage)),
			conditions: conditions(notKnown, "PackageChannelInvalid=True/PackageNotFound", "InstalledCSVReplacementAvailable="),
		},
		"NoChannel": {
			reason:     "So is a channel that the package does not have.",
			in:         with(unresolved(), failing(unsatisfiable, noChannel)),
			conditions: nothingYet("PackageChannelInvalid=True/ChannelNotFound"),
			messages:   map[string]string{"PackageChannelInvalid": noChannel},
		},
		"NoStartingCSV": {
			reason:     "Where only startingCSV is wrong, package and channel are not.",
			in:         with(unresolved(), starting, failing(unsatisfiable, noCSV)),
			conditions: nothingYet(),
		},
		"NoPackageOfAnother": {
			reason:     "A message about sub-2 does not apply to sub, whose package was not looked up.",
			in:         with(unresolved(), failing(unsatisfiable, theirs)),
			conditions: nothingYet("PackageChannelInvalid="),
		},
		"NoPackageOfBoth": {
			reason:     "But one message may be about both.",
			in:         with(unresolved(), failing(unsatisfiable, theirs+", "+strings.TrimPrefix(noPackage, "constraints not satisfiable: "))),
			conditions: nothingYet("PackageChannelInvalid=True/PackageNotFound"),
		},
	}
}

func TestUpgradeHeld(t *testing.T) {
	const patch = `kubectl patch installplan.operators.coreos.com -n default install-2 --type=merge -p '{"spec":{"approved":true}}'`
	saysNo := probing("foo.v1", no)
	byPlan := func(in Inputs, n Namespace) Inputs {
		in.Verdict = Judge(in.Plan, n)
		return in
	}
	byOLM := func(in Inputs, probes ...*v1alpha1.Probe) Inputs {
		in.HeldByOLM = withProbes(world(in.CSVs, in.Subscription), probes...).HeldByOLM(in.Subscription)
		return in
	}
	byPolicy := func(in Inputs, version string, enforced metav1.ConditionStatus) Inputs {
		n, hold := withProbes(world(in.CSVs, in.Subscription), saysNo), holdv1alpha1.UpgradeHold{}
		hold.Status.Conditions = []metav1.Condition{{Type: holdv1alpha1.ConditionEnforced, Status: enforced}}
		hold.Status.Denied = &holdv1alpha1.DeniedUpdates{InstallPlans: &holdv1alpha1.DeniedInstallPlans{
			Namespace: in.Subscription.Namespace, Pattern: "^$", Versions: []string{version},
		}}
		n.UpgradeHolds = append(n.UpgradeHolds, hold)
		return with(n.Inputs(in.Subscription, in.CatalogSource, in.Plan), func(out *Inputs) { out.Now = in.Now })
	}
	gatedUpdate := func(p *olm.InstallPlan) Inputs {
		return with(updating(p), func(in *Inputs) { byGate(in.Subscription) })
	}
	other := referring(byHand(subscribing("other", "bar.v1", "bar.v2")), "install-2")
	waiting, both := gatedUpdate(planning([]string{"foo.v2"}, "sub")), gatedUpdate(planning([]string{"foo.v2", "bar.v2"}, "sub", "other"))
	manual := with(updating(planning([]string{"foo.v2"}, "sub")), func(in *Inputs) { byHand(in.Subscription) })
	held := arriving(beingReplaced(), heldBack())
	annotated := with(waiting, func(in *Inputs) { in.Subscription = allowing(in.Subscription.DeepCopy(), "foo.v2") })
	label := func(in *Inputs) { in.Subscription = labelled(in.Subscription.DeepCopy()) }
	approve := func(in *Inputs) { in.Plan = approved(in.Plan.DeepCopy(), olm.InstallPlanPhaseInstalling) }

	cases := map[string]struct {
		reason  string
		in      Inputs
		want    string
		message string
		awaits  bool // a user
	}{
		"ByApprovalGate": {
			reason: "An update that is not approved reports what blocks it, and how to update anyway.",
			in:     byPlan(waiting, withProbes(world(waiting.CSVs, waiting.Subscription), saysNo)), want: "True/ProbeNotUpgradeable",
			message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True. " +
				"To update anyway: kubectl annotate subscription.operators.coreos.com -n default sub operatorstatus.io/allow-upgrade=foo.v2",
		},
		"Allowed": {
			reason: "One that its operator allows is not held.",
			in:     byPlan(waiting, withProbes(world(waiting.CSVs, waiting.Subscription), probing("foo.v1", yes))), want: "False/NotHeld",
			message: "No update is held",
		},
		"Overridden": {
			reason: "An administrator's override is reported while the update is in progress.",
			in:     byPlan(annotated, withProbes(world(annotated.CSVs, annotated.Subscription), saysNo)), want: "False/Overridden",
			message: "The update to foo.v2 is allowed by annotation operatorstatus.io/allow-upgrade of Subscription default/sub. " +
				"Without it, the update would be held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True",
		},
		"ApprovedAlready": {
			reason: "The approval gate no longer holds an approved update.",
			in:     byOLM(with(waiting, approve), saysNo), want: "False/NotHeld",
			message: "No update is held",
		},
		"ByHand": {
			reason: "Nor does it hold a plan that a user has to approve, whatever the Probe reports.",
			in:     byPlan(manual, withProbes(world(manual.CSVs, manual.Subscription), saysNo)), want: "False/NotHeld",
			message: "No update is held", awaits: true,
		},
		"ApprovalDenied": {
			reason: "The API server would deny the approval.",
			in:     byPolicy(manual, "foo.v2", metav1.ConditionTrue), want: "True/ProbeNotUpgradeable", awaits: true,
			message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True. " +
				"To update anyway: kubectl annotate subscription.operators.coreos.com -n default sub operatorstatus.io/allow-upgrade=foo.v2",
		},
		"ApprovalDeniedElsewhere": {
			reason: "It would not if another version is denied.",
			in:     byPolicy(manual, "bar.v2", metav1.ConditionTrue), want: "False/NotHeld", awaits: true, message: "No update is held",
		},
		"ApprovalNotDenied": {
			reason: "Nor if nothing enforces the UpgradeHold.",
			in:     byPolicy(manual, "foo.v2", metav1.ConditionFalse), want: "False/NotHeld", awaits: true, message: "No update is held",
		},
		"ByOLM": {
			reason: "But it may be held by OLM, which knows whom it waits for, and what that costs.",
			in:     byOLM(held, saysNo), want: "True/ProbeNotUpgradeable",
			message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True. " +
				"To update anyway: kubectl annotate subscription.operators.coreos.com -n default sub operatorstatus.io/allow-upgrade=foo.v2. " +
				"The OperatorCondition gate acts after InstallPlan default/install-2: its CustomResourceDefinitions are already installed, " +
				"and OLM installs or updates nothing else in the namespace meanwhile",
		},
		"ByOLMAlone": {
			reason: "If nothing else gives a reason, OLM's message is quoted.",
			in:     byOLM(held), want: "True/OperatorConditionNotUpgradeable",
			message: "The update to foo.v2 is held: operator is not upgradeable: it is busy. " +
				"The OperatorCondition gate acts after InstallPlan default/install-2: its CustomResourceDefinitions are already installed, " +
				"and OLM installs or updates nothing else in the namespace meanwhile",
		},
		"NothingToHold": {
			reason: "Without an update nothing is held.",
			in: with(settled(), func(in *Inputs) {
				in.HeldByOLM = gate.Decision{Held: true, Reason: v1alpha1.ReasonProbeNotUpgradeable, Message: "Held"}
			}), want: "False/NotHeld",
			message: "No update is held",
		},
		"ApprovalMissing": {
			reason: "An update that only a person may approve, for the sake of another one, names that.",
			in:     byPlan(both, world(both.CSVs, both.Subscription, other)), want: "True/ApprovalMissing",
			message: "InstallPlan default/install-2 is also for Subscription default/other, whose approval is Manual, and OLM applies it only as a whole: " +
				"a user has to approve it with " + patch,
			awaits: true,
		},
		"ApprovalMissingAndHeld": {
			reason: "Approving a held update would have no effect, so the hold is reported.",
			in:     byPlan(both, withProbes(world(both.CSVs, both.Subscription, other), saysNo)), want: "True/ProbeNotUpgradeable",
			message: "The update to foo.v2 is held: Probe default/foo.v1 reports Upgradeable=False: Waiting for Foo a/b: Migrating is True. " +
				"To update anyway: kubectl annotate subscription.operators.coreos.com -n default sub operatorstatus.io/allow-upgrade=foo.v2",
			awaits: true,
		},
		"ApprovalMissingAndGateNeedsManual": {
			reason: "That an approval is missing is more important than a label without an effect.",
			in: with(byPlan(both, world(both.CSVs, both.Subscription, other)), label, func(in *Inputs) {
				in.Subscription.Spec.InstallPlanApproval = olm.ApprovalAutomatic
			}), want: "True/ApprovalMissing",
			message: "InstallPlan default/install-2 is also for Subscription default/other, whose approval is Manual, and OLM applies it only as a whole: " +
				"a user has to approve it with " + patch,
			awaits: true,
		},
		"Superseded": {
			reason: "A plan that still waits, for a version that another plan has installed, holds no update.",
			in:     superseded(byHand(subscribing("sub", "foo.v1", "foo.v1")), planning([]string{"foo.v1"}, "sub")), want: "False/NotHeld",
			message: "No update is held",
		},
		"SupersededAndApprovalMissing": {
			reason:  "Nor if it is also for a Subscription whose approval is Manual.",
			in:      superseded(byGate(subscribing("sub", "foo.v1", "foo.v1")), planning([]string{"foo.v1", "bar.v2"}, "sub", "other"), other),
			want:    "False/NotHeld",
			message: "No update is held",
		},
		"GateNeedsManual": {
			reason: "The gate label has no effect with Automatic approval, which is reported.",
			in:     with(settled(), label), want: "False/GateNeedsManual",
			message: "Label operatorstatus.io/gate=approval has no effect unless spec.installPlanApproval is Manual: OLM approves Automatic InstallPlans itself",
		},
		"VersionNeedsGate": {
			reason: "OLM does not know the range of versions, so it has no effect without the gate, which is reported.",
			in:     with(settled(), func(in *Inputs) { limited(in.Subscription, "<2") }), want: "False/VersionNeedsGate",
			message: "Annotation operatorstatus.io/version has no effect unless spec.installPlanApproval is Manual and label operatorstatus.io/gate is approval: " +
				"OLM does not read it",
		},
		"VersionHasGate": {
			reason: "With the gate it takes effect.",
			in:     with(settled(), func(in *Inputs) { limited(byGate(in.Subscription), "<2") }), want: "False/NotHeld",
			message: "No update is held",
		},
		"GateHasManual": {
			reason: "With Manual approval it takes effect.",
			in:     with(settled(), func(in *Inputs) { byGate(in.Subscription) }), want: "False/NotHeld",
			message: "No update is held",
		},
		"GateNeedsManualAndHeld": {
			reason: "That an update is held is more important.",
			in:     with(byOLM(held), label), want: "True/OperatorConditionNotUpgradeable",
			message: "The update to foo.v2 is held: operator is not upgradeable: it is busy. " +
				"The OperatorCondition gate acts after InstallPlan default/install-2: its CustomResourceDefinitions are already installed, " +
				"and OLM installs or updates nothing else in the namespace meanwhile",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			status := v1alpha1.SubscriptionStatus{Conditions: Conditions(tc.in)}
			got := status.GetCondition(v1alpha1.SubscriptionUpgradeHeld)
			if diff := cmp.Diff([]string{tc.want, tc.message}, []string{fmt.Sprintf("%s/%s", got.Status, got.Reason), got.Message}); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
			if differ, _ := Changed(status.Conditions, again(tc.in, status.Conditions)); differ {
				t.Error("computed again they would be written again")
			}
			if awaits := status.GetCondition(v1alpha1.SubscriptionInstallPlanAwaitingManualApproval).Status == corev1.ConditionTrue; awaits != tc.awaits {
				t.Errorf("%s\nInstallPlanAwaitingManualApproval is %t", tc.reason, awaits)
			}
			if got.Status != corev1.ConditionTrue {
				return
			}
			upToDate := status.GetCondition(v1alpha1.SubscriptionUpToDate)
			if diff := cmp.Diff([]string{"NewestDoesNotRun", tc.message}, []string{upToDate.Reason, upToDate.Message}); diff != "" ||
				upToDate.Status != corev1.ConditionFalse {
				t.Errorf("UpToDate of a held update is %s, and its reason and message: -want +got\n%s", upToDate.Status, diff)
			}
		})
	}
}

// TestForeign verifies that conditions of others stay as they are, and that ours follow in a fixed order. A transition
// time changes only with the status.
func TestForeign(t *testing.T) {
	actual := func(conditionType v1alpha1.SubscriptionConditionType, status corev1.ConditionStatus) v1alpha1.SubscriptionCondition {
		return v1alpha1.SubscriptionCondition{
			Type: conditionType, Status: status, Reason: "Theirs", Message: "Said by others.", LastHeartbeatTime: &past, LastTransitionTime: &past,
		}
	}
	theirs := []v1alpha1.SubscriptionCondition{
		actual("Zebra", corev1.ConditionTrue),
		actual("CatalogSourcesUnhealthy", corev1.ConditionTrue),
		actual("InstallPlanPending", corev1.ConditionTrue),
		{Type: "BundleUnpacking", Status: corev1.ConditionFalse},
		actual("InstallPlanMissing", corev1.ConditionTrue),
		actual("InstallPlanFailed", corev1.ConditionTrue),
		actual("ResolutionFailed", corev1.ConditionFalse),
		{Type: "Ape", Status: corev1.ConditionUnknown},
	}
	stale := actual("UpToDate", corev1.ConditionFalse)
	same := actual("CatalogSourceInvalid", corev1.ConditionFalse)
	in := settled()
	in.Subscription.Status.Conditions = slices.Concat([]v1alpha1.SubscriptionCondition{stale}, theirs[:3], []v1alpha1.SubscriptionCondition{same}, theirs[3:])
	got := Conditions(in)
	if diff := cmp.Diff(theirs, got[:len(theirs)]); diff != "" {
		t.Errorf("conditions of others were changed: -want +got\n%s", diff)
	}
	var appended []string
	times := map[v1alpha1.SubscriptionConditionType]int64{}
	for _, c := range got[len(theirs):] {
		appended = append(appended, string(c.Type))
		times[c.Type] = c.LastTransitionTime.Unix()
	}
	want := []string{
		"UpToDate", "UpgradeHeld", "InstallPlanAwaitingManualApproval", "InstalledCSVReplacementAvailable",
		"InstalledCSVFailed", "InstalledCSVMissing", "CatalogSourceInvalid", "PackageChannelInvalid",
	}
	if diff := cmp.Diff(want, appended); diff != "" {
		t.Errorf("ours: -want +got\n%s", diff)
	}
	if times["UpToDate"] != 2000 || times["CatalogSourceInvalid"] != 1000 {
		t.Errorf("a time moves with the status and with nothing else: %v", times)
	}
	checkFixed(t, in, got)
}

// TestRandom verifies for random inputs that conditions of others stay, no type occurs twice, and the result is stable.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	foreign := func(list []v1alpha1.SubscriptionCondition) []v1alpha1.SubscriptionCondition {
		out := []v1alpha1.SubscriptionCondition{}
		for _, c := range list {
			if _, ours := conditions()[string(c.Type)]; !ours {
				out = append(out, c)
			}
		}
		return out
	}
	for i := range uint64(2000) {
		in := random(rand.New(rand.NewPCG(seed, i)))
		got := Conditions(in)
		if diff := cmp.Diff(random(rand.New(rand.NewPCG(seed, i))), in); diff != "" {
			t.Errorf("Conditions changed what it was given: %s", diff)
		}
		theirs := foreign(in.Subscription.Status.Conditions)
		if diff := cmp.Diff(theirs, got[:min(len(theirs), len(got))]); diff != "" {
			t.Errorf("conditions of others were changed, or are not before ours: -was +is\n%s", diff)
		}
		status := v1alpha1.SubscriptionStatus{Conditions: got}
		seen := map[v1alpha1.SubscriptionConditionType]bool{}
		for _, c := range got {
			if seen[c.Type] {
				t.Errorf("%s is there twice", c.Type)
			}
			seen[c.Type] = true
		}
		current := in.CSVs[in.Subscription.Status.CurrentCSV]
		switch status.GetCondition(v1alpha1.SubscriptionUpToDate).Status {
		case corev1.ConditionTrue:
			if current == nil || current.Status.Phase != olm.CSVPhaseSucceeded || status.GetCondition("ResolutionFailed").Status == corev1.ConditionTrue {
				t.Errorf("UpToDate with %+v", in.Subscription.Status)
			}
		case corev1.ConditionUnknown:
			t.Error("UpToDate is Unknown or not set")
		default:
		}
		checkFixed(t, in, got)
		if t.Failed() {
			t.Fatalf("seed %d, round %d", seed, i)
		}
	}
}

func TestChange(t *testing.T) {
	actual := func(conditionType v1alpha1.SubscriptionConditionType, status corev1.ConditionStatus, reason, message string) v1alpha1.SubscriptionCondition {
		return v1alpha1.SubscriptionCondition{Type: conditionType, Status: status, Reason: reason, Message: message, LastTransitionTime: &past}
	}
	list := func(conditions ...v1alpha1.SubscriptionCondition) []v1alpha1.SubscriptionCondition { return conditions }
	upToDate := actual("UpToDate", corev1.ConditionFalse, "NewestDoesNotRun", "Waiting for one")
	held := actual("UpgradeHeld", corev1.ConditionFalse, "NotHeld", "No update is held")
	later := upToDate
	later.LastTransitionTime, later.LastHeartbeatTime = &now, &now
	reworded := actual("UpToDate", corev1.ConditionFalse, "NewestDoesNotRun", "Waiting for two")

	cases := map[string]struct {
		reason        string
		before, after []v1alpha1.SubscriptionCondition
		want          string
	}{
		"Same":    {"What is there already is not written again.", list(upToDate, held), list(upToDate, held), "nothing"},
		"Nothing": {"Where there is nothing there is nothing to write.", nil, nil, "nothing"},
		"Order":   {"The order of conditions does not matter.", list(upToDate, held), list(held, upToDate), "nothing"},
		"Time":    {"Changed times alone are not written.", list(upToDate), list(later), "nothing"},
		"Theirs":  {"Conditions of others are ignored.", list(upToDate), list(actual("ResolutionFailed", corev1.ConditionTrue, "", ""), upToDate), "nothing"},
		"Message": {"A changed message alone is not news.", list(upToDate, held), list(reworded, held), "words"},
		"Reason":  {"Another reason is news.", list(upToDate), list(actual("UpToDate", corev1.ConditionFalse, "NewestNotKnown", "Waiting for one")), "news"},
		"Status":  {"So is another status.", list(upToDate), list(actual("UpToDate", corev1.ConditionTrue, "NewestDoesNotRun", "Waiting for one")), "news"},
		"WordsAndNews": {"News beside other words are news.", list(upToDate, held),
			list(reworded, actual("UpgradeHeld", corev1.ConditionTrue, "ProbeNotRead", "Held")), "news"},
		"First":     {"So is a new condition.", list(upToDate), list(upToDate, held), "news"},
		"TakenBack": {"And a removed condition.", list(upToDate, held), list(upToDate), "news"},
		"OverwrittenBy": {"When OLM has overwritten ours they are written again.", list(actual("ResolutionFailed", corev1.ConditionTrue, "", "")), list(upToDate),
			"news"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := "nothing"
			if differ, onlyMessages := Changed(tc.before, tc.after); differ && onlyMessages {
				got = "words"
			} else if differ {
				got = "news"
			}
			if got != tc.want {
				t.Errorf("%s\nchanged is %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
