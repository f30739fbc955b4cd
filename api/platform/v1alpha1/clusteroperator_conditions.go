package v1alpha1

// ClusterOperatorName is the name of the ClusterOperator that summarizes the PlatformOperators.
const ClusterOperatorName = "platform-operators"

// OperatorVersionName is the name of the ClusterOperator's version that the Cluster Version Operator waits for.
const OperatorVersionName = "operator"

// Reasons of the conditions on a ClusterOperator.
const (
	// ClusterReasonInstalling is a reason of Available and Progressing: not every PlatformOperator has been installed
	// once, or one named by the release does not exist.
	// Remedy: see the PlatformOperators in the message, and create those that do not exist.
	ClusterReasonInstalling = "PlatformOperatorsInstalling"

	// ClusterReasonUpdating is a reason of Progressing: PlatformOperators are new or being updated.
	// Remedy: none, unless it lasts. Then see the PlatformOperators in the message.
	ClusterReasonUpdating = "PlatformOperatorsUpdating"

	// ClusterReasonRelease is a reason of Progressing: the cluster has a new release, and not every PlatformOperator is
	// installed.
	// Remedy: none, unless it lasts. Then see the PlatformOperators in the message.
	ClusterReasonRelease = "ReleaseUpdating"

	// ClusterReasonInstalled is a reason of Available and Progressing: every PlatformOperator is installed, or has
	// been.
	// Remedy: none, this is the desired state.
	ClusterReasonInstalled = "PlatformOperatorsInstalled"

	// ClusterReasonFailing is a reason of Degraded: a PlatformOperator has been failing for the manager's
	// --degraded-inertia, which defaults to two minutes.
	// Remedy: see the conditions of the PlatformOperators in the message.
	ClusterReasonFailing = "PlatformOperatorsFailing"

	// ClusterReasonAsExpected is a reason of Degraded: no PlatformOperator has been failing for that long.
	// Remedy: none, this is the desired state.
	ClusterReasonAsExpected = "AsExpected"

	// ClusterReasonNone is a reason of Available, Progressing and Degraded: no PlatformOperators exist.
	// Remedy: none.
	ClusterReasonNone = "NoPlatformOperators"

	// ClusterReasonNotUpgradeable is a reason of Upgradeable: a PlatformOperator with holdClusterUpdates holds minor
	// updates of the cluster.
	// Remedy: see the condition Upgradeable of the PlatformOperators in the message, or set their
	// spec.holdClusterUpdates to false.
	ClusterReasonNotUpgradeable = "PlatformOperatorsNotUpgradeable"

	// ClusterReasonUpgradeable is a reason of Upgradeable: no PlatformOperator holds minor updates of the cluster.
	// Remedy: none, this is the desired state.
	ClusterReasonUpgradeable = "PlatformOperatorsUpgradeable"
)
