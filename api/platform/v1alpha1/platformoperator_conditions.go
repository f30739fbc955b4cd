package v1alpha1

// Condition types of a PlatformOperator.
const (
	// ConditionSynced is True if every object in the spec exists and matches its desired state.
	ConditionSynced = "Synced"

	// ConditionReady is True if the operator is running and every object is ready.
	ConditionReady = "Ready"

	// ConditionInstalled is True if a version of the operator is installed and has run.
	ConditionInstalled = "Installed"

	// ConditionProgressing is True while the operator is being installed or updated.
	ConditionProgressing = "Progressing"

	// ConditionUpgradeable is True if the operator may be updated according to its Probe, and no update is held for
	// another reason.
	ConditionUpgradeable = "Upgradeable"

	// ConditionUpToDate is True if the newest version of the package and channel is installed and running. It is Unknown
	// while a change of the Subscription is being resolved.
	ConditionUpToDate = "UpToDate"

	// ConditionImportant is True if a custom resource of the operator has an important condition, which the cluster
	// admin should see.
	ConditionImportant = "Important"
)

// Reasons of Synced on a PlatformOperator.
const (
	// ReasonSynced means that every object exists and matches its desired state.
	// Remedy: none, this is the desired state.
	ReasonSynced = "Synced"

	// ReasonObserveOnly means that managementPolicy is Observe, so nothing is created or changed.
	// Remedy: none. To have the operator managed, set managementPolicy to Full.
	ReasonObserveOnly = "ObserveOnly"

	// ReasonDuplicatePackage means that another PlatformOperator is for the same package. The messages of both name the
	// other.
	// Remedy: delete all but one of them.
	ReasonDuplicatePackage = "DuplicatePackage"

	// ReasonConflict means that an object of that name exists, and has another owner. The message explains how to let
	// the PlatformOperator adopt it.
	// Remedy: the command in the message lets the PlatformOperator adopt the object. If another controller owns it,
	// give the object or the PlatformOperator another name.
	ReasonConflict = "Conflict"

	// ReasonNamespaceReserved means that the namespace of the operator, or of an object in `resources` while no
	// spec.serviceAccountName is set, is reserved by the manager's --reserved-namespaces.
	// Remedy: set spec.namespace to another namespace in a new PlatformOperator, or metadata.namespace of the object. A
	// cluster admin can change the manager's --reserved-namespaces.
	ReasonNamespaceReserved = "NamespaceReserved"

	// ReasonApplyFailed means that the API server rejects an object. The message quotes the error.
	// Remedy: correct the object in spec.resources as the error states. It is retried within 30 seconds.
	ReasonApplyFailed = "ApplyFailed"

	// ReasonKindNotFound means that the API server does not serve the kind of an object.
	// Remedy: none if the operator that is being installed brings the kind. Otherwise install it, or correct apiVersion
	// and kind.
	ReasonKindNotFound = "KindNotFound"

	// ReasonForbidden means that the manager, or the service account for `resources`, may not read, apply or delete an
	// object. The message explains how to allow it.
	// Remedy: grant the permission to the service account, by a ClusterRole with the label in the message if it has one.
	// It is retried within 30 seconds.
	ReasonForbidden = "Forbidden"

	// ReasonServiceAccountRequired means that `resources` contains an RBAC object, which is only applied as a service
	// account that was chosen for it. The message explains where to name one.
	// Remedy: name a service account that may apply the object in spec.serviceAccountName. A cluster admin can set the
	// manager's --default-resources-account.
	ReasonServiceAccountRequired = "ServiceAccountRequired"

	// ReasonServiceAccountMissing means that the service account that applies `resources` does not exist.
	// Remedy: none if the operator that is being installed brings it. Otherwise create it, or name another in
	// spec.serviceAccountName.
	ReasonServiceAccountMissing = "ServiceAccountMissing"

	// ReasonDeleting means that the PlatformOperator is being deleted. The message names the remaining objects.
	// Remedy: none. If it lasts, see which finalizers keep the objects in the message.
	ReasonDeleting = "Deleting"

	// ReasonUsersData means that the PlatformOperator is being deleted, and waits until users have deleted their data,
	// which would otherwise be deleted with it or left without the operator. The message names the data, and explains
	// how to uninstall anyway.
	// Remedy: delete the data in the message, or set the annotation operatorstatus.io/delete-anyway to uninstall the
	// operator and keep the data.
	ReasonUsersData = "UsersData"
)

