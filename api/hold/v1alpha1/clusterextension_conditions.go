package v1alpha1

// Condition types of a ClusterExtension in addition to those of OLM v1, whose Installed is True once the objects of a version have been
// applied.
const (
	// ConditionExtensionRunning is True if all workloads of the operator run.
	ConditionExtensionRunning = "Running"

	// ConditionExtensionUpToDate is True if the newest version that spec.source allows is installed and running, in all pods.
	ConditionExtensionUpToDate = "UpToDate"

	// ConditionExtensionUpgradeHeld is True while the operator must not be updated. UpgradeHolds have the details.
	ConditionExtensionUpgradeHeld = "UpgradeHeld"
)

// Reasons of Running on a ClusterExtension.
const (
	// ReasonWorkloadsAvailable means that every workload has an available replica.
	// Remedy: none, this is the desired state.
	ReasonWorkloadsAvailable = "WorkloadsAvailable"

	// ReasonWorkloadsUnavailable means that a workload has no available replica. The message names it.
	// Remedy: none while its pods start. If it lasts, look at the pods of the workload in the message.
	ReasonWorkloadsUnavailable = "WorkloadsUnavailable"

	// ReasonNoWorkloads means that nothing with pods has been installed.
	// Remedy: see the conditions Installed and Progressing.
	ReasonNoWorkloads = "NoWorkloads"
)

// Reasons of UpToDate on a ClusterExtension.
const (
	// ReasonNewestRuns means that the newest version has been installed and runs, and no pod of an older one is left.
	// Remedy: none, this is the desired state.
	ReasonNewestRuns = "NewestRuns"

	// ReasonNewestDoesNotRun means that the newest version has not been installed, does not run, or not in all pods: those of an older
	// version stay until new ones are available. The message explains why.
	// Remedy: see the conditions UpgradeHeld and Running. If it lasts, look at the pods of the workload in the message.
	ReasonNewestDoesNotRun = "NewestDoesNotRun"

	// ReasonNewestNotKnown means that OLM v1 has not determined the newest version, or has not installed it.
	// Remedy: see the condition Progressing.
	ReasonNewestNotKnown = "NewestNotKnown"
)
