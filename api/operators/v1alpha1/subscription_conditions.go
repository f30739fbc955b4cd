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

	// SubscriptionInstalledCSVMissing is True if the installed ClusterServiceVersion does not exist any more.
	SubscriptionInstalledCSVMissing SubscriptionConditionType = "InstalledCSVMissing"

	// SubscriptionInstalledCSVFailed is True if the ClusterServiceVersion that is installed, or being installed, has
	// failed.
	SubscriptionInstalledCSVFailed SubscriptionConditionType = "InstalledCSVFailed"

	// SubscriptionUpgradeHeld is True if an update waits until the running operator allows it.
	SubscriptionUpgradeHeld SubscriptionConditionType = "UpgradeHeld"
)

// Condition type of a Subscription that is normal-true.
const (
	// SubscriptionUpToDate is True if the newest ClusterServiceVersion of the package and channel is installed and
	// running. If operator-status runs the loops, `status.UpToDate` has the same value; OLM's schema does not have that
	// field.
	SubscriptionUpToDate SubscriptionConditionType = "UpToDate"
)

// Reasons of UpToDate.
const (
	// ReasonNewestRuns means that the newest known ClusterServiceVersion of the package and channel is installed and
	// running.
	ReasonNewestRuns = "NewestRuns"

	// ReasonNewestDoesNotRun means that the newest ClusterServiceVersion is not installed and running. The message
	// explains what it waits for.
	ReasonNewestDoesNotRun = "NewestDoesNotRun"

	// ReasonNewestNotKnown means that the newest ClusterServiceVersion cannot be determined. The message explains why.
	ReasonNewestNotKnown = "NewestNotKnown"
)

// Reasons of ResolutionFailed, in addition to those of CatalogSourceInvalid and PackageChannelInvalid.
const (
	// ReasonResolved means that a set of bundles satisfies the Subscription. It is a reason of Resolved on an
	// InstallPlan.
	ReasonResolved = "Resolved"

	// ReasonConstraintsNotSatisfiable means that a bundle requires something that no catalog and no installed operator
	// provides, or has requirements that exclude each other. The message names it.
	ReasonConstraintsNotSatisfiable = "ConstraintsNotSatisfiable"

	// ReasonUnsupportedConstraint means that a bundle has a kind of constraint that is not supported.
	ReasonUnsupportedConstraint = "UnsupportedConstraint"

	// ReasonDuplicateSubscription means that an older Subscription of the namespace is for the same package.
	ReasonDuplicateSubscription = "DuplicateSubscription"

	// ReasonCSVNotInChannel means that startingCSV is not in the channel.
	ReasonCSVNotInChannel = "CSVNotInChannel"

	// ReasonReplacesCycle means that the channel's entries replace each other in a cycle, so that it has no head.
	ReasonReplacesCycle = "ReplacesCycle"

	// ReasonBundleInvalid means that the bundle to install cannot be read or is not a registry+v1 bundle.
	ReasonBundleInvalid = "BundleInvalid"

	// ReasonOperatorGroupMissing means that the namespace has no OperatorGroup.
	ReasonOperatorGroupMissing = "OperatorGroupMissing"

	// ReasonTooManyOperatorGroups means that the namespace has more than one OperatorGroup.
	ReasonTooManyOperatorGroups = "TooManyOperatorGroups"
)

// Reason of Deprecated, PackageDeprecated, ChannelDeprecated and BundleDeprecated.
const (
	// ReasonDeprecated means that the catalog marks it as deprecated. The message quotes the catalog.
	ReasonDeprecated = "Deprecated"
)

// Reasons of CatalogSourcesUnhealthy.
const (
	// ReasonAllCatalogSourcesHealthy means that every CatalogSource visible to the Subscription is healthy.
	ReasonAllCatalogSourcesHealthy = "AllCatalogSourcesHealthy"

	// ReasonUnhealthyCatalogSourceFound means that at least one CatalogSource is unhealthy, or the one that the spec
	// names does not exist. The message names it.
	ReasonUnhealthyCatalogSourceFound = "UnhealthyCatalogSourceFound"

	// ReasonNoCatalogSourcesFound means that no CatalogSource is visible to the Subscription.
	ReasonNoCatalogSourcesFound = "NoCatalogSourcesFound"

	// ReasonMissingCatalogInfo means that at least one CatalogSource has not been read yet.
	ReasonMissingCatalogInfo = "MissingCatalogInfo"
)

