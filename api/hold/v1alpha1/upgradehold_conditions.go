package v1alpha1

// Condition types of an UpgradeHold.
const (
	// ConditionHeld is True while the operator must not be updated.
	ConditionHeld = "Held"

	// ConditionEnforced is True if the API server denies updates of the operator while Held is True. If it is False, the hold is
	// only reported.
	ConditionEnforced = "Enforced"
)

// Reasons of Held on an UpgradeHold or an UpgradeHoldPolicy. While updates are held because of the operator itself, the reason is that of UpgradeHeld
// on a Subscription.
const (
	// ReasonHeldByUser means that a user holds the updates with this UpgradeHold or UpgradeHoldPolicy.
	// Remedy: wait for spec.until or the next of spec.updateWindows, or delete it. One version is allowed by the annotation
	// operatorstatus.io/allow-upgrade of the UpgradeHold.
	ReasonHeldByUser = "HeldByUser"

	// ReasonExpired means that spec.until has passed.
	// Remedy: delete the UpgradeHold, or change spec.until.
	ReasonExpired = "Expired"

	// ReasonNotStarted means that spec.from is in the future.
	// Remedy: none, updates are held from then on.
	ReasonNotStarted = "NotStarted"

	// ReasonUpdateWindow means that one of spec.updateWindows is open. The message has when it closes.
	// Remedy: none, updates are held again from then on.
	ReasonUpdateWindow = "UpdateWindow"

	// ReasonOperatorNotFound means that the installer has no such operator.
	// Remedy: correct spec.operator, or delete the UpgradeHold.
	ReasonOperatorNotFound = "OperatorNotFound"

	// ReasonReserved means that the namespace belongs to the cluster or to operator-status, whose updates cannot be held.
	// Remedy: delete the UpgradeHold.
	ReasonReserved = "Reserved"
)

// Reasons of Enforced on an UpgradeHold.
const (
	// ReasonPolicyBound means that a ValidatingAdmissionPolicy denies what would start an update of the operator.
	// Remedy: none, this is the desired state.
	ReasonPolicyBound = "PolicyBound"

	// ReasonLoopsWait means that the built-in loops of operator-status wait while Held is True.
	// Remedy: none, this is the desired state.
	ReasonLoopsWait = "LoopsWait"

	// ReasonPolicyNotBound means that no ValidatingAdmissionPolicy with a binding enforces holds for this installer.
	// Remedy: apply the policies of the release (`policies.yaml`), or, after `kubectl operator-status release --all`, run it
	// with --undo.
	ReasonPolicyNotBound = "PolicyNotBound"

	// ReasonNotIndexed means that the ConfigMaps with the label operatorstatus.io/denies, in which the API server looks up denied
	// updates, do not have those of the operator yet. They cannot have it if the names of its workload have more than 240 characters, or if
	// more is held or allowed than they have room for.
	// Remedy: none, unless it stays: then see the log of operator-status.
	ReasonNotIndexed = "NotIndexed"

	// ReasonRecordNotFound means that no record of the Helm release was found, and so none of an update can be denied: Helm keeps its records
	// in another namespace than those of the release and of its HelmRelease, or not in Secrets. Or another program has taken the objects
	// of the release over.
	// Remedy: have Helm keep its records there, or hold the workload: create an UpgradeHold with the installer Workload.
	ReasonRecordNotFound = "RecordNotFound"

	// ReasonNotHeld means that nothing has to be enforced, since Held is False.
	// Remedy: none.
	ReasonNotHeld = "NotHeld"
)
