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

	// ConditionUpToDate is True if the newest version of the package and channel is installed and running.
	ConditionUpToDate = "UpToDate"

	// ConditionImportant is True if a custom resource of the operator has an important condition, which the cluster
	// admin should see.
	ConditionImportant = "Important"
)

// Reasons of Synced.
const (
	// ReasonSynced means that every object exists and matches its desired state.
	ReasonSynced = "Synced"

	// ReasonObserveOnly means that managementPolicy is Observe, so nothing is created or changed.
	ReasonObserveOnly = "ObserveOnly"

	// ReasonDuplicatePackage means that another PlatformOperator is for the same package. The messages of both name the
	// other.
	ReasonDuplicatePackage = "DuplicatePackage"

	// ReasonConflict means that an object of that name exists, and has another owner. The message explains how to let
	// the PlatformOperator adopt it.
	ReasonConflict = "Conflict"

	// ReasonNamespaceReserved means that the namespace is reserved by the manager's --reserved-namespaces.
	ReasonNamespaceReserved = "NamespaceReserved"

	// ReasonApplyFailed means that the API server rejects an object. The message quotes the error.
	ReasonApplyFailed = "ApplyFailed"

	// ReasonKindNotFound means that the API server does not serve the kind of an object.
	ReasonKindNotFound = "KindNotFound"

	// ReasonForbidden means that the manager, or the service account for `resources`, may not read, apply or delete an
	// object. The message explains how to allow it.
	ReasonForbidden = "Forbidden"

	// ReasonServiceAccountRequired means that `resources` contains an RBAC object, which is only applied as a service
	// account. The message explains where to name one.
	ReasonServiceAccountRequired = "ServiceAccountRequired"

	// ReasonServiceAccountMissing means that the service account that applies `resources` does not exist.
	ReasonServiceAccountMissing = "ServiceAccountMissing"

	// ReasonDeleting means that the PlatformOperator is being deleted. The message names what it waits for.
	ReasonDeleting = "Deleting"

	// ReasonUsersData means that the PlatformOperator is being deleted, and waits until users have deleted their data,
	// which would otherwise be deleted with it or left without the operator. The message names the data, and explains
	// how to uninstall anyway.
	ReasonUsersData = "UsersData"
)

// Reasons of Ready, in addition to those of Synced. The message names each object that is not ready, with the object's
// own reason.
const (
	// ReasonAvailable means that the operator is running and every object is ready.
	ReasonAvailable = "Available"

	// ReasonPending means that the PlatformOperator has not been reconciled yet. It is the default.
	ReasonPending = "Pending"

	// ReasonCreating means that an object is not ready yet for the first time.
	ReasonCreating = "Creating"

	// ReasonUpdating means that the operator is being updated, and keeps running meanwhile.
	ReasonUpdating = "Updating"

	// ReasonDegraded means that the PlatformOperator was ready before, and no longer is.
	ReasonDegraded = "Degraded"

	// ReasonFailed means that the PlatformOperator has never been ready, and will not be without intervention.
	ReasonFailed = "Failed"
)

// Reasons of Installed, in addition to those of the Subscription's conditions, which are copied unchanged.
const (
	// ReasonInstalled means that a version is installed and has run. The message names it.
	ReasonInstalled = "Installed"

	// ReasonInstalling means that the operator is being installed. The message explains what it waits for.
	ReasonInstalling = "Installing"

	// ReasonSubscriptionNotFound means that there is no Subscription to the package yet, or none to observe.
	ReasonSubscriptionNotFound = "SubscriptionNotFound"

	// ReasonSubscriptionAmbiguous means that there are several Subscriptions to the package, and `spec.namespace` does
	// not select one to observe.
	ReasonSubscriptionAmbiguous = "SubscriptionAmbiguous"

	// ReasonOLMNotFound means that the cluster has neither OLM nor the loops of operator-status.
	ReasonOLMNotFound = "OLMNotFound"

	// ReasonInstallModesUnsupported means that the operator supports neither all namespaces nor its own as target
	// namespaces.
	ReasonInstallModesUnsupported = "InstallModesUnsupported"
)

// Reasons of Progressing, in addition to ReasonInstalling and ReasonUpdating.
const (
	// ReasonAsDesired means that nothing is being installed or updated.
	ReasonAsDesired = "AsDesired"

	// ReasonUpdateHeld means that an update waits until the running operator allows it or a user approves it.
	ReasonUpdateHeld = "UpdateHeld"
)

// Reasons of Upgradeable and Important, in addition to those of the Probe's conditions, which are copied unchanged.
const (
	// ReasonNoProbe means that the operator has no Probe.
	ReasonNoProbe = "NoProbe"
)

// Reasons of a resource that is not ready, in addition to the object's own.
const (
	// ResourceNotFound means that the object does not exist.
	ResourceNotFound = "NotFound"

	// ResourceNotReady means that a readiness check does not pass. The message contains the check and the actual value.
	ResourceNotReady = "NotReady"

	// ResourceFailing means that the object reports a failure without a reason.
	ResourceFailing = "Failing"

	// ResourceTerminating means that the object is being deleted.
	ResourceTerminating = "Terminating"

	// ResourceCheckInvalid means that a readiness check is invalid.
	ResourceCheckInvalid = "CheckInvalid"
)
