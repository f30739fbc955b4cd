package v1alpha1

// Condition types of a Probe.
const (
	// ConditionUpgradeable is True if the operator may be updated and False if it must not be. It is Unknown, and an
	// update waits, while the custom resources are unknown: they have not been read yet, cannot be read, or may have changed
	// since. A False remains until they have been read.
	ConditionUpgradeable = "Upgradeable"

	// ConditionImportant is True if a custom resource has an important condition, which the cluster admin should see.
	ConditionImportant = "Important"

	// ConditionSynced is True if the status reflects everything that the spec names, Unknown until the custom resources
	// have been read for the first time and if they may have changed since, and False if that lasts for five minutes, if
	// something cannot be read or parsed, or if the operator of the Probe does not exist.
	ConditionSynced = "Synced"

	// ConditionPodReady is True while the pod of a Probe with isolation Pod is ready. While it is False, all other
	// conditions are as last reported by the pod, and an update waits. It is absent with isolation Shared.
	ConditionPodReady = "PodReady"

	// ConditionGateConflict is True, and otherwise absent, if the operator sets Upgradeable in its OperatorCondition
	// itself, so the Probe has no effect there.
	ConditionGateConflict = "GateConflict"

	// ConditionAnnotationsDiffer is True, and otherwise absent, if the CustomResourceDefinitions of the operator have other
	// annotations than it was installed with. The Probe keeps those of the installation. Without a ClusterServiceVersion it keeps
	// the former ones beside the current ones, while it does not allow updates.
	ConditionAnnotationsDiffer = "AnnotationsDiffer"

	// ConditionHolding is True, and otherwise absent, while an update waits because of the Probe. The message names the
	// Subscription, its target ClusterServiceVersion and the custom resources that hold it. The last transition time is
	// that of UpgradeHeld on the Subscription.
	ConditionHolding = "Holding"
)

// Reasons of Upgradeable on a Probe.
const (
	// ReasonSettling means that the custom resources allow an update, but not yet for spec.settle. The message has when it may
	// begin.
	// Remedy: none, it ends then.
	ReasonSettling = "Settling"

	// ReasonYielded means that custom resources hold the update, but have done so for spec.yieldAfter, so it is allowed. The message
	// names them.
	// Remedy: none, the author of spec.yieldAfter decided it. To hold the update nevertheless, create an UpgradeHold.
	ReasonYielded = "Yielded"

	// ReasonNotUpgradeable means that at least one custom resource holds the update. The message names it.
	// Remedy: none if the work of the custom resource ends by itself. If it is stuck, look at that resource and the
	// logs of its operator. `kubectl operator-status why` prints the command that updates anyway.
	ReasonNotUpgradeable = "NotUpgradeable"

	// ReasonAllUpgradeable means that every custom resource allows the operator to be updated.
	// Remedy: none, this is the desired state.
	ReasonAllUpgradeable = "AllUpgradeable"

	// ReasonSomeUnknown means that no custom resource holds the update, but some cannot be evaluated. The message
	// contains their number, and names those whose conditions have a form that cannot be read.
	// Remedy: none. If it lasts, the operator does not set the conditions that the expression names, or not as the API
	// conventions describe them.
	ReasonSomeUnknown = "SomeUnknown"

	// ReasonNoResources means that no custom resources exist, so nothing holds the update.
	// Remedy: none.
	ReasonNoResources = "NoResources"

	// ReasonNotRead means that not all custom resources have been read. Synced reports why.
	// Remedy: none if the reason of Synced is Syncing, otherwise see the remedy of that reason.
	ReasonNotRead = "NotRead"
)

// Reasons of Important on a Probe, in addition to NotRead.
const (
	// ReasonConditionsTrue means that important conditions are True. The message names the custom resources.
	// Remedy: look at the custom resources in the message, and see the operator's documentation of the condition. It
	// holds no update.
	ReasonConditionsTrue = "ConditionsTrue"

	// ReasonNothingImportant means that no important condition is True.
	// Remedy: none, this is the desired state.
	ReasonNothingImportant = "NothingImportant"
)

