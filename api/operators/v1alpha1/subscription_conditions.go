package v1alpha1

// Condition types of a Subscription that OLM has too. All are abnormal-true. As with OLM they are there only while they are True:
// scripts that were written for OLM take some of them for true where they are there at all.
const (
	// SubscriptionResolutionFailed is True where no set of bundles satisfies the Subscription.
	SubscriptionResolutionFailed SubscriptionConditionType = "ResolutionFailed"

	// SubscriptionInstallPlanPending is True while the InstallPlan of the current ClusterServiceVersion has not been applied.
	SubscriptionInstallPlanPending SubscriptionConditionType = "InstallPlanPending"

	// SubscriptionInstallPlanFailed is True where the InstallPlan of the current ClusterServiceVersion failed.
	SubscriptionInstallPlanFailed SubscriptionConditionType = "InstallPlanFailed"

	// SubscriptionInstallPlanMissing is True where the InstallPlan that the status refers to is gone although the
	// current ClusterServiceVersion is not installed.
	SubscriptionInstallPlanMissing SubscriptionConditionType = "InstallPlanMissing"

	// SubscriptionPackageDeprecated is True where the catalog has deprecated the package. The message is the catalog's.
	SubscriptionPackageDeprecated SubscriptionConditionType = "PackageDeprecated"

	// SubscriptionChannelDeprecated is True where the catalog has deprecated the channel that the spec names.
	SubscriptionChannelDeprecated SubscriptionConditionType = "ChannelDeprecated"

	// SubscriptionBundleDeprecated is True where the catalog has deprecated the bundle that is installed, or comes next.
	SubscriptionBundleDeprecated SubscriptionConditionType = "BundleDeprecated"

	// SubscriptionDeprecated is True where one of the three is.
	SubscriptionDeprecated SubscriptionConditionType = "Deprecated"
)

// Condition types of a Subscription that are abnormal-true as well, and are there as soon as they are known, True or False: one that
// is absent reads Unknown. Source: OLM's proposal "Improved Subscription Status". OLM itself has CatalogSourcesUnhealthy too, and
// keeps it as well.
const (
	// SubscriptionCatalogSourcesUnhealthy is True where a CatalogSource that the Subscription can see is unhealthy.
	SubscriptionCatalogSourcesUnhealthy SubscriptionConditionType = "CatalogSourcesUnhealthy"

	// SubscriptionCatalogSourceInvalid is True where the CatalogSource that the spec names cannot be used.
	SubscriptionCatalogSourceInvalid SubscriptionConditionType = "CatalogSourceInvalid"

	// SubscriptionPackageChannelInvalid is True where the catalog has no such package, or the package no such channel.
	SubscriptionPackageChannelInvalid SubscriptionConditionType = "PackageChannelInvalid"

	// SubscriptionInstallPlanAwaitingManualApproval is True where a person has to approve the InstallPlan.
	SubscriptionInstallPlanAwaitingManualApproval SubscriptionConditionType = "InstallPlanAwaitingManualApproval"

	// SubscriptionInstalledCSVReplacementAvailable is True where the channel has a replacement of what is installed.
	SubscriptionInstalledCSVReplacementAvailable SubscriptionConditionType = "InstalledCSVReplacementAvailable"

	// SubscriptionInstalledCSVMissing is True where the installed ClusterServiceVersion is gone.
	SubscriptionInstalledCSVMissing SubscriptionConditionType = "InstalledCSVMissing"

	// SubscriptionInstalledCSVFailed is True where the installed ClusterServiceVersion does not run.
	SubscriptionInstalledCSVFailed SubscriptionConditionType = "InstalledCSVFailed"

	// SubscriptionUpgradeHeld is True where an update waits until the running operator allows it.
	SubscriptionUpgradeHeld SubscriptionConditionType = "UpgradeHeld"
)

