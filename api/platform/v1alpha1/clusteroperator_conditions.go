package v1alpha1

// ClusterOperatorName is the name of the ClusterOperator that sums the PlatformOperators up.
const ClusterOperatorName = "platform-operators"

// OperatorVersionName is the name of its version that the Cluster Version Operator waits for.
const OperatorVersionName = "operator"

// Reasons of the conditions of the ClusterOperator.
const (
	// ClusterReasonInstalling, of Available and Progressing: not every PlatformOperator has installed for the first time, or
	// one that the release names does not exist.
	ClusterReasonInstalling = "PlatformOperatorsInstalling"

	// ClusterReasonUpdating, of Progressing: PlatformOperators are new or being updated.
	ClusterReasonUpdating = "PlatformOperatorsUpdating"

	// ClusterReasonRelease, of Progressing: the cluster has a new release, and not every PlatformOperator is installed.
	ClusterReasonRelease = "ReleaseUpdating"

	// ClusterReasonInstalled, of Available and Progressing: every PlatformOperator is installed, or has been.
	ClusterReasonInstalled = "PlatformOperatorsInstalled"

	// ClusterReasonFailing, of Degraded: a PlatformOperator has been failing for the --degraded-inertia of the manager, which is two minutes unless set.
	ClusterReasonFailing = "PlatformOperatorsFailing"

	// ClusterReasonAsExpected, of Degraded: none has.
	ClusterReasonAsExpected = "AsExpected"

	// ClusterReasonNone, of all three: there are no PlatformOperators.
	ClusterReasonNone = "NoPlatformOperators"

	// ClusterReasonNotUpgradeable, of Upgradeable: a PlatformOperator that asks for it holds minor updates of the cluster.
	ClusterReasonNotUpgradeable = "PlatformOperatorsNotUpgradeable"

	// ClusterReasonUpgradeable, of Upgradeable: none does.
	ClusterReasonUpgradeable = "PlatformOperatorsUpgradeable"
)
