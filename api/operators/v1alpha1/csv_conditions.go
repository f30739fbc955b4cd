package v1alpha1

// Condition types of a ClusterServiceVersion, as defined by OLM's proposal "CSV Reporting". ConditionUpgradeable is
// another: it mirrors the Probe, and is absent without one.
const (
	// ConditionAvailable is True if the operator is deployed and its deployments are available.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while the operator is being installed or updated.
	ConditionProgressing = "Progressing"
)

// Reasons of the phase and of Available on a ClusterServiceVersion. Most are those of OLM.
const (
	// CSVReasonRequirementsUnknown means that the requirements have not been checked yet.
	// Remedy: none, OLM checks them next. The built-in loops do not set this reason.
	CSVReasonRequirementsUnknown = "RequirementsUnknown"

	// CSVReasonRequirementsNotMet means that a requirement of the operator is not met. The message names it.
	// Remedy: meet the requirement: for example, install the operator that owns a missing CustomResourceDefinition, or
	// grant a missing permission. For a required version of Kubernetes, update the cluster.
	CSVReasonRequirementsNotMet = "RequirementsNotMet"

	// CSVReasonInstallPlanIncomplete means that the InstallPlan that created the ClusterServiceVersion is not
	// completely applied. The message reports its progress.
	// Remedy: see why the InstallPlan in the message waits or failed. If it was deleted, none: the Subscription creates
	// another.
	CSVReasonInstallPlanIncomplete = "InstallPlanIncomplete"

	// CSVReasonRequirementsMet means that everything that the operator requires exists.
	// Remedy: none, the operator is installed next.
	CSVReasonRequirementsMet = "AllRequirementsMet"

	// CSVReasonOwnerConflict means that another ClusterServiceVersion of the namespace, which this one does not
	// replace, owns the same kind, or an object of the same name as one of this operator's. The message names it.
	// Remedy: delete one of the two ClusterServiceVersions, with its Subscription.
	CSVReasonOwnerConflict = "OwnerConflict"

	// CSVReasonInterOperatorGroupOwnerConflict means that an operator of another OperatorGroup with an overlapping
	// target namespace owns the same kind, or that that group is static and lists it.
	// Remedy: uninstall one of the two operators, or change the target namespaces of one OperatorGroup to avoid the
	// overlap. For a static group, remove the API from its annotation olm.providedAPIs.
	CSVReasonInterOperatorGroupOwnerConflict = "InterOperatorGroupOwnerConflict"

	// CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs means that the OperatorGroup has spec.staticProvidedAPIs,
	// and the APIs that the operator provides conflict with the annotation olm.providedAPIs of this group or of another
	// static one.
	// Remedy: add the API in the message to the annotation olm.providedAPIs, remove spec.staticProvidedAPIs, or change
	// the target namespaces of one of the groups.
	CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs = "CannotModifyStaticOperatorGroupProvidedAPIs"

	// CSVReasonComponentFailed means that the API server rejected an object of the operator. The message quotes the
	// error.
	// Remedy: correct the cause in the message: grant the permission, raise the quota, or change the admission policy.
	// It is tried again, and at once when RBAC changes. An object that is itself invalid needs a corrected bundle.
	CSVReasonComponentFailed = "InstallComponentFailed"

	// CSVReasonInvalidStrategy means that the install strategy is invalid.
	// Remedy: none on the cluster. The author of the bundle has to correct it; report it, and install another version.
	CSVReasonInvalidStrategy = "InvalidInstallStrategy"

	// CSVReasonInstallWaiting means that a deployment is not available yet. The message names it.
	// Remedy: none while its pods start. If it lasts, look at the pods of the deployment in the message.
	CSVReasonInstallWaiting = "InstallWaiting"

	// CSVReasonInstallSuccessful means that every deployment is available.
	// Remedy: none, this is the desired state.
	CSVReasonInstallSuccessful = "InstallSucceeded"

	// CSVReasonInstallCheckFailed means that a deployment did not make progress in time.
	// Remedy: correct the problem with the pods of the deployment in the message, such as an image that cannot be
	// pulled or a node without capacity. The ClusterServiceVersion succeeds once they are ready.
	CSVReasonInstallCheckFailed = "InstallCheckFailed"

	// CSVReasonComponentUnhealthy means that a deployment is no longer available.
	// Remedy: look at the pods and logs of the deployment in the message. The ClusterServiceVersion succeeds again once
	// it is available.
	CSVReasonComponentUnhealthy = "ComponentUnhealthy"

	// CSVReasonNeedsReinstall means that an object of the operator was deleted or changed, and is being restored.
	// Remedy: none, OLM restores it. The built-in loops restore objects without this reason.
	CSVReasonNeedsReinstall = "NeedsReinstall"

	// CSVReasonBeingReplaced means that a newer ClusterServiceVersion is replacing this one.
	// Remedy: none, it is deleted once its replacement has Succeeded. If it lasts, see why the replacement does not.
	CSVReasonBeingReplaced = "BeingReplaced"

	// CSVReasonReplaced means that a newer ClusterServiceVersion has replaced this one, which will be deleted.
	// Remedy: none.
	CSVReasonReplaced = "Replaced"

	// CSVReasonInvalidInstallModes means that the install modes are invalid.
	// Remedy: none on the cluster. The author of the bundle has to list each install mode once; report it, and install
	// another version.
	CSVReasonInvalidInstallModes = "InvalidInstallModes"

	// CSVReasonUnsupportedOperatorGroup means that the install modes do not support the OperatorGroup.
	// Remedy: change the target namespaces of the OperatorGroup to an install mode that the operator supports, or
	// install the operator into a namespace whose group fits.
	CSVReasonUnsupportedOperatorGroup = "UnsupportedOperatorGroup"

	// CSVReasonNoTargetNamespaces means that the OperatorGroup selects no namespace.
	// Remedy: label a namespace to match the selector of the OperatorGroup, or change the selector.
	CSVReasonNoTargetNamespaces = "NoTargetNamespaces"

	// CSVReasonNoOperatorGroup means that the namespace has no OperatorGroup.
	// Remedy: create an OperatorGroup in the namespace.
	CSVReasonNoOperatorGroup = "NoOperatorGroup"

	// CSVReasonTooManyOperatorGroups means that the namespace has more than one OperatorGroup.
	// Remedy: delete all but one of them.
	CSVReasonTooManyOperatorGroups = "TooManyOperatorGroups"

	// CSVReasonInvalidWebhookDescription means that the description of a webhook is invalid. The message explains why.
	// Remedy: none on the cluster. The author of the bundle has to correct it; report it, and install another version.
	CSVReasonInvalidWebhookDescription = "InvalidWebhookDescription"

	// CSVReasonUnsupported means that the operator needs a feature that is not implemented, such as an API service of
	// its own.
	// Remedy: install the operator on a cluster with OLM, or a version of it that does not need the feature.
	CSVReasonUnsupported = "Unsupported"
)
