// Package probe is the lowest stage of both streets of an operator's status.
//
// Spec goes down: the annotations of the CustomResourceDefinitions that a ClusterServiceVersion owns become the spec
// of the Probe of the same name (SpecReconciler). Status comes up: the conditions of the custom resources that a Probe
// names become its status (StatusReconciler).
package probe

// FieldOwner is the name under which operator-status writes Probes.
const FieldOwner = "operator-status"