// Reasons of CatalogSourceInvalid.
const (
	// ReasonCatalogSourceValid means that the CatalogSource exists, and its content has been read.
	ReasonCatalogSourceValid = "CatalogSourceValid"

	// ReasonCatalogSourceNotFound means that there is no CatalogSource of that name.
	ReasonCatalogSourceNotFound = "CatalogSourceNotFound"

	// ReasonCatalogSourceNotVisible means that the CatalogSource is in a namespace that is not visible from the
	// Subscription's.
	ReasonCatalogSourceNotVisible = "CatalogSourceNotVisible"

	// ReasonCatalogSourceUnreadable means that the content of the CatalogSource has never been read. Its own status
	// reports why.
	ReasonCatalogSourceUnreadable = "CatalogSourceUnreadable"
)

// Reasons of PackageChannelInvalid.
const (
	// ReasonPackageChannelValid means that the package and the channel exist.
	ReasonPackageChannelValid = "PackageChannelValid"

	// ReasonPackageNotFound means that the catalog has no package of that name.
	ReasonPackageNotFound = "PackageNotFound"

	// ReasonPackageInvalid means that the catalog's data on the package is invalid.
	ReasonPackageInvalid = "PackageInvalid"

	// ReasonChannelNotFound means that the package has no channel of that name.
	ReasonChannelNotFound = "ChannelNotFound"
)

// Reasons of the conditions on InstallPlans.
const (
	// ReasonReferencedInstallPlanNotFound means that the InstallPlan that the status refers to does not exist.
	ReasonReferencedInstallPlanNotFound = "ReferencedInstallPlanNotFound"

	// ReasonInstallPlanNotYetReconciled means that the InstallPlan exists, but has not been reconciled. Other reasons
	// of InstallPlanPending are its phases, and the reasons of its Installed condition if something prevents it from
	// being applied.
	ReasonInstallPlanNotYetReconciled = "InstallPlanNotYetReconciled"

	// ReasonInstallPlanFailed means that the InstallPlan failed without a reason in its Installed condition; otherwise
	// that reason is used. The message quotes it.
	ReasonInstallPlanFailed = "InstallPlanFailed"

	// ReasonRequiresApproval means that a user has to approve the InstallPlan.
	ReasonRequiresApproval = "RequiresApproval"

	// ReasonNotAwaitingApproval means that the InstallPlan is approved, or the Subscription's approval is automatic.
	ReasonNotAwaitingApproval = "NotAwaitingApproval"
)

// Reasons of the conditions on the installed ClusterServiceVersion.
const (
	// ReasonReplacementAvailable means that the channel has a replacement for the installed ClusterServiceVersion. The
	// message names it.
	ReasonReplacementAvailable = "ReplacementAvailable"

	// ReasonNoReplacementAvailable means that the installed ClusterServiceVersion is the head of the channel.
	ReasonNoReplacementAvailable = "NoReplacementAvailable"

	// ReasonCSVMissing means that the installed ClusterServiceVersion does not exist any more.
	ReasonCSVMissing = "CSVMissing"

	// ReasonCSVPresent means that the installed ClusterServiceVersion exists.
	ReasonCSVPresent = "CSVPresent"

	// ReasonCSVFailed means that the ClusterServiceVersion is in phase Failed. The message quotes its message.
	ReasonCSVFailed = "CSVFailed"

	// ReasonCSVNotFailed means that the ClusterServiceVersion is in another phase.
	ReasonCSVNotFailed = "CSVNotFailed"
)

// Reasons of UpgradeHeld, on a Subscription and on an InstallPlan, in addition to ReasonProbeNotUpgradeable.
const (
	// ReasonProbeNotRead means that the Probe that the running operator opted in to does not exist, or that the custom
	// resources it watches have not been read since its spec, its target namespaces or the manager changed. The message
	// names which, and what resolves it.
	ReasonProbeNotRead = "ProbeNotRead"

	// ReasonProbeConflict means that the running operator opted in to a Probe, and another one exists with its name.
	ReasonProbeConflict = "ProbeConflict"

	// ReasonOperatorConditionNotUpgradeable means that the running operator does not allow the update in its
	// OperatorCondition.
	ReasonOperatorConditionNotUpgradeable = "OperatorConditionNotUpgradeable"

	// ReasonApprovalMissing means that OLM installs the updates of several Subscriptions with the same InstallPlan, all
	// or none, and that only a user may approve that of another Subscription. The message names it.
	ReasonApprovalMissing = "ApprovalMissing"

	// ReasonGateNeedsManual means that the Subscription has the label for the approval gate, which has no effect unless
	// its `spec.installPlanApproval` is Manual.
	ReasonGateNeedsManual = "GateNeedsManual"

	// ReasonNotHeld means that nothing holds an update.
	ReasonNotHeld = "NotHeld"

	// ReasonOverridden means that the update would be held, but an administrator overrode the hold.
	ReasonOverridden = "Overridden"
)
