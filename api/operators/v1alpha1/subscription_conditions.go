package v1alpha1

// Condition types of a Subscription that OLM also defines. All are abnormal-true. As with OLM, they are present only
// while they are True: some scripts written for OLM treat the presence of some of them as True.
const (
	// SubscriptionResolutionFailed is True if no set of bundles satisfies the Subscription.
	SubscriptionResolutionFailed SubscriptionConditionType = "ResolutionFailed"

	// SubscriptionInstallPlanPending is True while the InstallPlan of the current ClusterServiceVersion has not been
	// applied.
	SubscriptionInstallPlanPending SubscriptionConditionType = "InstallPlanPending"

	// SubscriptionInstallPlanFailed is True if the InstallPlan of the current ClusterServiceVersion failed.
	SubscriptionInstallPlanFailed SubscriptionConditionType = "InstallPlanFailed"

	// SubscriptionInstallPlanMissing is True if the InstallPlan that the status refers to does not exist although the
	// current ClusterServiceVersion is not installed.
	SubscriptionInstallPlanMissing SubscriptionConditionType = "InstallPlanMissing"

	// SubscriptionPackageDeprecated is True if the catalog has deprecated the package. The message is from the catalog.
	SubscriptionPackageDeprecated SubscriptionConditionType = "PackageDeprecated"

	// SubscriptionChannelDeprecated is True if the catalog has deprecated the channel that the spec names.
	SubscriptionChannelDeprecated SubscriptionConditionType = "ChannelDeprecated"

	// SubscriptionBundleDeprecated is True if the catalog has deprecated the bundle that is installed or next.
	SubscriptionBundleDeprecated SubscriptionConditionType = "BundleDeprecated"

	// SubscriptionDeprecated is True if the package, the channel or the bundle is deprecated.
	SubscriptionDeprecated SubscriptionConditionType = "Deprecated"
)

// Condition types of a Subscription that are abnormal-true as well, but set to True or False once their status is
// known; an absent condition is Unknown. OLM's proposal "Improved Subscription Status" defines them. OLM itself has
// CatalogSourcesUnhealthy, and also keeps it when it is False.
const (
	// SubscriptionCatalogSourcesUnhealthy is True if a CatalogSource visible to the Subscription is unhealthy, the one
	// that the spec names does not exist, or none is visible.
	SubscriptionCatalogSourcesUnhealthy SubscriptionConditionType = "CatalogSourcesUnhealthy"

	// SubscriptionCatalogSourceInvalid is True if the CatalogSource that the spec names cannot be used.
	SubscriptionCatalogSourceInvalid SubscriptionConditionType = "CatalogSourceInvalid"

	// SubscriptionPackageChannelInvalid is True if the catalog has no such package, or the package has no such channel.
	SubscriptionPackageChannelInvalid SubscriptionConditionType = "PackageChannelInvalid"

	// SubscriptionInstallPlanAwaitingManualApproval is True if a user has to approve the InstallPlan.
	SubscriptionInstallPlanAwaitingManualApproval SubscriptionConditionType = "InstallPlanAwaitingManualApproval"

	// SubscriptionInstalledCSVReplacementAvailable is True if the channel has a replacement for the installed
	// ClusterServiceVersion.
	SubscriptionInstalledCSVReplacementAvailable SubscriptionConditionType = "InstalledCSVReplacementAvailable"

	// SubscriptionInstalledCSVMissing is True if the installed ClusterServiceVersion no longer exists.
	SubscriptionInstalledCSVMissing SubscriptionConditionType = "InstalledCSVMissing"

	// SubscriptionInstalledCSVFailed is True if the ClusterServiceVersion that is installed, or being installed, has
	// failed.
	SubscriptionInstalledCSVFailed SubscriptionConditionType = "InstalledCSVFailed"

	// SubscriptionUpgradeHeld is True if an update waits until the running operator allows it.
	SubscriptionUpgradeHeld SubscriptionConditionType = "UpgradeHeld"
)

// Condition type of a Subscription that is normal-true.
const (
	// SubscriptionUpToDate is True if the newest ClusterServiceVersion of the package and channel, or the newest that the user
	// allows, is installed and running. If operator-status runs the loops, `status.UpToDate` has the same value; OLM's schema does not have that
	// field.
	SubscriptionUpToDate SubscriptionConditionType = "UpToDate"
)

