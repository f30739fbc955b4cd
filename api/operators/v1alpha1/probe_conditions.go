package v1alpha1

// Condition types of a Probe.
const (
	// ConditionUpgradeable is True if the operator may be updated and False if it must not be. It is Unknown only until
	// the custom resources have been read for the first time.
	ConditionUpgradeable = "Upgradeable"

	// ConditionImportant is True if a custom resource has an important condition, which the cluster admin should see.
	ConditionImportant = "Important"

	// ConditionSynced is True if the status reflects everything that the spec names, Unknown until the custom resources
	// have been read for the first time, and False if something cannot be read or parsed.
	ConditionSynced = "Synced"

	// ConditionPodReady is True while the pod of a Probe with isolation Pod is ready. While it is False, all other
	// conditions are what the pod last reported, and an update waits. It is absent with isolation Shared.
	ConditionPodReady = "PodReady"

	// ConditionGateConflict is True, and otherwise absent, if the operator sets Upgradeable in its OperatorCondition
	// itself, so that the Probe has no effect there.
	ConditionGateConflict = "GateConflict"

	// ConditionHolding is True, and otherwise absent, while an update waits because of the Probe. The message names the
	// Subscription, its target ClusterServiceVersion and the custom resources that hold it. The last transition time is
	// that of UpgradeHeld on the Subscription.
	ConditionHolding = "Holding"
)

// Reasons of Upgradeable on a Probe.
const (
	// ReasonNotUpgradeable means that at least one custom resource holds the update. The message names it.
	ReasonNotUpgradeable = "NotUpgradeable"

	// ReasonAllUpgradeable means that every custom resource allows the operator to be updated.
	ReasonAllUpgradeable = "AllUpgradeable"

	// ReasonSomeUnknown means that no custom resource holds the update, but some cannot be evaluated. The message
	// contains their number.
	ReasonSomeUnknown = "SomeUnknown"

	// ReasonNoResources means that there are no custom resources, so nothing holds the update.
	ReasonNoResources = "NoResources"

	// ReasonNotRead means that the custom resources have not been read yet. Synced reports why.
	ReasonNotRead = "NotRead"
)

// Reasons of Important on a Probe, in addition to ReasonNotRead.
const (
	// ReasonConditionsTrue means that important conditions are True. The message names the custom resources.
	ReasonConditionsTrue = "ConditionsTrue"

	// ReasonNothingImportant means that no important condition is True.
	ReasonNothingImportant = "NothingImportant"
)

// Reasons of Synced on a Probe.
const (
	// ReasonSynced means that everything that the spec names is being read.
	ReasonSynced = "Synced"

	// ReasonSyncing means that custom resources are being read for the first time.
	ReasonSyncing = "Syncing"

	// ReasonInvalidExpression means that an annotation is not a valid expression. The message contains the position and
	// the problem.
	ReasonInvalidExpression = "InvalidExpression"

	// ReasonResourceNotFound means that there is no CustomResourceDefinition or API group of that name.
	ReasonResourceNotFound = "ResourceNotFound"

	// ReasonNamespaceNotFound means that target namespaces do not exist. Custom resources are read there once they do.
	ReasonNamespaceNotFound = "NamespaceNotFound"

	// ReasonResourceAmbiguous means that the name is an API group with several CustomResourceDefinitions.
	ReasonResourceAmbiguous = "ResourceAmbiguous"

	// ReasonTooManyResources means that more CustomResourceDefinitions are annotated than a Probe can name.
	ReasonTooManyResources = "TooManyResources"

	// ReasonTooManyWatches means that reading the custom resources would exceed the limit of watches per namespace, or
	// of all namespaces together. The message contains the numbers.
	ReasonTooManyWatches = "TooManyWatches"

	// ReasonTooManyConditions means that the expressions of the Probes that read a resource with the same service
	// account name more conditions than are kept of a custom resource. The message contains the number.
	ReasonTooManyConditions = "TooManyConditions"

	// ReasonForbidden means that the operator's service account may not list or watch the custom resources.
	ReasonForbidden = "Forbidden"

	// ReasonNoIdentity means that there is no service account to read the custom resources with.
	ReasonNoIdentity = "NoIdentity"

	// ReasonReadFailed means that reading the custom resources fails for another reason, which the message quotes.
	ReasonReadFailed = "ReadFailed"
)

// Reasons of PodReady on a Probe, in addition to ReasonNoIdentity and ReasonForbidden, which here means that the manager
// may not create the pod.
const (
	// ReasonPodReady means that the pod is ready.
	ReasonPodReady = "PodReady"

	// ReasonPodNotReady means that the pod does not exist yet, or is not ready. The message contains the cause.
	ReasonPodNotReady = "PodNotReady"

	// ReasonNoImage means that the manager does not know its own image, because it runs outside a cluster without
	// --probe-reader-image.
	ReasonNoImage = "NoImage"

	// ReasonPlanTooLarge means that resources, expressions and namespaces of the Probe are too large for a pod of its
	// own. The message contains the size.
	ReasonPlanTooLarge = "PlanTooLarge"
)

// Reasons of GateConflict on a Probe.
const (
	// ReasonSetByOperator means that the OperatorCondition contains an Upgradeable condition that the operator set.
	ReasonSetByOperator = "SetByOperator"
)

// Reasons of the Upgradeable condition that operator-status writes into `spec.conditions` of an OperatorCondition. It
// identifies its own condition by them. ReasonProbeNotRead, ReasonProbeConflict and ReasonOverridden are used as well.
// ReasonApprovalGate is also a reason of Holding on a Probe.
const (
	// ReasonProbeNotUpgradeable means that the Probe of the same name does not allow the operator to be updated.
	ReasonProbeNotUpgradeable = "ProbeNotUpgradeable"

	// ReasonProbeUpgradeable means that the Probe of the same name allows the operator to be updated.
	ReasonProbeUpgradeable = "ProbeUpgradeable"

	// ReasonApprovalGate means that updates of the operator are held before their InstallPlan is approved, so that the
	// Probe has no effect in the OperatorCondition.
	ReasonApprovalGate = "ApprovalGate"

	// ReasonOperatorConditionGate is a reason of Holding only: it means that OLM holds an update that it has already
	// started, because of the condition that operator-status wrote into the OperatorCondition.
	ReasonOperatorConditionGate = "OperatorConditionGate"

	// ReasonReleased means that operator-status has released everything it held, because it is about to be uninstalled.
	ReasonReleased = "Released"

	// ReasonHeldByAdmin is the reason of an override Upgradeable=False that `kubectl operator-status hold` sets in an
	// OperatorCondition.
	ReasonHeldByAdmin = "HeldByAdmin"

	// ReasonProbeGone means that the Probe that held the update no longer exists, so nothing holds it.
	ReasonProbeGone = "ProbeGone"
)

// IsGateReason reports whether a condition with this reason in an OperatorCondition was written by operator-status.
func IsGateReason(reason string) bool {
	switch reason {
	case ReasonProbeNotUpgradeable, ReasonProbeNotRead, ReasonProbeConflict, ReasonProbeUpgradeable, ReasonProbeGone, ReasonApprovalGate, ReasonOverridden,
		ReasonReleased:
		return true
	}
	return false
}