// Reasons of Ready on a PlatformOperator, in addition to those of Synced. The message names each object that is not
// ready, with the object's own reason.
const (
	// ReasonAvailable means that the operator is running and every object is ready.
	// Remedy: none, this is the desired state.
	ReasonAvailable = "Available"

	// ReasonPending means that the PlatformOperator has not been reconciled yet. It is the default of a new object.
	// Remedy: none, unless it lasts: check that a manager runs.
	ReasonPending = "Pending"

	// ReasonCreating means that an object is not ready yet for the first time.
	// Remedy: none, unless it lasts. The message names the object that is not ready.
	ReasonCreating = "Creating"

	// ReasonUpdating means that the operator is being updated, and keeps running meanwhile, or that its Subscription has
	// changed and is being resolved: whether there is a newer version is not known yet.
	// Remedy: none, it ends with the update.
	ReasonUpdating = "Updating"

	// ReasonDegraded means that the PlatformOperator was ready before, and no longer is.
	// Remedy: see the object in the message, and the remedy of its reason.
	ReasonDegraded = "Degraded"

	// ReasonFailed means that the PlatformOperator has never been ready, and will not be without intervention.
	// Remedy: see the object in the message, and the remedy of its reason.
	ReasonFailed = "Failed"
)

// Reasons of Installed on a PlatformOperator, in addition to those of the Subscription's conditions, which are copied
// unchanged.
const (
	// ReasonInstalled means that a version is installed and has run. The message names it.
	// Remedy: none, this is the desired state.
	ReasonInstalled = "Installed"

	// ReasonInstalling means that the operator is being installed. The message reports its progress.
	// Remedy: none, unless it lasts. Then see the cause in the message.
	ReasonInstalling = "Installing"

	// ReasonSubscriptionNotFound means that no Subscription to the package exists yet, or none to observe.
	// Remedy: none while it is being created. With managementPolicy Observe, create a Subscription to the package, or
	// observe one of another catalog or namespace as the message explains.
	ReasonSubscriptionNotFound = "SubscriptionNotFound"

	// ReasonSubscriptionAmbiguous means that the package has several Subscriptions, and `spec.namespace` does not
	// select one to observe.
	// Remedy: set spec.package.catalog if their catalogs differ, or set spec.namespace in a new PlatformOperator to the
	// namespace of one of them.
	ReasonSubscriptionAmbiguous = "SubscriptionAmbiguous"

	// ReasonOLMNotFound means that the cluster has neither OLM nor the loops of operator-status.
	// Remedy: install OLM, or the built-in loops: apply crds-lifecycle.yaml and install-lifecycle.yaml of the release.
	ReasonOLMNotFound = "OLMNotFound"

	// ReasonInstallModesUnsupported means that the operator supports neither all namespaces nor its own as target
	// namespaces.
	// Remedy: create an OperatorGroup that fits the operator in a namespace, and name that in spec.namespace of a new
	// PlatformOperator.
	ReasonInstallModesUnsupported = "InstallModesUnsupported"
)

// Reasons of Progressing on a PlatformOperator, in addition to Installing and Updating.
const (
	// ReasonAsDesired means that nothing is being installed or updated.
	// Remedy: none, this is the desired state.
	ReasonAsDesired = "AsDesired"

	// ReasonUpdateHeld means that an update waits until the running operator allows it or a user approves it.
	// Remedy: find the cause with `kubectl operator-status why`, or approve the update if the message requires that.
	ReasonUpdateHeld = "UpdateHeld"
)

// Reasons of Upgradeable and Important on a PlatformOperator, in addition to those of the Probe's conditions, which are
// copied unchanged.
const (
	// ReasonNoProbe means that the operator has no Probe.
	// Remedy: none. The operator's author can opt in by an annotation on its CustomResourceDefinitions.
	ReasonNoProbe = "NoProbe"
)

// Reasons of a resource in the status of a PlatformOperator that is not ready, in addition to the object's own.
const (
	// ResourceNotFound means that the object does not exist.
	// Remedy: none while it is being created, otherwise see the condition Synced.
	ResourceNotFound = "NotFound"

	// ResourceNotReady means that a readiness check does not pass. The message contains the check and the actual value.
	// Remedy: none, unless it lasts. Then look at the object, or correct the check.
	ResourceNotReady = "NotReady"

	// ResourceFailing means that the object reports a failure without a reason.
	// Remedy: look at the status of the object.
	ResourceFailing = "Failing"

	// ResourceTerminating means that the object is being deleted.
	// Remedy: none. If it lasts, see which finalizers keep it.
	ResourceTerminating = "Terminating"

	// ResourceCheckInvalid means that a readiness check is invalid.
	// Remedy: correct readinessChecks as the message states.
	ResourceCheckInvalid = "CheckInvalid"
)