// The condition type of a Subscription of which True is good.
const (
	// SubscriptionUpToDate is True where the newest of the package and channel is installed and running. Where operator-status runs
	// the loops `status.UpToDate` says the same; OLM's schema has no field for it.
	SubscriptionUpToDate SubscriptionConditionType = "UpToDate"
)

// Reasons of UpToDate.
const (
	// ReasonNewestRuns: the newest that is known of the package and channel is installed and running.
	ReasonNewestRuns = "NewestRuns"

	// ReasonNewestDoesNotRun: it is not. The message says what it waits for.
	ReasonNewestDoesNotRun = "NewestDoesNotRun"

	// ReasonNewestNotKnown: nobody can tell what the newest is. The message says why.
	ReasonNewestNotKnown = "NewestNotKnown"
)

// Reasons of ResolutionFailed. Those of CatalogSourceInvalid and PackageChannelInvalid are reasons of it too.
const (
	// ReasonResolved: a set of bundles satisfies what is asked for. It is a reason of Resolved on an InstallPlan.
	ReasonResolved = "Resolved"

	// ReasonConstraintsNotSatisfiable: a bundle needs what no catalog and no installed operator provides, or what
	// cannot be had together. The message names it.
	ReasonConstraintsNotSatisfiable = "ConstraintsNotSatisfiable"

	// ReasonUnsupportedConstraint: a bundle asks for a kind of constraint that is not evaluated here.
	ReasonUnsupportedConstraint = "UnsupportedConstraint"

	// ReasonDuplicateSubscription: an older Subscription of the namespace is for the same package.
	ReasonDuplicateSubscription = "DuplicateSubscription"

	// ReasonCSVNotInChannel: startingCSV is not in the channel.
	ReasonCSVNotInChannel = "CSVNotInChannel"

	// ReasonReplacesCycle: the channel's entries replace each other in a circle, so that none is the newest.
	ReasonReplacesCycle = "ReplacesCycle"

	// ReasonBundleInvalid: the bundle to install cannot be read or is not a registry+v1 bundle.
	ReasonBundleInvalid = "BundleInvalid"

	// ReasonOperatorGroupMissing: the namespace has no OperatorGroup.
	ReasonOperatorGroupMissing = "OperatorGroupMissing"

	// ReasonTooManyOperatorGroups: the namespace has more than one OperatorGroup.
	ReasonTooManyOperatorGroups = "TooManyOperatorGroups"
)

// The reason of Deprecated, PackageDeprecated, ChannelDeprecated and BundleDeprecated.
const (
	// ReasonDeprecated: the catalog says so. The message quotes it.
	ReasonDeprecated = "Deprecated"
)

// Reasons of CatalogSourcesUnhealthy.
const (
	// ReasonAllCatalogSourcesHealthy: every CatalogSource that the Subscription can see is healthy.
	ReasonAllCatalogSourcesHealthy = "AllCatalogSourcesHealthy"

	// ReasonUnhealthyCatalogSourceFound: at least one is not. The message names it.
	ReasonUnhealthyCatalogSourceFound = "UnhealthyCatalogSourceFound"

	// ReasonNoCatalogSourcesFound: the Subscription can see none.
	ReasonNoCatalogSourcesFound = "NoCatalogSourcesFound"

	// ReasonMissingCatalogInfo: at least one has not been read yet.
	ReasonMissingCatalogInfo = "MissingCatalogInfo"
)

// Reasons of CatalogSourceInvalid.
const (
	// ReasonCatalogSourceValid: the CatalogSource is there, and its content has been read.
	ReasonCatalogSourceValid = "CatalogSourceValid"

	// ReasonCatalogSourceNotFound: there is no CatalogSource of that name.
	ReasonCatalogSourceNotFound = "CatalogSourceNotFound"

	// ReasonCatalogSourceNotVisible: it is in a namespace that this one cannot see.
	ReasonCatalogSourceNotVisible = "CatalogSourceNotVisible"

	// ReasonCatalogSourceUnreadable: its content has never been read. Its own status says why.
	ReasonCatalogSourceUnreadable = "CatalogSourceUnreadable"
)

