package subscription

import (
	"maps"
	"slices"

	olm "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/operator-status/operator-status/api/operators/v1alpha1"
	"github.com/operator-status/operator-status/internal/gate"
)

// rows are the cases of TestCompute, from problems of the catalog to problems of the operator.
func rows() map[string]row {
	out := map[string]row{}
	for _, part := range []map[string]row{catalogRows(), planRows(), csvRows(), heldRows()} {
		maps.Copy(out, part)
	}
	return out
}

func planRows() map[string]row {
	return map[string]row{
		"Resolved": {
			reason: "A resolved Subscription without an InstallPlan waits for it.",
			in:     fresh(),
			state:  "", message: "Waiting for an InstallPlan for foo.v1",
			conditions: conditions(slices.Concat(nothingInstalled, planless)...),
		},
		"Planned": {
			reason:  "currentCSV is the ClusterServiceVersion of the InstallPlan, and installedCSV is empty.",
			in:      with(fresh(), func(in *Inputs) { in.Plan = approved(plan(olm.InstallPlanPhaseInstalling, "bar.v1", "foo.v1")) }),
			current: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v1",
			conditions: conditions(append(nothingInstalled, "InstallPlanPending=True/Installing")...),
		},
		"NotItsPlan": {
			reason:     "An InstallPlan of other operators is ignored.",
			in:         with(running(), func(in *Inputs) { in.Plan = plan(olm.InstallPlanPhaseFailed, "bar.v1") }),
			current:    "foo.v1",
			installed:  "foo.v1",
			state:      "AtLatestKnown/UpgradeSucceeded",
			upToDate:   true,
			conditions: conditions(),
		},
		"ManualFirstInstall": {
			reason:  "A first install that waits for a user reports it, with the command that approves it.",
			in:      with(fresh(), func(in *Inputs) { in.Plan = manual(plan(olm.InstallPlanPhaseRequiresApproval, "foo.v1")) }),
			current: "foo.v1", state: "UpgradePending",
			message: "InstallPlan default/install-1 for foo.v1 is waiting for a user to approve it: " +
				`kubectl patch installplan.operators.coreos.com -n default install-1 --type=merge -p '{"spec":{"approved":true}}'`,
			conditions: conditions(append(nothingInstalled, "InstallPlanAwaitingManualApproval=True/RequiresApproval", "InstallPlanPending=True/RequiresApproval")...),
		},
		"ManualApproved": {
			reason:  "A plan that a user approved does not wait for approval.",
			in:      with(updating(approved(manual(plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2"))))),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/RequiresApproval"),
		},
		"ManualNotReady": {
			reason:  "A plan that is not resolved does not wait for approval.",
			in:      with(updating(manual(plan(olm.InstallPlanPhasePlanning, "foo.v2")))),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/Planning"),
		},
		"PlanFailed": {
			reason: "The message of a failed plan is quoted.",
			in: updating(func() *olm.InstallPlan {
				p := approved(plan(olm.InstallPlanPhaseFailed, "foo.v2"))
				p.Status.Message = "no"
				p.Status.Conditions = []olm.InstallPlanCondition{{Type: olm.InstallPlanInstalled, Status: corev1.ConditionFalse, Reason: v1alpha1.PlanReasonComponentFailed,
					Message: "Role foo: forbidden."}}
				return p
			}()),
			current: "foo.v2", installed: "foo.v1", state: "UpgradeFailed",
			message:    "InstallPlan default/install-1 for foo.v2 failed: Role foo: forbidden",
			conditions: conditions(replacement, "InstallPlanFailed=True/InstallComponentFailed"),
		},
		"PlanFailedAfterAll": {
			reason: "An operator whose plan failed is not up to date even if it runs, since objects may be missing.",
			in: with(running(), func(in *Inputs) {
				in.Plan = plan(olm.InstallPlanPhaseFailed, "foo.v1")
				in.Plan.Status.Message = "ServiceMonitor foo: no such kind"
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "InstallPlan default/install-1 for foo.v1 failed: ServiceMonitor foo: no such kind",
			conditions: conditions("InstallPlanFailed=True/InstallPlanFailed"),
		},
		"PlanMadeAgain": {
			reason: "An operator whose plan is being installed again is not up to date.",
			in: with(running(), func(in *Inputs) {
				in.Plan = plan(olm.InstallPlanPhaseInstalling, "foo.v1")
				in.Plan.Status.Message = "ServiceMonitor foo: no such kind"
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v1: ServiceMonitor foo: no such kind",
			conditions: conditions("InstallPlanPending=True/Installing"),
		},
		"PlanForbidden": {
			reason: "The missing permission of a plan is reported.",
			in: updating(func() *olm.InstallPlan {
				p := approved(plan(olm.InstallPlanPhaseInstalling, "foo.v2"))
				p.Status.Message = "Role foo: forbidden"
				p.Status.Conditions = []olm.InstallPlanCondition{{Type: olm.InstallPlanInstalled, Status: corev1.ConditionFalse, Reason: v1alpha1.PlanReasonForbidden,
					Message: "Role foo: forbidden"}}
				return p
			}()),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2: Role foo: forbidden",
			conditions: conditions(replacement, "InstallPlanPending=True/Forbidden"),
		},
		"PlanNew": {
			reason:  "A plan without a phase is reported with OLM's reason.",
			in:      updating(plan(olm.InstallPlanPhaseNone, "foo.v2")),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/InstallPlanNotYetReconciled"),
		},
		"PlanGone": {
			reason: "A plan that was deleted before the installation is reported as missing, and the reference is kept.",
			in: with(updating(nil), func(in *Inputs) {
				in.Subscription.Status.InstallPlanRef = planRef()
				in.Subscription.Status.Install = v1alpha1.NewInstallPlanReference(planRef())
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "InstallPlan default/install-1 was deleted before foo.v2 was installed; waiting for a new InstallPlan",
			conditions: conditions(replacement, "InstallPlanMissing=True/ReferencedInstallPlanNotFound", "InstallPlanAwaitingManualApproval="),
		},
		"PlanGoneAfterwards": {
			reason: "A plan that was deleted after the installation is not reported.",
			in: with(running(), func(in *Inputs) {
				in.Subscription.Status.InstallPlanRef = planRef()
				in.Subscription.Status.Install = v1alpha1.NewInstallPlanReference(planRef())
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"Withdrawn": {
			reason:  "A version that the catalog withdrew before any of it was installed is no longer the target.",
			in:      with(updating(nil), func(in *Inputs) { in.Resolution = &Resolution{Newest: "foo.v1"} }),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"WithdrawnTooLate": {
			reason: "A version of which a ClusterServiceVersion exists stays the target after it was withdrawn.",
			in: with(updating(nil), func(in *Inputs) {
				in.Current = withReason(csv("foo.v2", olm.CSVPhasePending), v1alpha1.CSVReasonRequirementsUnknown, "")
				in.Resolution = &Resolution{Newest: "foo.v1"}
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v2, which is Pending (RequirementsUnknown)",
			conditions: conditions(append(planless, replacement)...),
		},
		"NotWithdrawn": {
			reason: "A version stays the target if the resolution fails.",
			in: with(updating(nil), func(in *Inputs) {
				in.Resolution = &Resolution{Newest: "foo.v1", Problem: &Problem{Reason: v1alpha1.ReasonDuplicateSubscription, Message: "There are two"}}
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending", message: "There are two",
			conditions: conditions(append(planless, replacement, "ResolutionFailed=True/DuplicateSubscription")...),
		},
	}
}

func csvRows() map[string]row {
	return map[string]row{
		"Installing": {
			reason: "A ClusterServiceVersion that has not Succeeded is not installed.",
			in: with(fresh(), func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Current = withReason(csv("foo.v1", olm.CSVPhasePending), v1alpha1.CSVReasonRequirementsNotMet, "CRD bars.example.com is missing")
			}),
			current: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v1, which is Pending (RequirementsNotMet): CRD bars.example.com is missing",
			conditions: conditions("InstalledCSVMissing=", "InstalledCSVReplacementAvailable="),
		},
		"FirstInstallFailed": {
			reason: "A failure of the first installation sets InstalledCSVFailed.",
			in: with(fresh(), func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Current = withReason(csv("foo.v1", olm.CSVPhaseFailed), v1alpha1.CSVReasonInstallCheckFailed, "Deployment foo makes no progress")
			}),
			current: "foo.v1", state: "UpgradeFailed",
			message:    "ClusterServiceVersion default/foo.v1 is Failed (InstallCheckFailed): Deployment foo makes no progress",
			conditions: conditions("InstalledCSVFailed=True/CSVFailed", "InstalledCSVMissing=", "InstalledCSVReplacementAvailable="),
		},
		"JustSucceeded": {
			reason: "A ClusterServiceVersion that has Succeeded is installed.",
			in: with(fresh(), func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Current = csv("foo.v1", olm.CSVPhaseSucceeded)
				in.Resolution = &Resolution{Newest: "foo.v1"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"Adopted": {
			reason: "An operator that existed before its Subscription is installed.",
			in: with(fresh(), func(in *Inputs) {
				in.Current = csv("foo.v1", olm.CSVPhaseSucceeded)
				in.Resolution = &Resolution{Newest: "foo.v1"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"CopyIsNone": {
			reason: "A copied ClusterServiceVersion of another namespace is ignored.",
			in: with(fresh(), func(in *Inputs) {
				in.Current = csv("foo.v1", olm.CSVPhaseSucceeded)
				in.Current.Labels = map[string]string{olm.CopiedLabelKey: "other"}
			}),
			message:    "Waiting for an InstallPlan for foo.v1",
			conditions: conditions(slices.Concat(nothingInstalled, planless)...),
		},
		"Failed": {
			reason: "An operator that failed is not up to date.",
			in: with(running(), func(in *Inputs) {
				in.Installed = withReason(csv("foo.v1", olm.CSVPhaseFailed), v1alpha1.CSVReasonComponentUnhealthy, "Deployment foo has no pod")
				in.Current = in.Installed
			}),
			current: "foo.v1", installed: "foo.v1", state: "UpgradeFailed",
			message:    "ClusterServiceVersion default/foo.v1 is Failed (ComponentUnhealthy): Deployment foo has no pod",
			conditions: conditions("InstalledCSVFailed=True/CSVFailed"),
		},
		"BeingPutRight": {
			reason: "An operator that is being repaired is not up to date.",
			in: with(running(), func(in *Inputs) {
				in.Installed = withReason(csv("foo.v1", olm.CSVPhaseInstalling), v1alpha1.CSVReasonInstallWaiting, "Deployment foo is not available")
				in.Current = in.Installed
			}),
			current: "foo.v1", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v1, which is Installing (InstallWaiting): Deployment foo is not available",
			conditions: conditions(),
		},
		"Missing": {
			reason:  "An operator that was deleted is missing.",
			in:      with(running(), func(in *Inputs) { in.Installed, in.Current = nil, nil }),
			current: "foo.v1", installed: "foo.v1", state: "",
			message:    "ClusterServiceVersion default/foo.v1 was installed and no longer exists: the operator is missing until it is installed again",
			conditions: conditions("InstalledCSVMissing=True/CSVMissing", "InstalledCSVFailed="),
		},
		"ReplacementAvailable": {
			reason:  "A newer version is reported before a plan exists.",
			in:      with(running(), func(in *Inputs) { in.Resolution = &Resolution{Next: "foo.v2", Newest: "foo.v3"} }),
			current: "foo.v1", installed: "foo.v1", state: "UpgradeAvailable",
			message:    "Waiting for an InstallPlan for foo.v2",
			conditions: conditions(replacement),
		},
		"Updating": {
			reason: "installedCSV is the previous version until the new one has Succeeded.",
			in: with(updating(approved(plan(olm.InstallPlanPhaseComplete, "foo.v2"))), func(in *Inputs) {
				in.Installed = csv("foo.v1", olm.CSVPhaseReplacing)
				in.Current = csv("foo.v2", olm.CSVPhaseNone)
				in.Resolution.Next = ""
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v2, which is new",
			conditions: conditions(replacement),
		},
		"UpdateFailed": {
			reason: "A failed update sets InstalledCSVFailed, since the operator may no longer run.",
			in: with(updating(approved(plan(olm.InstallPlanPhaseComplete, "foo.v2"))), func(in *Inputs) {
				in.Installed = csv("foo.v1", olm.CSVPhaseReplacing)
				in.Current = withReason(csv("foo.v2", olm.CSVPhaseFailed), v1alpha1.CSVReasonInstallCheckFailed, "Deployment foo makes no progress")
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradeFailed",
			message:    "ClusterServiceVersion default/foo.v2 is Failed (InstallCheckFailed): Deployment foo makes no progress",
			conditions: conditions(replacement, "InstalledCSVFailed=True/CSVFailed"),
		},
		"Updated": {
			reason: "installedCSV is the new version once it has Succeeded, even if the previous one was deleted.",
			in: with(updating(approved(plan(olm.InstallPlanPhaseComplete, "foo.v2"))), func(in *Inputs) {
				in.Installed, in.Current = nil, csv("foo.v2", olm.CSVPhaseSucceeded)
				in.Resolution.Next = ""
			}),
			current: "foo.v2", installed: "foo.v2", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"NotTheNewest": {
			reason:  "An installed version without an update path to the newest is not up to date.",
			in:      with(running(), func(in *Inputs) { in.Resolution = &Resolution{Newest: "foo.v0"} }),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "Package foo offers foo.v0, but no bundle in the channel replaces foo.v1",
			conditions: conditions(),
		},
		"NewestInTrouble": {
			reason: "The newest version has no replacement even if the Subscription has a problem.",
			in: with(running(), func(in *Inputs) {
				in.Resolution.Problem = &Problem{Reason: v1alpha1.ReasonDuplicateSubscription, Message: "There are two"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", message: "There are two",
			conditions: conditions("ResolutionFailed=True/DuplicateSubscription"),
		},
		"NewestNotKnown": {
			reason:  "A Subscription is not up to date while the newest version is unknown.",
			in:      with(running(), func(in *Inputs) { in.Resolution = &Resolution{} }),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "Waiting for the newest version of package foo to be determined",
			conditions: conditions(),
			why:        v1alpha1.ReasonNewestNotKnown,
		},
	}
}

func heldRows() map[string]row {
	held := func(in *Inputs) {
		in.Gate = gate.Decision{Held: true, Reason: v1alpha1.ReasonProbeNotUpgradeable, Message: "Held"}
	}
	return map[string]row{
		"Held": {
			reason:  "A Subscription whose update is held is not up to date, and its message states why.",
			in:      with(updating(plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2")), held),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending", message: "Held",
			conditions: conditions(replacement, "UpgradeHeld=True/ProbeNotUpgradeable", "InstallPlanPending=True/RequiresApproval"),
		},
		"HeldBeforePlan": {
			reason: "An update may be held before a plan exists.",
			in: with(running(), held, func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Resolution = &Resolution{Next: "foo.v2", Newest: "foo.v2"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "UpgradeAvailable", message: "Held",
			conditions: conditions(replacement, "UpgradeHeld=True/ProbeNotUpgradeable"),
		},
		"HeldAndManual": {
			reason:  "A hold is reported before a missing approval, since an approval does not end it.",
			in:      with(updating(manual(plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2"))), held),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending", message: "Held",
			conditions: conditions(replacement, "UpgradeHeld=True/ProbeNotUpgradeable", "InstallPlanAwaitingManualApproval=True/RequiresApproval",
				"InstallPlanPending=True/RequiresApproval"),
		},
		"HeldAndApproved": {
			reason:  "An approval does not end a hold.",
			in:      with(updating(approved(manual(plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2")))), held),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending", message: "Held",
			conditions: conditions(replacement, "UpgradeHeld=True/ProbeNotUpgradeable", "InstallPlanPending=True/RequiresApproval"),
		},
		"HeldTooLate": {
			reason:  "An update that is being installed is no longer held, whatever the operator reports while it is being replaced.",
			in:      with(updating(approved(plan(olm.InstallPlanPhaseInstalling, "foo.v2"))), held),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/Installing"),
		},
		"NothingToHold": {
			reason:  "UpgradeHeld is not set without an update.",
			in:      with(running(), held),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"Overridden": {
			reason: "An override by an administrator is reported while the update is in progress.",
			in: with(updating(approved(plan(olm.InstallPlanPhaseInstalling, "foo.v2"))), func(in *Inputs) {
				in.Gate = gate.Decision{Reason: v1alpha1.ReasonOverridden, Message: "Allowed", Overridden: true}
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "UpgradeHeld=False/Overridden", "InstallPlanPending=True/Installing"),
		},
	}
}
