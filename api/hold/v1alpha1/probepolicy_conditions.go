package v1alpha1

// ConditionMatched of a ProbePolicy is True if it applies to an operator.
const ConditionMatched = "Matched"

// Reasons of Matched on a ProbePolicy.
const (
	// ReasonOperatorsFound means that the policy applies to the operators in its status.
	// Remedy: none, this is the desired state.
	ReasonOperatorsFound = "OperatorsFound"

	// ReasonNoOperatorFound means that no operator that is installed by OLM or the built-in loops owns one of the
	// CustomResourceDefinitions, is selected by spec.match, and lacks annotations and a Probe of its own.
	// Remedy: none, if the operator is not installed. Otherwise correct the names in spec.probeResources or spec.match.
	ReasonNoOperatorFound = "NoOperatorFound"
)