// Reasons of PackageChannelInvalid.
const (
	// ReasonPackageChannelValid: the package and the channel are there.
	ReasonPackageChannelValid = "PackageChannelValid"

	// ReasonPackageNotFound: the catalog has no package of that name.
	ReasonPackageNotFound = "PackageNotFound"

	// ReasonPackageInvalid: the catalog has it, but what it says of it makes no sense.
	ReasonPackageInvalid = "PackageInvalid"

	// ReasonChannelNotFound: the package has no channel of that name.
	ReasonChannelNotFound = "ChannelNotFound"
)

// Reasons of the conditions on InstallPlans.
const (
	// ReasonReferencedInstallPlanNotFound: the InstallPlan that the status refers to is gone.
	ReasonReferencedInstallPlanNotFound = "ReferencedInstallPlanNotFound"

	// ReasonInstallPlanNotYetReconciled: it is there, and nobody has looked at it. Other reasons of InstallPlanPending are its phases,
	// and the reasons of its Installed condition where something keeps it from being applied.
	ReasonInstallPlanNotYetReconciled = "InstallPlanNotYetReconciled"

	// ReasonInstallPlanFailed: it failed, and its Installed condition has no reason, which otherwise is given. The message quotes it.
	ReasonInstallPlanFailed = "InstallPlanFailed"

	// ReasonRequiresApproval: a person has to approve it.
	ReasonRequiresApproval = "RequiresApproval"

	// ReasonNotAwaitingApproval: it is approved, or the Subscription approves by itself.
	ReasonNotAwaitingApproval = "NotAwaitingApproval"
)

// Reasons of the conditions on the installed ClusterServiceVersion.
const (
	// ReasonReplacementAvailable: the channel has a replacement of what is installed. The message names it.
	ReasonReplacementAvailable = "ReplacementAvailable"

	// ReasonNoReplacementAvailable: what is installed is the newest of the channel.
	ReasonNoReplacementAvailable = "NoReplacementAvailable"

	// ReasonCSVMissing: the installed ClusterServiceVersion is gone.
	ReasonCSVMissing = "CSVMissing"

	// ReasonCSVPresent: it is there.
	ReasonCSVPresent = "CSVPresent"

	// ReasonCSVFailed: its phase is Failed. The message quotes it.
	ReasonCSVFailed = "CSVFailed"

	// ReasonCSVNotFailed: its phase is another.
	ReasonCSVNotFailed = "CSVNotFailed"
)

// Reasons of UpgradeHeld, on a Subscription and on an InstallPlan. ReasonProbeNotUpgradeable is one too.
const (
	// ReasonProbeNotRead: the Probe that the running operator asks for does not exist, or what it watches has not been read
	// since its spec, its target namespaces or the manager changed. The message says which, and what ends it.
	ReasonProbeNotRead = "ProbeNotRead"

	// ReasonProbeConflict: the running operator asks for a Probe, and another one exists by that name.
	ReasonProbeConflict = "ProbeConflict"

	// ReasonOperatorConditionNotUpgradeable: the running operator says so in its OperatorCondition.
	ReasonOperatorConditionNotUpgradeable = "OperatorConditionNotUpgradeable"

	// ReasonApprovalMissing: OLM installs several updates at once or none, and of another Subscription in the same
	// InstallPlan only a person may say that it goes ahead. The message names it.
	ReasonApprovalMissing = "ApprovalMissing"

	// ReasonGateNeedsManual: the Subscription asks for the approval gate, which has no effect unless its
	// `spec.installPlanApproval` is Manual.
	ReasonGateNeedsManual = "GateNeedsManual"

	// ReasonNotHeld: nothing holds an update.
	ReasonNotHeld = "NotHeld"

	// ReasonOverridden: an update would be held, but an administrator overrode that.
	ReasonOverridden = "Overridden"
)