// Reasons of Synced on a Probe.
const (
	// ReasonSynced means that everything that the spec names is being read.
	// Remedy: none, this is the desired state.
	ReasonSynced = "Synced"

	// ReasonSyncing means that custom resources are being read for the first time.
	// Remedy: none, it ends when they have been read.
	ReasonSyncing = "Syncing"

	// ReasonInvalidExpression means that an annotation is not a valid expression. The message contains the position and
	// the problem.
	// Remedy: correct the annotation of the CustomResourceDefinition, or the expression in the spec, at the position in
	// the message.
	ReasonInvalidExpression = "InvalidExpression"

	// ReasonFieldNotFound means that an expression compares a field that the schema of the CustomResourceDefinition does not
	// have, or with a value that it never has, or names conditions of custom resources that have none. That part of the
	// expression is unknown for every custom resource.
	// Remedy: correct the term in the message.
	ReasonFieldNotFound = "FieldNotFound"

	// ReasonResourceNotFound means that no CustomResourceDefinition or API group has that name.
	// Remedy: correct the name in the spec, or install the CustomResourceDefinition. Meanwhile the resource counts as
	// one without custom resources.
	ReasonResourceNotFound = "ResourceNotFound"

	// ReasonNamespaceNotFound means that target namespaces do not exist. Custom resources are read there once they do.
	// Remedy: create the namespaces, or remove them from the OperatorGroup or from the spec.
	ReasonNamespaceNotFound = "NamespaceNotFound"

	// ReasonResourceAmbiguous means that the name is an API group with several CustomResourceDefinitions.
	// Remedy: name one CustomResourceDefinition, as the message does.
	ReasonResourceAmbiguous = "ResourceAmbiguous"

	// ReasonTooManyResources means that more CustomResourceDefinitions are annotated than a Probe can name.
	// Remedy: annotate at most 64 CustomResourceDefinitions of an operator.
	ReasonTooManyResources = "TooManyResources"

	// ReasonTooManyWatches means that reading the custom resources would exceed the limit of watches per namespace, or
	// of all namespaces together. The message contains the numbers.
	// Remedy: have the Probe name fewer resources, or its OperatorGroup target fewer namespaces, or all of them, which
	// takes one watch for each resource.
	ReasonTooManyWatches = "TooManyWatches"

	// ReasonTooManyConditions means that the expressions of the Probes that read a resource with the same service
	// account name more conditions than are kept of a custom resource. The message contains the number.
	// Remedy: name fewer conditions in the expressions, or give the operators service accounts of their own.
	ReasonTooManyConditions = "TooManyConditions"

	// ReasonForbidden means that the operator's service account may not list or watch the custom resources.
	// Remedy: grant the service account in the message the verbs list and watch on the resource.
	ReasonForbidden = "Forbidden"

	// ReasonNoIdentity means that the Probe has no service account to read the custom resources with.
	// Remedy: create the service account in the message, or set spec.serviceAccountName to one that may list and watch
	// the custom resources.
	ReasonNoIdentity = "NoIdentity"

	// ReasonReadFailed means that reading the custom resources fails for another reason, which the message quotes.
	// Remedy: correct the cause of the error, such as a conversion webhook that does not respond. It is retried by
	// itself.
	ReasonReadFailed = "ReadFailed"

	// ReasonStale means that the custom resources may have changed since they were read: the API server has sent nothing
	// about them, not even the bookmark of every minute, or reading them has failed for longer than a moment. It is a
	// reason of Upgradeable as well. Updates wait meanwhile. After five minutes, Synced is False.
	// Remedy: none if the API server is merely overloaded, otherwise correct the cause in the message. Reading is
	// retried by itself.
	ReasonStale = "Stale"

	// ReasonOperatorNotFound means that no ClusterServiceVersion has the name of the Probe: its operator was uninstalled,
	// or is of another version now. It is a reason of Upgradeable as well, which is never True then: this Probe holds no
	// update and allows none.
	// Remedy: delete the Probe, or name it after the ClusterServiceVersion that is running.
	ReasonOperatorNotFound = "OperatorNotFound"
)

