// Package probe maintains the Probes of operators.
//
// SpecReconciler makes the spec: the annotations of the CustomResourceDefinitions that a ClusterServiceVersion owns
// become the spec of the Probe of the same name. StatusReconciler makes the status from the conditions of the custom
// resources that a Probe names.
package probe

import "github.com/operator-status/operator-status/internal/annotations"

// FieldOwner is the field manager of operator-status for Probes.
const FieldOwner = annotations.FieldOwner
