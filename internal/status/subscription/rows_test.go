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
			reason: "It is known what to install, but there is no InstallPlan yet.",
			in:     fresh(),
			state:  "", message: "Waiting for an InstallPlan for foo.v1",
			conditions: conditions(slices.Concat(nothingInstalled, planless)...),
		},
		"Planned": {
			reason:  "What the InstallPlan brings is the target; nothing is installed for being planned.",
			in:      with(fresh(), func(in *Inputs) { in.Plan = approved(plan(olm.InstallPlanPhaseInstalling, "bar.v1", "foo.v1")) }),
			current: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v1",
			conditions: conditions(append(nothingInstalled, "InstallPlanPending=True/Installing")...),
		},
		"NotItsPlan": {
			reason:     "An InstallPlan for other operators does not matter for this one.",
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
				`kubectl patch installplan -n default install-1 --type=merge -p '{"spec":{"approved":true}}'`,
			conditions: conditions(append(nothingInstalled, "InstallPlanAwaitingManualApproval=True/RequiresApproval", "InstallPlanPending=True/RequiresApproval")...),
		},
		"ManualApproved": {
			reason:  "A plan that a user has approved does not wait for approval.",
			in:      with(updating(approved(manual(plan(olm.InstallPlanPhaseRequiresApproval, "foo.v2"))))),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/RequiresApproval"),
		},
		"ManualNotReady": {
			reason:  "Approval is not requested for a plan that is still being made.",
			in:      with(updating(manual(plan(olm.InstallPlanPhasePlanning, "foo.v2")))),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/Planning"),
		},
		"PlanFailed": {
			reason: "A failed plan is quoted: it names the step.",
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
			reason: "An operator may run though its plan failed: it is not up to date, since of its update something is missing.",
			in: with(running(), func(in *Inputs) {
				in.Plan = plan(olm.InstallPlanPhaseFailed, "foo.v1")
				in.Plan.Status.Message = "ServiceMonitor foo: no such kind"
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "InstallPlan default/install-1 for foo.v1 failed: ServiceMonitor foo: no such kind",
			conditions: conditions("InstallPlanFailed=True/InstallPlanFailed"),
		},
		"PlanMadeAgain": {
			reason: "So it is while a plan of what runs is applied once more.",
			in: with(running(), func(in *Inputs) {
				in.Plan = plan(olm.InstallPlanPhaseInstalling, "foo.v1")
				in.Plan.Status.Message = "ServiceMonitor foo: no such kind"
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v1: ServiceMonitor foo: no such kind",
			conditions: conditions("InstallPlanPending=True/Installing"),
		},
		"PlanForbidden": {
			reason: "A plan that lacks a permission reports which, and so does its Subscription.",
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
			reason:  "A plan that has not been reconciled has no phase: OLM has a reason for that.",
			in:      updating(plan(olm.InstallPlanPhaseNone, "foo.v2")),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for InstallPlan default/install-1, which installs foo.v2",
			conditions: conditions(replacement, "InstallPlanPending=True/InstallPlanNotYetReconciled"),
		},
		"PlanGone": {
			reason: "A plan that goes before its work is done is missed, and the reference stays.",
			in: with(updating(nil), func(in *Inputs) {
				in.Subscription.Status.InstallPlanRef = planRef()
				in.Subscription.Status.Install = v1alpha1.NewInstallPlanReference(planRef())
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "InstallPlan default/install-1 was deleted before foo.v2 was installed; waiting for a new InstallPlan",
			conditions: conditions(replacement, "InstallPlanMissing=True/ReferencedInstallPlanNotFound", "InstallPlanAwaitingManualApproval="),
		},
		"PlanGoneAfterwards": {
			reason: "Once its work is done it may go.",
			in: with(running(), func(in *Inputs) {
				in.Subscription.Status.InstallPlanRef = planRef()
				in.Subscription.Status.Install = v1alpha1.NewInstallPlanReference(planRef())
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"Withdrawn": {
			reason:  "A target that the catalog has withdrawn before anything of it was there is a target no more.",
			in:      with(updating(nil), func(in *Inputs) { in.Resolution = &Resolution{Newest: "foo.v1"} }),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"WithdrawnTooLate": {
			reason: "One of which something is there stays the target, though its plan is gone.",
			in: with(updating(nil), func(in *Inputs) {
				in.Current = because(csv("foo.v2", olm.CSVPhasePending), v1alpha1.CSVReasonRequirementsUnknown, "")
				in.Resolution = &Resolution{Newest: "foo.v1"}
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v2, which is Pending (RequirementsUnknown)",
			conditions: conditions(append(planless, replacement)...),
		},
		"NotWithdrawn": {
			reason: "A resolver in trouble has withdrawn nothing.",
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
			reason: "A ClusterServiceVersion that is merely there is not installed.",
			in: with(fresh(), func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Current = because(csv("foo.v1", olm.CSVPhasePending), v1alpha1.CSVReasonRequirementsNotMet, "CRD bars.example.com is missing")
			}),
			current: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v1, which is Pending (RequirementsNotMet): CRD bars.example.com is missing",
			conditions: conditions("InstalledCSVMissing=", "InstalledCSVReplacementAvailable="),
		},
		"FirstInstallFailed": {
			reason: "A failure before the first installation is reported in the same condition.",
			in: with(fresh(), func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Current = because(csv("foo.v1", olm.CSVPhaseFailed), v1alpha1.CSVReasonInstallCheckFailed, "Deployment foo makes no progress")
			}),
			current: "foo.v1", state: "UpgradeFailed",
			message:    "ClusterServiceVersion default/foo.v1 is Failed (InstallCheckFailed): Deployment foo makes no progress",
			conditions: conditions("InstalledCSVFailed=True/CSVFailed", "InstalledCSVMissing=", "InstalledCSVReplacementAvailable="),
		},
		"JustSucceeded": {
			reason: "What has Succeeded is installed.",
			in: with(fresh(), func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Current = csv("foo.v1", olm.CSVPhaseSucceeded)
				in.Resolution = &Resolution{Newest: "foo.v1"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"Adopted": {
			reason: "An operator that was there before its Subscription is the Subscription's.",
			in: with(fresh(), func(in *Inputs) {
				in.Current = csv("foo.v1", olm.CSVPhaseSucceeded)
				in.Resolution = &Resolution{Newest: "foo.v1"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"CopyIsNone": {
			reason: "A copy from another namespace is no operator of this one.",
			in: with(fresh(), func(in *Inputs) {
				in.Current = csv("foo.v1", olm.CSVPhaseSucceeded)
				in.Current.Labels = map[string]string{olm.CopiedLabelKey: "other"}
			}),
			message:    "Waiting for an InstallPlan for foo.v1",
			conditions: conditions(slices.Concat(nothingInstalled, planless)...),
		},
		"Failed": {
			reason: "An operator that does not run is not up to date, though it is the newest.",
			in: with(running(), func(in *Inputs) {
				in.Installed = because(csv("foo.v1", olm.CSVPhaseFailed), v1alpha1.CSVReasonComponentUnhealthy, "Deployment foo has no pod")
				in.Current = in.Installed
			}),
			current: "foo.v1", installed: "foo.v1", state: "UpgradeFailed",
			message:    "ClusterServiceVersion default/foo.v1 is Failed (ComponentUnhealthy): Deployment foo has no pod",
			conditions: conditions("InstalledCSVFailed=True/CSVFailed"),
		},
		"BeingPutRight": {
			reason: "Nor is one that is being put right.",
			in: with(running(), func(in *Inputs) {
				in.Installed = because(csv("foo.v1", olm.CSVPhaseInstalling), v1alpha1.CSVReasonInstallWaiting, "Deployment foo is not available")
				in.Current = in.Installed
			}),
			current: "foo.v1", installed: "foo.v1", state: "UpgradePending",
			message:    "Waiting for ClusterServiceVersion default/foo.v1, which is Installing (InstallWaiting): Deployment foo is not available",
			conditions: conditions(),
		},
		"Missing": {
			reason:  "One that somebody deleted is missing.",
			in:      with(running(), func(in *Inputs) { in.Installed, in.Current = nil, nil }),
			current: "foo.v1", installed: "foo.v1", state: "",
			message:    "ClusterServiceVersion default/foo.v1 was installed and no longer exists: the operator is missing until it is installed again",
			conditions: conditions("InstalledCSVMissing=True/CSVMissing", "InstalledCSVFailed="),
		},
		"ReplacementAvailable": {
			reason:  "Something newer is known before there is a plan for it.",
			in:      with(running(), func(in *Inputs) { in.Resolution = &Resolution{Next: "foo.v2", Newest: "foo.v3"} }),
			current: "foo.v1", installed: "foo.v1", state: "UpgradeAvailable",
			message:    "Waiting for an InstallPlan for foo.v2",
			conditions: conditions(replacement),
		},
		"Updating": {
			reason: "The old one stays the installed one until the new one has Succeeded.",
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
			reason: "An update that fails may have left nothing running.",
			in: with(updating(approved(plan(olm.InstallPlanPhaseComplete, "foo.v2"))), func(in *Inputs) {
				in.Installed = csv("foo.v1", olm.CSVPhaseReplacing)
				in.Current = because(csv("foo.v2", olm.CSVPhaseFailed), v1alpha1.CSVReasonInstallCheckFailed, "Deployment foo makes no progress")
			}),
			current: "foo.v2", installed: "foo.v1", state: "UpgradeFailed",
			message:    "ClusterServiceVersion default/foo.v2 is Failed (InstallCheckFailed): Deployment foo makes no progress",
			conditions: conditions(replacement, "InstalledCSVFailed=True/CSVFailed"),
		},
		"Updated": {
			reason: "The old one may be gone by then.",
			in: with(updating(approved(plan(olm.InstallPlanPhaseComplete, "foo.v2"))), func(in *Inputs) {
				in.Installed, in.Current = nil, csv("foo.v2", olm.CSVPhaseSucceeded)
				in.Resolution.Next = ""
			}),
			current: "foo.v2", installed: "foo.v2", state: "AtLatestKnown/UpgradeSucceeded", upToDate: true,
			conditions: conditions(),
		},
		"NotTheNewest": {
			reason:  "In a channel that leads nowhere from here there is no replacement, but what is installed is not its newest.",
			in:      with(running(), func(in *Inputs) { in.Resolution = &Resolution{Newest: "foo.v0"} }),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded",
			message:    "Package foo offers foo.v0, but no bundle in the channel replaces foo.v1",
			conditions: conditions(),
		},
		"NewestInTrouble": {
			reason: "The newest has no replacement, whatever else is wrong.",
			in: with(running(), func(in *Inputs) {
				in.Resolution.Problem = &Problem{Reason: v1alpha1.ReasonDuplicateSubscription, Message: "There are two"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "AtLatestKnown/UpgradeSucceeded", message: "There are two",
			conditions: conditions("ResolutionFailed=True/DuplicateSubscription"),
		},
		"NewestNotKnown": {
			reason:  "Without a newest there is nothing to be.",
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
			reason: "An update may be held before there is a plan for it.",
			in: with(running(), held, func(in *Inputs) {
				in.Plan = approved(plan(olm.InstallPlanPhaseComplete, "foo.v1"))
				in.Resolution = &Resolution{Next: "foo.v2", Newest: "foo.v2"}
			}),
			current: "foo.v1", installed: "foo.v1", state: "UpgradeAvailable", message: "Held",
			conditions: conditions(replacement, "UpgradeHeld=True/ProbeNotUpgradeable"),
		},
		"HeldAndManual": {
			reason:  "Approving a held update would not help, so the hold is reported first.",
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
			reason:  "Without an update nothing is held.",
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