// Reasons of UpToDate on a Subscription.
const (
	// ReasonNewestRuns means that the newest known ClusterServiceVersion of the package and channel is installed and
	// running.
	// Remedy: none, this is the desired state.
	ReasonNewestRuns = "NewestRuns"

	// ReasonNewestAllowedRuns means that the newest ClusterServiceVersion that the annotation operatorstatus.io/version of the
	// Subscription allows is installed and running. The message names a newer one, which it does not allow.
	// Remedy: none. To update to the newer one, change the annotation.
	ReasonNewestAllowedRuns = "NewestAllowedRuns"

	// ReasonNewestDoesNotRun means that the newest ClusterServiceVersion is not installed and running. The message
	// explains why.
	// Remedy: find the cause with `kubectl operator-status why`.
	ReasonNewestDoesNotRun = "NewestDoesNotRun"

	// ReasonNewestNotKnown means that the newest ClusterServiceVersion cannot be determined. The message explains why.
	// Remedy: correct the CatalogSource, the package or the channel, as the message states.
	ReasonNewestNotKnown = "NewestNotKnown"
)

// Reasons of ResolutionFailed on a Subscription, in addition to those of CatalogSourceInvalid and PackageChannelInvalid.
const (
	// ReasonResolved means that a set of bundles satisfies the Subscription. It is a reason of Resolved on an
	// InstallPlan.
	// Remedy: none, this is the desired state.
	ReasonResolved = "Resolved"

	// ReasonConstraintsNotSatisfiable means that a bundle requires something that no catalog and no installed operator
	// provides, or has requirements that exclude each other. The message names it.
	// Remedy: add a catalog that provides the requirement in the message, or remove or update the operator that
	// excludes it.
	ReasonConstraintsNotSatisfiable = "ConstraintsNotSatisfiable"

	// ReasonUnsupportedConstraint means that a bundle has a kind of constraint that is not supported.
	// Remedy: none on the cluster. Install another version, or report it to the author of the bundle.
	ReasonUnsupportedConstraint = "UnsupportedConstraint"

	// ReasonDuplicateSubscription means that an older Subscription of the namespace is for the same package.
	// Remedy: delete one of the two Subscriptions in the message.
	ReasonDuplicateSubscription = "DuplicateSubscription"

	// ReasonCSVNotInChannel means that startingCSV is not in the channel.
	// Remedy: correct spec.startingCSV or spec.channel, or leave spec.startingCSV out to install the newest version.
	ReasonCSVNotInChannel = "CSVNotInChannel"

	// ReasonVersionNotAllowed means that the annotation operatorstatus.io/version of the Subscription does not allow the
	// version in the message. With ResolutionFailed, the channel has no version in its range, or only such as others skip. It is
	// also a reason of UpgradeHeld.
	// Remedy: change the annotation, select a channel that has a version in its range, or set spec.startingCSV to a skipped one.
	ReasonVersionNotAllowed = "VersionNotAllowed"

	// ReasonVersionInvalid means that the annotation operatorstatus.io/version of the Subscription is not a range of versions. No
	// version is allowed until it is corrected.
	// Remedy: correct the annotation as the message states, or remove it.
	ReasonVersionInvalid = "VersionInvalid"

	// ReasonReplacesCycle means that the channel's entries replace each other in a cycle, so it has no head.
	// Remedy: none on the cluster. The author of the catalog has to correct the channel in the message; select another
	// channel until then.
	ReasonReplacesCycle = "ReplacesCycle"

	// ReasonBundleInvalid means that the bundle to install cannot be read, is not a registry+v1 bundle, or has more than 1000 requirements.
	// Remedy: none on the cluster. The author of the bundle has to correct it as the message states.
	ReasonBundleInvalid = "BundleInvalid"

	// ReasonOperatorGroupMissing means that the namespace has no OperatorGroup.
	// Remedy: create an OperatorGroup in the namespace.
	ReasonOperatorGroupMissing = "OperatorGroupMissing"

	// ReasonTooManyOperatorGroups means that the namespace has more than one OperatorGroup.
	// Remedy: delete all but one of them.
	ReasonTooManyOperatorGroups = "TooManyOperatorGroups"
)

// Reason of Deprecated, PackageDeprecated, ChannelDeprecated and BundleDeprecated on a Subscription.
const (
	// ReasonDeprecated means that the catalog marks it as deprecated. The message quotes the catalog.
	// Remedy: move to the package, channel or version that the message recommends.
	ReasonDeprecated = "Deprecated"
)

