package v1alpha1

// ConditionMatched of a ProbePolicy or an UpgradeHoldPolicy is True if it applies to an operator.
const ConditionMatched = "Matched"

// ConditionValid of a ProbePolicy is False if its expressions have terms that the schemas of its CustomResourceDefinitions lack.
const ConditionValid = "Valid"

// Reasons of Valid on a ProbePolicy.
const (
	// ReasonValid means that the CustomResourceDefinitions that exist have all fields and conditions in the expressions.
	// Remedy: none, this is the desired state.
	ReasonValid = "Valid"

	// ReasonFieldNotFound means that an expression names a field, a value of a field, or conditions that the schema of the
	// CustomResourceDefinition does not have. That part of the expression is unknown for every custom resource, and holds nothing.
	// Remedy: correct the term in the message, or ignore it if only the installed version of the operator lacks the field.
	ReasonFieldNotFound = "FieldNotFound"
)

// Reasons of Matched on a ProbePolicy or an UpgradeHoldPolicy.
const (
	// ReasonOperatorsFound means that the policy applies to the operators in its status.
	// Remedy: none, this is the desired state.
	ReasonOperatorsFound = "OperatorsFound"

	// ReasonNoOperatorFound means that spec.match selects no operator or, for a ProbePolicy, none that serves one of its
	// CustomResourceDefinitions and lacks annotations and a Probe of its own.
	// Remedy: none, if the operator is not installed. Otherwise correct the names in spec.match or spec.probeResources.
	ReasonNoOperatorFound = "NoOperatorFound"
)