// Reasons of PodReady on a Probe, in addition to NoIdentity and Forbidden, which here means that the manager may not
// create the pod: the message has the command that permits it.
const (
	// ReasonPodReady means that the pod is ready.
	// Remedy: none, this is the desired state.
	ReasonPodReady = "PodReady"

	// ReasonPodNotReady means that the pod does not exist yet, or is not ready. The message contains the cause.
	// Remedy: none while the pod starts. If it lasts, correct the cause in the message, such as an image that the
	// namespace cannot pull or a quota.
	ReasonPodNotReady = "PodNotReady"

	// ReasonNoImage means that the manager does not know its own image, because it runs outside a cluster without
	// --probe-reader-image.
	// Remedy: run the manager in the cluster, or set --probe-reader-image.
	ReasonNoImage = "NoImage"

	// ReasonPlanTooLarge means that resources, expressions and namespaces of the Probe are too large for a pod of its
	// own. The message contains the size.
	// Remedy: name fewer resources, or set spec.isolation to Shared.
	ReasonPlanTooLarge = "PlanTooLarge"
)

// Reasons of GateConflict on a Probe.
const (
	// ReasonSetByOperator means that the OperatorCondition contains an Upgradeable condition that the operator set.
	// Remedy: none if the operator shall decide. Otherwise have its authors stop setting the condition.
	ReasonSetByOperator = "SetByOperator"
)

// Reasons of AnnotationsDiffer on a Probe.
const (
	// ReasonChangedSinceInstallation means that another version of the operator, or a user, has written other annotations
	// to the CustomResourceDefinitions since the operator was installed. The message has both.
	// Remedy: none, the next version of the operator brings its own. The message has the command after which this version
	// has the annotations of now.
	ReasonChangedSinceInstallation = "ChangedSinceInstallation"
)

// Reasons of Upgradeable in `spec.conditions` of an OperatorCondition, as operator-status sets it. It identifies its own
// condition by them. ProbeNotRead, ProbeConflict and Overridden are used as well. ApprovalGate is also a reason of Holding
// on a Probe.
const (
	// ReasonProbeNotUpgradeable means that the Probe of the same name does not allow the operator to be updated.
	// Remedy: find the cause with `kubectl operator-status why`, which also prints the command that updates anyway.
	ReasonProbeNotUpgradeable = "ProbeNotUpgradeable"

	// ReasonProbeUpgradeable means that the Probe of the same name allows the operator to be updated.
	// Remedy: none, this is the desired state.
	ReasonProbeUpgradeable = "ProbeUpgradeable"

	// ReasonApprovalGate means that updates of the operator are held before their InstallPlan is approved, so the Probe
	// has no effect in the OperatorCondition.
	// Remedy: none, see the Subscription.
	ReasonApprovalGate = "ApprovalGate"

	// ReasonUpgradeHold means that updates of the operator are held by an UpgradeHold, which the API server enforces, so the
	// Probe has no effect in the OperatorCondition.
	// Remedy: none, see the UpgradeHold.
	ReasonUpgradeHold = "UpgradeHold"

	// ReasonOperatorConditionGate is a reason of Holding only: it means that OLM holds an update that it has already
	// started, because of the condition that operator-status wrote into the OperatorCondition.
	// Remedy: find the cause with `kubectl operator-status why`. To have updates held before OLM starts them, enable
	// the approval gate.
	ReasonOperatorConditionGate = "OperatorConditionGate"

	// ReasonReleased means that operator-status has released everything it held, because it is about to be uninstalled.
	// Remedy: none. `kubectl operator-status release --all --undo` reverts it.
	ReasonReleased = "Released"

	// ReasonHeldByAdmin is the reason of an override Upgradeable=False that `kubectl operator-status hold` sets in an
	// OperatorCondition.
	// Remedy: `kubectl operator-status release` removes it.
	ReasonHeldByAdmin = "HeldByAdmin"

	// ReasonProbeGone means that the Probe that held the update no longer exists, so nothing holds it.
	// Remedy: none.
	ReasonProbeGone = "ProbeGone"
)

// IsGateReason reports whether a condition with this reason in an OperatorCondition was written by operator-status.
func IsGateReason(reason string) bool {
	switch reason {
	case ReasonProbeNotUpgradeable, ReasonProbeNotRead, ReasonProbeConflict, ReasonProbeUpgradeable, ReasonProbeGone, ReasonApprovalGate, ReasonUpgradeHold,
		ReasonOverridden, ReasonReleased:
		return true
	}
	return false
}