// Reasons of CatalogSourcesUnhealthy on a Subscription.
const (
	// ReasonAllCatalogSourcesHealthy means that every CatalogSource visible to the Subscription is healthy.
	// Remedy: none, this is the desired state.
	ReasonAllCatalogSourcesHealthy = "AllCatalogSourcesHealthy"

	// ReasonUnhealthyCatalogSourceFound means that at least one CatalogSource is unhealthy, or the one that the spec
	// names does not exist. The message names it.
	// Remedy: see the status of the CatalogSource in the message. If the Subscription names one that does not exist,
	// create it or correct spec.source and spec.sourceNamespace.
	ReasonUnhealthyCatalogSourceFound = "UnhealthyCatalogSourceFound"

	// ReasonNoCatalogSourcesFound means that no CatalogSource is visible to the Subscription.
	// Remedy: create a CatalogSource in the Subscription's namespace or in the namespace of global catalogs.
	ReasonNoCatalogSourcesFound = "NoCatalogSourcesFound"

	// ReasonMissingCatalogInfo means that at least one CatalogSource has not been read yet.
	// Remedy: none, it ends when each has been read.
	ReasonMissingCatalogInfo = "MissingCatalogInfo"
)

// Reasons of CatalogSourceInvalid on a Subscription.
const (
	// ReasonCatalogSourceValid means that the CatalogSource exists, and its content has been read.
	// Remedy: none, this is the desired state.
	ReasonCatalogSourceValid = "CatalogSourceValid"

	// ReasonCatalogSourceNotFound means that the CatalogSource does not exist.
	// Remedy: create the CatalogSource, or correct spec.source and spec.sourceNamespace.
	ReasonCatalogSourceNotFound = "CatalogSourceNotFound"

	// ReasonCatalogSourceNotVisible means that the CatalogSource is in a namespace that is not visible from the
	// Subscription's.
	// Remedy: use a CatalogSource of the Subscription's own namespace or of the namespace of global catalogs.
	ReasonCatalogSourceNotVisible = "CatalogSourceNotVisible"

	// ReasonCatalogSourceUnreadable means that the content of the CatalogSource has never been read. Its own status
	// reports why.
	// Remedy: see the condition Healthy of the CatalogSource.
	ReasonCatalogSourceUnreadable = "CatalogSourceUnreadable"
)

// Reasons of PackageChannelInvalid on a Subscription.
const (
	// ReasonPackageChannelValid means that the package and the channel exist.
	// Remedy: none, this is the desired state.
	ReasonPackageChannelValid = "PackageChannelValid"

	// ReasonPackageNotFound means that the catalog has no package of that name.
	// Remedy: correct spec.name, or use a catalog that has the package. The message may suggest one.
	ReasonPackageNotFound = "PackageNotFound"

	// ReasonPackageInvalid means that the catalog's data on the package is invalid.
	// Remedy: none on the cluster. The author of the catalog has to correct the package as the message states.
	ReasonPackageInvalid = "PackageInvalid"

	// ReasonChannelNotFound means that the package has no channel of that name.
	// Remedy: set spec.channel to one of the channels in the message.
	ReasonChannelNotFound = "ChannelNotFound"
)

// Reasons of the conditions for the InstallPlan on a Subscription.
const (
	// ReasonReferencedInstallPlanNotFound means that the InstallPlan that the status refers to does not exist.
	// Remedy: none, another InstallPlan is created.
	ReasonReferencedInstallPlanNotFound = "ReferencedInstallPlanNotFound"

	// ReasonInstallPlanNotYetReconciled means that the InstallPlan exists, but has not been reconciled. Other reasons
	// of InstallPlanPending are its phases, and the reasons of its Installed condition if something prevents it from
	// being applied.
	// Remedy: none, it ends when the InstallPlan is reconciled.
	ReasonInstallPlanNotYetReconciled = "InstallPlanNotYetReconciled"

	// ReasonInstallPlanFailed means that the InstallPlan failed without a reason in its Installed condition; otherwise
	// that reason is used. The message quotes it.
	// Remedy: correct the cause in the message, then delete the InstallPlan: the Subscription creates another.
	ReasonInstallPlanFailed = "InstallPlanFailed"

	// ReasonRequiresApproval means that a user has to approve the InstallPlan.
	// Remedy: `kubectl operator-status approve`, or set spec.installPlanApproval to Automatic, or spec.approval of the PlatformOperator that
	// composes the Subscription.
	ReasonRequiresApproval = "RequiresApproval"

	// ReasonNotAwaitingApproval means that the InstallPlan is approved, or the Subscription's approval is automatic.
	// Remedy: none.
	ReasonNotAwaitingApproval = "NotAwaitingApproval"
)

