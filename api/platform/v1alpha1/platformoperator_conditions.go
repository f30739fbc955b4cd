package v1alpha1

// Condition types of a PlatformOperator.
const (
	// ConditionSynced is True where every object that the spec asks for is there as it should be.
	ConditionSynced = "Synced"

	// ConditionReady is True where the operator runs and every object is ready.
	ConditionReady = "Ready"

	// ConditionInstalled is True where a version of the operator is installed and has run.
	ConditionInstalled = "Installed"

	// ConditionProgressing is True while the operator is being installed or updated.
	ConditionProgressing = "Progressing"

	// ConditionUpgradeable is True where the operator may be updated, as its Probe says.
	ConditionUpgradeable = "Upgradeable"

	// ConditionUpToDate is True where the newest version of package and channel is installed and runs.
	ConditionUpToDate = "UpToDate"

	// ConditionImportant is True where a custom resource of the operator has something to say that the cluster admin should
	// see.
	ConditionImportant = "Important"
)

// Reasons of Synced.
const (
	// ReasonSynced: every object is there as it should be.
	ReasonSynced = "Synced"

	// ReasonObserveOnly: managementPolicy is Observe, so nothing is made or changed.
	ReasonObserveOnly = "ObserveOnly"

	// ReasonDuplicatePackage: another PlatformOperator is for the same package. The message names it, as that one's does
	// this one.
	ReasonDuplicatePackage = "DuplicatePackage"

	// ReasonConflict: an object of that name is there, and belongs to somebody else. The message says how to have it adopted.
	ReasonConflict = "Conflict"

	// ReasonNamespaceReserved: the namespace is reserved by the manager's --reserved-namespaces.
	ReasonNamespaceReserved = "NamespaceReserved"

	// ReasonApplyFailed: the API server refuses an object. The message quotes it.
	ReasonApplyFailed = "ApplyFailed"

	// ReasonKindNotFound: the cluster does not know the kind of an object.
	ReasonKindNotFound = "KindNotFound"

	// ReasonForbidden: the manager, or the service account of `resources`, may not read, apply or delete an object. The message
	// says how to let it.
	ReasonForbidden = "Forbidden"

	// ReasonServiceAccountRequired: `resources` has an object of RBAC, which is only applied as a service account. The message
	// says where to name one.
	ReasonServiceAccountRequired = "ServiceAccountRequired"

	// ReasonServiceAccountMissing: the service account that `resources` are applied as does not exist.
	ReasonServiceAccountMissing = "ServiceAccountMissing"

	// ReasonDeleting: the PlatformOperator is being deleted. The message says what it waits for.
	ReasonDeleting = "Deleting"

	// ReasonUsersData: the PlatformOperator is being deleted, and waits for users to delete their data, which would go with it or be
	// left without the operator. The message names it, and says how to uninstall all the same.
	ReasonUsersData = "UsersData"
)

// Reasons of Ready, beside those of Synced. The message names each object that is not ready, with the object's own reason.
const (
	// ReasonAvailable: the operator runs and every object is ready.
	ReasonAvailable = "Available"

	// ReasonCreating: something is not ready yet, for the first time.
	ReasonCreating = "Creating"

	// ReasonUpdating: the operator is being updated, and runs on meanwhile.
	ReasonUpdating = "Updating"

	// ReasonDegraded: it was ready once, and is so no more.
	ReasonDegraded = "Degraded"

	// ReasonFailed: it was never ready, and will not be unless somebody does something.
	ReasonFailed = "Failed"
)

// Reasons of Installed, beside those of a Subscription's conditions, which come up as they are.
const (
	// ReasonInstalled: a version is installed and has run. The message names it.
	ReasonInstalled = "Installed"

	// ReasonInstalling: it is on its way. The message says what it waits for.
	ReasonInstalling = "Installing"

	// ReasonSubscriptionNotFound: there is no Subscription to the package yet, or none to observe.
	ReasonSubscriptionNotFound = "SubscriptionNotFound"

	// ReasonSubscriptionAmbiguous: there are several Subscriptions to the package, and `spec.namespace` does not say which to
	// observe.
	ReasonSubscriptionAmbiguous = "SubscriptionAmbiguous"

	// ReasonOLMNotFound: the cluster has neither an OLM nor the loops of operator-status.
	ReasonOLMNotFound = "OLMNotFound"

	// ReasonInstallModesUnsupported: the operator can be installed neither for all namespaces nor for its own.
	ReasonInstallModesUnsupported = "InstallModesUnsupported"
)

// Reasons of Progressing, beside ReasonInstalling and ReasonUpdating.
const (
	// ReasonAsDesired: nothing is being installed or updated.
	ReasonAsDesired = "AsDesired"

	// ReasonUpdateHeld: an update waits until the running operator allows it, or a person.
	ReasonUpdateHeld = "UpdateHeld"
)

// Reasons of Upgradeable and Important, beside those of a Probe's conditions, which come up as they are.
const (
	// ReasonNoProbe: the operator says nothing of it.
	ReasonNoProbe = "NoProbe"
)

// Reasons of a resource that is not ready, beside the object's own.
const (
	// ResourceNotFound: the object is not there.
	ResourceNotFound = "NotFound"

	// ResourceNotReady: a readiness check does not pass. The message says which, and what is there instead.
	ResourceNotReady = "NotReady"

	// ResourceFailing: the object says that it has failed, and gives no reason.
	ResourceFailing = "Failing"

	// ResourceTerminating: the object is being deleted.
	ResourceTerminating = "Terminating"

	// ResourceCheckInvalid: a readiness check cannot be made sense of.
	ResourceCheckInvalid = "CheckInvalid"
)
