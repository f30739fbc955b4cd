package v1alpha1

// Condition types of a Probe.
const (
	// ConditionUpgradeable is True where the operator may be updated and False where it must not be. It is Unknown
	// only before the custom resources have been read for the first time.
	ConditionUpgradeable = "Upgradeable"

	// ConditionImportant is True where a custom resource has something to say that the cluster admin should see.
	ConditionImportant = "Important"

	// ConditionSynced is True where the status tells all that the spec asks for, Unknown until the custom resources
	// have been read for the first time, and False where something cannot be read or understood.
	ConditionSynced = "Synced"

	// ConditionGateConflict is True, and otherwise absent, where the operator sets Upgradeable in its
	// OperatorCondition itself, so that the Probe has no effect there.
	ConditionGateConflict = "GateConflict"

	// ConditionHolding is True, and otherwise absent, where an update waits because of the Probe. The message names the
	// Subscription, what it waits with, and for which custom resource; it is True since the Subscription said so.
	ConditionHolding = "Holding"
)

// Reasons of Upgradeable on a Probe.
const (
	// ReasonNotUpgradeable: at least one custom resource holds the update. The message names it.
	ReasonNotUpgradeable = "NotUpgradeable"

	// ReasonAllUpgradeable: every custom resource says that the operator may be updated.
	ReasonAllUpgradeable = "AllUpgradeable"

	// ReasonSomeUnknown: no custom resource holds the update, and the message tells how many cannot be judged.
	ReasonSomeUnknown = "SomeUnknown"

	// ReasonNoResources: there are no custom resources, so nothing holds the update.
	ReasonNoResources = "NoResources"

	// ReasonNotRead: the custom resources have not been read yet. Synced says why.
	ReasonNotRead = "NotRead"
)

// Reasons of Important on a Probe. ReasonNotRead is one too.
const (
	// ReasonConditionsTrue: important conditions are true. The message names the custom resources.
	ReasonConditionsTrue = "ConditionsTrue"

	// ReasonNothingImportant: no important condition is true.
	ReasonNothingImportant = "NothingImportant"
)

// Reasons of Synced on a Probe.
const (
	// ReasonSynced: everything that the spec names is being read.
	ReasonSynced = "Synced"

	// ReasonSyncing: custom resources are being read for the first time.
	ReasonSyncing = "Syncing"

	// ReasonInvalidExpression: an annotation holds something that is no expression. The message tells where and why.
	ReasonInvalidExpression = "InvalidExpression"

	// ReasonResourceNotFound: there is no CustomResourceDefinition, or API group, of that name.
	ReasonResourceNotFound = "ResourceNotFound"

	// ReasonNamespaceNotFound: target namespaces do not exist. Custom resources are read there once they do.
	ReasonNamespaceNotFound = "NamespaceNotFound"

	// ReasonResourceAmbiguous: the name is an API group that holds several CustomResourceDefinitions.
	ReasonResourceAmbiguous = "ResourceAmbiguous"

	// ReasonTooManyResources: more CustomResourceDefinitions are annotated than a Probe can name.
	ReasonTooManyResources = "TooManyResources"

	// ReasonTooManyWatches: reading the custom resources would exceed the limit of watches per namespace, or that of all namespaces. The
	// message contains the numbers.
	ReasonTooManyWatches = "TooManyWatches"

	// ReasonTooManyConditions: the expressions of the Probes that read a resource with the same service account name more conditions
	// than are kept of a custom resource. The message contains the number.
	ReasonTooManyConditions = "TooManyConditions"

	// ReasonForbidden: the operator's service account may not list or watch the custom resources.
	ReasonForbidden = "Forbidden"

	// ReasonNoIdentity: there is no service account to read the custom resources with.
	ReasonNoIdentity = "NoIdentity"

	// ReasonReadFailed: reading the custom resources fails for another reason, which the message quotes.
	ReasonReadFailed = "ReadFailed"
)

// Reasons of GateConflict on a Probe.
const (
	// ReasonSetByOperator: the OperatorCondition holds an Upgradeable condition of the operator's own.
	ReasonSetByOperator = "SetByOperator"
)

// Reasons of the Upgradeable condition that operator-status writes into `spec.conditions` of an OperatorCondition.
// By them it knows its own entry again. ReasonOverridden is one too. ReasonApprovalGate is a reason of Holding on a Probe, too.
const (
	// ReasonProbeNotUpgradeable: the Probe of the same name says that the operator must not be updated.
	ReasonProbeNotUpgradeable = "ProbeNotUpgradeable"

	// ReasonProbeUpgradeable: the Probe of the same name says that the operator may be updated.
	ReasonProbeUpgradeable = "ProbeUpgradeable"

	// ReasonApprovalGate: updates of the operator are held before their InstallPlan is approved, so that the Probe has no
	// say here.
	ReasonApprovalGate = "ApprovalGate"

	// ReasonOperatorConditionGate is of Holding alone: OLM holds the update, which it has begun, because of what
	// operator-status says in the OperatorCondition.
	ReasonOperatorConditionGate = "OperatorConditionGate"

	// ReasonReleased: operator-status has let go of all that it held, because it is about to be uninstalled.
	ReasonReleased = "Released"

	// ReasonProbeGone: the Probe that held the update is gone, so nothing holds it.
	ReasonProbeGone = "ProbeGone"
)

// IsGateReason is true for the reasons by which operator-status knows its own entry in an OperatorCondition.
func IsGateReason(reason string) bool {
	switch reason {
	case ReasonProbeNotUpgradeable, ReasonProbeNotRead, ReasonProbeConflict, ReasonProbeUpgradeable, ReasonProbeGone, ReasonApprovalGate, ReasonOverridden, ReasonReleased:
		return true
	}
	return false
}