// Reasons of the conditions for the installed ClusterServiceVersion on a Subscription.
const (
	// ReasonReplacementAvailable means that the channel has a replacement for the installed ClusterServiceVersion. The
	// message names it.
	// Remedy: none, the other conditions report why the update waits.
	ReasonReplacementAvailable = "ReplacementAvailable"

	// ReasonNoReplacementAvailable means that the installed ClusterServiceVersion is the head of the channel.
	// Remedy: none, this is the desired state.
	ReasonNoReplacementAvailable = "NoReplacementAvailable"

	// ReasonCSVMissing means that the installed ClusterServiceVersion no longer exists.
	// Remedy: with the built-in loops, delete the InstallPlan in status.installPlanRef to have it installed again. With OLM,
	// delete the Subscription and create it again.
	ReasonCSVMissing = "CSVMissing"

	// ReasonCSVPresent means that the installed ClusterServiceVersion exists.
	// Remedy: none, this is the desired state.
	ReasonCSVPresent = "CSVPresent"

	// ReasonCSVFailed means that the ClusterServiceVersion is in phase Failed. The message quotes its message.
	// Remedy: see the reason of the ClusterServiceVersion's phase.
	ReasonCSVFailed = "CSVFailed"

	// ReasonCSVNotFailed means that the ClusterServiceVersion is in another phase.
	// Remedy: none.
	ReasonCSVNotFailed = "CSVNotFailed"
)

// Reasons of UpgradeHeld on a Subscription and on an InstallPlan, in addition to ProbeNotUpgradeable, which is listed for
// the OperatorCondition.
const (
	// ReasonProbeNotRead means that the Probe that the running operator opted in to does not exist, or that the custom
	// resources it watches have not been read since its spec, its target namespaces or the manager changed. The message
	// names the cause and its remedy.
	// Remedy: none while the custom resources are being read. Otherwise see the condition Synced of the Probe, or run a
	// manager with --leader-elect. The message has the command that updates anyway.
	ReasonProbeNotRead = "ProbeNotRead"

	// ReasonProbeConflict means that the running operator opted in to a Probe, and another one exists with its name.
	// Remedy: delete the Probe in the message to have it created from the annotations, or set its spec.manager to
	// crdAnnotations.
	ReasonProbeConflict = "ProbeConflict"

	// ReasonOperatorConditionNotUpgradeable means that the running operator does not allow the update in its
	// OperatorCondition.
	// Remedy: none if the operator's work ends by itself. A hold in spec.overrides ends with `kubectl operator-status
	// release`. The message states how to update anyway.
	ReasonOperatorConditionNotUpgradeable = "OperatorConditionNotUpgradeable"

	// ReasonApprovalMissing means that OLM installs the updates of several Subscriptions with the same InstallPlan, all
	// or none, and that only a user may approve that of another Subscription. The message names it.
	// Remedy: approve the InstallPlan in the message, or set spec.installPlanApproval of the Subscription in it to
	// Automatic or give it the label for the approval gate.
	ReasonApprovalMissing = "ApprovalMissing"

	// ReasonGateNeedsManual means that the Subscription has the label for the approval gate, which has no effect unless
	// its `spec.installPlanApproval` is Manual.
	// Remedy: set spec.installPlanApproval to Manual, or remove the label.
	ReasonGateNeedsManual = "GateNeedsManual"

	// ReasonVersionNeedsGate means that the Subscription has the annotation operatorstatus.io/version, which has no effect beside OLM
	// unless operator-status approves the InstallPlans.
	// Remedy: set spec.installPlanApproval to Manual and the label operatorstatus.io/gate to approval, or remove the annotation.
	ReasonVersionNeedsGate = "VersionNeedsGate"

	// ReasonNotHeld means that nothing holds an update.
	// Remedy: none, this is the desired state.
	ReasonNotHeld = "NotHeld"

	// ReasonOverridden means that the update would be held, but an administrator overrode the hold.
	// Remedy: none, an administrator decided it. To have later updates held, remove an override in the
	// OperatorCondition; the annotation allows one version only.
	ReasonOverridden = "Overridden"
)
