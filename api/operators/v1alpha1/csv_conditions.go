package v1alpha1

// Condition types of a ClusterServiceVersion, as defined by OLM's proposal "CSV Reporting". ConditionUpgradeable is
// another: it mirrors the Probe, and is present only if there is one.
const (
	// ConditionAvailable is True if the operator is deployed and its deployments are available.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while the operator is being installed or updated.
	ConditionProgressing = "Progressing"
)

// Reasons of a ClusterServiceVersion's phase and of Available. Most are those of OLM.
const (
	// CSVReasonRequirementsUnknown means that the requirements have not been checked yet.
	CSVReasonRequirementsUnknown = "RequirementsUnknown"

	// CSVReasonRequirementsNotMet means that something that the operator requires does not exist. The message names it.
	CSVReasonRequirementsNotMet = "RequirementsNotMet"

	// CSVReasonInstallPlanIncomplete means that the InstallPlan that created the ClusterServiceVersion is not
	// completely applied. The message reports its progress.
	CSVReasonInstallPlanIncomplete = "InstallPlanIncomplete"

	// CSVReasonRequirementsMet means that everything that the operator requires exists.
	CSVReasonRequirementsMet = "AllRequirementsMet"

	// CSVReasonOwnerConflict means that another ClusterServiceVersion of the namespace, which this one does not
	// replace, owns the same kind.
	CSVReasonOwnerConflict = "OwnerConflict"

	// CSVReasonInterOperatorGroupOwnerConflict means that an operator of another OperatorGroup with an overlapping
	// target namespace owns the same kind, or that that group is static and lists it.
	CSVReasonInterOperatorGroupOwnerConflict = "InterOperatorGroupOwnerConflict"

	// CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs means that the OperatorGroup has spec.staticProvidedAPIs,
	// and the APIs that the operator provides conflict with the annotation olm.providedAPIs of this group or of another
	// static one.
	CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs = "CannotModifyStaticOperatorGroupProvidedAPIs"

	// CSVReasonComponentFailed means that the API server rejected an object of the operator. The message quotes the
	// error.
	CSVReasonComponentFailed = "InstallComponentFailed"

	// CSVReasonInvalidStrategy means that the install strategy is invalid.
	CSVReasonInvalidStrategy = "InvalidInstallStrategy"

	// CSVReasonInstallWaiting means that a deployment is not available yet. The message names it.
	CSVReasonInstallWaiting = "InstallWaiting"

	// CSVReasonInstallSuccessful means that every deployment is available.
	CSVReasonInstallSuccessful = "InstallSucceeded"

	// CSVReasonInstallCheckFailed means that a deployment did not make progress in time.
	CSVReasonInstallCheckFailed = "InstallCheckFailed"

	// CSVReasonComponentUnhealthy means that a deployment is no longer available.
	CSVReasonComponentUnhealthy = "ComponentUnhealthy"

	// CSVReasonNeedsReinstall means that an object of the operator was deleted or changed, and is being restored.
	CSVReasonNeedsReinstall = "NeedsReinstall"

	// CSVReasonNeedsCertRotation means that the certificate of a webhook is about to expire, and is being rotated.
	CSVReasonNeedsCertRotation = "NeedsCertRotation"

	// CSVReasonBeingReplaced means that a newer ClusterServiceVersion is replacing this one.
	CSVReasonBeingReplaced = "BeingReplaced"

	// CSVReasonReplaced means that a newer ClusterServiceVersion has replaced this one, which will be deleted.
	CSVReasonReplaced = "Replaced"

	// CSVReasonInvalidInstallModes means that the install modes are invalid.
	CSVReasonInvalidInstallModes = "InvalidInstallModes"

	// CSVReasonUnsupportedOperatorGroup means that the install modes do not support the OperatorGroup.
	CSVReasonUnsupportedOperatorGroup = "UnsupportedOperatorGroup"

	// CSVReasonNoTargetNamespaces means that the OperatorGroup selects no namespace.
	CSVReasonNoTargetNamespaces = "NoTargetNamespaces"

	// CSVReasonNoOperatorGroup means that the namespace has no OperatorGroup.
	CSVReasonNoOperatorGroup = "NoOperatorGroup"

	// CSVReasonTooManyOperatorGroups means that the namespace has more than one OperatorGroup.
	CSVReasonTooManyOperatorGroups = "TooManyOperatorGroups"

	// CSVReasonInvalidWebhookDescription means that the description of a webhook is invalid. The message explains why.
	CSVReasonInvalidWebhookDescription = "InvalidWebhookDescription"

	// CSVReasonUnsupported means that the operator needs a feature that is not implemented, such as an API service of
	// its own.
	CSVReasonUnsupported = "Unsupported"
)
