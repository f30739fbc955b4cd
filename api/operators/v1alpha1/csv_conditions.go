package v1alpha1

// Condition types of a ClusterServiceVersion. Source: OLM's proposal "CSV Reporting". ConditionUpgradeable is one too,
// mirrored from the Probe, and present only where there is one.
const (
	// ConditionAvailable is True where the operator is deployed and its deployments are available.
	ConditionAvailable = "Available"

	// ConditionProgressing is True where the operator is being installed or updated.
	ConditionProgressing = "Progressing"
)

// Reasons of a ClusterServiceVersion's phase, and of Available, which OLM has too.
const (
	// CSVReasonRequirementsUnknown: the requirements have not been checked yet.
	CSVReasonRequirementsUnknown = "RequirementsUnknown"

	// CSVReasonRequirementsNotMet: something that the operator needs is not there. The message names it.
	CSVReasonRequirementsNotMet = "RequirementsNotMet"

	// CSVReasonInstallPlanIncomplete: the InstallPlan that brought it has not been applied whole. The message says how it stands.
	CSVReasonInstallPlanIncomplete = "InstallPlanIncomplete"

	// CSVReasonRequirementsMet: all that the operator needs is there.
	CSVReasonRequirementsMet = "AllRequirementsMet"

	// CSVReasonOwnerConflict: another ClusterServiceVersion of the namespace that this one does not replace owns the same kind.
	CSVReasonOwnerConflict = "OwnerConflict"

	// CSVReasonInterOperatorGroupOwnerConflict: an operator of another OperatorGroup that targets the same namespaces owns the same kind, or
	// that group is static and claims it.
	CSVReasonInterOperatorGroupOwnerConflict = "InterOperatorGroupOwnerConflict"

	// CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs: the OperatorGroup has spec.staticProvidedAPIs, and what the operator provides does
	// not fit its annotation olm.providedAPIs.
	CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs = "CannotModifyStaticOperatorGroupProvidedAPIs"

	// CSVReasonComponentFailed: the API server refused something that the operator consists of. The message quotes it.
	CSVReasonComponentFailed = "InstallComponentFailed"

	// CSVReasonInvalidStrategy: the install strategy cannot be understood.
	CSVReasonInvalidStrategy = "InvalidInstallStrategy"

	// CSVReasonInstallWaiting: a deployment is not available yet. The message names it.
	CSVReasonInstallWaiting = "InstallWaiting"

	// CSVReasonInstallSuccessful: every deployment is available.
	CSVReasonInstallSuccessful = "InstallSucceeded"

	// CSVReasonInstallCheckFailed: a deployment failed to make progress in time.
	CSVReasonInstallCheckFailed = "InstallCheckFailed"

	// CSVReasonComponentUnhealthy: a deployment that was available is so no more.
	CSVReasonComponentUnhealthy = "ComponentUnhealthy"

	// CSVReasonNeedsReinstall: something that the operator consists of is gone or changed, and is being put right.
	CSVReasonNeedsReinstall = "NeedsReinstall"

	// CSVReasonNeedsCertRotation: a webhook's certificate is about to expire, and is being replaced.
	CSVReasonNeedsCertRotation = "NeedsCertRotation"

	// CSVReasonBeingReplaced: a newer ClusterServiceVersion is taking over.
	CSVReasonBeingReplaced = "BeingReplaced"

	// CSVReasonReplaced: a newer ClusterServiceVersion has taken over, and this one will be deleted.
	CSVReasonReplaced = "Replaced"

	// CSVReasonInvalidInstallModes: the install modes do not allow the OperatorGroup's namespaces.
	CSVReasonInvalidInstallModes = "InvalidInstallModes"

	// CSVReasonUnsupportedOperatorGroup: the operator does not support the kind of OperatorGroup.
	CSVReasonUnsupportedOperatorGroup = "UnsupportedOperatorGroup"

	// CSVReasonNoTargetNamespaces: the OperatorGroup selects no namespace.
	CSVReasonNoTargetNamespaces = "NoTargetNamespaces"

	// CSVReasonNoOperatorGroup: the namespace has no OperatorGroup.
	CSVReasonNoOperatorGroup = "NoOperatorGroup"

	// CSVReasonTooManyOperatorGroups: the namespace has more than one OperatorGroup.
	CSVReasonTooManyOperatorGroups = "TooManyOperatorGroups"

	// CSVReasonInvalidWebhookDescription: a webhook's description cannot be used. The message says why.
	CSVReasonInvalidWebhookDescription = "InvalidWebhookDescription"

	// CSVReasonUnsupported: the operator needs what is not done here, such as an API service of its own.
	CSVReasonUnsupported = "Unsupported"
)
